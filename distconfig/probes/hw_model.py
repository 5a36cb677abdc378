"""``sysctl -n hw.model``: the model identifier, such as ``Mac15,14``."""

from __future__ import annotations

import re

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_hw_model"]

_MODEL = re.compile(r"[A-Za-z0-9]+(,[0-9]+)?")


def parse_hw_model(stdout: bytes) -> Parsed[str]:
    """The model identifier, which is also what a peer's listing shows for this host.

    Raises:
        UnexpectedOutput: It printed anything else.

    Example:
        >>> parse_hw_model(b"Macmini9,1\\n").value
        'Macmini9,1'
    """
    lines = split_lines(stdout)
    if len(lines) != 1 or not _MODEL.fullmatch(lines[0]):
        raise misunderstood("not a model identifier", "\n".join(lines[:2]))
    return Parsed(lines[0])
