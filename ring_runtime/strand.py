"""Running the program of one strand: the sink of what comes, the source of what goes."""

from __future__ import annotations

import numpy as np

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Outflow
from ring_runtime.program import CONTRIBUTION, RESULT, Program
from ring_runtime.reduction import Reduction

__all__ = ["Strand"]


class Strand:
    """One direction and one connection's share of a ring collective.

    Args:
        source: Our flat contribution.
        out: The flat result.
        pool: Two-dimensional bytes: a row for each partial result.
        outflow: Where chunks are fed; its first piece is the header.
    """

    def __init__(
        self,
        program: Program,
        source: Array,
        out: Array,
        reduction: Reduction,
        pool: Array,
        outflow: Outflow,
    ) -> None:
        self.program = program
        self.source = source
        self.out = out
        self.reduction = reduction
        self.outflow = outflow
        self.received = 0
        self._fed = 0
        self._partials: Array = pool.view(reduction.partial)
        self._contributions: Array = pool.view(reduction.dtype)
        self._row_nbytes = pool.shape[1]
        self._pool_bytes = as_bytes(pool.reshape(-1))
        self._source_bytes = as_bytes(source)
        self._out_bytes = as_bytes(out)
        self._is_apart = not np.may_share_memory(source, out)
        self._feed()

    def _feed(self) -> None:
        """Feed what may be sent by now."""
        sends, received, base = self.program.sends, self.received, self.program.base
        width = self.reduction.dtype.itemsize
        while self._fed < len(sends):
            kind, low, high, row, after, _ = sends[self._fed]
            if after > received:
                return
            if kind == RESULT:
                view = self._out_bytes[(low - base) * width : (high - base) * width]
            elif kind == CONTRIBUTION:
                view = self._source_bytes[low * width : high * width]
            else:
                start = row * self._row_nbytes
                nbytes = (high - low) * self.reduction.partial.itemsize
                view = self._pool_bytes[start : start + nbytes]
            self.outflow.feed(view)
            self._fed += 1

    def incoming(self) -> memoryview | None:
        """Room for the next chunk, or None while partial results wait to be sent.

        What becomes a result as soon as ours is added lands in its place. Contributions that
        are narrower than partial results land in the upper half of a row, where
        `Reduction.fold` reads them before it writes over them.
        """
        kind, low, high, row, after, finishes = self.program.recvs[self.received]
        width = self.reduction.dtype.itemsize
        if kind == RESULT or (finishes and self._lands(kind)):
            base = self.program.base
            return self._out_bytes[(low - base) * width : (high - base) * width]
        if after > self.outflow.completed:
            return None
        start = row * self._row_nbytes
        nbytes = (high - low) * self.reduction.partial.itemsize
        if kind == CONTRIBUTION and self.reduction.widens:
            return self._pool_bytes[start + nbytes // 2 : start + nbytes]
        return self._pool_bytes[start : start + nbytes]

    def _lands(self, kind: int) -> bool:
        """Whether what becomes a result is received in the place of that result."""
        return self._is_apart and (kind == CONTRIBUTION or not self.reduction.widens)

    def underway(self, received: int) -> None:
        """Chunks are taken up when they are whole."""

    def arrived(self) -> None:
        """Reduce the chunk if it is one to reduce, and feed what it allows to be sent."""
        kind, low, high, row, _, finishes = self.program.recvs[self.received]
        if kind != RESULT:
            count, base = high - low, self.program.base
            target = self.out[low - base : high - base] if finishes else self._partials[row, :count]
            if finishes and self._lands(kind):
                arrived = target
            elif kind == CONTRIBUTION and self.reduction.widens:
                arrived = self._contributions[row, count : 2 * count]
            else:
                arrived = self._partials[row, :count]
            self.reduction.fold(arrived, self.source[low:high], out=target)
        self.received += 1
        self._feed()
