"""The parts of a graph in which every two nodes are on a common cycle.

`networkx.biconnected_components` finds the same, but loading it takes longer
than most commands take without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

__all__ = ["find_blocks"]

_Node = TypeVar("_Node", bound=Hashable)


def find_blocks(edges: Iterable[tuple[_Node, _Node]]) -> list[set[_Node]]:
    """The nodes of each part of three or more that no single node cuts apart.

    Each edge outside a spanning forest closes a cycle with edges in it, and
    cycles that share an edge are in one block. An edge of the forest is here
    called by its lower node.

    Args:
        edges: Pairs of nodes; parallel ones count as one.

    Example:
        >>> [sorted(block) for block in find_blocks(["ab", "bc", "ca", "cd"])]
        [['a', 'b', 'c']]
    """
    pairs = {frozenset(edge) for edge in edges}
    above, depth = _grow_forest(pairs)
    blocks: list[set[_Node]] = []
    for a, b in (tuple(pair) for pair in pairs if len(pair) == 2):
        if a == above[b] or b == above[a]:
            continue
        block = _cycle_edges(a, b, above, depth)
        apart = []
        for other in blocks:
            if block & other:
                block |= other
            else:
                apart.append(other)
        blocks = [*apart, block]
    return [block | {above[node] for node in block} for block in blocks]


def _grow_forest(
    pairs: Iterable[frozenset[_Node]],
) -> tuple[dict[_Node, _Node], dict[_Node, int]]:
    """For each node the one above it, a root's being itself, and how far below its root it is."""
    neighbours: dict[_Node, set[_Node]] = {}
    for pair in pairs:
        for node in pair:
            neighbours.setdefault(node, set()).update(pair)
    above: dict[_Node, _Node] = {}
    depth: dict[_Node, int] = {}
    for root in neighbours:
        if root in above:
            continue
        above[root], depth[root] = root, 0
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            for other in neighbours[node]:
                if other not in above:
                    above[other], depth[other] = node, depth[node] + 1
                    waiting.append(other)
    return above, depth


def _cycle_edges(
    a: _Node, b: _Node, above: Mapping[_Node, _Node], depth: Mapping[_Node, int]
) -> set[_Node]:
    """The edges of the forest between two of its nodes."""
    edges = set()
    while a != b:
        if depth[a] < depth[b]:
            a, b = b, a
        edges.add(a)
        a = above[a]
    return edges
