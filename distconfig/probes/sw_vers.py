"""``sw_vers``: the version of macOS."""

from __future__ import annotations

import re

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_sw_vers"]

_LINE = re.compile(r"(ProductName|ProductVersion|ProductVersionExtra|BuildVersion):\s+(.*)")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")


def parse_sw_vers(stdout: bytes) -> Parsed[str]:
    """The version of macOS, such as ``26.4``.

    Raises:
        UnexpectedOutput: It named no version.

    Example:
        >>> parse_sw_vers(b"ProductName:\\t\\tmacOS\\nProductVersion:\\t\\t26.4\\n").value
        '26.4'
    """
    version = ""
    notes = []
    for line in split_lines(stdout):
        found = _LINE.fullmatch(line)
        if found is None:
            notes.append(line)
        elif found[1] == "ProductVersion":
            if version or not _VERSION.fullmatch(found[2]):
                raise misunderstood("not a version of macOS", line)
            version = found[2]
    if not version:
        raise misunderstood("no ProductVersion is printed")
    return Parsed(version, tuple(notes))
