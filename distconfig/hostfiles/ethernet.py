"""The address each host is reached at over its ordinary network, for ``--over ethernet``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Interface

from distconfig.errors import AddressError
from distconfig.reports.report import HostReport

__all__ = ["find_lan_address", "find_lan_addresses", "find_subnet_warning"]

_TUNNEL = re.compile(r"(utun|ppp|ipsec|gif|stf|llw|awdl)\d*")


def _hardware_interfaces(report: HostReport) -> set[str]:
    """Interfaces that stand for hardware: what networksetup lists, else the ``enN``."""
    listed = {device for _, device in report.hardware_ports}
    named = {each.name for each in report.interfaces if re.fullmatch(r"en\d+", each.name)}
    return {name for name in (listed or named) if not _TUNNEL.fullmatch(name)}


def find_lan_address(report: HostReport) -> IPv4Interface | None:
    """The address on the hardware interface with the best default route.

    macOS lists default routes best first and flags those bound to one interface
    with ``I`` (``netstat.1``); a VPN that took the default route leaves the LAN's
    with that flag, so those come second. Without any default route, as in a lab
    without a router, the first active hardware interface that is not a
    Thunderbolt port is taken.

    Returns:
        None when the host has no such address.
    """
    hardware = _hardware_interfaces(report)
    defaults = [
        route
        for route in report.routes
        if route.destination.prefixlen == 0 and route.interface in hardware
    ]
    best_first = [each.interface for each in sorted(defaults, key=lambda each: "I" in each.flags)]
    thunderbolt = {each.interface for each in report.receptacles}
    others = [
        each.name
        for each in report.interfaces
        if each.is_active and each.name in hardware - thunderbolt
    ]
    for name in [*best_first, *others]:
        state = report.interface(name)
        for address in state.addresses if state else ():
            if not (address.ip.is_link_local or address.ip.is_loopback):
                return address
    return None


def find_lan_addresses(reports: Mapping[str, HostReport]) -> dict[str, IPv4Interface]:
    """The LAN address of every host.

    Raises:
        AddressError: A host has none.
    """
    found = {}
    for host, report in reports.items():
        address = find_lan_address(report)
        if address is None:
            raise AddressError(
                f"{host} has no IPv4 address on a hardware interface",
                hint="Connect it to the network by Ethernet or Wi-Fi, then run this again.",
            )
        found[host] = address
    return found


def find_subnet_warning(addresses: Iterable[tuple[str, IPv4Interface]]) -> str | None:
    """A sentence if the addresses lie in different subnets, else None."""
    listed = list(addresses)
    if len({address.network for _, address in listed}) <= 1:
        return None
    places = ", ".join(f"{host} {address}" for host, address in listed)
    return f"these hosts share no subnet, so ranks may not reach each other: {places}"
