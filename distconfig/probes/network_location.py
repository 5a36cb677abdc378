"""``networksetup -getcurrentlocation``: the set of network services in use."""

from __future__ import annotations

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_network_location"]


def parse_network_location(stdout: bytes) -> Parsed[str]:
    """The name of the location, which is the user's and may be translated.

    Raises:
        UnexpectedOutput: It printed no single name.

    Example:
        >>> parse_network_location(b"Automatic\\n").value
        'Automatic'
    """
    lines = split_lines(stdout)
    if len(lines) != 1 or not lines[0]:
        raise misunderstood("not the name of a location", "\n".join(lines[:2]))
    return Parsed(lines[0])
