"""What a setup is made of: steps with their undo, goals to verify, and the script of a host."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from uuid import UUID

from distconfig.cabling.topology import Cable
from distconfig.reports.report import InterfaceState
from distconfig.setup.mac_commands import Argv

__all__ = ["EndGoal", "RouteGoal", "SetupScript", "SetupStep"]


@dataclass(frozen=True)
class RouteGoal:
    """The live route to ``peer`` leaves through ``interface``."""

    peer: IPv4Address
    interface: str


@dataclass(frozen=True)
class SetupStep:
    """One command to run as root, why, and what takes it back.

    Args:
        argv: Absolute path first; never a shell string.
        why: One line for a person.
        undo: The commands that restore what was there before, in order; never empty.
            They do no harm if the step was never run.
        unless: The step is skipped where this holds already, and must bring it about.
        otherwise: The command to run if ``argv`` did not bring ``unless`` about.
    """

    argv: Argv
    why: str
    undo: tuple[Argv, ...]
    unless: RouteGoal | None = None
    otherwise: Argv = ()

    def __post_init__(self) -> None:
        if not self.argv or not self.undo:
            raise ValueError(f"a step needs a command and an undo: {self.argv} {self.undo}")
        if self.otherwise and self.unless is None:
            raise ValueError("a second command needs a goal to tell when it is needed")


@dataclass(frozen=True)
class EndGoal:
    """What one end of a cable is after the setup; `verify` compares it with the host.

    Args:
        mtu: None where it was left alone.
        carries_ring: The ring uses this cable; it is not a surplus one.
    """

    cable: Cable
    interface: str
    address: IPv4Interface
    peer_host: str
    peer: IPv4Address
    mtu: int | None = None
    carries_ring: bool = True


@dataclass(frozen=True)
class SetupScript:
    """All steps of one host, in the order to run them.

    Args:
        refused: Ports left alone, each with the reason, in sentences.
        warnings: What the person should know before running it.
        goals: One per cable end of this host that is set up, already or by the steps.
        refused_goals: The cable ends of this host that were to be set up and were refused.
        before: State of every interface the steps touch, bridges included.
        hardware_uuid: Identity of the machine, under which its journal is kept.
    """

    host: str
    steps: tuple[SetupStep, ...]
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    goals: tuple[EndGoal, ...] = ()
    refused_goals: tuple[EndGoal, ...] = ()
    before: tuple[InterfaceState, ...] = ()
    hardware_uuid: UUID | None = None

    @property
    def undo(self) -> tuple[Argv, ...]:
        """The commands that take all steps back, last step first."""
        return tuple(argv for step in reversed(self.steps) for argv in step.undo)

    @property
    def commands(self) -> tuple[Argv, ...]:
        """Every command that needs root, to do it and to take it back, each once."""
        doing = [argv for step in self.steps for argv in (step.argv, step.otherwise) if argv]
        return tuple(dict.fromkeys([*doing, *self.undo]))
