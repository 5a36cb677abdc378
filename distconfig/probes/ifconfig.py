"""``ifconfig -a``: every interface with its addresses, link and bridge members.

Layout of the lines, and their order within an interface: ``status()`` of
``ifconfig.c`` and the ``af_*.c``, ``ifbridge.c`` and ``ifmedia.c`` beside it in
Apple's network_cmds. Addresses come first, then what a bridge adds, then
``nd6``, ``media`` and ``status``. A line out of that order means that the
header of another interface is missing, and is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface

from distconfig.probes.parsed import (
    Parsed,
    misunderstood,
    parse_address,
    parse_interface_name,
    split_lines,
)

__all__ = ["InterfaceState", "parse_ifconfig"]

_HEADER = re.compile(
    r"(?P<name>[^\s:]+): flags=(?P<flags>[0-9a-f]{1,16})<[A-Z0-9_,]*>"
    r"( metric [0-9]+)? mtu (?P<mtu>[0-9]{1,9})( index [0-9]+)?"
)
_INET = re.compile(
    r"\tinet (?P<address>\S+)( --> (?P<peer>\S+))? netmask (?P<mask>\S+)"
    r"(?P<broadcast> broadcast \S+)? ?"
)
_ETHER = re.compile(r"\tether (?P<mac>[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}) ?")
_MEMBER = re.compile(r"\tmember: (?P<name>\S+) flags=[0-9a-f]+<[A-Z0-9_,]*>")
_STATUS = re.compile(r"\tstatus: (?P<status>.+)")
_NETMASK = re.compile(r"0x[0-9a-f]{8}")
_IS_UP, _HAS_BROADCAST, _IS_POINT_TO_POINT = 0x1, 0x2, 0x10

# Lines that carry no fact we use.
_KNOWN = re.compile(
    r"\t(options=[0-9a-f]+<[A-Z0-9_,]*>|inet6 .*|nd6 options=.*|media: .*|lladdr .*"
    r"|vlan: .*|tunnel inet6? .*|peer: .*|bond interfaces: .*|bond mode: .*|type: .*"
    r"|Configuration:|Address cache:|\tid .*|\tmaxage .*|\troot id .*|\tipfilter .*"
    r"| +ifmaxaddr .*| +hostfilter .*)"
)
_AFTER_ADDRESSES = re.compile(r"\t(nd6 |media: |status: )")


@dataclass(frozen=True)
class InterfaceState:
    """One interface as ``ifconfig -a`` shows it.

    Args:
        is_active: ``status: active``; None when no status line was printed.
        addresses: IPv4 addresses with their prefix, in printed order.
        peer_addresses: Far ends of point-to-point interfaces.
        members: Interfaces enslaved to this one, if it is a bridge.
    """

    name: str
    is_up: bool
    mtu: int
    mac: str = ""
    is_active: bool | None = None
    addresses: tuple[IPv4Interface, ...] = ()
    peer_addresses: tuple[IPv4Address, ...] = ()
    members: tuple[str, ...] = ()
    is_bridge: bool = False


@dataclass
class _Block:
    """The lines of one interface, as far as they were read."""

    name: str
    flags: int
    mtu: int
    mac: str = ""
    is_active: bool | None = None
    addresses: list[IPv4Interface] = field(default_factory=list)
    peer_addresses: list[IPv4Address] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    is_bridge: bool = False
    is_past_addresses: bool = False

    def freeze(self) -> InterfaceState:
        return InterfaceState(
            self.name,
            bool(self.flags & _IS_UP),
            self.mtu,
            self.mac,
            self.is_active,
            tuple(self.addresses),
            tuple(self.peer_addresses),
            tuple(self.members),
            self.is_bridge,
        )


def _parse_header(line: str) -> _Block:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise misunderstood("not the first line of an interface", line)
    name = parse_interface_name(found["name"], line)
    return _Block(name, int(found["flags"], 16), int(found["mtu"]))


def _parse_inet(line: str, flags: int) -> tuple[IPv4Interface, IPv4Address | None]:
    found = _INET.fullmatch(line)
    if found is None or not _NETMASK.fullmatch(found["mask"]):
        raise misunderstood("not an address with a netmask", line)
    if (found["broadcast"] and not flags & _HAS_BROADCAST) or (
        found["peer"] and not flags & _IS_POINT_TO_POINT
    ):
        raise misunderstood("the first line of an interface is missing before", line)
    address = parse_address(found["address"], line)
    mask = int(found["mask"], 16)
    prefix_length = mask.bit_count()
    if mask != (0xFFFFFFFF << (32 - prefix_length)) & 0xFFFFFFFF:
        raise misunderstood("not a contiguous netmask", line)
    peer = parse_address(found["peer"], line) if found["peer"] else None
    return IPv4Interface((address, prefix_length)), peer


def _read_fact(block: _Block, line: str) -> bool:
    """Take the fact of a line into the block, if it carries one."""
    if line.startswith("\tinet "):
        address, peer = _parse_inet(line, block.flags)
        block.addresses.append(address)
        if peer is not None:
            block.peer_addresses.append(peer)
        return True
    if line.startswith("\tether "):
        found = _ETHER.fullmatch(line)
        if found is None or block.mac or block.addresses:
            raise misunderstood("not the one MAC address of an interface", line)
        block.mac = found["mac"]
        return True
    if line.startswith("\tmember: "):
        found = _MEMBER.fullmatch(line)
        if found is None:
            raise misunderstood("not a member of a bridge", line)
        block.members.append(parse_interface_name(found["name"], line))
        block.is_bridge = True
        return True
    return False


def _read_line(block: _Block, line: str) -> bool:
    """Take a line into the block; False if it is not known."""
    if _AFTER_ADDRESSES.match(line):
        block.is_past_addresses = True
    elif _read_fact(block, line):
        if block.is_past_addresses:
            raise misunderstood("the first line of an interface is missing before", line)
        return True
    status = _STATUS.fullmatch(line)
    if status is not None:
        if block.is_active is not None:
            raise misunderstood("the first line of an interface is missing before", line)
        block.is_active = status["status"] == "active"
        return True
    if line == "\tConfiguration:":
        block.is_bridge = True
    return _KNOWN.fullmatch(line) is not None


def parse_ifconfig(stdout: bytes) -> Parsed[tuple[InterfaceState, ...]]:
    """Every interface, in printed order.

    Raises:
        UnexpectedOutput: A header, address, MAC or member can not be read, or an
            interface is listed twice.

    Example:
        >>> text = "en2: flags=8863<UP> mtu 1500\\n\\tinet 10.231.0.1 netmask 0xfffffffc\\n"
        >>> [(each.name, str(each.addresses[0])) for each in parse_ifconfig(text.encode()).value]
        [('en2', '10.231.0.1/30')]
    """
    blocks: list[_Block] = []
    notes = []
    for line in split_lines(stdout):
        if not line.startswith("\t"):
            blocks.append(_parse_header(line))
        elif not blocks:
            raise misunderstood("not the first line of an interface", line)
        elif not _read_line(blocks[-1], line):
            notes.append(line)
    for name, times in Counter(block.name for block in blocks).items():
        if times > 1:
            raise misunderstood(f"{name} is listed twice", name)
    return Parsed(tuple(block.freeze() for block in blocks), tuple(notes))
