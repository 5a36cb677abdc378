"""``ioreg -a -r -d 1 -c IOPlatformExpertDevice``: which machine this is."""

from __future__ import annotations

from uuid import UUID

from distconfig.probes.parsed import Parsed, misunderstood, parse_uuid
from distconfig.probes.plist import parse_plist

__all__ = ["parse_hardware"]


def parse_hardware(stdout: bytes) -> Parsed[UUID]:
    """The hardware UUID (``IOPlatformUUID``), which no other machine has.

    Raises:
        UnexpectedOutput: There is none.
    """
    root = parse_plist(stdout)
    entry = root[0] if isinstance(root, list) and len(root) == 1 else None
    word = entry.get("IOPlatformUUID") if isinstance(entry, dict) else None
    if not isinstance(word, str):
        raise misunderstood("one dictionary with IOPlatformUUID was expected", "[0].IOPlatformUUID")
    return Parsed(parse_uuid(word, "[0].IOPlatformUUID"))
