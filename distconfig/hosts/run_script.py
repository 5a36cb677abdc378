"""Running a script over a `ByteChannel` to a ``/bin/sh``, with everything it prints kept."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from distconfig.errors import CommandFailed, ProbeError, Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.marked_script import after_marker, wrap_script
from distconfig.hosts.shell import ByteChannel, Completed

__all__ = [
    "Transcript",
    "converse",
    "last_lines",
    "new_nonce",
    "no_shell",
    "run_script",
    "skip_to_marker",
]

_READ_SIZE = 1 << 16
_MOST_OUTPUT = 64 << 20
_LONGEST_GREETING = 1 << 20
_EXIT_STATUS_GRACE_S = 5.0


@dataclass(frozen=True)
class Transcript:
    """What a channel delivered until both its streams ended or the deadline passed.

    Args:
        arrivals: For each piece of standard output, the bytes received up to and
            with it, and the seconds that had passed since the start.
        gave_up: Why reading ended before the streams did; empty if it did not.
    """

    stdout: bytes
    stderr: bytes
    arrivals: tuple[tuple[int, float], ...]
    returncode: int | None
    gave_up: str
    seconds: float

    def seconds_at(self, offset: int) -> float:
        """When the byte at an offset of standard output had arrived."""
        return next((seen for end, seen in self.arrivals if end > offset), self.seconds)


def new_nonce() -> str:
    """Text that no output contains by accident."""
    return secrets.token_hex(16)


def converse(channel: ByteChannel, payload: bytes, deadline: Deadline) -> Transcript:
    """What both streams deliver, to their end or the deadline, after a payload is sent.

    Standard input stays open meanwhile, so that its end tells the other side
    that this one is gone. The channel is closed at the end.
    """
    start = time.monotonic()
    output, errors = _Stream(channel, channel.recv), _Stream(channel, channel.recv_stderr)
    late = f"did not end within {deadline.timeout_s:g} s"
    watchdog = threading.Timer(deadline.left(), output.give_up, args=(late,))
    listener = threading.Thread(target=errors.drain)
    watchdog.daemon = listener.daemon = True
    watchdog.start()
    listener.start()
    try:
        with contextlib.suppress(ProbeError):  # what it prints says why it does not listen
            channel.send(payload)
        output.drain()
        listener.join()
        status = channel.exit_status(min(_EXIT_STATUS_GRACE_S, deadline.left()))
    finally:
        watchdog.cancel()
        channel.close()
    return Transcript(
        stdout=b"".join(output.pieces),
        stderr=b"".join(errors.pieces),
        arrivals=tuple((end, moment - start) for end, moment in output.arrivals),
        returncode=status,
        gave_up=output.gave_up or errors.gave_up,
        seconds=time.monotonic() - start,
    )


class _Stream:
    """One stream of a channel, being read."""

    def __init__(self, channel: ByteChannel, receive: Callable[[int], bytes]) -> None:
        self._channel = channel
        self._receive = receive
        self._nbytes = 0
        self.pieces: list[bytes] = []
        self.arrivals: list[tuple[int, float]] = []
        self.gave_up = ""

    def drain(self) -> None:
        """Read to the end, unless somebody gives up or there is no end to it."""
        while data := self._receive(_READ_SIZE):
            self._nbytes += len(data)
            self.pieces.append(data)
            self.arrivals.append((self._nbytes, time.monotonic()))
            if self._nbytes > _MOST_OUTPUT:
                self.give_up(f"printed more than {_MOST_OUTPUT >> 20} MiB")
                return

    def give_up(self, reason: str) -> None:
        """Close the channel, so that whoever waits for it stops waiting."""
        self.gave_up = self.gave_up or reason
        self._channel.close()


def run_script(channel: ByteChannel, script: str, *, host: str, deadline: Deadline) -> Completed:
    """The result of a script, without what the login shell printed before it.

    Args:
        channel: Leads to the standard input of a fresh ``/bin/sh``; it is closed.
        host: For errors.

    Raises:
        CommandFailed: The deadline passed.
        Unreachable: The connection ended before the script did.
    """
    nonce = new_nonce()
    argv = ("/bin/sh",)
    transcript = converse(channel, wrap_script(script, nonce), deadline)
    stdout = after_marker(transcript.stdout, nonce)
    stderr = after_marker(transcript.stderr, nonce)
    if transcript.gave_up:
        raise CommandFailed(
            f"a script {transcript.gave_up}",
            host=host,
            argv=argv,
            stderr_tail=last_lines(stderr or b""),
            hint="The host may be overloaded or asleep; try again.",
        )
    if stdout is None or stderr is None:
        raise no_shell(host, transcript.returncode, transcript.stderr or transcript.stdout)
    if transcript.returncode is None:
        raise Unreachable(
            "the connection ended before the script did",
            host=host,
            hint="See whether the host restarted, or its network changed.",
        )
    return Completed(argv, transcript.returncode, stdout, stderr, transcript.seconds)


class _OpenedChannel:
    """A channel, some bytes of which were read already."""

    def __init__(self, channel: ByteChannel, stdout: bytes, stderr: bytes) -> None:
        self._channel = channel
        self._stdout = stdout
        self._stderr = stderr
        self.send = channel.send
        self.close_stdin = channel.close_stdin
        self.exit_status = channel.exit_status
        self.close = channel.close

    def recv(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard output; none at its end."""
        if not self._stdout:
            return self._channel.recv(nbytes)
        data, self._stdout = self._stdout[:nbytes], self._stdout[nbytes:]
        return data

    def recv_stderr(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard error; none at its end."""
        if not self._stderr:
            return self._channel.recv_stderr(nbytes)
        data, self._stderr = self._stderr[:nbytes], self._stderr[nbytes:]
        return data


def skip_to_marker(
    channel: ByteChannel, nonce: str, *, host: str, deadline: Deadline
) -> ByteChannel:
    """The same channel, past the marker on both its streams.

    Raises:
        CommandFailed: No marker came in time; the channel is closed.
    """
    watchdog = threading.Timer(deadline.left(), channel.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        stdout = _read_past(channel.recv, nonce)
        stderr = _read_past(channel.recv_stderr, nonce)
    finally:
        watchdog.cancel()
    if stdout[1] is None or stderr[1] is None:
        status = channel.exit_status(_EXIT_STATUS_GRACE_S)
        channel.close()
        raise no_shell(host, status, stderr[0] or stdout[0])
    return _OpenedChannel(channel, stdout[1], stderr[1])


def _read_past(receive: Callable[[int], bytes], nonce: str) -> tuple[bytes, bytes | None]:
    """All that was read, and what of it follows the marker, if it came."""
    output = b""
    while (rest := after_marker(output, nonce)) is None and len(output) < _LONGEST_GREETING:
        data = receive(_READ_SIZE)
        if not data:
            break
        output += data
    return output, rest


def no_shell(host: str, returncode: int | None, output: bytes) -> ProbeError:
    """The error for a host whose login shell never started ``/bin/sh``."""
    return CommandFailed(
        "the login shell did not start /bin/sh",
        host=host,
        argv=("/bin/sh",),
        returncode=returncode,
        stderr_tail=last_lines(output),
        hint=f"`ssh {host} /bin/sh -c true` must work without a question.",
    )


def last_lines(output: bytes, count: int = 3) -> str:
    """The last few lines of some output, as text for a person.

    Example:
        >>> last_lines(b"one\\ntwo\\nthree\\nfour\\n", 2)
        'three\\nfour'
    """
    return "\n".join(output.decode("utf-8", "replace").split("\n")[-count - 1 :]).strip()
