"""``scutil --get ComputerName``: the name its owner gave the Mac."""

from __future__ import annotations

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_computer_name"]


def parse_computer_name(stdout: bytes) -> Parsed[str]:
    """The name, free text of any language.

    Raises:
        UnexpectedOutput: It printed no line, or several.

    Example:
        >>> parse_computer_name("Évas Studio\\n".encode()).value
        'Évas Studio'
    """
    lines = split_lines(stdout)
    if len(lines) != 1:
        raise misunderstood("not one name", "\n".join(lines[:2]))
    return Parsed(lines[0])
