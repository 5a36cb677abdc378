"""Two ranks: each sends all it has and adds what comes, piece by piece, while it comes.

On the wire this is a relay between two; what differs is that nothing is kept. A
piece is added while it is still in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.reduction import Reduction
from ring_runtime.ring import Ring
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["Pair", "pair_nbytes"]

_PIECE_NBYTES = 131072
_COPIED_NBYTES = 8192


def pair_nbytes(nbytes: int) -> int:
    """How much memory an exchange of arrays of ``nbytes`` needs."""
    return 2 * HEADER_NBYTES + min(nbytes, _PIECE_NBYTES) + _COPIED_NBYTES


class Pair:
    """An all-reduce of two ranks, set up once to be run any number of times.

    Args:
        connection: To the other rank.
        is_first: Whether ours is the lower rank: results are the same bits on both.
        header: Of the next run.
        reduction: How two arrays become one.
        count: Elements of an array, at least one.
        memory: `pair_nbytes` bytes, used by nobody else during a run.
    """

    def __init__(
        self,
        ring: Ring,
        connection: Connection,
        is_first: bool,
        header: bytearray,
        reduction: Reduction,
        count: int,
        memory: NDArray[np.uint8],
    ) -> None:
        self.ring = ring
        self.connection = connection
        self.is_first = is_first
        self.header = header
        self.reduction = reduction
        itemsize = reduction.dtype.itemsize
        self._piece = min(count, _PIECE_NBYTES // itemsize)
        self._nbytes = count * itemsize
        self._memory = memory[: HEADER_NBYTES + self._piece * itemsize].data
        self._head = self._memory[:HEADER_NBYTES]
        self._room = self._memory[HEADER_NBYTES:]
        arrived: Array = np.frombuffer(self._room, np.uint8)
        self._theirs: Array = arrived.view(reduction.dtype)
        rest = memory[len(self._memory) :]
        self._block: memoryview | None = None
        if self._nbytes <= _COPIED_NBYTES:
            self._block = rest[: HEADER_NBYTES + self._nbytes].data
            copied: Array = np.frombuffer(self._block[HEADER_NBYTES:], np.uint8)
            self._copied: Array = copied.view(reduction.dtype)
        self._out = Outflow(connection, header, self._nbytes)
        self._in = Inflow(connection, HEADER_NBYTES + self._nbytes, self)
        self._ours: Array = self._theirs
        self._result: Array = self._theirs
        self._at = 0
        self._seen = 0

    def incoming(self) -> memoryview:
        """Room for the next piece, the first one with the header before it."""
        if not self._at:
            return self._memory
        itemsize: Any = self.reduction.dtype.itemsize
        return self._room[: min(self._piece, len(self._ours) - self._at) * itemsize]

    def underway(self, received: int) -> None:
        """Check the header as soon as it is there: the rest of a wrong call may never come."""
        before, self._seen = self._seen, self._seen + received
        if before < HEADER_NBYTES <= self._seen:
            self._check()

    def _check(self) -> None:
        if self.header != self._head:
            raise self.ring.mismatch(self.connection, bytes(self.header), bytes(self._head))

    def arrived(self) -> None:
        """Add the piece."""
        low = self._at
        if not low:
            self._check()
        theirs, ours, result = self._theirs, self._ours, self._result
        high = self._at = min(low + self._piece, len(ours))
        if high - low < len(ours):
            theirs, ours, result = theirs[: high - low], ours[low:high], result[low:high]
        if self.is_first:
            self.reduction.fold(ours, theirs, result)
        else:
            self.reduction.fold(theirs, ours, result)

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
        if ours.ndim != 1:
            ours, result = ours.reshape(-1), result.reshape(-1)
        self._ours, self._result = ours, result
        self._at = self._seen = 0
        if self._block is not None:
            self._block[:HEADER_NBYTES] = self.header
            self._copied[:] = ours
            self._out.restart(None, self._block, HEADER_NBYTES + self._nbytes)
        else:
            self._out.restart(self.header, as_bytes(ours), HEADER_NBYTES + self._nbytes)
        self._in.restart(HEADER_NBYTES + self._nbytes)
        exchange((self._out,), (self._in,), self.ring)
        self._ours = self._result = self._theirs
