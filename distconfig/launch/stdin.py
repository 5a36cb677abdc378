"""Our standard input, read no faster than the fastest rank takes it."""

from __future__ import annotations

import os

__all__ = ["StandardInput"]

_READ_SIZE = 1 << 16
_WINDOW = 1 << 20


class StandardInput:
    """Our standard input, until its end.

    A terminal is read only while we are in its foreground: reading from the
    background would stop us.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._is_terminal = os.isatty(0)
        self._nbytes = 0
        self._taken = 0

    @property
    def is_wanted(self) -> bool:
        """Some rank has use for more, and we may read."""
        return (
            not self._is_over
            and self._nbytes - self._taken < _WINDOW
            and (not self._is_terminal or _is_in_foreground())
        )

    def read(self) -> bytes | None:
        """Some of it, once it is readable; empty at its end, None if there is nothing now."""
        try:
            data = os.read(0, _READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            if self._is_terminal and not _is_in_foreground():
                return None
            data = b""
        self._is_over = not data
        self._nbytes += len(data)
        return data

    def note_taken(self, nbytes: int) -> None:
        """A rank has read that much from the beginning."""
        self._taken = max(self._taken, min(nbytes, self._nbytes))


def _is_in_foreground() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
