"""The schedules, simulated with plain lists: no sockets, no numpy."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_runtime.schedule import (
    ScheduleStep,
    all_gather_steps,
    bounds,
    mirror,
    reduce_scatter_steps,
    relay_hops,
    wavefront,
)

SIZES = range(1, 17)


def test_the_steps_of_three_ranks() -> None:
    assert [reduce_scatter_steps(p, 3) for p in range(3)] == [
        [ScheduleStep(2, 1, True), ScheduleStep(1, 0, True)],
        [ScheduleStep(0, 2, True), ScheduleStep(2, 1, True)],
        [ScheduleStep(1, 0, True), ScheduleStep(0, 2, True)],
    ]
    assert [all_gather_steps(p, 3) for p in range(3)] == [
        [ScheduleStep(0, 2, False), ScheduleStep(2, 1, False)],
        [ScheduleStep(1, 0, False), ScheduleStep(0, 2, False)],
        [ScheduleStep(2, 1, False), ScheduleStep(1, 0, False)],
    ]


@pytest.mark.parametrize("size", SIZES)
def test_what_i_receive_is_what_my_left_sends(size: int) -> None:
    for position in range(size):
        left = (position - 1) % size
        for steps_of in (reduce_scatter_steps, all_gather_steps):
            mine, lefts = steps_of(position, size), steps_of(left, size)
            assert [step.recv for step in mine] == [step.send for step in lefts]
            assert all(step.send != step.recv for step in mine)


def simulate(size: int, length: int) -> tuple[list[list[int]], list[int]]:
    """All-reduce of ``length`` numbers per rank, step by step; results and numbers sent."""
    inputs = [[(rank + 1) * 1000 + index for index in range(length)] for rank in range(size)]
    buffers = [list(values) for values in inputs]
    sent = [0] * size
    steps = [reduce_scatter_steps(p, size) + all_gather_steps(p, size) for p in range(size)]
    for number in range(len(steps[0])):
        messages = []
        for rank in range(size):
            low, high = bounds(0, length, size, steps[rank][number].send)
            messages.append(buffers[rank][low:high])
            sent[rank] += high - low
        for rank in range(size):
            step = steps[rank][number]
            low, high = bounds(0, length, size, step.recv)
            message = messages[(rank - 1) % size]
            assert len(message) == high - low
            for offset, value in enumerate(message):
                old = buffers[rank][low + offset] if step.reduces else 0
                buffers[rank][low + offset] = old + value
    return buffers, sent


@given(st.integers(1, 16), st.integers(0, 200))
def test_an_all_reduce_adds_everything_and_sends_the_least_possible(size: int, length: int) -> None:
    results, sent = simulate(size, length)
    total = [sum((rank + 1) * 1000 + index for rank in range(size)) for index in range(length)]
    assert results == [total] * size
    # Each segment is sent on size - 1 hops by each half; segments differ by at most one.
    assert sum(sent) == 2 * (size - 1) * length
    assert all(abs(numbers - 2 * (size - 1) * length / size) <= 2 for numbers in sent)


@pytest.mark.parametrize("size", range(1, 17))
def test_after_reduce_scatter_position_p_owns_segment_p(size: int) -> None:
    for position in range(size):
        steps = reduce_scatter_steps(position, size)
        assert len(steps) == size - 1
        assert all(step.reduces for step in steps)
        if steps:
            assert steps[-1].recv == position
            assert {step.send for step in steps} == set(range(size)) - {position}


@pytest.mark.parametrize("size", SIZES)
def test_mirrored_positions_flow_the_other_way(size: int) -> None:
    for position in range(size):
        assert mirror(mirror(position, size), size) == position
        assert mirror((position + 1) % size, size) == (mirror(position, size) - 1) % size


@pytest.mark.parametrize(
    ("size", "hops"),
    [(1, (0, 0)), (2, (1, 0)), (3, (1, 1)), (4, (2, 1)), (5, (2, 2)), (6, (3, 2)), (8, (4, 3))],
)
def test_small_arrays_take_half_way_around(size: int, hops: tuple[int, int]) -> None:
    assert relay_hops(size) == hops
    assert max(hops) == size // 2


@pytest.mark.parametrize("size", SIZES)
def test_relaying_both_ways_reaches_everybody_once(size: int) -> None:
    ahead, back = relay_hops(size)
    for rank in range(size):
        reached = [(rank + hop) % size for hop in range(1, ahead + 1)]
        reached += [(rank - hop) % size for hop in range(1, back + 1)]
        assert sorted(reached) == sorted(set(range(size)) - {rank})


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 50))
def test_parts_are_adjacent_and_nearly_equal(low: int, span: int, parts: int) -> None:
    cut = [bounds(low, low + span, parts, index) for index in range(parts)]
    assert cut[0][0] == low
    assert cut[-1][1] == low + span
    assert all(before[1] == after[0] for before, after in itertools.pairwise(cut))
    assert {high - low for low, high in cut} <= {span // parts, span // parts + 1}


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 4))
def test_a_wavefront_is_every_pair_once_in_an_order_that_can_be_followed(
    chunks: int, steps: int, lag: int
) -> None:
    order = wavefront(chunks, steps, lag)
    assert sorted(order) == [(chunk, step) for chunk in range(chunks) for step in range(steps)]
    for chunk in range(chunks):
        assert [step for c, step in order if c == chunk] == list(range(steps))
    for step in range(steps):
        assert [chunk for chunk, s in order if s == step] == list(range(chunks))
