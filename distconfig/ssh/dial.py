"""Byte streams to an sshd: a TCP connection, or a child process that makes one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from distconfig.errors import Unreachable
from distconfig.hosts.deadline import Deadline

__all__ = ["NC", "Stream", "dial_command", "dial_tcp"]

#: Apple's own netcat, which Local Network privacy exempts (Apple technote TN3179).
NC = "/usr/bin/nc"
#: EHOSTUNREACH of macOS, which is what a process denied local access gets.
_MACOS_NO_ROUTE = 65
_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}


@dataclass(frozen=True)
class Stream:
    """A socket that leads to an sshd, and the child process behind it if there is one."""

    socket: socket.socket
    child: subprocess.Popen[bytes] | None = None
    complaints: IO[bytes] | None = None

    def close(self) -> None:
        """Close the socket and end the child with all it started."""
        self.socket.close()
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        if self.complaints is not None:
            self.complaints.close()

    def last_words(self) -> str:
        """What the child has printed on standard error so far; empty without a child."""
        if self.child is None or self.complaints is None or self.complaints.closed:
            return ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(1.0)
        words = os.pread(self.complaints.fileno(), 4096, 0)
        return words.decode("utf-8", "replace").strip()


def dial_tcp(
    name: str,
    port: int,
    deadline: Deadline,
    *,
    host: str,
    family: str = "any",
    bind_address: str = "",
    on_note: Callable[[str], None] = lambda note: None,
) -> Stream:
    """A TCP connection to the first address of a name that answers.

    On macOS a Python started from a third-party terminal may be refused local
    addresses with errno 65 while Apple's own tools reach them; then one more
    attempt is made through a child ``/usr/bin/nc``, and a note says so.

    Args:
        host: The name as the user typed it, for errors.

    Raises:
        Unreachable: Unknown name, refused port, no answer in time, or no route.
    """
    addresses = _resolve(name, port, family, host, deadline)
    failure = OSError("no address")
    for left, (kind, address) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        try:
            return Stream(_connect(kind, address, bind_address, deadline.left() / left))
        except OSError as error:
            failure = error
    if sys.platform == "darwin" and failure.errno == _MACOS_NO_ROUTE:
        with contextlib.suppress(OSError):
            stream = dial_command((NC, name, str(port)))
            on_note(
                f"{host}: macOS lets this Python reach no local address (errno 65, Local Network"
                f" privacy), so {NC} carries the connection"
            )
            return stream
    raise _explain(failure, name, port, host, deadline) from failure


def _resolve(
    name: str, port: int, family: str, host: str, deadline: Deadline
) -> list[tuple[int, Any]]:
    """The addresses of a name; asked in a thread, since a resolver takes no deadline."""
    kind = _FAMILIES.get(family, socket.AF_UNSPEC)
    found: list[tuple[int, Any]] = []
    failures: list[Exception] = []

    def ask() -> None:
        try:
            for each in socket.getaddrinfo(name, port, kind, socket.SOCK_STREAM):
                found.append((each[0], each[4]))
        except (OSError, UnicodeError) as error:
            failures.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(deadline.left())
    if failures or not found:
        reason = failures[0] if failures else f"no answer within {deadline.timeout_s:g} s"
        raise Unreachable(
            f"the name {name!r} is not known ({reason})",
            host=host,
            hint="Check the spelling, or give it a HostName in ~/.ssh/config; Macs on the same"
            " network are also known as NAME.local.",
        ) from (failures[0] if failures else None)
    return list(found)


def _connect(kind: int, address: Any, bind_address: str, timeout_s: float) -> socket.socket:
    connection = socket.socket(kind, socket.SOCK_STREAM)
    try:
        connection.settimeout(max(timeout_s, 0.001))
        if bind_address:
            connection.bind((bind_address, 0))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _explain(error: OSError, name: str, port: int, host: str, deadline: Deadline) -> Unreachable:
    where = f"{name} port {port}"
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            f"{where} refused the connection",
            host=host,
            hint="Start its ssh server: on a Mac, System Settings > General > Sharing > Remote"
            " Login; or give the right Port in ~/.ssh/config.",
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{where} did not answer within {deadline.timeout_s:g} s",
            host=host,
            hint=f"Is it on, awake and in this network? Try: ssh {host} true",
        )
    reason = error.strerror or str(error)
    number = f" (errno {error.errno})" if error.errno else ""
    advice = f"Check the network and the address. Try: ssh {host} true"
    return Unreachable(f"{where} can not be reached: {reason}{number}", host=host, hint=advice)


def dial_command(argv: tuple[str, ...]) -> Stream:
    """A child process whose standard input and output lead to an sshd.

    It has no terminal and no window to ask on.

    Raises:
        OSError: It could not be started.
    """
    ours, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the Stream
    with theirs:
        try:
            child = subprocess.Popen(
                argv,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=complaints,
                start_new_session=True,
                env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
            )
        except OSError:
            ours.close()
            complaints.close()
            raise
    return Stream(ours, child, complaints)
