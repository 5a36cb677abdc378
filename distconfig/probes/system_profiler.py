"""``system_profiler SPThunderboltDataType``, from ``-json`` or ``-xml``.

``-json`` is known from macOS 10.15 on. What stands inside the envelope is read
by `distconfig.probes.thunderbolt_buses`.
"""

from __future__ import annotations

import json
from typing import Any

from distconfig.probes.parsed import Parsed, misunderstood
from distconfig.probes.plist import parse_plist
from distconfig.probes.thunderbolt_buses import Buses, parse_buses

__all__ = ["parse_system_profiler", "parse_system_profiler_xml"]

_DATA_TYPE = "SPThunderboltDataType"


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is repeated in one object")
    return value


def parse_system_profiler(stdout: bytes) -> Parsed[Buses]:
    """The buses that ``-json`` lists; none on a machine without Thunderbolt.

    Raises:
        UnexpectedOutput: It is not JSON, or not such a listing; ``at`` is the JSON path.
    """
    text = stdout.decode("utf-8", errors="replace")
    try:
        root = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:
        line = text.lstrip().partition("\n")[0]
        raise misunderstood(f"not JSON: {error}", line) from error
    if not isinstance(root, dict) or _DATA_TYPE not in root:
        raise misunderstood(f"an object with {_DATA_TYPE} was expected", "$")
    return parse_buses(root[_DATA_TYPE], f"$.{_DATA_TYPE}")


def parse_system_profiler_xml(stdout: bytes) -> Parsed[Buses]:
    """The buses that ``-xml`` lists, under the same keys one level deeper.

    Raises:
        UnexpectedOutput: It is not such a property list.
    """
    root = parse_plist(stdout)
    types = root if isinstance(root, list) else []
    for place, value in enumerate(types):
        if isinstance(value, dict) and value.get("_dataType") == _DATA_TYPE:
            return parse_buses(value.get("_items", []), f"[{place}]._items")
    raise misunderstood(f"a list with {_DATA_TYPE} was expected", "the root")
