"""The Python that a job or a cable test would run under on a host."""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["REPORT_PROGRAM", "Python", "parse_python"]

#: What the Python found is asked to run.
REPORT_PROGRAM = "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.executable)"

_LINE = re.compile(r"(?P<version>[0-9]{1,3}(\.[0-9]{1,4}){2}) (?P<path>/[^\0]*)")


@dataclass(frozen=True)
class Python:
    """An interpreter and where it is."""

    version: str
    path: str

    @property
    def minor(self) -> str:
        """The version without its last number, such as ``3.12``."""
        return self.version.rpartition(".")[0]


def parse_python(stdout: bytes) -> Parsed[Python]:
    """The interpreter that was found.

    Raises:
        UnexpectedOutput: It said something else.

    Example:
        >>> parse_python(b"3.12.4 /opt/homebrew/bin/python3\\n").value.minor
        '3.12'
    """
    lines = split_lines(stdout)
    found = _LINE.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        raise misunderstood("not a version and a path", "\n".join(lines[:2]))
    return Parsed(Python(found["version"], found["path"]))
