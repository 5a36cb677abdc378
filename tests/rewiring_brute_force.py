"""The fewest cables to touch for a ring, by trying everything breadth first.

Hosts have a number of ports; a state is how many cables join each pair. A step
adds a cable, takes one out, or moves one end of one to another host. Only the
state at the end must fit the ports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

Pair = tuple[int, int]
State = tuple[Pair, ...]
"""Sorted pairs, one per cable; a pair of equal hosts is a cable plugged into one host twice."""


def fewest_steps(ports: Sequence[int], start: State, width: int, limit: int) -> int | None:
    """Steps to a ring of this width that fits the ports, or None if more than the limit."""
    seen = {start}
    layer = {start}
    for steps in range(limit + 1):
        if any(fits(state, ports) and has_ring(state, len(ports), width) for state in layer):
            return steps
        layer = {after for state in layer for after in neighbours(state, len(ports))} - seen
        seen |= layer
    return None


def neighbours(state: State, size: int) -> Iterator[State]:
    for pair in combinations(range(size), 2):
        yield tuple(sorted((*state, pair)))
    for index, (a, b) in enumerate(state):
        rest = state[:index] + state[index + 1 :]
        yield rest
        for kept in {a, b}:
            for other in range(size):
                if other != kept:
                    yield tuple(sorted((*rest, (min(kept, other), max(kept, other)))))


def fits(state: State, ports: Sequence[int]) -> bool:
    used = Counter(host for pair in state for host in pair)
    return all(used[host] <= number for host, number in enumerate(ports))


def has_ring(state: State, size: int, width: int) -> bool:
    cables = Counter(state)
    ends = Counter(host for a, b in cables if a != b for host in (a, b))
    if any(ends[host] < min(2, size - 1) for host in range(size)):
        return False
    if size == 2:
        return cables[0, 1] >= width
    return any(
        all(
            cables[min(a, b), max(a, b)] >= width
            for a, b in zip((0, *rest), (*rest, 0), strict=True)
        )
        for rest in permutations(range(1, size))
    )
