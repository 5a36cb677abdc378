"""Rings of many hosts: a search that sees early what can not work.

`find_order` decides hop by hop, see `open_hops`; `find_best_order` asks it again
and again for a ring with fewer docks, and then for one that comes earlier.
"""

from __future__ import annotations

from distconfig.rings.hops import HopGraph
from distconfig.rings.open_hops import Budget, Contradiction, OpenHops, OutOfSteps, each_bit

__all__ = ["find_best_order", "find_order"]


def find_order(graph: HopGraph, budget: Budget) -> tuple[int, ...] | None:
    """Any ring of the graph, from host 0; None if it is certain that there is none.

    Raises:
        OutOfSteps: It is not known.

    Example:
        >>> square = HopGraph((0b1010, 0b0101, 0b1010, 0b0101), (0, 0, 0, 0))
        >>> find_order(square, Budget(100))
        (0, 1, 2, 3)
    """
    return _start(graph, graph.size, budget)


def find_best_order(graph: HopGraph, max_steps: int) -> tuple[tuple[int, ...], bool]:
    """The ring with the fewest hops through docks, of those the first in order of positions.

    Args:
        max_steps: Steps for finding a ring, and again for making it the best.

    Returns:
        The best ring found, and whether it is proved to be the best.

    Raises:
        OutOfSteps: Not even one ring was found.
        ValueError: The graph has no ring.

    Example:
        >>> square = HopGraph((0b1010, 0b0101, 0b1010, 0b0101), (0, 0, 0, 0))
        >>> find_best_order(square, 100)
        ((0, 1, 2, 3), True)
    """
    order = find_order(graph, Budget(max_steps))
    if order is None:
        raise ValueError("the graph has no ring")
    order, has_fewest = _with_fewest_docks(graph, order, Budget(max_steps // 2))
    order, is_first = _first_order(graph, order, Budget(max_steps // 2))
    return order, has_fewest and is_first


def _with_fewest_docks(
    graph: HopGraph, order: tuple[int, ...], budget: Budget
) -> tuple[tuple[int, ...], bool]:
    """A ring with as few docks as possible, and whether that is proved."""
    try:
        while docks := _count_docked(graph, order):
            fewer = _start(graph, docks - 1, budget)
            if fewer is None:
                return order, True
            order = fewer
    except OutOfSteps:
        return order, False
    return order, True


def _first_order(
    graph: HopGraph, order: tuple[int, ...], budget: Budget
) -> tuple[tuple[int, ...], bool]:
    """The first order in positions with as few docks as ``order``, and whether it is proved.

    Goes along the ring and, at each host, tries the neighbours that come before
    the next one of the best order known; nothing is searched where there are none.
    """
    try:
        hops = OpenHops(graph, _count_docked(graph, order), budget)
        for rank in range(graph.size - 1):
            here = order[rank]
            for host in each_bit(hops.open_at(here)):
                if host >= order[rank + 1]:
                    break
                better = _complete(hops.copy(), (here, host))
                if better:
                    order = _turned_to(better, host if rank == 0 else order[1])
                    break
                hops.exclude(here, host)
            hops.require(here, order[rank + 1])
            hops.settle()
    except OutOfSteps:
        return order, False
    return order, True


def _start(graph: HopGraph, docks: int, budget: Budget) -> tuple[int, ...] | None:
    try:
        hops = OpenHops(graph, docks, budget)
    except Contradiction:
        return None
    return _complete(hops)


def _complete(hops: OpenHops, hop: tuple[int, int] | None = None) -> tuple[int, ...] | None:
    """A ring that agrees with what is decided and uses the hop; uses ``hops`` up."""
    try:
        if hop:
            hops.require(*hop)
        hops.settle()
        while branch := hops.choose():
            found = _complete(hops.copy(), branch)
            if found:
                return found
            hops.exclude(*branch)
            hops.settle()
    except Contradiction:
        return None
    return hops.walk()


def _turned_to(order: tuple[int, ...], second: int) -> tuple[int, ...]:
    """The ring run through in the direction that visits ``second`` second."""
    return order if order[1] == second else (order[0], *order[:0:-1])


def _count_docked(graph: HopGraph, order: tuple[int, ...]) -> int:
    return sum(graph.docked[a] >> b & 1 for a, b in zip(order, (*order[1:], order[0]), strict=True))
