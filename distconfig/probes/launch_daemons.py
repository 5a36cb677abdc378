"""Names of launchd property lists: what other programs have installed to run as root."""

from __future__ import annotations

from distconfig.probes.parsed import Parsed, split_lines

__all__ = ["parse_launch_daemons"]

_SUFFIX = ".plist"


def parse_launch_daemons(stdout: bytes) -> Parsed[tuple[str, ...]]:
    """The labels of the property lists named, one a line, with or without their folder.

    Example:
        >>> parse_launch_daemons(b"/Library/LaunchDaemons/io.exo.networksetup.plist\\n").value
        ('io.exo.networksetup',)
    """
    names = (line.rpartition("/")[2] for line in split_lines(stdout))
    return Parsed(tuple(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))
