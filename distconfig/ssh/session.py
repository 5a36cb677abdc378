"""One ssh session over paramiko: key exchange, the host's key, and channels.

Together with ``login`` the only module that imports paramiko; nothing that
paramiko raises leaves the two.
"""

from __future__ import annotations

import contextlib
import logging
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import paramiko
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm

from distconfig.errors import Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.ssh.known_hosts import HostKey
from distconfig.ssh.ssh_config import SshSettings

__all__ = ["PARAMIKO_ERRORS", "SshChannel", "SshSession", "start_session", "words_of"]

# Without a handler, logging would print paramiko's own complaints to stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

#: What paramiko lets through when a connection ends, or the other side sends nonsense: its
#: reader's thread keeps whatever it stumbled over, and the next call raises it again.
PARAMIKO_ERRORS = (
    paramiko.SSHException,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    struct.error,
    InvalidSignature,
    InvalidTag,
    UnsupportedAlgorithm,
)
_ALGORITHMS = {
    "ssh-ed25519": ("ssh-ed25519",),
    "ecdsa-sha2-nistp256": ("ecdsa-sha2-nistp256",),
    "ecdsa-sha2-nistp384": ("ecdsa-sha2-nistp384",),
    "ecdsa-sha2-nistp521": ("ecdsa-sha2-nistp521",),
    "ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256"),
}


class SshSession:
    """An ssh connection to one sshd, from key exchange on."""

    def __init__(self, transport: paramiko.Transport, host: str) -> None:
        self.host = host
        self.transport = transport

    @property
    def host_key(self) -> HostKey:
        """The key the host proved to have."""
        key = self.transport.host_key
        return HostKey(key.get_name(), key.asbytes())

    def open_exec(self, command: str, deadline: Deadline) -> SshChannel:
        """Have the login shell run a command.

        Raises:
            Unreachable: The connection is gone, or the host opens no more channels.
        """
        try:
            channel = self.transport.open_session(timeout=deadline.left())
            watchdog = threading.Timer(deadline.left(), channel.close)
            watchdog.daemon = True
            watchdog.start()
            try:
                channel.exec_command(command)
            finally:
                watchdog.cancel()
        except PARAMIKO_ERRORS as error:
            raise Unreachable(
                f"no command could be started over ssh ({words_of(error)})",
                host=self.host,
                hint="The connection may have ended; try again.",
            ) from error
        return SshChannel(channel, self.host)

    def open_tunnel(self, name: str, port: int, deadline: Deadline) -> Any:
        """A stream from the host to a TCP port, which takes the place of a socket.

        Raises:
            OSError: The host can not connect there.
        """
        try:
            return self.transport.open_channel(
                "direct-tcpip", (name, port), ("127.0.0.1", 0), timeout=deadline.left()
            )
        except PARAMIKO_ERRORS as error:
            raise OSError(words_of(error)) from error

    def close(self) -> None:
        """End the connection and everything on it."""
        self.transport.packetizer.complete_handshake()  # cancels a timer that would linger
        self.transport.close()


class SshChannel:
    """A command on a host, as a `ByteChannel`."""

    def __init__(self, channel: paramiko.Channel, host: str) -> None:
        self._channel = channel
        self._host = host

    def send(self, data: bytes) -> None:
        """Hand all bytes to the command, waiting while it does not read."""
        rest = memoryview(data)
        while rest:
            try:
                sent = self._channel.send(bytes(rest[: 1 << 15]))
            except PARAMIKO_ERRORS as error:
                raise self._gone() from error
            if sent == 0:
                raise self._gone()
            rest = rest[sent:]

    def recv(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard output; none at its end."""
        return self._receive(self._channel.recv, nbytes)

    def recv_stderr(self, nbytes: int) -> bytes:
        """At least one and at most ``nbytes`` bytes of standard error; none at its end."""
        return self._receive(self._channel.recv_stderr, nbytes)

    def close_stdin(self) -> None:
        """Let the command read end of file after what was sent."""
        with contextlib.suppress(*PARAMIKO_ERRORS):
            self._channel.shutdown_write()

    def exit_status(self, timeout_s: float) -> int | None:
        """The exit status; None if the command did not end in time, or left none."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        status: int = self._channel.exit_status
        return None if status < 0 else status

    def close(self) -> None:
        """Give the command up; reads and writes that are waiting return."""
        with contextlib.suppress(*PARAMIKO_ERRORS):
            self._channel.close()

    def _receive(self, receive: Callable[[int], bytes], nbytes: int) -> bytes:
        try:
            return receive(nbytes)
        except PARAMIKO_ERRORS:
            return b""

    def _gone(self) -> Unreachable:
        return Unreachable(
            "the connection or the command on it ended",
            host=self._host,
            hint="See whether the host restarted, or its network changed.",
        )


def start_session(
    stream: Any, settings: SshSettings, known_types: Sequence[str], deadline: Deadline
) -> SshSession:
    """A session after key exchange, its host key not yet judged and nobody logged in.

    Args:
        stream: A socket, or what `SshSession.open_tunnel` returned; closed on failure.
        known_types: Types of host key to ask for first, since they can be checked.

    Raises:
        Unreachable: What answers does not speak ssh, not in time, or not in our dialects.
    """
    done = threading.Event()
    try:
        transport = paramiko.Transport(stream)
        _choose_algorithms(transport, known_types)
        transport.banner_timeout = transport.handshake_timeout = max(deadline.left(), 0.1)
        transport.start_client(event=done)
    except PARAMIKO_ERRORS as error:
        raise _no_session(settings, error) from error
    session = SshSession(transport, settings.host)
    done.wait(deadline.left())
    if done.is_set() and transport.is_active():
        return session
    failure: BaseException | None = transport.get_exception()
    session.close()
    if not done.is_set():
        failure = TimeoutError(f"no key exchange within {deadline.timeout_s:g} s")
    raise _no_session(settings, failure) from failure


def _choose_algorithms(transport: paramiko.Transport, known_types: Sequence[str]) -> None:
    """Ask for the host keys that can be checked first, as OpenSSH does."""
    options = transport.get_security_options()
    ordered = [name for name in known_types if name in _ALGORITHMS]
    ordered += [name for name in _ALGORITHMS if name not in ordered]
    wanted = [algorithm for name in ordered for algorithm in _ALGORITHMS[name]]
    options.key_types = tuple(name for name in wanted if name in options.key_types)


def _no_session(settings: SshSettings, error: BaseException | None) -> Unreachable:
    where = f"{settings.hostname} port {settings.port}"
    if isinstance(error, paramiko.IncompatiblePeer):
        return Unreachable(
            f"{where} shares no algorithm with us ({error})",
            host=settings.host,
            hint="Update its ssh server.",
        )
    return Unreachable(
        f"{where} was reached but no ssh session came about ({words_of(error)})",
        host=settings.host,
        hint=f"Is that port an ssh server, and does it take more connections? Try: ssh"
        f" {settings.host} true",
    )


def words_of(error: BaseException | None) -> str:
    """What an exception says, in words for a person."""
    if error is not None and "protocol banner" in str(error):
        error = error.__context__ or error  # paramiko hides why the greeting did not come
    if isinstance(error, (EOFError, ConnectionError)):
        return "the connection was closed"
    if isinstance(error, paramiko.ChannelException):
        return str(error.text).lower()
    return str(error).strip() or type(error).__name__
