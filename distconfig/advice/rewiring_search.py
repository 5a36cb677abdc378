"""The order of hosts for which a ring takes the fewest steps to cable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from distconfig.advice.rewiring import Rewiring, Wiring, hops_of, rewire
from distconfig.advice.rewiring_walk import walk_to_order
from distconfig.rings import ring_exact
from distconfig.rings.hops import MAX_EXACT_HOSTS, HopGraph
from distconfig.rings.open_hops import Budget, OutOfSteps

__all__ = ["MAX_HOSTS", "find_rewiring"]

MAX_HOSTS = 8
"""Up to here every order of the hosts is considered: 2,520 of eight."""

_TRIES_PER_ORDER = 20_000
"""Sets of cables tried for one order; eight hosts of six ports were seen to need a few hundred."""


def find_rewiring(
    wiring: Wiring, width: int, max_steps: int | None = None
) -> tuple[Rewiring | None, bool]:
    """The rewiring with the fewest steps, then the fewest new cables, then the first order.

    Args:
        max_steps: Give up on rewirings with more steps.

    Returns:
        None if no order can be cabled; and whether the rewiring is proved to have
        the fewest steps.
    """
    size = len(wiring.free)
    needed = width if size == 2 else 2 * width
    if any(wiring.most(host) < needed for host in range(size)):
        return None, True
    most = size * width + len(wiring.cables) if max_steps is None else max_steps
    if size <= MAX_HOSTS:
        return _best_of(wiring, width, most, _all_orders(wiring, width))
    best, _ = _best_of(wiring, width, most, _promising_orders(wiring, width))
    return best, best is not None and _is_least(wiring, width, best)


def _best_of(
    wiring: Wiring, width: int, most: int, orders: Sequence[Sequence[int]]
) -> tuple[Rewiring | None, bool]:
    """The best rewiring of some orders, and whether each order was looked into to the end."""
    best: Rewiring | None = None
    is_complete = True
    for order in orders:
        try:
            found = rewire(wiring, order, width, most, Budget(_TRIES_PER_ORDER))
        except OutOfSteps:
            is_complete = False
            continue
        if found is None:
            continue
        if best is None or (found.n_steps, found.n_new_cables) < (best.n_steps, best.n_new_cables):
            best = found
            most = found.n_steps if found.n_new_cables else found.n_steps - 1
    return best, is_complete


def _all_orders(wiring: Wiring, width: int) -> list[tuple[int, ...]]:
    size = len(wiring.free)
    orders = [
        (0, *rest) for rest in permutations(range(1, size)) if size == 2 or rest[0] < rest[-1]
    ]
    return sorted(orders, key=lambda order: _n_lacking(wiring, order, width))


def _n_lacking(wiring: Wiring, order: Sequence[int], width: int) -> int:
    return sum(wiring.lacking(pair, width) for pair in hops_of(order))


def _promising_orders(wiring: Wiring, width: int) -> list[tuple[int, ...]]:
    """Orders in which few hops lack a cable, first one that spares hosts without free ports."""
    with_ports = [free > 0 for free in wiring.free]
    orders = []
    for is_open in (with_ports, [True] * len(wiring.free)):
        graph = _graph(wiring, width, is_open)
        if graph.size > MAX_EXACT_HOSTS:
            orders.append(walk_to_order(graph))
        elif order := ring_exact.find_best_order(graph):
            orders.append(order)
    return orders


def _graph(wiring: Wiring, width: int, is_open: Sequence[bool]) -> HopGraph:
    """Hops with all their cables as direct ones; those to be cabled take the part of docks."""
    size = len(wiring.free)
    complete, lacking = [0] * size, [0] * size
    for a, b in _pairs(size):
        masks = lacking if wiring.lacking((a, b), width) else complete
        if masks is complete or (is_open[a] and is_open[b]):
            masks[a] |= 1 << b
            masks[b] |= 1 << a
    return HopGraph(tuple(complete), tuple(lacking))


def _pairs(size: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for b in range(size) for a in range(b))


def _is_least(wiring: Wiring, width: int, found: Rewiring) -> bool:
    """Whether no rewiring can have fewer steps, as far as a simple bound tells."""
    graph = _graph(wiring, width, [True] * len(wiring.free))
    if graph.size <= MAX_EXACT_HOSTS:
        order = ring_exact.find_best_order(graph)
        assert order is not None
        return found.n_steps == sum(wiring.lacking(pair, width) > 0 for pair in hops_of(order))
    n_lone_ends = sum(max(0, 2 - mask.bit_count()) for mask in graph.direct)
    return found.n_steps == (n_lone_ends + 1) // 2
