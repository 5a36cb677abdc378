"""Moving bytes: one primitive that sends and receives on many connections at once.

`exchange` is the only place where array data meets a socket. It never blocks in
a send while something could be received, which is what prevents the classic
deadlock of a ring where everybody sends first. It runs in the caller's thread.
"""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from ring_runtime.errors import RingError

__all__ = [
    "Connection",
    "Inflow",
    "Outflow",
    "Sink",
    "Watch",
    "exchange",
]


class Connection:
    """One TCP connection to a neighbour.

    Args:
        sock: Connected; made non-blocking here.
        peer: The rank at the other end.
        address: Its far end, for messages.
    """

    __slots__ = ("address", "peer", "sock")

    def __init__(self, sock: socket.socket, peer: int, address: str = "") -> None:
        sock.setblocking(False)
        self.sock = sock
        self.peer = peer
        self.address = address

    def close(self) -> None:
        """Close the socket; closing twice is fine."""
        with contextlib.suppress(OSError):
            self.sock.close()


class Watch(Protocol):
    """What `exchange` turns to when nothing moves or a connection fails."""

    def wait(self, outs: Sequence[Outflow], ins: Sequence[Inflow]) -> None:
        """Return when something may move again; raise when it never will."""

    def moved(self) -> None:
        """Note that bytes moved after a wait."""

    def lost(self, connection: Connection, error: OSError | None) -> RingError:
        """The error to raise for a failed connection; None stands for an end of stream."""


class Outflow:
    """Bytes on their way into one connection: a header, then views in the order they are fed.

    Args:
        head: Sent first, in one call with the first view if that is there; None for none.
        nbytes: How many bytes will be fed in all.

    Attributes:
        remaining: Bytes yet to be sent.
        completed: Views that are sent whole.
    """

    __slots__ = ("completed", "connection", "head", "queue", "remaining", "view")

    def __init__(self, connection: Connection, head: bytearray | None, nbytes: int) -> None:
        self.connection = connection
        self.head: bytearray | memoryview | None = head
        self.remaining = nbytes + (len(head) if head is not None else 0)
        self.queue: deque[memoryview] = deque()
        self.view: memoryview | None = None
        self.completed = 0

    def restart(self, head: bytearray | None, view: memoryview, remaining: int) -> None:
        """Begin again after everything was sent, with these two first."""
        self.head = head
        self.view = view
        self.remaining = remaining
        self.completed = 0

    def feed(self, view: memoryview) -> None:
        """Queue these bytes; they must not change until they are sent."""
        if self.view is None:
            self.view = view
        else:
            self.queue.append(view)

    def has_next(self) -> bool:
        """Whether something is there to be sent now."""
        return self.view is not None or self.head is not None

    def push(self) -> bool:
        """Send what the connection takes now; whether anything moved."""
        view = self.view
        if self.head is not None:
            return self._push_head(self.head, view)
        if view is None:
            return False
        try:
            sent = self.connection.sock.send(view)
        except BlockingIOError:
            return False
        self.remaining -= sent
        self._advance(view, sent)
        return True

    def _push_head(self, head: bytearray | memoryview, view: memoryview | None) -> bool:
        try:
            sent = self.connection.sock.sendmsg((head,) if view is None else (head, view))
        except BlockingIOError:
            return False
        self.remaining -= sent
        if sent < len(head):
            self.head = memoryview(head)[sent:]
            return True
        self.head = None
        if view is not None:
            self._advance(view, sent - len(head))
        return True

    def _advance(self, view: memoryview, sent: int) -> None:
        if sent == len(view):
            self.completed += 1
            self.view = self.queue.popleft() if self.queue else None
        else:
            self.view = view[sent:]


class Sink(Protocol):
    """Where the bytes of an `Inflow` go."""

    def incoming(self) -> memoryview | None:
        """Where the next bytes land, or None if there is no room until something is sent."""

    def underway(self, received: int) -> None:
        """So many more bytes of the view last returned are there, and it is not yet full."""

    def arrived(self) -> None:
        """The view last returned is full."""


class Inflow:
    """Bytes on their way out of one connection.

    Args:
        remaining: How many bytes will come in all.
    """

    __slots__ = ("connection", "remaining", "sink", "started", "view")

    def __init__(self, connection: Connection, remaining: int, sink: Sink) -> None:
        self.connection = connection
        self.remaining = remaining
        self.sink = sink
        self.view: memoryview | None = None
        self.started = False

    def restart(self, remaining: int) -> None:
        """Begin again, after everything was received."""
        self.remaining = remaining
        self.started = False

    def pull(self) -> bool:
        """Receive what is there now; whether anything moved.

        Raises:
            EOFError: The peer will send no more.
        """
        view = self.view
        if view is None:
            view = self.sink.incoming()
            if view is None:
                return False
            self.view = view
        try:
            received = self.connection.sock.recv_into(view)
        except BlockingIOError:
            return False
        if not received:
            raise EOFError
        self.started = True
        self.remaining -= received
        if received == len(view):
            self.view = None
            self.sink.arrived()
        else:
            self.view = view[received:]
            self.sink.underway(received)
        return True


def exchange(
    outs: Sequence[Outflow], ins: Sequence[Inflow], watch: Watch, *, waited: bool = False
) -> None:
    """Send and receive all of these at once; returns when every one is complete.

    Args:
        outs: Each with something to send, which the sink of another flow may feed meanwhile.
        ins: Each with something to receive.
        waited: Whether the watch has begun to wait already.

    Raises:
        PeerError: From ``watch``: a connection failed, an abort came, nothing moved for too long.
    """
    unfinished = len(outs) + len(ins)
    while unfinished:
        moved = False
        for out in outs:
            try:
                if out.remaining and out.push():
                    moved = True
                    unfinished -= not out.remaining
            except OSError as error:
                raise watch.lost(out.connection, error) from error
        for inflow in ins:
            try:
                if inflow.remaining and inflow.pull():
                    moved = True
                    unfinished -= not inflow.remaining
            except EOFError as error:
                raise watch.lost(inflow.connection, None) from error
            except OSError as error:
                raise watch.lost(inflow.connection, error) from error
        if not moved:
            watch.wait(outs, ins)
            waited = True
        elif waited:
            watch.moved()
            waited = False
