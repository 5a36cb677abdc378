"""An agent on this machine, as a child process.

This module loads next to nothing: a local job starts its agent first, and
loads the rest of the launcher while the agent loads its own.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from distconfig.launch.bootstrap import local_command

__all__ = ["LocalAgent", "is_surely_local"]

_TAIL = 4096
_MAY_NOT_BE_LOCAL = ("--host", "--help", "-h", "--print-python")


def is_surely_local(words: Sequence[str]) -> bool:
    """Whether a command line has no word that could ask for anything but a local job.

    Example:
        >>> is_surely_local(["-n", "4", "train.py"]), is_surely_local(["--hosts", "a", "train.py"])
        (True, False)
    """
    return bool(words) and not any(word.startswith(_MAY_NOT_BE_LOCAL) for word in words)


class LocalAgent:
    """An agent that is a child of ours.

    What it says comes from ``source``, what it shall hear goes to ``sink``; it
    ends when ``sink`` is closed.

    Raises:
        OSError: It can not be started.
    """

    def __init__(self) -> None:
        their_source, self.sink = os.pipe()
        self.source, their_sink = os.pipe()
        self._stderr, their_stderr = os.pipe()
        theirs = (their_source, their_sink, their_stderr)
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                local_command(sys.executable),
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)
                ],
            )
        except OSError:
            for fd in (self.source, self.sink, self._stderr):
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        os.set_blocking(self._stderr, False)
        self._tail = b""

    def stderr_tail(self) -> str:
        """The end of what it has complained about."""
        with contextlib.suppress(BlockingIOError):
            while self._stderr >= 0 and (data := os.read(self._stderr, _TAIL)):
                self._tail = (self._tail + data)[-_TAIL:]
        return self._tail.decode(errors="replace").strip()

    def close(self) -> None:
        """Let it go; it has ended, or will on its own."""
        self.stderr_tail()
        os.close(self._stderr)
        self._stderr = -1
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)
