"""Rounds in which no host takes part twice: an edge colouring of the cables under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import networkx as nx

__all__ = ["plan_rounds"]

_Item = TypeVar("_Item")


def plan_rounds(
    items: Sequence[_Item], hosts: Sequence[tuple[Hashable, Hashable]]
) -> tuple[tuple[_Item, ...], ...]:
    """The items in rounds, such that no host is in two items of a round.

    Each round is a matching that serves the hosts with most items left first. A
    ring takes two rounds, or three if it is odd; a mesh of n hosts n - 1, or n.

    Args:
        items: What is to be done, in the order in which items are listed within a round.
        hosts: For each item the two hosts that take part in it.

    Cost:
        A weighted matching for each round.

    Example:
        >>> plan_rounds("abcd", [(1, 2), (2, 3), (3, 4), (4, 1)])
        (('b', 'd'), ('a', 'c'))
    """
    left = dict(enumerate(hosts))
    rounds = []
    while left:
        chosen = _match(left)
        rounds.append(tuple(items[index] for index in sorted(chosen)))
        for index in chosen:
            del left[index]
    return tuple(rounds)


def _match(left: Mapping[int, tuple[Hashable, Hashable]]) -> list[int]:
    """Items with no host in common: a heaviest matching, where hosts weigh what they have left."""
    degree = Counter(host for pair in left.values() for host in pair)
    graph = nx.Graph()
    for index, (one, other) in sorted(left.items(), reverse=True):
        # of parallel ones the first stays
        graph.add_edge(one, other, weight=degree[one] + degree[other], index=index)
    return [graph.edges[pair]["index"] for pair in nx.max_weight_matching(graph)]
