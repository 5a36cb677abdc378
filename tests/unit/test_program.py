"""The programs of strands, run by a simulation with plain lists and wires that hold one chunk."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_runtime.program import (
    CONTRIBUTION,
    PARTIAL,
    RESULT,
    Part,
    Plan,
    find_programs,
    make_program,
    rows_of,
)


class Rank:
    """One position: its numbers, its rooms for partial sums, and how far it has come."""

    def __init__(self, plan: Plan, strand: int, flows_left: bool, own: list[int]) -> None:
        self.program = make_program(plan, strand, flows_left)
        self.own = own
        self.result: list[int | None] = [None] * plan.count
        if not plan.reduces:
            self.result = [*own]
        self.rooms: list[list[int] | None] = [None] * rows_of(max(plan.size, 2))
        self.sent = 0
        self.received = 0

    def next_chunk(self) -> list[int] | None:
        """What may be sent now."""
        if self.sent == len(self.program.sends):
            return None
        part = self.program.sends[self.sent]
        if part.after > self.received:
            return None
        self.sent += 1
        if part.kind == CONTRIBUTION:
            return self.own[part.low : part.high]
        if part.kind == RESULT:
            chunk = self.result[part.low : part.high]
            assert None not in chunk
            return [number for number in chunk if number is not None]
        room = self.rooms[part.row]
        assert room is not None
        self.rooms[part.row] = None
        return room

    def take(self, chunk: list[int]) -> bool:
        """Receive a chunk if there is room for it."""
        part = self.program.recvs[self.received]
        if part.after > self.sent:
            return False
        assert len(chunk) == part.high - part.low
        if part.kind != RESULT:
            chunk = [a + b for a, b in zip(chunk, self.own[part.low : part.high], strict=True)]
        if part.kind == RESULT or part.finishes:
            self.result[part.low : part.high] = chunk
        else:
            assert self.rooms[part.row] is None, "a partial result is overwritten"
            self.rooms[part.row] = chunk
        self.received += 1
        return True


def simulate(
    size: int, count: int, strands: int, chunks: int, *, reduces: bool, gathers: bool
) -> list[list[int | None]]:
    """The results of all ranks after all strands, half of which flow to the left."""
    rightward = -(-strands // 2)
    order = tuple((3 * position + 1) % size if size % 3 else position for position in range(size))
    owns = [[1000 * (order[p] + 1) + index for index in range(count)] for p in range(size)]
    if not reduces:
        owns = [
            [n if count * order[p] // size <= i < count * (order[p] + 1) // size else 0
             for i, n in enumerate(owns[p])]
            for p in range(size)
        ]  # fmt: skip
    merged: list[list[int | None]] = [[None] * count for _ in range(size)]
    for strand in range(strands):
        flows_left = strand >= rightward
        ranks = [
            Rank(
                Plan(p, order, count, strands, chunks, reduces=reduces, gathers=gathers),
                strand,
                flows_left,
                owns[p],
            )
            for p in range(size)
        ]
        run(ranks, -1 if flows_left else 1)
        for p, rank in enumerate(ranks):
            for part in rank.program.recvs:
                if part.kind == RESULT or part.finishes:
                    merged[p][part.low : part.high] = rank.result[part.low : part.high]
    by_rank: list[list[int | None]] = [[]] * size
    for position in range(size):
        by_rank[order[position]] = merged[position]
    return by_rank


def run(ranks: list[Rank], direction: int) -> None:
    """Let every rank send and receive until all are done; one chunk fits on each wire."""
    wires: list[deque[list[int]]] = [deque() for _ in ranks]
    while any(rank.received < len(rank.program.recvs) for rank in ranks):
        moved = False
        for position, rank in enumerate(ranks):
            if not wires[position]:
                chunk = rank.next_chunk()
                if chunk is not None:
                    wires[position].append(chunk)
                    moved = True
            inward = wires[(position - direction) % len(ranks)]
            if inward and rank.take(inward[0]):
                inward.popleft()
                moved = True
        assert moved, "everybody waits for somebody else"


@given(st.integers(2, 6), st.integers(1, 4), st.integers(1, 7), st.integers(0, 60))
def test_an_all_reduce_by_programs(size: int, strands: int, chunks: int, more: int) -> None:
    count = size * strands * chunks + more
    total = [sum(1000 * (rank + 1) for rank in range(size)) + size * i for i in range(count)]
    results = simulate(size, count, strands, chunks, reduces=True, gathers=True)
    for rank in range(size):
        ours = [i for i in range(count) if count * rank // size <= i < count * (rank + 1) // size]
        assert [results[rank][i] for i in ours] == [total[i] for i in ours]
        assert results[rank] == total


@given(st.integers(2, 6), st.integers(1, 4), st.integers(1, 5))
def test_a_reduce_scatter_by_programs(size: int, strands: int, chunks: int) -> None:
    count = size * strands * chunks * 2
    results = simulate(size, count, strands, chunks, reduces=True, gathers=False)
    for rank in range(size):
        for index, number in enumerate(results[rank]):
            if index * size // count == rank:
                assert number == sum(1000 * (r + 1) for r in range(size)) + size * index
            else:
                assert number is None


@given(st.integers(2, 6), st.integers(1, 4), st.integers(1, 5), st.integers(0, 20))
def test_an_all_gather_by_programs(size: int, strands: int, chunks: int, more: int) -> None:
    count = size * (strands * chunks + more)
    results = simulate(size, count, strands, chunks, reduces=False, gathers=True)
    for rank in range(size):
        for index, number in enumerate(results[rank]):
            owner = index * size // count
            expected = None if owner == rank else 1000 * (owner + 1) + index
            assert number == expected


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("flows_left", [False, True])
def test_what_arrives_is_what_the_other_side_sends(size: int, flows_left: bool) -> None:
    plans = [Plan(p, tuple(range(size)), 997, 3, 9, True, True) for p in range(size)]
    programs = [make_program(plan, 1, flows_left) for plan in plans]
    for position in range(size):
        sender = programs[(position + (1 if flows_left else -1)) % size]
        mine = programs[position]
        assert [part[:3] for part in sender.sends] == [part[:3] for part in mine.recvs]
        assert sender.sent == mine.received


def test_the_program_of_three_ranks_in_one_chunk() -> None:
    """Rank 1 sends segment 0, adds to segment 2 on its way, finishes 1, and passes results on."""
    program = make_program(Plan(1, (0, 1, 2), 6, 1, 1, True, True), 0, False)
    assert program.sends == (
        Part(CONTRIBUTION, 0, 2, 0, 0, False),
        Part(PARTIAL, 4, 6, 0, 1, False),
        Part(RESULT, 2, 4, 0, 2, False),
        Part(RESULT, 0, 2, 0, 3, False),
    )
    assert program.recvs == (
        Part(CONTRIBUTION, 4, 6, 0, 0, False),
        Part(PARTIAL, 2, 4, 4, 0, True),
        Part(RESULT, 0, 2, 0, 0, False),
        Part(RESULT, 4, 6, 0, 0, False),
    )
    assert (program.sent, program.received) == ((6, 2), (6, 2))


def test_memory_for_partial_results_does_not_grow_with_the_buffer() -> None:
    for chunks in (1, 50, 500):
        plan = Plan(0, (0, 1, 2, 3), 10**6, 2, chunks, True, True)
        for program in find_programs(plan, 1):
            rows = {part.row for part in program.recvs if part.kind != RESULT}
            assert max(rows) < rows_of(4)


def test_a_plan_is_worked_out_once() -> None:
    plan = Plan(0, (0, 1), 1000, 2, 4, True, True)
    assert find_programs(plan, 1) is find_programs(plan, 1)
