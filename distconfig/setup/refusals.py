"""Interfaces that must not be touched, and why."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from distconfig.reports.report import HostReport, Route

__all__ = ["find_refusals", "route_to"]


def find_refusals(report: HostReport, interfaces: Iterable[str]) -> dict[str, str]:
    """Which of these interfaces are to be left alone, with the reason as a sentence.

    Refused are the interface that holds the address ssh came in by, the one
    that leads back to the ssh client, the one of the default route (of a bridge
    also all its members), and what is not a Thunderbolt port or has no known
    state.
    """
    lifelines = _lifelines(report)
    thunderbolt = {each.interface for each in report.receptacles if each.interface}
    refused = {}
    for name in interfaces:
        if report.platform != "Darwin":
            refused[name] = f"{name}: setting up {report.platform} is not supported yet."
        elif name not in thunderbolt:
            refused[name] = f"{name} is not a Thunderbolt port."
        elif report.interface(name) is None:
            refused[name] = f"{name}: ifconfig did not show its state, so nothing could be undone."
        elif name in lifelines:
            refused[name] = lifelines[name]
    return refused


def _lifelines(report: HostReport) -> dict[str, str]:
    """The interfaces this host is reached by, with the reason to leave each alone."""
    reasons: dict[str, str] = {}
    client, server = _ssh_ends(report)
    instead = _instead(report)
    if (name := _holder(report, server)) is not None:
        reasons[name] = f"this ssh connection comes in through {name} ({server}); {instead}."
    if (name := _way_to(report, client)) is not None:
        reasons.setdefault(name, f"{name} leads back to the ssh client {client}; {instead}.")
    for route in report.routes:
        if route.destination.prefixlen == 0 and "I" not in route.flags:
            reasons.setdefault(
                route.interface, f"the default route goes through {route.interface}; {instead}."
            )
    for bridge in report.bridges:
        if bridge.name in reasons:
            for member in bridge.members:
                reasons.setdefault(member, f"{member} is in {bridge.name}: {reasons[bridge.name]}")
    return reasons


def _ssh_ends(report: HostReport) -> tuple[str, str]:
    """Client and server address of the ssh connection; empty without ssh."""
    fields = report.ssh_connection
    return (fields[0], fields[2]) if len(fields) == 4 else ("", "")


def _ipv4(text: str) -> IPv4Address | None:
    """The IPv4 address in this text, also when written as one mapped into IPv6."""
    try:
        return IPv4Address(text.removeprefix("::ffff:"))
    except AddressValueError:
        return None


def _zone(text: str) -> str | None:
    """The interface named in ``fe80::1%en0``."""
    _, percent, zone = text.partition("%")
    return zone if percent else None


def _holder(report: HostReport, server: str) -> str | None:
    address = _ipv4(server)
    if address is None:
        return _zone(server)
    for state in report.interfaces:
        if any(each.ip == address for each in state.addresses):
            return state.name
    return None


def _way_to(report: HostReport, client: str) -> str | None:
    address = _ipv4(client)
    if address is None:
        return _zone(client)
    route = route_to(report, address)
    return None if route is None else route.interface


def route_to(report: HostReport, address: IPv4Address) -> Route | None:
    """The route that a packet to this address takes: the longest match that is not scoped."""
    matches = [each for each in report.routes if address in each.destination]
    if not matches:
        return None
    return max(matches, key=lambda each: (each.destination.prefixlen, "I" not in each.flags))


def _instead(report: HostReport) -> str:
    """What to reach the host by instead."""
    held = {each.interface for each in report.receptacles}
    held |= {bridge.name for bridge in report.bridges}
    for state in report.interfaces:
        if state.name in held or not state.name.startswith("en"):
            continue
        for address in state.addresses:
            if not address.is_link_local and address.network != IPv4Network("127.0.0.0/8"):
                return f"name the host by its address {address.ip} on {state.name} instead"
    return "reach the host over Ethernet or Wi-Fi instead"
