"""Blocks of graphs drawn at random, against networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from distconfig.cabling.blocks import find_blocks

NODES = st.integers(0, 9)


@given(st.lists(st.tuples(NODES, NODES), max_size=20))
def test_the_blocks_are_those_that_networkx_finds(edges: list[tuple[int, int]]) -> None:
    graph = nx.Graph(edge for edge in edges if edge[0] != edge[1])
    expected = {frozenset(block) for block in nx.biconnected_components(graph) if len(block) > 2}
    found = find_blocks(edges)
    assert len(found) == len(expected)
    assert set(map(frozenset, found)) == expected
