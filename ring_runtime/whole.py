"""An array that travels whole over one connection, behind its header, most often in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.ring import Ring
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["Whole"]

_PIECE_NBYTES = 131072


class Whole:
    """What two ranks exchange, set up once to be sent and received any number of times.

    Args:
        connection: To the other rank.
        header: Of the next run.
        nbytes: Of an array.

    Attributes:
        nbytes: Of header and array.
    """

    def __init__(self, ring: Ring, connection: Connection, header: bytearray, nbytes: int) -> None:
        self.ring = ring
        self.connection = connection
        self.header = header
        self.head = bytearray(HEADER_NBYTES)
        self.nbytes = HEADER_NBYTES + nbytes
        self._sock = connection.sock

    def send(self, array: Array) -> int:
        """Send what the connection takes now; how many bytes it took.

        Args:
            array: Contiguous.

        Raises:
            PeerError: The connection failed.
        """
        message: Any = (self.header, array)
        try:
            return self._sock.sendmsg(message)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self.ring.lost(self.connection, error) from error

    def receive(self, result: Array) -> tuple[int, bool]:
        """Receive what comes while waiting costs less than sleeping.

        Args:
            result: Contiguous.

        Returns:
            How many bytes came, and whether a wait has begun and not ended.

        Raises:
            PeerError: The connection failed, or what came has another header.
        """
        room: Any = (self.head, result)
        patience = self.ring.patience
        received, waited = 0, False
        while received < self.nbytes:
            try:
                got = self._sock.recvmsg_into(room)[0]
            except BlockingIOError:
                waited = True
                if not patience.is_spinning():
                    break
                continue
            except OSError as error:
                raise self.ring.lost(self.connection, error) from error
            if not got:
                raise self.ring.lost(self.connection, None)
            if waited:
                patience.moved()
                waited = False
            received += got
            if received < HEADER_NBYTES:
                break
            if self.header != self.head:
                self.refuse()
            if received < self.nbytes:
                room = (as_bytes(result.reshape(-1))[received - HEADER_NBYTES :],)
        return received, waited

    def refuse(self) -> None:
        """Break the ring: their header is not ours."""
        raise self.ring.mismatch(self.connection, bytes(self.header), bytes(self.head))

    def rest_of(self, array: Array, sent: int) -> tuple[Outflow, ...]:
        """What is yet to be sent, for `exchange`."""
        if sent == self.nbytes:
            return ()
        out = Outflow(self.connection, None, self.nbytes - sent)
        if sent < HEADER_NBYTES:
            out.feed(memoryview(self.header)[sent:])
        out.feed(as_bytes(array.reshape(-1))[max(sent - HEADER_NBYTES, 0) :])
        return (out,)

    def rest_into(
        self, result: Array, received: int, arrived: Callable[[int, int], None] | None = None
    ) -> tuple[Inflow, ...]:
        """What is yet to be received, for `exchange`.

        Args:
            arrived: Told of the first byte and the byte after the last of every piece that is
                there, those included that came before.
        """
        if received == self.nbytes:
            return ()
        pieces = _Pieces(self, as_bytes(result.reshape(-1)), received, arrived)
        inflow = Inflow(self.connection, self.nbytes - received, pieces)
        inflow.started = received > 0
        return (inflow,)

    def send_all(self, array: Array) -> None:
        """Send it; returns when the connection has taken everything.

        Raises:
            PeerError: The ring is broken.
        """
        sent = self.send(array)
        if sent < self.nbytes:
            exchange(self.rest_of(array, sent), (), self.ring)

    def receive_all(self, result: Array) -> None:
        """Receive it; returns when everything is there.

        Raises:
            PeerError: The ring is broken.
        """
        received, waited = self.receive(result)
        if received < self.nbytes:
            exchange((), self.rest_into(result, received), self.ring, waited=waited)


class _Pieces:
    """Receives the rest of the header and of the array.

    Args:
        room: All of the array.
        received: How many bytes are there already; not all of them.
    """

    def __init__(
        self,
        whole: Whole,
        room: memoryview,
        received: int,
        arrived: Callable[[int, int], None] | None,
    ) -> None:
        self._whole = whole
        self._room = room
        self._arrived = arrived
        self._header_from = min(received, HEADER_NBYTES)
        self._start = 0
        self._there = max(received - HEADER_NBYTES, 0)
        self._finish_until(self._there // _PIECE_NBYTES * _PIECE_NBYTES)

    def incoming(self) -> memoryview:
        """Room for the rest of the header or of a piece."""
        if self._header_from < HEADER_NBYTES:
            return memoryview(self._whole.head)[self._header_from :]
        return self._room[self._there : self._start + _PIECE_NBYTES]

    def underway(self, received: int) -> None:
        """Nothing to do before a piece is whole."""

    def arrived(self) -> None:
        """Check the header, or go on to the next piece."""
        if self._header_from < HEADER_NBYTES:
            self._header_from = HEADER_NBYTES
            if self._whole.header != self._whole.head:
                self._whole.refuse()
        else:
            self._finish_until(min(self._start + _PIECE_NBYTES, len(self._room)))

    def _finish_until(self, end: int) -> None:
        if self._arrived is not None:
            self._arrived(self._start, end)
        self._start = end
        self._there = max(self._there, end)
