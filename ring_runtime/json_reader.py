"""Reading JSON of unknown origin: every fault is named by its JSON path."""

from __future__ import annotations

import json
import re
from typing import Any

from ring_runtime.errors import HostfileError

__all__ = ["JsonReader", "decode_json"]


def decode_json(text: str, path: str, hint: str) -> Any:
    """The value of a JSON text.

    Raises:
        HostfileError: With the line and column of the fault.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise HostfileError(
            f"not JSON: {error.msg}",
            path=path,
            where=f"line {error.lineno} column {error.colno}",
            hint=hint,
        ) from error
    except (RecursionError, ValueError) as error:  # too deep, or a number of 5,000 digits
        raise HostfileError(f"not usable JSON: {error}", path=path, hint=hint) from error


class JsonReader:
    """Checks values by JSON path and raises `HostfileError` at the first that is wrong."""

    def __init__(self, path: str, hint: str) -> None:
        self.path = path
        self.hint = hint

    def refuse(self, what: str, where: str) -> HostfileError:
        """The error for a value at this JSON path."""
        return HostfileError(what, path=self.path, where=where, hint=self.hint)

    def sequence(self, value: Any, where: str) -> list[Any]:
        """The value, which must be a list."""
        if not isinstance(value, list):
            raise self.refuse(f"expected a list, found {type(value).__name__}", where)
        return value

    def text(self, value: Any, where: str, pattern: re.Pattern[str], kind: str) -> str:
        """The value, which must be text that matches whole; ``kind`` names it in messages."""
        if not isinstance(value, str):
            raise self.refuse(f"expected {kind}, found {type(value).__name__}", where)
        if not pattern.fullmatch(value):
            raise self.refuse(f"{value[:80]!r} is not {kind}", where)
        return value

    def texts(self, value: Any, where: str, pattern: re.Pattern[str], kind: str) -> tuple[str, ...]:
        """The value, which must be a list of such texts."""
        return tuple(
            self.text(item, f"{where}[{index}]", pattern, kind)
            for index, item in enumerate(self.sequence(value, where))
        )
