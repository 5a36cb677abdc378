"""``networksetup -listnetworkserviceorder``: the network services, and which are disabled.

A service's name is the user's; the hardware port below it is configd's. A port
with a service of its own is left out of the automatic Thunderbolt bridge
(``SCNetworkSet.c`` of Apple's configd).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, is_interface_name, misunderstood, split_lines

__all__ = ["NetworkService", "parse_networksetup_services"]

_HEADING = "An asterisk (*) denotes that a network service is disabled."
_NAME = re.compile(r"\((?P<mark>[0-9]+|\*)\) (?P<name>.*)")
_PORT = re.compile(r"\(Hardware Port: (?P<port>.*), Device: ?(?P<device>[A-Za-z0-9._-]{0,64})\)")


@dataclass(frozen=True)
class NetworkService:
    """One network service.

    Args:
        device: Its interface; empty for services without one, such as a VPN.
    """

    name: str
    port: str
    device: str
    is_enabled: bool


def _parse_service(name_line: str, port_line: str) -> NetworkService:
    named = _NAME.fullmatch(name_line)
    ported = _PORT.fullmatch(port_line)
    if named is None or ported is None:
        raise misunderstood("not a network service", f"{name_line}\n{port_line}")
    device = ported["device"]
    return NetworkService(
        named["name"],
        ported["port"],
        device if is_interface_name(device) else "",
        named["mark"] != "*",
    )


def parse_networksetup_services(stdout: bytes) -> Parsed[tuple[NetworkService, ...]]:
    """Every service, in the order macOS prefers them.

    Raises:
        UnexpectedOutput: A service lacks its line with the hardware port, or the reverse.

    Example:
        >>> text = b"(*) Wi-Fi\\n(Hardware Port: Wi-Fi, Device: en1)\\n"
        >>> parse_networksetup_services(text).value[0].is_enabled
        False
    """
    services = []
    notes = []
    name_line = ""
    for line in split_lines(stdout):
        if name_line:
            services.append(_parse_service(name_line, line))
            name_line = ""
        elif _NAME.fullmatch(line):
            name_line = line
        elif line.startswith("(Hardware Port: "):
            raise misunderstood("no service stands before", line)
        elif line not in ("", _HEADING):
            notes.append(line)
    if name_line:
        raise misunderstood("no hardware port follows", name_line)
    return Parsed(tuple(services), tuple(notes))
