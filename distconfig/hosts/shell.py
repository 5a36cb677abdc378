"""The one way anything asks a host: a script for ``/bin/sh`` in, a `Completed` out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["ByteChannel", "Completed", "Connection", "Shell"]


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

    @property
    def host(self) -> str:
        """The name of the host, as the user typed it."""
        ...

    def run(self, script: str, *, timeout_s: float) -> Completed:
        """Run a POSIX script under ``/bin/sh`` and return what it printed.

        The script runs only once all of it has arrived. Its standard input is
        empty; file descriptor 3 reaches end of file when the connection ends,
        however it ends.

        Raises:
            ProbeError: The host could not be asked, or the deadline passed.
        """
        ...


class ByteChannel(Protocol):
    """A running command: bytes in, two streams of bytes out, and its exit status.

    Sending, receiving and receiving of standard error may each be done by a
    thread of its own. A stream that nobody reads ends up holding the command
    back, and over ssh the other stream too.
    """

    def send(self, data: bytes) -> None:
        """Hand all bytes to the command, waiting while it does not read.

        Raises:
            ProbeError: The command or the connection to it is gone.
        """
        ...

    def recv(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard output; none at its end."""
        ...

    def recv_stderr(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard error; none at its end."""
        ...

    def close_stdin(self) -> None:
        """Let the command read end of file after what was sent."""
        ...

    def exit_status(self, timeout_s: float) -> int | None:
        """The exit status; None if the command did not end in time, or left none."""
        ...

    def close(self) -> None:
        """Give the command up; reads and writes that are waiting return."""
        ...


class Connection(Shell, Protocol):
    """A host that is reached, on this machine or over ssh."""

    @property
    def is_local(self) -> bool:
        """This machine, without ssh."""
        ...

    def open_shell(self) -> ByteChannel:
        """Start a ``/bin/sh`` that leads its own process group and runs what it is sent.

        What the login shell prints comes first; `marked_script` tells the two apart.

        Raises:
            ProbeError: The host could not be asked.
        """
        ...

    def open_channel(self, command: tuple[str, ...]) -> ByteChannel:
        """Start a command whose bytes arrive exactly, whatever the login shell prints first.

        Raises:
            ProbeError: The host could not be asked.
        """
        ...

    def close(self) -> None:
        """End the connection and everything that runs on it."""
        ...
