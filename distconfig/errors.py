"""Every way `distributed_config` and `distributed_launch` can fail on purpose.

A class exists only if the reader must do something different.

    DistconfigError
    ├── UsageError                     words on the command line, a file given to us      exit 2
    ├── ProbeError(host)               we could not ask                                   exit 3
    │   ├── Unreachable                name, route, port, timeout
    │   ├── AuthenticationFailed       key or agent, or the host's own key
    │   └── CommandFailed              argv, returncode, last lines of stderr
    ├── ReportError(host, probe)       we asked and did not understand                    exit 4
    │   ├── UnexpectedOutput           the offending line or JSON path
    │   └── InconsistentReport         two probes disagree
    ├── TopologyError                                                                     exit 5
    │   └── NoRing                     witness and nearest miss
    ├── AddressError                                                                      exit 6
    │   ├── PoolExhausted
    │   └── AddressInUse               which host, interface and address
    ├── ApplyError(host, step)         what ran, what did not, whether undo succeeded     exit 7
    ├── VerifyError(cable)             which cable, which direction, what was expected    exit 8
    └── LaunchError                                                                       exit 125
        └── RankFailed(rank, host, returncode)

`str()` of each is: what happened -- where -- what to try.
"""

from __future__ import annotations

import dataclasses
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from distconfig.printable import escape_controls

__all__ = [
    "AddressError",
    "AddressInUse",
    "ApplyError",
    "AuthenticationFailed",
    "CommandFailed",
    "DistconfigError",
    "InconsistentReport",
    "LaunchError",
    "NoRing",
    "PoolExhausted",
    "ProbeError",
    "RankFailed",
    "ReportError",
    "TopologyError",
    "UnexpectedOutput",
    "Unreachable",
    "UsageError",
    "VerifyError",
]


@dataclass(eq=False)
class DistconfigError(Exception):
    """Something failed that a person can act on.

    Args:
        what: What happened, one clause without a final stop.
        hint: What to try, a full sentence.
    """

    what: str
    _: KW_ONLY
    hint: str = ""

    exit_code: ClassVar[int] = 1

    @property
    def where(self) -> str:
        """The place the error is about, in the words of the user; empty if there is none."""
        return ""

    @property
    def fields(self) -> dict[str, Any]:
        """Every field by name, as a recording stores it."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        parts = [part for part in (self.what, self.where, self.hint) if part]
        return escape_controls(" -- ".join(parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)


def _rebuild(kind: type[DistconfigError], fields: dict[str, Any]) -> DistconfigError:
    return kind(**fields)


@dataclass(eq=False)
class UsageError(DistconfigError):
    """The command line, or a file named on it, can not be used as given."""

    exit_code: ClassVar[int] = 2


@dataclass(eq=False)
class ProbeError(DistconfigError):
    """A host could not be asked."""

    host: str = ""

    exit_code: ClassVar[int] = 3

    @property
    def where(self) -> str:
        """The host, as the user typed it."""
        return self.host


@dataclass(eq=False)
class Unreachable(ProbeError):
    """No connection to the host; check its name, the network, or its sshd."""


@dataclass(eq=False)
class AuthenticationFailed(ProbeError):
    """The host refused us, or its host key is not one we may trust."""


@dataclass(eq=False)
class CommandFailed(ProbeError):
    """A command on the host did not do its work."""

    argv: tuple[str, ...] = ()
    returncode: int | None = None
    stderr_tail: str = ""

    def __post_init__(self) -> None:
        self.argv = tuple(self.argv)  # a recording stores a list

    @property
    def where(self) -> str:
        """Host, command, and the last lines it printed."""
        parts = [self.host, " ".join(self.argv)]
        if self.returncode is not None:
            parts.append(f"exit {self.returncode}")
        if self.stderr_tail:
            parts.append(self.stderr_tail)
        return ": ".join(part for part in parts if part)


@dataclass(eq=False)
class ReportError(DistconfigError):
    """A host answered and the answer was not understood."""

    host: str = ""
    probe: str = ""

    exit_code: ClassVar[int] = 4

    @property
    def where(self) -> str:
        """The host and the probe."""
        return " ".join(part for part in (self.host, self.probe) if part)


@dataclass(eq=False)
class UnexpectedOutput(ReportError):
    """A probe printed something this version can not read; attach a recording to a report.

    Args:
        at: The offending line, or the JSON path of the offending value.
    """

    at: str = ""

    @property
    def where(self) -> str:
        """The host, the probe, and the line or JSON path."""
        place = " ".join(part for part in (self.host, self.probe) if part)
        return f"{place}: {self.at!r}" if self.at else place


@dataclass(eq=False)
class InconsistentReport(ReportError):
    """Probes of one host contradict each other, or one contradicts itself."""


@dataclass(eq=False)
class TopologyError(DistconfigError):
    """The cabling does not allow what was asked."""

    exit_code: ClassVar[int] = 5


@dataclass(eq=False)
class NoRing(TopologyError):
    """No cable path visits every host once and returns; add or move a cable.

    ``witness`` says why in terms of cables: hosts with fewer than two, hosts
    whose removal would cut the rest apart, or neither, in which case every
    order of hosts was ruled out.
    """

    witness: str = ""

    @property
    def where(self) -> str:
        """The witness."""
        return self.witness


@dataclass(eq=False)
class AddressError(DistconfigError):
    """The cables can not be given addresses."""

    exit_code: ClassVar[int] = 6


@dataclass(eq=False)
class PoolExhausted(AddressError):
    """No candidate block is free on every host, or it is too small."""


@dataclass(eq=False)
class AddressInUse(AddressError):
    """A block that was asked for overlaps something a host already uses."""

    host: str = ""
    interface: str = ""
    address: str = ""

    @property
    def where(self) -> str:
        """Host, interface and address or route in the way."""
        return " ".join(part for part in (self.host, self.interface, self.address) if part)


@dataclass(eq=False)
class ApplyError(DistconfigError):
    """A setup step failed; says what ran, what did not, and what was undone."""

    host: str = ""
    step: str = ""
    undone: str = ""

    exit_code: ClassVar[int] = 7

    @property
    def where(self) -> str:
        """Host, step, and what became of the steps before it."""
        return "; ".join(part for part in (self.host, self.step, self.undone) if part)


@dataclass(eq=False)
class VerifyError(DistconfigError):
    """A cable does not carry what was planned for it."""

    cable: str = ""

    exit_code: ClassVar[int] = 8

    @property
    def where(self) -> str:
        """The cable, with both its ends."""
        return self.cable


@dataclass(eq=False)
class LaunchError(DistconfigError):
    """No rank was started."""

    exit_code: ClassVar[int] = 125


@dataclass(eq=False)
class RankFailed(LaunchError):
    """A rank ended badly; it is the first one in time."""

    rank: int = -1
    host: str = ""
    returncode: int = 0
    last_lines: str = ""

    @property
    def where(self) -> str:
        """Rank, host, and its last lines."""
        place = f"rank {self.rank} on {self.host}"
        return f"{place}: {self.last_lines}" if self.last_lines else place
