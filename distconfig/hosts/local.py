"""This machine as a host: scripts and commands as child processes, without ssh."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from typing import IO

from distconfig.errors import CommandFailed
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.run_script import run_script
from distconfig.hosts.shell import Completed

__all__ = ["LocalChannel", "LocalConnection"]


class LocalChannel:
    """A child process in a session of its own, as a `ByteChannel`."""

    def __init__(self, command: tuple[str, ...], host: str) -> None:
        self._host = host
        self._command = command
        try:
            self._process = subprocess.Popen(
                ("/bin/sh", "-c", 'exec "$@"', "sh", *command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(
                f"a command could not be started: {error.strerror}", host=host, argv=command
            ) from error
        self._stdin = _stream(self._process.stdin)
        self._stdout = _stream(self._process.stdout)
        self._stderr = _stream(self._process.stderr)
        os.set_blocking(self._stdin.fileno(), False)
        self._locks = {
            stream: threading.Lock() for stream in (self._stdin, self._stdout, self._stderr)
        }
        self._woken, self._wake = os.pipe()
        self._close_lock = threading.Lock()
        self.is_closed = False

    def send(self, data: bytes) -> None:
        """Hand all bytes to the process, waiting while it does not read."""
        rest = memoryview(data)
        with self._locks[self._stdin]:
            while rest:
                if not self._wait(self._stdin, selectors.EVENT_WRITE):
                    raise self._gone()
                try:
                    rest = rest[os.write(self._stdin.fileno(), rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError as error:
                    raise self._gone() from error

    def recv(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard output; none at its end."""
        return self._read(self._stdout, nbytes)

    def recv_stderr(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard error; none at its end."""
        return self._read(self._stderr, nbytes)

    def close_stdin(self) -> None:
        """Let the process read end of file after what was sent."""
        with self._locks[self._stdin]:
            self._stdin.close()

    def exit_status(self, timeout_s: float) -> int | None:
        """The exit status, 128 + signal if it was killed; None if it did not end in time."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else 128 - status

    def close(self) -> None:
        """Kill the process and its group; reads and writes that are waiting return."""
        with self._close_lock:
            if self.is_closed:
                return
            self.is_closed = True
            if self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            os.close(self._wake)
            for stream, lock in self._locks.items():
                with lock:
                    stream.close()
            os.close(self._woken)
            self._process.wait()

    def _read(self, stream: IO[bytes], nbytes: int) -> bytes:
        with self._locks[stream]:
            if not self._wait(stream, selectors.EVENT_READ):
                return b""
            return os.read(stream.fileno(), nbytes)

    def _wait(self, stream: IO[bytes], event: int) -> bool:
        """Wait until a stream is ready; False once the channel or the stream is closed."""
        if self.is_closed or stream.closed:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            selector.register(self._woken, selectors.EVENT_READ)
            ready = {key.fileobj for key, _ in selector.select()}
        return self._woken not in ready

    def _gone(self) -> CommandFailed:
        return CommandFailed(
            "a command ended before it read its input",
            host=self._host,
            argv=self._command,
            returncode=self._process.poll(),
        )


def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without pipes")
    return pipe


class LocalConnection:
    """This machine, without ssh.

    Args:
        host: The word that named it, such as ``localhost``.
    """

    is_local = True

    def __init__(self, host: str) -> None:
        self.host = host
        self._channels: list[LocalChannel] = []

    def run(self, script: str, *, timeout_s: float) -> Completed:
        """Run a POSIX script under ``/bin/sh`` and return what it printed."""
        deadline = Deadline(timeout_s)
        return run_script(self.open_shell(), script, host=self.host, deadline=deadline)

    def open_shell(self) -> LocalChannel:
        """Start a ``/bin/sh`` that leads its own process group and runs what it is sent."""
        return self.open_channel(("/bin/sh",))

    def open_channel(self, command: tuple[str, ...]) -> LocalChannel:
        """Start a command as a child process."""
        channel = LocalChannel(command, self.host)
        self._channels = [each for each in self._channels if not each.is_closed] + [channel]
        return channel

    def close(self) -> None:
        """Kill every command that still runs."""
        for channel in self._channels:
            channel.close()
