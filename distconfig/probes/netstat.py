"""``netstat -rn``: the IPv4 routes.

BSD abbreviates destinations: trailing zero octets are left out, and so is the
mask if it is that of the address's historic class (``netname()`` in
``netstat/route.c`` of Apple's network_cmds). ``10.231/20`` is 10.231.0.0/20,
``192.168.1`` is 192.168.1.0/24, ``127`` is 127.0.0.0/8, ``128.0/1`` is half of
everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from distconfig.probes.parsed import Parsed, misunderstood, parse_interface_name, split_lines

__all__ = ["Route", "parse_destination", "parse_netstat"]

_DESTINATION = re.compile(r"(?P<octets>[0-9]{1,3}(\.[0-9]{1,3}){0,3})(/(?P<length>[0-9]{1,2}))?")
# A link, a MAC address, an interface, or a hop that is reached over IPv6.
_NO_HOP = re.compile(r"link#[0-9]+|[0-9a-f]{0,4}(:[0-9a-f]{0,4})+(%[a-z0-9]+)?|[a-z]+[0-9]+")
_FLAGS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class Route:
    """One IPv4 route of ``netstat -rn``.

    Args:
        gateway: The next hop, or None when directly attached.
        flags: As printed, such as ``UGScg``.
    """

    destination: IPv4Network
    gateway: IPv4Address | None
    interface: str
    flags: str = ""


def _class_prefix_length(first_octet: int) -> int:
    if first_octet < 128:
        return 8
    return 16 if first_octet < 192 else 24


def parse_destination(word: str, at: str) -> IPv4Network:
    """The network that BSD abbreviated to this word.

    Raises:
        UnexpectedOutput: It is not one.

    Example:
        >>> [str(parse_destination(word, word)) for word in ("10.231/20", "192.168.1", "0/1")]
        ['10.231.0.0/20', '192.168.1.0/24', '0.0.0.0/1']
    """
    if word == "default":
        return IPv4Network("0.0.0.0/0")
    found = _DESTINATION.fullmatch(word)
    octets = [int(octet) for octet in found["octets"].split(".")] if found else []
    if found is None or max(octets) > 255:
        raise misunderstood(f"{word[:40]!r} is not a destination", at)
    if found["length"] is not None:
        prefix_length = int(found["length"])
    elif len(octets) == 4:
        prefix_length = 32
    else:
        prefix_length = _class_prefix_length(octets[0])
    padded = octets + [0] * (4 - len(octets))
    try:
        return IPv4Network((bytes(padded), prefix_length))
    except ValueError as error:
        raise misunderstood(f"{word[:40]!r} is not a destination: {error}", at) from error


def _parse_gateway(word: str, at: str) -> IPv4Address | None:
    try:
        return IPv4Address(word)
    except AddressValueError as error:
        if not _NO_HOP.fullmatch(word):
            raise misunderstood(f"{word[:40]!r} is not a gateway", at) from error
        return None


def _parse_route(line: str, columns: list[str]) -> Route:
    words = line.split()
    interface_column = columns.index("Netif")
    if len(words) <= interface_column:
        raise misunderstood("not a route", line)
    destination, gateway, flags = words[0], words[1], words[2]
    if not _FLAGS.fullmatch(flags):
        raise misunderstood(f"{flags[:40]!r} is not a set of flags", line)
    return Route(
        parse_destination(destination, line),
        _parse_gateway(gateway, line),
        parse_interface_name(words[interface_column], line),
        flags,
    )


def _is_column_heading(words: list[str]) -> bool:
    return words[:3] == ["Destination", "Gateway", "Flags"] and "Netif" in words


def parse_netstat(stdout: bytes) -> Parsed[tuple[Route, ...]]:
    """The routes of the Internet table, in printed order; the Internet6 table is passed over.

    Raises:
        UnexpectedOutput: A route can not be read, or a heading is missing.
    """
    section = ""
    columns: list[str] = []
    routes = []
    notes = []
    has_internet = False
    for line in split_lines(stdout):
        words = line.split()
        if not words or line == "Routing tables":
            continue
        if words in (["Internet:"], ["Internet6:"]):
            section, columns = words[0], []
            has_internet = has_internet or section == "Internet:"
        elif not section:
            notes.append(line)
        elif section == "Internet6:":
            continue
        elif _is_column_heading(words):
            if columns:
                raise misunderstood("the heading of another table is missing before", line)
            columns = words
        elif not columns:
            raise misunderstood("the heading of the routes is missing before", line)
        else:
            routes.append(_parse_route(line, columns))
    if not has_internet:
        raise misunderstood("the Internet table is missing", notes[0] if notes else "")
    return Parsed(tuple(routes), tuple(notes))
