"""The way to an agent at the end of an ssh channel, which can only be waited for: threads."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from distconfig.errors import ProbeError
from distconfig.hosts.shell import ByteChannel, Connection
from distconfig.launch.agent_link import AgentLink

__all__ = ["link_over_ssh"]

_READ_SIZE = 1 << 16
_TAIL = 4096
#: After the end of a command's output, how long its complaints may take to arrive.
_COMPLAINTS_S = 2.0


class _FarChannel:
    """Threads that carry bytes between two sockets and a channel.

    Args:
        near_in: The launcher's words come from there.
        near_out: The agent's go there.
    """

    def __init__(
        self,
        near_in: socket.socket,
        near_out: socket.socket,
        connection: Connection,
        command: tuple[str, ...],
    ) -> None:
        self._near_in = near_in
        self._near_out = near_out
        self._connection = connection
        self._command = command
        self._channel: ByteChannel | None = None
        self._is_closed = False
        self._tail = b""
        _start(self._carry)

    def stderr_tail(self) -> str:
        return self._tail.decode(errors="replace").strip()

    def close(self) -> None:
        self._is_closed = True
        if self._channel is not None:
            _start(self._channel.close)

    def _carry(self) -> None:
        try:
            channel = self._channel = self._connection.open_channel(self._command)
            if self._is_closed:
                channel.close()
            else:
                self._carry_both_ways(channel)
        except ProbeError as error:
            self._tail = str(error).encode()
        finally:
            for near in (self._near_in, self._near_out):
                with contextlib.suppress(OSError):
                    near.shutdown(socket.SHUT_RDWR)  # wakes who waits for it; closing does not
                near.close()

    def _carry_both_ways(self, channel: ByteChannel) -> None:
        complaints = _start(lambda: self._carry_complaints(channel))
        _start(lambda: self._carry_out(channel))
        with contextlib.suppress(OSError, ProbeError):
            while data := channel.recv(_READ_SIZE):
                self._near_out.sendall(data)
        complaints.join(_COMPLAINTS_S)

    def _carry_out(self, channel: ByteChannel) -> None:
        with contextlib.suppress(OSError, ProbeError):
            while data := self._near_in.recv(_READ_SIZE):
                channel.send(data)
        with contextlib.suppress(OSError, ProbeError):
            channel.close_stdin()

    def _carry_complaints(self, channel: ByteChannel) -> None:
        with contextlib.suppress(OSError, ProbeError):
            while data := channel.recv_stderr(_TAIL):
                self._tail = (self._tail + data)[-_TAIL:]


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def link_over_ssh(connection: Connection, command: tuple[str, ...], package: bytes) -> AgentLink:
    """Start an agent on a host; an error shows as the link's end, with the reason as complaint.

    Args:
        package: The agent's text.
    """
    # Two pairs: of one, closing our sink would tell the agent nothing while the source is open.
    source, near_out = socket.socketpair()
    sink, near_in = socket.socketpair()
    far = _FarChannel(near_in, near_out, connection, command)
    return AgentLink(source.detach(), sink.detach(), far, package)
