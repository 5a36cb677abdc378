"""Checks on addresses and routes: what leads packets for a neighbour away from the cable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network

from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity
from distconfig.reports.report import HostReport
from distconfig.setup.addressed import AddressedEnd
from distconfig.setup.occupancy import parts_of_default
from distconfig.setup.refusals import route_to

__all__ = [
    "DEFAULT_ROUTE",
    "INTERNET_SHARING",
    "LINK_LOCAL_ELSEWHERE",
    "PEER_ELSEWHERE",
    "SUBNET_TWICE",
    "TWO_ADDRESSES",
    "VPN_ACTIVE",
    "VPN_FULL_TUNNEL",
    "find_address_trouble",
    "find_route_trouble",
    "find_sharing",
    "find_vpns",
]

LINK_LOCAL_ELSEWHERE = Kind(
    "link-local-elsewhere",
    Severity.WARNING,
    "macOS keeps one route for 169.254/16, so packets for a neighbour's self-assigned address "
    "leave through that interface and time out (swellweb/targetBridge issue 130).",
    "Give the cables addresses of their own: distributed_config --auto-setup.",
)
TWO_ADDRESSES = Kind(
    "two-addresses",
    Severity.WARNING,
    "With two addresses on one link the far end may answer to the one that is routed elsewhere: "
    "ping works and TCP gets errno 65 (exo-explore/exo pull request 2099).",
    "Take off the one that is not the ring's: --auto-setup --replace-addresses does.",
)
SUBNET_TWICE = Kind(
    "subnet-twice",
    Severity.PROBLEM,
    "With one subnet on two interfaces, packets leave through either, also where no cable is.",
    "Take one of the two addresses off.",
)
PEER_ELSEWHERE = Kind(
    "peer-elsewhere",
    Severity.PROBLEM,
    "Packets for the neighbour do not take the cable: they are lost, or go over a slower network.",
    "Delete the route that is in the way; distributed_config reapply does.",
)
DEFAULT_ROUTE = Kind(
    "default-route-on-cable",
    Severity.PROBLEM,
    "Everything that is not local is sent to the neighbour, so the host may lose the internet "
    "and its ssh connection when the port is set up.",
    "System Settings > Network: clear the router of that service, or put it below Ethernet and "
    "Wi-Fi in the service order.",
)
VPN_FULL_TUNNEL = Kind(
    "vpn-full-tunnel",
    Severity.WARNING,
    "A VPN that takes all traffic often forbids local addresses too, or routes new subnets into "
    "its tunnel.",
    "Turn it off while the ring runs, or exclude private networks in its settings.",
)
VPN_ACTIVE = Kind(
    "vpn-active",
    Severity.NOTE,
    "A ring over names that resolve to the VPN's addresses would run through its tunnel.",
    "Use the hostfile's addresses, which are those of the cables.",
)
INTERNET_SHARING = Kind(
    "internet-sharing",
    Severity.WARNING,
    "Internet Sharing makes a bridge of its own, hands out addresses on the ports it shares to, "
    "and may take a Thunderbolt port of the ring.",
    "System Settings > General > Sharing: switch Internet Sharing off, or leave the Thunderbolt "
    "ports out of it.",
)

_LINK_LOCAL = IPv4Network("169.254.0.0/16")
_TUNNEL = re.compile(r"(utun|ppp|ipsec|tun|tap|wg|zt|feth)[0-9]+")


def _holder_of(report: HostReport, interface: str) -> str:
    """The bridge that is up and holds an interface, else the interface itself."""
    for bridge in report.bridges:
        if bridge.is_up and interface in bridge.members:
            return bridge.name
    return interface


def find_address_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Addresses that are too many, twice, or self-assigned and routed elsewhere."""
    for report in evidence.macs:
        cabled = evidence.cabled_interfaces(report.host)
        yield from _two_addresses(report, cabled)
        for network, names in _subnets_twice(report, cabled).items():
            text = f"{report.host}: {network} is on {' and '.join(names)}."
            yield SUBNET_TWICE.at(report.host, text)
        yield from _link_local(report, cabled)


def _two_addresses(report: HostReport, cabled: tuple[str, ...]) -> Iterator[Finding]:
    for name in cabled:
        holders = dict.fromkeys((name, _holder_of(report, name)))
        states = [state for each in holders if (state := report.interface(each)) is not None]
        found = [
            f"{address} on {state.name}"
            for state in states
            for address in state.addresses
            if not address.is_link_local
        ]
        if len(found) > 1:
            text = f"{report.host} {name}: two addresses on one link, {' and '.join(found)}."
            yield TWO_ADDRESSES.at(report.host, text)


def _subnets_twice(report: HostReport, cabled: tuple[str, ...]) -> dict[IPv4Network, list[str]]:
    holders: dict[IPv4Network, list[str]] = {}
    for state in report.interfaces:
        for network in {address.network for address in state.addresses}:
            if not (network.is_link_local or network.is_loopback or network.prefixlen == 32):
                holders.setdefault(network, []).append(state.name)
    return {
        network: names
        for network, names in holders.items()
        if len(names) > 1 and set(names) & set(cabled)
    }


def _link_local(report: HostReport, cabled: tuple[str, ...]) -> Iterator[Finding]:
    owners = {
        route.interface
        for route in report.routes
        if route.destination == _LINK_LOCAL and "I" not in route.flags
    }
    for name in dict.fromkeys(_holder_of(report, each) for each in cabled):
        state = report.interface(name)
        addresses = state.addresses if state else ()
        if not addresses or not all(address.is_link_local for address in addresses):
            continue
        if owners and name not in owners:
            text = (
                f"{report.host}: {name} has only the self-assigned {addresses[0].ip}, "
                f"and 169.254/16 is routed through {', '.join(sorted(owners))}."
            )
            yield LINK_LOCAL_ELSEWHERE.at(report.host, text)


def find_route_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Neighbours that are routed past their cable, and default routes into one."""
    for cable in evidence.cables:
        for end in cable.ends:
            report = evidence.topology.reports.get(end.host)
            if report is not None:
                yield from _peer_elsewhere(report, end, cable.other_end(end))
    for report in evidence.macs:
        ports = {each.interface for each in report.receptacles if each.interface}
        ports |= {bridge.name for bridge in report.bridges if ports & set(bridge.members)}
        for route in report.routes:
            is_default = route.destination.prefixlen == 0 and "I" not in route.flags
            if is_default and route.interface in ports:
                text = f"{report.host}: the default route goes through {route.interface}."
                yield DEFAULT_ROUTE.at(report.host, text)


def _peer_elsewhere(report: HostReport, end: AddressedEnd, peer: AddressedEnd) -> Iterator[Finding]:
    """A route past the cable that no port that is down and no subnet given twice explains."""
    state = report.interface(end.interface)
    if end.address is None or peer.address is None or state is None or not state.is_up:
        return
    route = route_to(report, peer.address.ip)
    if route is None or end.address.network in _subnets_twice(report, (end.interface,)):
        return
    if route.interface not in (end.interface, _holder_of(report, end.interface)):
        text = (
            f"{end.host}: {peer.address.ip}, at the other end of {end.interface}, "
            f"is reached through {route.interface}."
        )
        fix = f"On {end.host}: sudo route -n delete {route.destination}"
        yield PEER_ELSEWHERE.at(end.host, text, fix=fix)


def find_vpns(evidence: Evidence) -> Iterator[Finding]:
    """Tunnels that have an IPv4 address; macOS keeps idle ones without."""
    for report in evidence.topology.reports.values():
        wide = parts_of_default(route.destination for route in report.routes)
        for state in report.interfaces:
            if not _TUNNEL.fullmatch(state.name) or not state.addresses:
                continue
            takes_all = any(
                route.interface == state.name and route.destination in wide
                for route in report.routes
            )
            where = f"{report.host}: {state.name} ({state.addresses[0].ip})"
            if takes_all:
                yield VPN_FULL_TUNNEL.at(report.host, f"{where} takes all traffic.")
            else:
                yield VPN_ACTIVE.at(report.host, f"{where} is a VPN.")


def find_sharing(evidence: Evidence) -> Iterator[Finding]:
    """Macs that share their way to the internet."""
    for host, facts in evidence.facts.items():
        if facts.sharing is not None and facts.sharing.is_enabled:
            names = ", ".join(facts.sharing.devices)
            to = f" to {names}" if names else ""
            yield INTERNET_SHARING.at(host, f"{host}: Internet Sharing{to} is on.")
