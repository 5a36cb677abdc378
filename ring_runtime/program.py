"""Everything one strand of a ring collective does, worked out as integers beforehand.

A *strand* is one direction and one connection's share of the buffer. Its program
lists the chunks it sends and those it receives, each with how much of the other
has to be done before. What is sent in a slot depends only on what was received in
earlier slots, and room for what comes is freed by what is sent in earlier slots,
so nobody waits in a circle; see `wavefront`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ring_runtime.schedule import (
    all_gather_steps,
    bounds,
    mirror,
    reduce_scatter_steps,
    wavefront,
)

__all__ = [
    "CONTRIBUTION",
    "PARTIAL",
    "RESULT",
    "Part",
    "Plan",
    "Program",
    "find_programs",
    "make_program",
    "rows_of",
]

CONTRIBUTION, PARTIAL, RESULT = 0, 1, 2

_LAG = 2
_LAG_OF_TWO = 4  # two ranks keep no partial results for later: it takes no memory
_DEPTH = 2 * _LAG
_KEPT_PARTS = 4096


@dataclass(frozen=True)
class Plan:
    """One large collective as every rank computes it alike.

    Args:
        position: Ours, in the direction "right".
        order: The rank at each position; rank r owns segment r.
        count: Elements of the whole buffer.
        strands: Shares of a segment: connections, times directions.
        chunks: Into how many chunks each share is cut; at most its number of elements.
        reduces: Begin with a reduce-scatter.
        gathers: End with an all-gather.
    """

    position: int
    order: tuple[int, ...]
    count: int
    strands: int
    chunks: int
    reduces: bool
    gathers: bool

    @property
    def size(self) -> int:
        """How many ranks take part."""
        return len(self.order)


class Part(NamedTuple):
    """One chunk on its way out of a rank or into it.

    Args:
        kind: What it holds: one rank's contribution, a partial result, or a result.
        low: Its first element in the whole buffer.
        high: The element after its last.
        row: Which room for partial results it comes from or lands in.
        after: Sent: how many chunks must have been received before. Received: how many
            must have been sent before, so that there is room.
        finishes: Received: combined with our contribution it is a result.
    """

    kind: int
    low: int
    high: int
    row: int
    after: int
    finishes: bool


@dataclass(frozen=True)
class Program:
    """What one strand sends and receives, each in order.

    Args:
        base: The first element this rank keeps: of its segment if nothing is gathered, else 0.
        sent: Elements sent: contributions and results, then partial results.
        received: The same of what is received.
    """

    sends: tuple[Part, ...]
    recvs: tuple[Part, ...]
    base: int
    sent: tuple[int, int]
    received: tuple[int, int]


def rows_of(size: int) -> int:
    """How many chunks of partial results a strand has to keep at once.

    Example:
        >>> rows_of(2), rows_of(4)
        (1, 9)
    """
    return (size - 2) * _DEPTH + 1


def _row(step: int, chunk: int, reducing: int) -> int:
    """The room for a partial result; the last step needs one for a moment only."""
    return step * _DEPTH + chunk % _DEPTH if step < reducing - 1 else (reducing - 1) * _DEPTH


def make_program(plan: Plan, strand: int, flows_left: bool) -> Program:
    """The program of one strand.

    Args:
        strand: Which share, from 0.
        flows_left: Whether its data flows to the left.

    Example:
        >>> plan = Plan(0, (0, 1), 8, 1, 1, reduces=True, gathers=True)
        >>> [part[:3] for part in make_program(plan, 0, False).sends]
        [(0, 4, 8), (2, 0, 4)]
        >>> [part[:3] for part in make_program(plan, 0, False).recvs]
        [(0, 0, 4), (2, 4, 8)]
    """
    size, position, place = plan.size, plan.position, plan.order
    if flows_left:
        position = mirror(position, size)
        place = tuple(plan.order[mirror(segment, size)] for segment in range(size))
    steps = reduce_scatter_steps(position, size) if plan.reduces else []
    reducing = len(steps)
    if plan.gathers:
        steps = steps + all_gather_steps(position, size)
    order = wavefront(plan.chunks, len(steps), _LAG if size > 2 else _LAG_OF_TWO)
    index = {pair: number for number, pair in enumerate(order)}
    cuts = [_cut(plan, strand, place[segment]) for segment in range(size)]
    sends, recvs = [], []
    for chunk, step in order:
        kind = RESULT if step >= reducing else PARTIAL if step else CONTRIBUTION
        low, high = cuts[steps[step].send][chunk]
        after = index[chunk, step - 1] + 1 if step else 0
        row = _row(step - 1, chunk, reducing) if kind == PARTIAL else 0
        sends.append(Part(kind, low, high, row, after, False))
        low, high = cuts[steps[step].recv][chunk]
        is_kept = step < reducing - 1
        room = index[chunk - _DEPTH, step + 1] + 1 if is_kept and chunk >= _DEPTH else 0
        row = _row(step, chunk, reducing) if kind != RESULT else 0
        recvs.append(Part(kind, low, high, row, room, step == reducing - 1))
    base = 0 if plan.gathers else bounds(0, plan.count, size, place[position])[0]
    return Program(tuple(sends), tuple(recvs), base, _count(sends), _count(recvs))


def _cut(plan: Plan, strand: int, segment: int) -> list[tuple[int, int]]:
    """The chunks of one strand's share of a segment."""
    low, high = bounds(0, plan.count, plan.size, segment)
    low, high = bounds(low, high, plan.strands, strand)
    return [bounds(low, high, plan.chunks, chunk) for chunk in range(plan.chunks)]


def _count(parts: list[Part]) -> tuple[int, int]:
    partial = sum(part.high - part.low for part in parts if part.kind == PARTIAL)
    return sum(part.high - part.low for part in parts) - partial, partial


def _make_programs(plan: Plan, rightward: int) -> tuple[Program, ...]:
    return tuple(make_program(plan, strand, strand >= rightward) for strand in range(plan.strands))


_kept = lru_cache(maxsize=64)(_make_programs)


def find_programs(plan: Plan, rightward: int) -> tuple[Program, ...]:
    """The programs of all strands; those that take little memory are kept.

    Args:
        rightward: How many strands flow to the right; the others flow to the left.
    """
    is_small = plan.strands * plan.chunks * plan.size <= _KEPT_PARTS
    return _kept(plan, rightward) if is_small else _make_programs(plan, rightward)
