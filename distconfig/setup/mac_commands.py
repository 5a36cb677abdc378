"""The commands of macOS that change a host, as tuples of words; we run no others as root.

Their meaning follows ``ifconfig.c`` and ``route.c`` of Apple's network_cmds:
``inet A`` without ``alias`` replaces the first address of an interface, and
``route`` reports some failures in words only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Interface

__all__ = [
    "Argv",
    "add_address",
    "add_route",
    "change_route",
    "configure_port",
    "delete_route",
    "hand_to_dhcp",
    "is_known",
    "leave_bridge",
    "query_route",
    "rejoin_bridge",
    "remove_address",
    "set_down",
    "set_mtu",
    "set_up",
]

Argv = tuple[str, ...]

_IFCONFIG = "/sbin/ifconfig"
_ROUTE = "/sbin/route"
_IPCONFIG = "/usr/sbin/ipconfig"

_NAME = "[A-Za-z][A-Za-z0-9]{0,14}"
_IP = "[0-9]{1,3}(?:[.][0-9]{1,3}){3}"
_KNOWN = re.compile(
    f"{_IFCONFIG} {_NAME} (?:(?:deletem|addm) {_NAME}|up|down|inet {_IP} -alias)"
    f"|{_IFCONFIG} {_NAME}(?: inet {_IP} netmask {_IP}(?: alias)?)?(?: mtu [0-9]{{1,5}})?(?: up)?"
    f"|{_IPCONFIG} set {_NAME} DHCP"
    f"|{_ROUTE} -n (?:add|change|delete) -host {_IP} (?:-interface {_NAME}|{_IP})"
)


def leave_bridge(bridge: str, interface: str) -> Argv:
    """Take an interface out of a bridge.

    Example:
        >>> " ".join(leave_bridge("bridge0", "en2"))
        '/sbin/ifconfig bridge0 deletem en2'
    """
    return (_IFCONFIG, bridge, "deletem", interface)


def rejoin_bridge(bridge: str, interface: str) -> Argv:
    """Put an interface into a bridge; refused while it carries an IP address."""
    return (_IFCONFIG, bridge, "addm", interface)


def set_up(interface: str) -> Argv:
    """Switch an interface or bridge on."""
    return (_IFCONFIG, interface, "up")


def set_down(interface: str) -> Argv:
    """Switch an interface or bridge off; a bridge keeps its members, a port its addresses."""
    return (_IFCONFIG, interface, "down")


def set_mtu(interface: str, mtu: int) -> Argv:
    """Set the largest packet an interface sends."""
    return (_IFCONFIG, interface, "mtu", str(mtu))


def configure_port(
    interface: str,
    address: IPv4Interface | None,
    *,
    beside_others: bool = False,
    mtu: int | None = None,
) -> Argv:
    """Give a port its address and mtu, as far as given, and switch it on.

    Args:
        beside_others: Keep the addresses the port has; without it the first is replaced.

    Example:
        >>> " ".join(configure_port("en2", IPv4Interface("10.231.0.1/30"), mtu=9000))
        '/sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 mtu 9000 up'
    """
    words = [_IFCONFIG, interface]
    if address is not None:
        words += ["inet", str(address.ip), "netmask", str(address.netmask)]
        if beside_others:
            words.append("alias")
    if mtu is not None:
        words += ["mtu", str(mtu)]
    return (*words, "up")


def add_address(interface: str, address: IPv4Interface) -> Argv:
    """Give an interface one more address."""
    return (_IFCONFIG, interface, "inet", str(address.ip), "netmask", str(address.netmask), "alias")


def remove_address(interface: str, address: IPv4Interface) -> Argv:
    """Take one address from an interface."""
    return (_IFCONFIG, interface, "inet", str(address.ip), "-alias")


def hand_to_dhcp(interface: str) -> Argv:
    """Let macOS manage the addresses of an interface again."""
    return (_IPCONFIG, "set", interface, "DHCP")


def query_route(peer: IPv4Address) -> Argv:
    """Ask through which interface an address is reached; needs no rights."""
    return (_ROUTE, "-n", "get", str(peer))


def add_route(peer: IPv4Address, interface: str) -> Argv:
    """Reach one address through an interface."""
    return (_ROUTE, "-n", "add", "-host", str(peer), "-interface", interface)


def change_route(peer: IPv4Address, interface: str, gateway: IPv4Address | None = None) -> Argv:
    """Point the route to one address elsewhere; exits 0 even when there is none to change."""
    if gateway is not None:
        return (_ROUTE, "-n", "change", "-host", str(peer), str(gateway))
    return (_ROUTE, "-n", "change", "-host", str(peer), "-interface", interface)


def delete_route(peer: IPv4Address, interface: str) -> Argv:
    """Forget the route to one address through an interface."""
    return (_ROUTE, "-n", "delete", "-host", str(peer), "-interface", interface)


def is_known(argv: Sequence[str]) -> bool:
    """Whether the command is one that a function of this module makes.

    Example:
        >>> is_known(("/sbin/ifconfig", "bridge0", "addm", "en2"))
        True
        >>> is_known(("/sbin/ifconfig", "en2;reboot", "up"))
        False
    """
    return not any(" " in word for word in argv) and bool(_KNOWN.fullmatch(" ".join(argv)))
