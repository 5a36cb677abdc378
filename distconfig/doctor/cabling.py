"""Checks on cables and ports: what is seen from one side, what trained too slow, what is off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distconfig.cabling.bridge_loops import bridges_of_ports, find_bridge_loops
from distconfig.cabling.topology import Cable
from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity
from distconfig.printable import escape_controls
from distconfig.reports.ports import name_end
from distconfig.reports.report import HostReport

__all__ = [
    "AMBIGUOUS_PORT",
    "BRIDGED_ADDRESS",
    "BRIDGE_LOOP",
    "LOOPED_CABLE",
    "MTU_DIFFERS",
    "ONE_SIDED",
    "PORT_DOWN",
    "PORT_SHARED",
    "PORT_WITHOUT_INTERFACE",
    "SLOW_LINK",
    "STRANGER",
    "THROUGH_DOCK",
    "expected_gbps",
    "find_bridge_trouble",
    "find_doubtful_cables",
    "find_port_trouble",
    "find_slow_links",
    "find_strangers",
]

PORT_WITHOUT_INTERFACE = Kind(
    "port-without-interface",
    Severity.PROBLEM,
    "A cable is there, but macOS gave the port no network interface, so it carries no packets.",
    "System Settings > Network: add the port as a service, or restart the Mac.",
)
ONE_SIDED = Kind(
    "one-sided-cable",
    Severity.WARNING,
    "Only one end sees the other. A display or dock between them hides one side, or the link "
    "is half trained.",
    "Replug the cable at both ends, directly from Mac to Mac.",
)
LOOPED_CABLE = Kind(
    "looped-cable",
    Severity.WARNING,
    "Both ends of one cable are in the same Mac, where it joins nothing.",
    "Put one of its ends into the next host.",
)
PORT_SHARED = Kind(
    "port-shared",
    Severity.WARNING,
    "Several peers share one port behind a dock; its interface can serve only one of them.",
    "Cable them directly.",
)
AMBIGUOUS_PORT = Kind(
    "ambiguous-port",
    Severity.WARNING,
    "On an Intel Mac two ports share a controller, and nothing tells which of them a peer is at.",
    "Use only one port of that controller, or one of another.",
)
STRANGER = Kind(
    "stranger",
    Severity.NOTE,
    "A Mac that was not named is at the other end.",
    "Name that host too, if it belongs to the ring.",
)
THROUGH_DOCK = Kind(
    "through-dock",
    Severity.NOTE,
    "A dock or display between two Macs may halve the speed of the link and is one more thing "
    "that can be unplugged.",
    "Cable the Macs directly where a port is free.",
)
SLOW_LINK = Kind(
    "slow-link",
    Severity.WARNING,
    "The link trained below what both ports can do: one lane instead of two, an older or long "
    "passive cable, or a plug that does not sit well.",
    "Replug it; then try another Thunderbolt cable, then another port.",
)
MTU_DIFFERS = Kind(
    "mtu-differs",
    Severity.PROBLEM,
    "Packets larger than the smaller MTU are lost in one direction, so that small messages pass "
    "and large ones hang.",
    "Give both ends one MTU: run the setup again with --mtu N.",
)
PORT_DOWN = Kind(
    "port-down",
    Severity.PROBLEM,
    "The interface was switched off by hand; it keeps its address and carries nothing.",
    "Switch it on: sudo ifconfig INTERFACE up",
)
BRIDGE_LOOP = Kind(
    "bridge-loop",
    Severity.PROBLEM,
    "The Thunderbolt bridges forward every broadcast to each other, round and round: a storm "
    "that has taken down whole networks (exo-explore/exo pull request 1222, "
    "firstbatchxyz/dnet issue 69).",
    "Pull one of these cables now, then let --auto-setup take the ports out of the bridges.",
)
BRIDGED_ADDRESS = Kind(
    "bridged-address",
    Severity.PROBLEM,
    "macOS put the port back into a bridge, which takes its packets; the port's own address is "
    "not used.",
    "distributed_config reapply takes it out again.",
)

_SYMMETRIC_GBPS = 80


def _describe(cable: Cable, evidence: Evidence) -> str:
    reports = evidence.topology.reports
    ends = (name_end(reports[end.host], end.receptacle) for end in cable.ends)
    return " -- ".join(ends)


def _hosts(cable: Cable) -> str:
    return ", ".join(dict.fromkeys((cable.a.host, cable.b.host)))


def find_doubtful_cables(evidence: Evidence) -> Iterator[Finding]:
    """Cables that are seen and can not be relied on, each for one reason."""
    for loop in evidence.topology.loops:
        ports = f"{loop.a.receptacle} and {loop.b.receptacle}"
        yield LOOPED_CABLE.at(loop.a.host, f"{loop.a.host}: a cable joins its ports {ports}.")
    for cable in evidence.topology.cables:
        shown = _describe(cable, evidence)
        if cable.obstacle:
            yield PORT_SHARED.at(_hosts(cable), f"{shown}: {cable.obstacle}.")
        elif cable.via:
            names = escape_controls(", ".join(cable.via))
            yield THROUGH_DOCK.at(_hosts(cable), f"{shown}: through {names}.")
        elif not cable.confirmed:
            yield ONE_SIDED.at(_hosts(cable), f"{shown}: seen from one end only.")
    for report in evidence.macs:
        for doubt in report.ambiguous:
            ports = " or ".join(doubt.candidates)
            yield AMBIGUOUS_PORT.at(report.host, f"{report.host}: a peer is at port {ports}.")


def find_strangers(evidence: Evidence) -> Iterator[Finding]:
    """Peers that were not named."""
    for stranger in evidence.topology.strangers:
        end = stranger.seen_from
        model = escape_controls(stranger.model) or "a host"
        where = name_end(evidence.topology.reports[end.host], end.receptacle)
        yield STRANGER.at(end.host, f"{where}: {model} that was not named is there.")


def find_slow_links(evidence: Evidence) -> Iterator[Finding]:
    """Cables that trained below what both their ports can do."""
    for cable in evidence.topology.cables:
        expected = expected_gbps(cable, evidence.topology.reports)
        if expected is None or cable.gbps is None or cable.is_ceiling or cable.via:
            continue
        if cable.gbps < expected:
            text = (
                f"{_describe(cable, evidence)}: trained at {cable.gbps} Gb/s, "
                f"both ports can do {expected}."
            )
            yield SLOW_LINK.at(_hosts(cable), text)


def expected_gbps(cable: Cable, reports: Mapping[str, HostReport]) -> int | None:
    """The speed at which a direct cable between these two ports should train.

    A port tells its ceiling only while it is idle, so the other ports of its
    Mac speak for it: the ports of a Mac are of one generation. A ceiling of 120
    Gb/s is that of a link that favours one direction; between two Macs it trains
    at 80 (public recordings of M4 Pro to M5 Max Macs).

    Returns:
        None where it is not known.
    """
    promised = []
    for end in cable.ends:
        ports = reports[end.host].receptacles
        speeds = [gbps for port in ports for gbps in (port.ceiling_gbps, port.link_gbps) if gbps]
        if not speeds:
            return None
        promised.append(max(speeds))
    return min(*promised, _SYMMETRIC_GBPS)


def find_port_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Ports with a cable and no interface, switched off, or of another MTU than the far end."""
    reports = evidence.topology.reports
    for report in evidence.macs:
        for port in report.receptacles:
            if port.interface is None and port.peers:
                text = (
                    f"{report.host} port {escape_controls(port.label)}: {port.interface_problem}."
                )
                yield PORT_WITHOUT_INTERFACE.at(report.host, text)
    for cable in evidence.topology.usable_cables:
        states = [(end, reports[end.host].interface(end.interface)) for end in cable.ends]
        known = [(end, state) for end, state in states if state is not None]
        for end, state in known:
            if not state.is_up:
                fix = f"On {end.host}: sudo ifconfig {end.interface} up"
                where = name_end(reports[end.host], end.receptacle)
                yield PORT_DOWN.at(end.host, f"{where}: the interface is down.", fix=fix)
        if len({state.mtu for _, state in known}) > 1:
            mtus = ", ".join(f"{state.mtu} at {end}" for end, state in known)
            yield MTU_DIFFERS.at(_hosts(cable), f"The ends of a cable differ in MTU: {mtus}.")


def find_bridge_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Loops through bridges, and ports with an address of their own in a bridge that is up."""
    topology = evidence.topology
    members = bridges_of_ports(topology)
    in_loops: set[tuple[str, str]] = set()
    for loop in find_bridge_loops(topology, members):
        in_loops.update(loop)
        names = ", ".join(f"{bridge} of {host}" for host, bridge in loop)
        hosts = ", ".join(dict.fromkeys(host for host, _ in loop))
        yield BRIDGE_LOOP.at(hosts, f"Cables join {names} in a loop.")
    for cable in evidence.cables:
        for end in cable.ends:
            bridge = members.get((end.host, end.interface), "")
            if end.address is not None and bridge and (end.host, bridge) not in in_loops:
                text = f"{end}: it has {end.address} and is in {bridge}, which is up."
                yield BRIDGED_ADDRESS.at(end.host, text)
