"""An agent on this machine: a fork of ours, since all it needs is loaded already."""

from __future__ import annotations

import contextlib
import os
import sys

from distconfig.launch.agent import main

__all__ = ["LocalAgent"]

_TAIL = 4096


class LocalAgent:
    """An agent that is a child of ours.

    What it says comes from ``source``, what it shall hear goes to ``sink``; it
    ends when ``sink`` is closed. There must be no thread besides the caller's.

    Raises:
        OSError: It can not be started.
    """

    def __init__(self) -> None:
        their_source, self.sink = os.pipe()
        self.source, their_sink = os.pipe()
        self._stderr, their_stderr = os.pipe()
        theirs = (their_source, their_sink, their_stderr)
        self._pid = os.fork()
        if self._pid == 0:
            _become_agent(theirs)
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


def _become_agent(streams: tuple[int, int, int]) -> None:
    """Never returns: what was the launcher ends as the agent does."""
    code = 1
    try:
        os.setsid()  # a Ctrl-C in the terminal is the launcher's business
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        # Other agents' pipes above all: they end when the launcher alone closes them.
        for name in os.listdir("/dev/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if int(name) > 2:
                    os.close(int(name))
        main()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
