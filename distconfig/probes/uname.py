"""``uname -srm``: which kernel this is, and so which probes make sense."""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["Uname", "parse_uname"]

_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*) ([A-Za-z0-9._+~-]+) ([A-Za-z0-9._-]+)")


@dataclass(frozen=True)
class Uname:
    """Kernel, its release, and the machine's architecture."""

    platform: str
    release: str
    machine: str


def parse_uname(stdout: bytes) -> Parsed[Uname]:
    """The three words of ``uname -srm``.

    Raises:
        UnexpectedOutput: It printed anything else.

    Example:
        >>> parse_uname(b"Darwin 25.4.0 arm64\\n").value
        Uname(platform='Darwin', release='25.4.0', machine='arm64')
    """
    lines = split_lines(stdout)
    found = _LINE.fullmatch(lines[0]) if lines else None
    if found is None or len(lines) != 1:
        raise misunderstood("not a kernel, a release and a machine", "\n".join(lines[:2]))
    return Parsed(Uname(*found.groups()))
