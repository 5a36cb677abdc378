"""``netstat -ibn``: the bytes that each interface has sent and received.

Columns as printed by ``intpr()`` in ``netstat/if.c`` of Apple's network_cmds:
name, MTU, network, address (absent for some), then packets, errors and bytes
in, packets, errors and bytes out, and collisions. Only the line of the link
itself counts; those below it repeat its numbers for each address. The name of
an interface that is down ends in ``*``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["ByteCounters", "parse_interface_counters"]

_LINK = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9]{0,14})\*? +[0-9]+ +<Link#[0-9]+>(?: +\S+)??"
    r" +[0-9]+ +[0-9]+ +(?P<ibytes>[0-9]+) +[0-9]+ +[0-9]+ +(?P<obytes>[0-9]+) +[0-9]+ *"
)


@dataclass(frozen=True)
class ByteCounters:
    """What one interface has carried since it came to be."""

    received: int
    sent: int


def parse_interface_counters(stdout: bytes) -> Parsed[dict[str, ByteCounters]]:
    """The counters of every interface, by name.

    Raises:
        UnexpectedOutput: No interface is listed, or the line of one can not be read.

    Example:
        >>> heading = b"Name Mtu Network Address Ipkts Ierrs Ibytes Opkts Oerrs Obytes Coll\\n"
        >>> line = b"en2* 1500 <Link#8> 36:aa:bb:cc:dd:04 10 0 1400 12 0 1600 0\\n"
        >>> parse_interface_counters(heading + line).value
        {'en2': ByteCounters(received=1400, sent=1600)}
    """
    found = {}
    for line in split_lines(stdout):
        if "<Link#" not in line:
            continue
        match = _LINK.fullmatch(line)
        if match is None:
            raise misunderstood("not the counters of an interface", line)
        found[match["name"]] = ByteCounters(int(match["ibytes"]), int(match["obytes"]))
    if not found:
        raise misunderstood("no interface is listed")
    return Parsed(found)
