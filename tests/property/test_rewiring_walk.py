"""The walk over orders of many hosts: always an order, never worse than where it starts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from distconfig.advice.rewiring_walk import walk_to_order
from distconfig.rings import ring_exact
from distconfig.rings.hops import HopGraph


@st.composite
def graphs(draw: st.DrawFn, smallest: int, largest: int) -> HopGraph:
    """Random direct hops; every other pair of hosts may be cabled."""
    size = draw(st.integers(smallest, largest))
    direct = [0] * size
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    for a, b in draw(st.lists(pairs, max_size=2 * size)):
        if a != b:
            direct[a] |= 1 << b
            direct[b] |= 1 << a
    everyone = (1 << size) - 1
    lacking = [everyone & ~mask & ~(1 << host) for host, mask in enumerate(direct)]
    return HopGraph(tuple(direct), tuple(lacking))


def n_lacking(graph: HopGraph, order: tuple[int, ...]) -> int:
    return sum(not graph.direct[order[rank - 1]] >> host & 1 for rank, host in enumerate(order))


@given(graphs(17, 30))
@settings(max_examples=15, deadline=None)
def test_it_ends_in_a_canonical_order_at_least_as_good_as_the_first(graph: HopGraph) -> None:
    order = walk_to_order(graph)

    assert sorted(order) == list(range(graph.size))
    assert order[0] == 0
    assert order[1] < order[-1]
    assert n_lacking(graph, order) <= n_lacking(graph, tuple(range(graph.size)))
    assert order == walk_to_order(graph)


@given(graphs(5, 9))
@settings(max_examples=30, deadline=None)
def test_among_few_hosts_it_finds_the_best_order(graph: HopGraph) -> None:
    best = ring_exact.find_best_order(graph)
    assert best is not None

    assert n_lacking(graph, walk_to_order(graph)) == n_lacking(graph, best)
