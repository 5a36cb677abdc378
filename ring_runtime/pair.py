"""Two ranks: each sends all it has and adds what comes, in place, while it is in the cache.

On the wire this is a relay between two; what differs is that nothing is kept.
"""

from __future__ import annotations

from typing import Any

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.reduction import Reduction
from ring_runtime.ring import Ring
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["Pair"]

_PIECE_NBYTES = 131072


class Pair:
    """An all-reduce of two ranks, set up once to be run any number of times.

    Args:
        connection: To the other rank.
        is_first: Whether ours is the lower rank: results are the same bits on both.
        header: Of the next run.
        reduction: How two arrays become one.
        nbytes: Of an array.
    """

    def __init__(
        self,
        ring: Ring,
        connection: Connection,
        is_first: bool,
        header: bytearray,
        reduction: Reduction,
        nbytes: int,
    ) -> None:
        self.ring = ring
        self.connection = connection
        self._sock = connection.sock
        self.is_first = is_first
        self.header = header
        self.reduction = reduction
        self.head = bytearray(HEADER_NBYTES)
        self._nbytes = HEADER_NBYTES + nbytes

    def run(self, ours: Array, result: Array) -> None:
        """Write the combination of both ranks' arrays to ``result``.

        Most often one call sends everything and one receives everything; what is left then
        is up to `exchange`.

        Args:
            ours: Contiguous.
            result: Contiguous and as large, in other memory.

        Raises:
            PeerError: The ring is broken.

        Cost:
            One hop; the whole array sent by each rank.
        """
        message: Any = (self.header, ours)
        try:
            sent = self._sock.sendmsg(message)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise self.ring.lost(self.connection, error) from error
        received, waited = self._receive(result) if sent == self._nbytes else (0, False)
        if ours.ndim != 1:
            ours, result = ours.reshape(-1), result.reshape(-1)
        if received == self._nbytes:
            self.add(ours, result)
        else:
            self._finish(ours, result, sent, received, waited)

    def _receive(self, result: Array) -> tuple[int, bool]:
        """Receive what comes while waiting costs less than sleeping.

        Returns:
            How many bytes came, and whether a wait has begun and not ended.
        """
        room: Any = (self.head, result)
        patience = self.ring.patience
        received, waited = 0, False
        while received < self._nbytes:
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
            if received < self._nbytes:
                room = (as_bytes(result.reshape(-1))[received - HEADER_NBYTES :],)
        return received, waited

    def refuse(self) -> None:
        """Break the ring: their header is not ours."""
        raise self.ring.mismatch(self.connection, bytes(self.header), bytes(self.head))

    def add(self, ours: Array, result: Array) -> None:
        """Combine our flat contribution with theirs, which is in ``result``, and leave it there."""
        if self.is_first:
            self.reduction.fold(ours, result, out=result)
        else:
            self.reduction.fold(result, ours, out=result)

    def _finish(self, ours: Array, result: Array, sent: int, received: int, waited: bool) -> None:
        """Send and receive the rest."""
        out = Outflow(self.connection, None, self._nbytes - sent)
        if sent < HEADER_NBYTES:
            out.feed(memoryview(self.header)[sent:])
        out.feed(as_bytes(ours)[max(sent - HEADER_NBYTES, 0) :])
        inflow = Inflow(
            self.connection, self._nbytes - received, _Pieces(self, ours, result, received)
        )
        inflow.started = received > 0
        exchange((out,) if out.remaining else (), (inflow,), self.ring, waited=waited)


class _Pieces:
    """Receives the header and then the array, each piece of which is added when it is there.

    Args:
        received: How many bytes are there already; not all of them.
    """

    def __init__(self, pair: Pair, ours: Array, result: Array, received: int) -> None:
        self.pair = pair
        self.ours = ours
        self.result = result
        self._room = as_bytes(result)
        self.header_from = min(received, HEADER_NBYTES)
        self._start = 0
        self._there = max(received - HEADER_NBYTES, 0)
        self._add_until(self._there // _PIECE_NBYTES * _PIECE_NBYTES)

    def incoming(self) -> memoryview:
        """Room for the rest of the header or of a piece."""
        if self.header_from < HEADER_NBYTES:
            return memoryview(self.pair.head)[self.header_from :]
        return self._room[self._there : self._start + _PIECE_NBYTES]

    def underway(self, received: int) -> None:
        """Nothing to do before a piece is whole."""

    def arrived(self) -> None:
        """Check the header, or add the piece."""
        if self.header_from < HEADER_NBYTES:
            self.header_from = HEADER_NBYTES
            if self.pair.header != self.pair.head:
                self.pair.refuse()
        else:
            self._add_until(min(self._start + _PIECE_NBYTES, len(self._room)))

    def _add_until(self, end: int) -> None:
        itemsize = self.ours.itemsize
        part = slice(self._start // itemsize, end // itemsize)
        self.pair.add(self.ours[part], self.result[part])
        self._start = end
        self._there = max(self._there, end)
