"""The fewest steps to a ring against trying every step, for one and two cables per hop."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st

from distconfig.advice.rewiring import Idle, Rewiring, Wiring, hops_of
from distconfig.advice.rewiring_search import find_rewiring
from tests.rewiring_brute_force import State, fewest_steps


@st.composite
def wirings(draw: st.DrawFn) -> tuple[list[int], State]:
    """Ports of up to five hosts, and cables that fit them."""
    size = draw(st.integers(2, 5))
    ports = [draw(st.integers(2, 4)) for _ in range(size)]
    left = Counter(dict(enumerate(ports)))
    cables = []
    pairs = list(combinations_with_replacement(range(size), 2))
    for pair in draw(st.lists(st.sampled_from(pairs), min_size=size, max_size=9)):
        ends = Counter(pair)
        if all(left[host] >= number for host, number in ends.items()):
            left.subtract(ends)
            cables.append(pair)
    return ports, tuple(sorted(cables))


def wiring_of(ports: list[int], cables: State) -> Wiring:
    used = Counter(host for pair in cables for host in pair)
    good: dict[tuple[int, int], tuple[int, ...]] = {}
    for index, pair in enumerate(cables):
        if pair[0] != pair[1]:
            good[pair] = (*good.get(pair, ()), index)
    free = tuple(number - used[host] for host, number in enumerate(ports))
    return Wiring(free, tuple(Idle(pair) for pair in cables), good)


def carried_out(cables: State, rewiring: Rewiring) -> Counter[tuple[int, int]]:
    """What joins what once the steps are done."""
    after = Counter(cables)
    for index in rewiring.removes:
        after[cables[index]] -= 1
    for move in rewiring.moves:
        assert cables[move.cable][move.kept_end] in move.hop
        after[cables[move.cable]] -= 1
        after[move.hop] += 1
    after.update(rewiring.adds)
    return after


@given(wirings(), st.integers(1, 2))
@settings(max_examples=150, deadline=None)
def test_the_rewiring_has_the_fewest_steps_and_gives_the_ring(
    drawn: tuple[list[int], State], width: int
) -> None:
    ports, cables = drawn
    limit = {2: 5, 3: 4, 4: 3, 5: 2}[len(ports)]

    found, is_proved = find_rewiring(wiring_of(ports, cables), width)

    expected = fewest_steps(ports, cables, width, limit)
    assert is_proved
    if found is None or found.n_steps > limit:
        assert expected is None
    else:
        assert found.n_steps == expected
    if found is not None:
        after = carried_out(cables, found)
        used = Counter(host for pair in after.elements() for host in pair)
        assert all(used[host] <= number for host, number in enumerate(ports))
        assert all(after[pair] >= width for pair in hops_of(found.order))
