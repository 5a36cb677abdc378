"""Commands that make a setup last over a restart, for a person to read and run.

macOS leaves a Thunderbolt port out of its automatic bridge once the port has a
network service of its own (``SCNetworkSet.c`` of Apple's configd), and gives it
that service's address at every start. Not yet proved on hardware: while the
stored definition of the bridge names a port, creating its service may fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

from distconfig.addressed import AddressedCable, AddressedEnd, is_ours
from distconfig.mac_commands import Argv
from distconfig.report import HostReport
from distconfig.setup_text import render_command, render_comment

__all__ = ["PersistStep", "find_persistable", "plan_persist", "render_persist"]

_NETWORKSETUP = "/usr/sbin/networksetup"
_USUAL_MTU = 1500


@dataclass(frozen=True)
class PersistStep:
    """Commands for one port, and those that take them back."""

    why: str
    commands: tuple[Argv, ...]
    undo: tuple[Argv, ...]


def find_persistable(
    cables: Sequence[AddressedCable],
) -> dict[str, tuple[tuple[AddressedEnd, IPv4Interface], ...]]:
    """Host to the ends of its cables that carry an address of a setup now."""
    found: dict[str, tuple[tuple[AddressedEnd, IPv4Interface], ...]] = {}
    for cable in cables:
        for end in cable.ends:
            if end.address is not None and is_ours(end.address):
                found[end.host] = (*found.get(end.host, ()), (end, end.address))
    return found


def plan_persist(
    report: HostReport, ends: Sequence[tuple[AddressedEnd, IPv4Interface]]
) -> tuple[PersistStep, ...]:
    """One network service with a manual address for each of these ports of a host.

    A port that has a service already keeps it; its address is set, and the undo
    hands it to DHCP, since what it was before is not known.
    """
    return tuple(_step(report, end, address) for end, address in ends)


def _step(report: HostReport, end: AddressedEnd, address: IPv4Interface) -> PersistStep:
    existing = [name for name, interface, _ in report.services if interface == end.interface]
    name = existing[0] if existing else f"Ring port {end.end.receptacle}"
    commands: list[Argv] = []
    undo: list[Argv] = []
    if existing:
        undo.append((_NETWORKSETUP, "-setdhcp", name))
    else:
        commands.append((_NETWORKSETUP, "-createnetworkservice", name, end.interface))
        undo.append((_NETWORKSETUP, "-removenetworkservice", name))
    commands.append((_NETWORKSETUP, "-setmanual", name, str(address.ip), str(address.netmask), ""))
    state = report.interface(end.interface)
    if state is not None and state.mtu != _USUAL_MTU:
        commands.append((_NETWORKSETUP, "-setMTU", end.interface, str(state.mtu)))
        undo.insert(0, (_NETWORKSETUP, "-setMTU", end.interface, str(_USUAL_MTU)))
    verb = "set the address of" if existing else "make"
    why = f"{verb} the service {name} of {end.interface}, so that it keeps {address}"
    return PersistStep(why, tuple(commands), tuple(undo))


def render_persist(plans: Mapping[str, Sequence[PersistStep]], *, undo: bool = False) -> str:
    """The commands of all hosts, to paste; their undo, last port first, if that is asked for."""
    return "\n".join("".join(_block(host, steps, undo)) for host, steps in plans.items())


def _block(host: str, steps: Sequence[PersistStep], undo: bool) -> Iterator[str]:
    yield render_comment(f"{host}: run these on it. Not yet proved on hardware.")
    for step in reversed(steps) if undo else steps:
        yield render_comment(f"undo: {step.why}" if undo else step.why)
        for argv in step.undo if undo else step.commands:
            yield render_command(argv) + "\n"
