"""One direction and one connection's share of a large ring collective.

A *strand* moves its share by itself: what it receives from one neighbour it reduces
(or keeps) and sends on to the other, chunk by chunk, in the order of `wavefront`.
Nobody waits in a circle: what is sent in a slot depends only on what was received
in earlier slots, and room for what comes is freed by what is sent in earlier slots.
"""

from __future__ import annotations

from dataclasses import dataclass

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Outflow
from ring_runtime.reduction import Reduction
from ring_runtime.schedule import (
    all_gather_steps,
    bounds,
    mirror,
    reduce_scatter_steps,
    wavefront,
)

__all__ = ["Plan", "Strand", "pool_rows"]

LAG = 2
DEPTH = 2 * LAG


@dataclass(frozen=True)
class Plan:
    """One large collective as every rank computes it alike.

    Args:
        size: Ranks in the group.
        position: Ours, in the direction "right".
        order: The rank at each position; rank r owns segment r.
        count: Elements of the whole buffer.
        reduces: Begin with a reduce-scatter.
        gathers: End with an all-gather.
        chunks: Into how many chunks each share of a segment is cut.
    """

    size: int
    position: int
    order: tuple[int, ...]
    count: int
    reduces: bool
    gathers: bool
    chunks: int


class Strand:
    """One direction and one connection's share of a ring collective."""

    def __init__(
        self,
        plan: Plan,
        share: tuple[int, int],
        flows_left: bool,
        source: Array,
        out: Array,
        reduction: Reduction,
        pool: Array,
    ) -> None:
        size, position, place = plan.size, plan.position, plan.order
        if flows_left:
            position = mirror(position, size)
            place = tuple(plan.order[mirror(segment, size)] for segment in range(size))
        self.plan = plan
        self.share = share
        self.place = place
        self.source = source
        self.out = out
        self.base = 0 if plan.gathers else bounds(0, plan.count, size, place[position])[0]
        self.reduction = reduction
        self.pool = pool
        self.reducing = size - 1 if plan.reduces else 0
        self.steps = reduce_scatter_steps(position, size) if plan.reduces else []
        if plan.gathers:
            self.steps = self.steps + all_gather_steps(position, size)
        self.order = wavefront(plan.chunks, len(self.steps), LAG)
        self.received = 0
        self.fed = 0
        self.counted = 0
        self.arrived_in = [0] * len(self.steps)
        self.sent_in = [0] * len(self.steps)
        self.outflow: Outflow | None = None
        self.target: Array = out[:0]

    def cut(self, segment: int, chunk: int) -> tuple[int, int]:
        """First and last element of a chunk of our share of a segment."""
        low, high = bounds(0, self.plan.count, self.plan.size, self.place[segment])
        index, parts = self.share
        low, high = bounds(low, high, parts, index)
        return bounds(low, high, self.plan.chunks, chunk)

    def nbytes_of(self, step: int, segment: int, chunk: int) -> int:
        """What a chunk weighs on the wire: partial results may be wider."""
        low, high = self.cut(segment, chunk)
        is_partial = 0 < step < self.reducing
        dtype = self.reduction.partial if is_partial else self.reduction.dtype
        return (high - low) * dtype.itemsize

    def total(self, *, sent: bool) -> int:
        """How many bytes this strand sends or receives in all, without the header."""
        return sum(
            self.nbytes_of(step, self.steps[step].send if sent else self.steps[step].recv, chunk)
            for chunk, step in self.order
        )

    def _partial(self, step: int, chunk: int, count: int) -> Array:
        """Where the partial result of reducing step ``step`` is kept until it is sent."""
        row = step * DEPTH + chunk % DEPTH if step < self.reducing - 1 else len(self.pool) - 1
        partial: Array = self.pool[row].view(self.reduction.partial)
        return partial[:count]

    def begin(self, outflow: Outflow) -> None:
        """Feed what can be sent without having received anything."""
        self.outflow = outflow
        self._feed()

    def _feed(self) -> None:
        assert self.outflow is not None
        while self.fed < len(self.order):
            chunk, step = self.order[self.fed]
            if step and chunk >= self.arrived_in[step - 1]:
                return
            low, high = self.cut(self.steps[step].send, chunk)
            if step >= self.reducing:
                view = self.out[low - self.base : high - self.base]
            elif step == 0:
                view = self.source[low:high]
            else:
                view = self._partial(step - 1, chunk, high - low)
            self.outflow.feed(as_bytes(view))
            self.fed += 1

    def incoming(self) -> memoryview | None:
        """Room for the next chunk, or None while the pool is waiting to be sent."""
        chunk, step = self.order[self.received]
        low, high = self.cut(self.steps[step].recv, chunk)
        if step >= self.reducing:
            self.target = self.out[low - self.base : high - self.base]
        else:
            if step < self.reducing - 1 and not self._has_room(step, chunk):
                return None
            self.target = self._partial(step, chunk, high - low)
            if step == 0 and self.reduction.widens:
                self.target = self.target.view(self.reduction.dtype)[high - low :]
        return as_bytes(self.target)

    def _has_room(self, step: int, chunk: int) -> bool:
        assert self.outflow is not None
        while self.counted < self.outflow.completed - 1:
            self.sent_in[self.order[self.counted][1]] += 1
            self.counted += 1
        return chunk < DEPTH + self.sent_in[step + 1]

    def underway(self, received: int) -> None:
        """Chunks are taken up when they are whole."""

    def arrived(self) -> None:
        """Reduce the chunk if it is one to reduce, and feed what it allows to be sent."""
        chunk, step = self.order[self.received]
        if step < self.reducing:
            low, high = self.cut(self.steps[step].recv, chunk)
            if step == self.reducing - 1:
                target = self.out[low - self.base : high - self.base]
            else:
                target = self._partial(step, chunk, high - low)
            self.reduction.fold(self.target, self.source[low:high], target)
        self.received += 1
        self.arrived_in[step] += 1
        self._feed()


def pool_rows(size: int) -> int:
    """How many chunks of partial results a strand has to keep at once."""
    return (size - 2) * DEPTH + 1
