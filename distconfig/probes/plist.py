"""Property lists, as ``ioreg -a``, ``system_profiler -xml`` and configd write them.

Only the standard library's reader touches the bytes; it refuses entity
declarations. Binary property lists are refused as well: these commands write
XML, and a binary one may contain itself. Everything the reader raises on
malformed input becomes one error.
"""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from typing import Any
from xml.parsers.expat import ExpatError

from distconfig.probes.parsed import misunderstood

__all__ = ["parse_plist", "walk_dicts"]

# What plistlib lets through from expat, base64, int, datetime and its own stack when a
# property list is malformed (InvalidFileException is a ValueError).
_MALFORMED = (
    ExpatError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)


def parse_plist(stdout: bytes) -> Any:
    """The root value of a property list in XML.

    Raises:
        UnexpectedOutput: It is not a property list, or a malformed one.
    """
    try:
        return plistlib.loads(stdout, fmt=plistlib.FMT_XML)
    except _MALFORMED as error:
        first = stdout.decode("utf-8", errors="replace").partition("\n")[0]
        raise misunderstood(f"not a property list: {error}", first) from error


def walk_dicts(root: Any, children_key: str) -> Iterator[dict[str, Any]]:
    """Every dictionary of a tree, parents first, without recursion.

    Args:
        root: A dictionary, or a list of them.
        children_key: Where a dictionary keeps the list of those below it.
    """
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            yield value
            waiting.append(value.get(children_key))
