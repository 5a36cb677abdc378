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

from distconfig.reports.report import HostReport, Receptacle
from distconfig.setup.addressed import is_ours
from distconfig.setup.mac_commands import Argv
from distconfig.setup.setup_text import render_command, render_comment

__all__ = ["PersistStep", "plan_persist", "render_persist"]

_NETWORKSETUP = "/usr/sbin/networksetup"
_OURS = "Ring port "
_USUAL_MTU = 1500


@dataclass(frozen=True)
class PersistStep:
    """Commands for one port, and those that take them back."""

    why: str
    commands: tuple[Argv, ...]
    undo: tuple[Argv, ...]


def plan_persist(report: HostReport) -> tuple[PersistStep, ...]:
    """One network service with a manual address for each port that a setup has addressed.

    A port that has a service of somebody else keeps it; its address is set, and the
    undo hands it to DHCP, since what it was before is not known.
    """
    return tuple(
        _step(report, port, address)
        for port in report.receptacles
        if port.interface and (state := report.interface(port.interface))
        for address in state.addresses
        if is_ours(address)
    )


def _step(report: HostReport, port: Receptacle, address: IPv4Interface) -> PersistStep:
    device = port.interface or ""
    existing = [name for name, interface, _ in report.services if interface == device]
    name = existing[0] if existing else f"{_OURS}{port.label}"
    commands: list[Argv] = []
    if not existing:
        commands.append((_NETWORKSETUP, "-createnetworkservice", name, device))
    undo: list[Argv] = [(_NETWORKSETUP, "-removenetworkservice", name)]
    if not name.startswith(_OURS):
        undo = [(_NETWORKSETUP, "-setdhcp", name)]
    commands.append((_NETWORKSETUP, "-setmanual", name, str(address.ip), str(address.netmask), ""))
    state = report.interface(device)
    if state is not None and state.mtu != _USUAL_MTU:
        commands.append((_NETWORKSETUP, "-setMTU", device, str(state.mtu)))
        undo.insert(0, (_NETWORKSETUP, "-setMTU", device, str(_USUAL_MTU)))
    why = f"the service {name}, by which {device} keeps {address}"
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
