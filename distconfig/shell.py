"""The one way anything asks a host: a script for ``/bin/sh`` in, a `Completed` out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Completed", "Shell"]


@dataclass(frozen=True)
class Completed:
    """A command that ended: what was run, how it ended, and the raw bytes it printed."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.argv:
            raise ValueError("argv is empty")


class Shell(Protocol):
    """A host that runs scripts."""

    host: str

    def run(self, script: str, *, timeout_s: float) -> Completed:
        """Run a POSIX script under ``/bin/sh`` and return what it printed.

        Raises:
            ProbeError: The host could not be asked, or the deadline passed.
        """
        ...
