"""Two ranks: each sends all it has and adds what comes, in place, while it is in the cache.

On the wire this is a relay between two; what differs is that nothing is kept.
"""

from __future__ import annotations

from ring_runtime.arrays import Array
from ring_runtime.connection import Connection, exchange
from ring_runtime.reduction import Reduction
from ring_runtime.ring import Ring
from ring_runtime.whole import Whole

__all__ = ["Pair"]


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
        self.header = header
        self._is_first = is_first
        self._fold = reduction.fold
        self._whole = Whole(ring, connection, header, nbytes)

    def run(self, ours: Array, result: Array) -> None:
        """Write the combination of both ranks' arrays to ``result``.

        Args:
            ours: Contiguous.
            result: Contiguous and as large, in other memory.

        Raises:
            PeerError: The ring is broken.

        Cost:
            One hop; the whole array sent by each rank.
        """
        whole = self._whole
        sent = whole.send(ours)
        received, waited = whole.receive(result) if sent == whole.nbytes else (0, False)
        if ours.ndim != 1:
            ours, result = ours.reshape(-1), result.reshape(-1)
        if received == whole.nbytes:
            self._add(ours, result)
            return
        itemsize = ours.itemsize

        def add(low: int, high: int) -> None:
            part = slice(low // itemsize, high // itemsize)
            self._add(ours[part], result[part])

        outs = whole.rest_of(ours, sent)
        exchange(outs, whole.rest_into(result, received, add), self.ring, waited=waited)

    def _add(self, ours: Array, result: Array) -> None:
        """Combine our flat contribution with theirs, which is in ``result``, and leave it there."""
        if self._is_first:
            self._fold(ours, result, out=result)
        else:
            self._fold(result, ours, out=result)
