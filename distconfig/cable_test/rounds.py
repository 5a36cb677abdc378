"""Rounds in which no host takes part twice: an edge colouring of the cables under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

import networkx as nx

__all__ = ["plan_rounds"]

_Item = TypeVar("_Item")


def plan_rounds(
    items: Sequence[_Item], hosts: Sequence[tuple[Hashable, Hashable]]
) -> tuple[tuple[_Item, ...], ...]:
    """The items in rounds, such that no host is in two items of a round.

    Each round is a matching that serves first the hosts with most items left,
    of which there can be no fewer rounds than.

    Args:
        items: What is to be done, in the order in which items are listed within a round.
        hosts: For each item the two hosts that take part in it.

    Cost:
        A weighted matching for each round.

    Example:
        >>> plan_rounds("abcd", [(1, 2), (2, 3), (3, 4), (4, 1)])
        (('a', 'c'), ('b', 'd'))
    """
    left = dict(enumerate(hosts))
    rounds = []
    while left:
        chosen = _match(left)
        rounds.append(tuple(items[index] for index in sorted(chosen)))
        for index in chosen:
            del left[index]
    return tuple(rounds)


def _match(left: dict[int, tuple[Hashable, Hashable]]) -> list[int]:
    """Items with no host in common: a heaviest matching, where busy hosts weigh most."""
    degree = Counter(host for pair in left.values() for host in pair)
    busiest = max(degree.values())
    graph = nx.Graph()
    for index, (one, other) in sorted(left.items(), reverse=True):
        weight = sum(_weight(degree[host], busiest) for host in (one, other))
        graph.add_edge(one, other, weight=weight, index=index)  # of parallel ones the first
    matching = nx.max_weight_matching(graph)
    return [graph.edges[pair]["index"] for pair in matching]


def _weight(degree: int, busiest: int) -> int:
    """A host that has as much left as the busiest must not be passed over."""
    return 1 + (1000 if degree == busiest else 0)
