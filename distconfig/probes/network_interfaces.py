"""configd's ``NetworkInterfaces.plist``: interfaces it remembers, under untranslated names.

Entries outlive their hardware, so this is a last resort, and only entries that
configd marks as active count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from distconfig.probes.parsed import Parsed, misunderstood, parse_interface_name
from distconfig.probes.plist import parse_plist

__all__ = ["StoredInterface", "parse_network_interfaces"]

_PORT_CLASS = "AppleThunderboltIPPort"
_PORT_NAME = re.compile(r"Thunderbolt (?P<label>[0-9]{1,3})")


@dataclass(frozen=True)
class StoredInterface:
    """The interface of one receptacle, as configd remembers it."""

    label: str
    interface: str


def _parse_entry(entry: dict[str, Any], at: str) -> StoredInterface | None:
    path, described = entry.get("IOPathMatch"), entry.get("SCNetworkInterfaceInfo")
    if not isinstance(path, str) or _PORT_CLASS not in path or entry.get("Active") is not True:
        return None
    user_name = described.get("UserDefinedName") if isinstance(described, dict) else None
    found = _PORT_NAME.fullmatch(user_name) if isinstance(user_name, str) else None
    name = entry.get("BSD Name")
    if found is None or not isinstance(name, str):
        return None
    return StoredInterface(found["label"], parse_interface_name(name, at))


def parse_network_interfaces(stdout: bytes) -> Parsed[tuple[StoredInterface, ...]]:
    """The active Thunderbolt ports among the stored interfaces, in stored order.

    Raises:
        UnexpectedOutput: It is not a list of interfaces, or one of the ports has a name
            that no interface has.
    """
    root = parse_plist(stdout)
    entries = root.get("Interfaces") if isinstance(root, dict) else None
    if not isinstance(entries, list):
        raise misunderstood("a list of interfaces was expected", "Interfaces")
    found = [
        _parse_entry(entry, f"Interfaces[{place}].BSD Name")
        for place, entry in enumerate(entries)
        if isinstance(entry, dict)
    ]
    return Parsed(tuple(each for each in found if each is not None))
