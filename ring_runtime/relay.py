"""Small collectives: whole contributions travel both ways until everybody has them all.

A rank sends its contribution to both neighbours and passes on what it receives
from one to the other; nobody's contribution travels more than half way around.
Every rank then holds all of them and combines them in rank order by itself, so
all ranks compute the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.reduction import Reduction
from ring_runtime.ring import Ring
from ring_runtime.schedule import relay_hops
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["Relay", "RelayedReduction", "Route", "relay_nbytes"]

_ALIGNMENT = 64
_WORTH_LENDING_NBYTES = 8192


@dataclass(frozen=True)
class Route:
    """The connections of one direction of flow, in the same order on both ends of a hop.

    Args:
        outs: Where data leaves.
        ins: Where it comes from; with two ranks these are the same connections.
    """

    outs: tuple[Connection, ...]
    ins: tuple[Connection, ...]


class _Passing:
    """What comes from one neighbour: its own contribution, then those from behind it."""

    def __init__(
        self,
        ring: Ring,
        connection: Connection,
        onward: Outflow,
        header: bytearray,
        buffer: memoryview,
        hops: int,
    ) -> None:
        self.ring = ring
        self.connection = connection
        self.onward = onward
        self.header = header
        self.head = buffer[:HEADER_NBYTES]
        nbytes = (len(buffer) - HEADER_NBYTES) // hops
        starts = range(HEADER_NBYTES, len(buffer), nbytes)
        self.blocks = [buffer[start : start + nbytes] for start in starts]
        self.rooms = [buffer[: HEADER_NBYTES + nbytes], *self.blocks[1:]]
        self.count = 0
        self.seen = 0

    def restart(self) -> None:
        """Begin again."""
        self.count = 0
        self.seen = 0

    def incoming(self) -> memoryview:
        """Room for the next contribution, the first one with the header before it."""
        return self.rooms[self.count]

    def underway(self, received: int) -> None:
        """Check the header as soon as it is there: the rest of a wrong call may never come."""
        before, self.seen = self.seen, self.seen + received
        if before < HEADER_NBYTES <= self.seen:
            self._check()

    def _check(self) -> None:
        if self.header != self.head:
            raise self.ring.mismatch(self.connection, bytes(self.header), bytes(self.head))

    def arrived(self) -> None:
        """Pass the contribution on, unless it has come half way around."""
        if not self.count:
            self._check()
        self.count += 1
        if self.count < len(self.blocks):
            self.onward.feed(self.blocks[self.count - 1])


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def relay_nbytes(size: int, nbytes: int) -> int:
    """How much memory a relay of contributions of ``nbytes`` needs."""
    block = max(nbytes, 1)
    return sum(_aligned(HEADER_NBYTES + count * block) for count in (1, *relay_hops(size)))


class Relay:
    """A small collective, set up once to be run any number of times.

    Args:
        routes: To the right and, with more than two ranks, to the left.
        order: The rank at each position, to the right.
        position: Ours.
        header: Of the next run.
        dtype: Of every contribution.
        shape: Of every contribution.
        memory: `relay_nbytes` bytes, used by nobody else during a run.
    """

    def __init__(
        self,
        ring: Ring,
        routes: tuple[Route, ...],
        order: Sequence[int],
        position: int,
        header: bytearray,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        memory: NDArray[np.uint8],
    ) -> None:
        self.ring = ring
        self.header = header
        size, count = len(order), int(np.prod(shape, dtype=np.int64))
        block = max(count * dtype.itemsize, 1)
        self._rank = order[position]
        self._block = memory[: HEADER_NBYTES + block].data
        self._head = self._block[:HEADER_NBYTES]
        self._outs: list[Outflow] = []
        self._ins: list[Inflow] = []
        self._passings: list[_Passing] = []

        def flat(view: memoryview) -> Array:
            array: Array = np.frombuffer(view, np.uint8, count * dtype.itemsize).view(dtype)
            return array

        self._own = flat(self._block[HEADER_NBYTES:])
        self._own_shaped = self._own.reshape(shape)
        self._parts: list[Array] = [self._own] * size
        at = _aligned(HEADER_NBYTES + block)
        for route, hops, towards in zip(routes, relay_hops(size), (-1, 1), strict=False):
            buffer = memory[at : at + HEADER_NBYTES + hops * block].data
            at += _aligned(len(buffer))
            out = Outflow(route.outs[0], header, hops * block)
            passing = _Passing(ring, route.ins[0], out, header, buffer, hops)
            self._outs.append(out)
            self._ins.append(Inflow(route.ins[0], len(buffer), passing))
            self._passings.append(passing)
            for hop, view in enumerate(passing.blocks):
                self._parts[order[(position + towards * (hop + 1)) % size]] = flat(view)
        self._lengths = [inflow.remaining for inflow in self._ins]

    def run(self, array: Array, *, lends: bool = True) -> list[Array]:
        """Everybody's contribution, flat, in rank order; good until the next run.

        Every rank of the group has begun the same call when it returns.

        Args:
            array: Ours.
            lends: Whether it stays as it is until the result is no longer needed.

        Raises:
            PeerError: The ring is broken.

        Cost:
            ``size // 2`` hops; ``(size - 1) * nbytes`` sent per rank, over two directions.
        """
        head: bytearray | None
        if lends and array.nbytes >= _WORTH_LENDING_NBYTES and array.flags.c_contiguous:
            flat = array.reshape(-1)
            head, block = self.header, as_bytes(flat)
        else:
            flat = self._own
            head, block = None, self._block
            self._head[:] = self.header
            self._own_shaped[...] = array
        for out, inflow, passing, length in zip(
            self._outs, self._ins, self._passings, self._lengths, strict=True
        ):
            out.restart(head, block, length)
            inflow.restart(length)
            passing.restart()
        exchange(self._outs, self._ins, self.ring)
        parts = list(self._parts)
        parts[self._rank] = flat
        return parts


class RelayedReduction:
    """An all-reduce by way of a relay, set up once to be run any number of times."""

    def __init__(self, relay: Relay, reduction: Reduction) -> None:
        self.header = relay.header
        self._relay = relay
        self._reduction = reduction

    def run(self, ours: Array, result: Array) -> None:
        """Write the combination of all ranks' arrays to ``result``, see `calls.ReadyReduction`."""
        self._reduction.fold_all(self._relay.run(ours), result.reshape(-1))
