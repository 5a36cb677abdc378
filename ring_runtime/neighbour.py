"""One side of a rank: the connections to a neighbour, and what it has said about itself."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from ring_runtime.connection import Connection
from ring_runtime.notices import (
    Abort,
    Goodbye,
    Notice,
    decode_notices,
    encode_notice,
)

__all__ = ["Neighbour"]

_READ_NBYTES = 4096


@dataclass
class Neighbour:
    """The connections to one neighbour and what came over them besides data.

    Args:
        rank: Its rank; with two ranks both sides are the same one.
        data: One connection per address of the hop, in the same order at both ends.
        control: As many; the first carries notices, all of them notice a dead cable.
        inbox: Bytes of a notice that is not yet whole.
        waiting_since: When it told that it waits in a collective, by our clock; 0 if it does not.
        goodbye: Set once it has left in good order.
        ended: A control connection is at its end; nothing more will be said. That alone is no
            error: its last data may still be on the way, and then end too.
    """

    rank: int
    data: list[Connection]
    control: list[Connection]
    inbox: bytes = b""
    waiting_since: float = 0.0
    goodbye: Goodbye | None = None
    ended: bool = False

    def connections(self) -> list[Connection]:
        """All of them."""
        return [*self.data, *self.control]

    def hear(self, connection: Connection, now: float) -> Abort | None:
        """Read what there is on a control connection; an abort is returned.

        Args:
            now: What our clock shows.

        Raises:
            PeerError: It is no notice.
            OSError: The connection failed, and not because the neighbour has left.
        """
        try:
            data = connection.sock.recv(_READ_NBYTES)
        except BlockingIOError:
            return None
        except OSError:
            if self.goodbye is None:
                raise
            data = b""
        if not data:
            self.ended = True
            return None
        notices, self.inbox = decode_notices(self.inbox + data)
        for notice in notices:
            if isinstance(notice, Abort):
                return notice
            if isinstance(notice, Goodbye):
                self.goodbye = notice
            else:
                self.waiting_since = now if notice.still else 0.0
        return None

    def say(self, notice: Notice) -> None:
        """Send this, if the connection takes it."""
        with contextlib.suppress(OSError):
            self.control[0].sock.send(encode_notice(notice))

    def take_leave(self, notice: Notice) -> None:
        """Send our last words, and read what is left, so that closing does not cut them off."""
        self.say(notice)
        sock = self.control[0].sock
        with contextlib.suppress(OSError):
            while sock.recv(_READ_NBYTES):
                pass

    def close(self) -> None:
        """Close every socket."""
        for connection in self.connections():
            connection.close()
