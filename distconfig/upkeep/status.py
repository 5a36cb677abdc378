"""Drift: in what hosts are no longer what was set up, each point named in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.reports.report import HostReport, InterfaceState
from distconfig.setup.refusals import route_to
from distconfig.upkeep.intended import IntendedCable, IntendedEnd

__all__ = ["Drift", "DriftKind", "find_cable", "find_drifts", "find_present_end"]


class DriftKind(Enum):
    """What kind of thing is no longer as it was set up."""

    HOST = "host"
    CABLE = "cable"
    INTERFACE = "interface"
    BRIDGE = "bridge"
    ADDRESS = "address"
    SWITCHED_OFF = "switched-off"
    MTU = "mtu"
    ROUTE = "route"


@dataclass(frozen=True)
class Drift:
    """One thing that is no longer as it was set up.

    Args:
        text: What is so now, a sentence.
    """

    host: str
    kind: DriftKind
    text: str
    cable: IntendedCable


def find_drifts(intended: Sequence[IntendedCable], topology: Topology) -> tuple[Drift, ...]:
    """Every drift of every cable, in the order of the cables."""
    drifts: dict[tuple[str, str], Drift] = {}
    for cable in intended:
        for drift in _drifts_of(cable, topology):
            drifts.setdefault((drift.host, drift.text), drift)
    return tuple(drifts.values())


def _drifts_of(intended: IntendedCable, topology: Topology) -> Iterator[Drift]:
    silent = [end for end in intended.ends if end.host not in topology.reports]
    for end in silent:
        reason = topology.unread.get(end.host, "it was not asked")
        yield Drift(end.host, DriftKind.HOST, f"{end.host} did not answer: {reason}.", intended)
    seen = find_cable(intended, topology)
    if not silent and seen is None:
        yield from _cable_drifts(intended, topology)
    for end in intended.ends:
        report = topology.reports.get(end.host)
        if report is None:
            continue
        now = seen.end_at(end.host) if seen else find_present_end(end, topology)
        for kind, text in _end_drifts(intended, end, now, report):
            yield Drift(end.host, kind, text, intended)


def find_cable(intended: IntendedCable, topology: Topology) -> Cable | None:
    """The cable that joins both ends as they were set up.

    An end without a known port, of a hostfile, is the one that has its address,
    or any on a cable between the two hosts that nothing else claims.
    """
    wanted = {(end.host, end.port) for end in intended.ends}
    hosts = {end.host for end in intended.ends}
    between = [each for each in topology.cables if {each.a.host, each.b.host} == hosts]
    if all(end.port for end in intended.ends):
        return next((each for each in between if _ports_of(each) == wanted), None)
    for cable in between:
        if any(_has_address(cable.end_at(end.host), end, topology) for end in intended.ends):
            return cable
    free = [each for each in between if not _is_claimed(each, topology)]
    return free[0] if len(free) == 1 else None


def _ports_of(cable: Cable) -> set[tuple[str, str]]:
    return {(end.host, end.receptacle) for end in cable.ends}


def _has_address(present: CableEnd, end: IntendedEnd, topology: Topology) -> bool:
    report = topology.reports.get(present.host)
    state = report.interface(present.interface) if report else None
    return state is not None and end.address in state.addresses


def _is_claimed(cable: Cable, topology: Topology) -> bool:
    """An end has an address that is not one macOS assigned itself."""
    for end in cable.ends:
        report = topology.reports.get(end.host)
        state = report.interface(end.interface) if report else None
        if state and any(not address.is_link_local for address in state.addresses):
            return True
    return False


def find_present_end(end: IntendedEnd, topology: Topology) -> CableEnd | None:
    """The port as it is called now, or of an end without a port, where its address sits."""
    report = topology.reports[end.host]
    for port in report.receptacles:
        interface = port.interface or ""
        present = CableEnd(end.host, port.label, interface)
        if port.label == end.port or (not end.port and _has_address(present, end, topology)):
            return present
    return None


def _cable_drifts(intended: IntendedCable, topology: Topology) -> Iterator[Drift]:
    """Where the ends' ports are cabled to now, if at all."""
    for end in intended.ends:
        if not end.port:
            other = intended.other_end(end)
            text = f"{end.host}: no cable to {other.host} can be told to carry {intended.network}."
            yield Drift(end.host, DriftKind.CABLE, text, intended)
            return
        here = (end.host, end.port)
        now = next((each for each in topology.cables if here in _ports_of(each)), None)
        if now is None:
            text = f"{end.host}: no cable is seen at port {end.port}."
        else:
            far = now.other_end(end.host)
            text = (
                f"{end.host}: port {end.port}'s cable now goes to {far.host} port {far.receptacle}."
            )
        yield Drift(end.host, DriftKind.CABLE, text, intended)


def _end_drifts(
    intended: IntendedCable, end: IntendedEnd, now: CableEnd | None, report: HostReport
) -> Iterator[tuple[DriftKind, str]]:
    host = end.host
    if now is None or not now.interface:
        where = f"port {end.port}" if end.port else f"the end with {end.address}"
        yield DriftKind.INTERFACE, f"{host}: {where} has no interface."
        return
    if end.interface and now.interface != end.interface:
        text = f"{host}: port {end.port} is {now.interface} now, it was {end.interface}."
        yield DriftKind.INTERFACE, text
    if "ifconfig" in report.unread:
        yield DriftKind.HOST, f"{host}: the state of its interfaces is not known."
        return
    state = report.interface(now.interface)
    if state is None:
        yield DriftKind.INTERFACE, f"{host}: {now.interface} is gone."
        return
    yield from _state_drifts(intended, end, state, report)


def _state_drifts(
    intended: IntendedCable, end: IntendedEnd, state: InterfaceState, report: HostReport
) -> Iterator[tuple[DriftKind, str]]:
    host, name = end.host, state.name
    for bridge in report.bridges:
        if bridge.is_up and name in bridge.members:
            yield DriftKind.BRIDGE, f"{host}: {name} is back in {bridge.name}."
    if not state.is_up:
        yield DriftKind.SWITCHED_OFF, f"{host}: {name} is down."
    if intended.mtu is not None and state.mtu != intended.mtu:
        yield DriftKind.MTU, f"{host}: {name} has mtu {state.mtu}, not {intended.mtu}."
    if end.address not in state.addresses:
        holders = [each.name for each in report.interfaces if end.address in each.addresses]
        where = f" It is on {', '.join(holders)}." if holders else ""
        yield DriftKind.ADDRESS, f"{host}: {name} has lost its address {end.address}.{where}"
    elif state.is_up and "netstat" not in report.unread:
        yield from _route_drifts(intended, end, name, report)


def _route_drifts(
    intended: IntendedCable, end: IntendedEnd, name: str, report: HostReport
) -> Iterator[tuple[DriftKind, str]]:
    peer = intended.other_end(end).address.ip
    route = route_to(report, peer)
    if route is not None and route.interface != name:
        text = f"{end.host}: {peer} is reached through {route.interface}, not {name}."
        yield DriftKind.ROUTE, text
