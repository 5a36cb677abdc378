"""``ibv_devices``: the RDMA devices, each named after an interface.

With RDMA switched off it prints its heading and nothing else. A node GUID is
the UID of a Thunderbolt switch with its bytes reversed: that fits every public
listing, but no listing shows both for one machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, misunderstood, parse_interface_name, split_lines

__all__ = ["RdmaDevice", "parse_ibv_devices", "reverse_guid"]

_GUID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class RdmaDevice:
    """One RDMA device; ``interface`` is what follows ``rdma_`` in its name."""

    name: str
    interface: str
    node_guid: str


def reverse_guid(guid: str) -> str:
    """The switch UID that a node GUID is the reverse of, written as system_profiler does.

    Example:
        >>> reverse_guid("80e404c31131ac05")
        '0x05AC3111C304E480'
    """
    return f"0x{bytes.fromhex(guid)[::-1].hex().upper()}"


def _parse_row(line: str) -> RdmaDevice:
    words = line.split()
    if len(words) != 2 or not words[0].startswith("rdma_") or not _GUID.fullmatch(words[1]):
        raise misunderstood("not an RDMA device with its GUID", line)
    interface = parse_interface_name(words[0].removeprefix("rdma_"), line)
    return RdmaDevice(words[0], interface, words[1])


def parse_ibv_devices(stdout: bytes) -> Parsed[tuple[RdmaDevice, ...]]:
    """Every RDMA device, in printed order.

    Raises:
        UnexpectedOutput: A row can not be read, or there is not even a heading.
    """
    lines = split_lines(stdout)
    if not lines or lines[0].split() != ["device", "node", "GUID"]:
        raise misunderstood("not the heading of a list of RDMA devices", lines[0] if lines else "")
    rows = (line for line in lines[1:] if not set(line) <= set(" \t-"))
    return Parsed(tuple(_parse_row(line) for line in rows))
