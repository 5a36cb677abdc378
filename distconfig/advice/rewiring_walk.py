"""An order of many hosts in which few hops lack cables: a walk over orders.

From an order, two hops are replaced by two others such that one of the new ones
is a complete hop (Croes 1958 calls it an inversion). A replacement is made if
it costs nothing; what looks like chance is a fixed sequence, so that the same
cabling gets the same advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distconfig.rings.hops import HopGraph

__all__ = ["walk_to_order"]

_WALK = 20_000


def walk_to_order(graph: HopGraph) -> tuple[int, ...]:
    """The order of the walk with the fewest hops that are not direct ones of the graph.

    Hops in neither ``direct`` nor ``docked`` are allowed and count twice.

    Cost:
        20,000 inversions of at most n hosts; a fraction of a second for 64.

    Example:
        >>> square = HopGraph((0b1100, 0b1100, 0b0011, 0b0011), (0b10, 0b01, 0b1000, 0b0100))
        >>> walk_to_order(square)
        (0, 2, 1, 3)
    """
    hops = [
        (host, other)
        for host, mask in enumerate(graph.direct)
        for other in range(graph.size)
        if mask >> other & 1
    ]
    order = list(range(graph.size))
    best, best_cost = order[:], _total(graph, order)
    cost = best_cost
    for number in _scattered(_WALK if hops else 0):
        host, other = hops[number % len(hops)]
        gain, start, end = _inversion(graph, order, host, other)
        if gain < 0:
            continue
        order[start:end] = order[start:end][::-1]
        cost -= gain
        if cost < best_cost:
            best, best_cost = order[:], cost
            if not cost:
                break
    return _turned(best)


def _inversion(
    graph: HopGraph, order: Sequence[int], host: int, other: int
) -> tuple[int, int, int]:
    """What is gained by making two hosts neighbours, and the stretch to turn round for it.

    Two hops are replaced, those before both hosts or those after both, whichever
    gains more: by the hop between them and the one between what is left.
    """
    first, second = sorted((order.index(host), order.index(other)))
    if second - first in (1, len(order) - 1):
        return -1, 0, 0
    after = _gain(graph, order, first, second, 1), first + 1, second + 1
    before = _gain(graph, order, first, second, -1), first, second
    return max(after, before)


def _gain(graph: HopGraph, order: Sequence[int], first: int, second: int, step: int) -> int:
    """How much less it costs to join two hosts, and their neighbours on one side."""
    a, near_a = order[first], order[first + step]
    b, near_b = order[second], order[(second + step) % len(order)]
    old = _cost(graph, a, near_a) + _cost(graph, b, near_b)
    return old - _cost(graph, a, b) - _cost(graph, near_a, near_b)


def _cost(graph: HopGraph, a: int, b: int) -> int:
    if graph.direct[a] >> b & 1:
        return 0
    return 1 if graph.docked[a] >> b & 1 else 2


def _total(graph: HopGraph, order: Sequence[int]) -> int:
    return sum(_cost(graph, order[rank - 1], host) for rank, host in enumerate(order))


def _scattered(count: int) -> Iterator[int]:
    """Numbers that look random, always the same ones (a linear congruential generator)."""
    state = 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def _turned(order: Sequence[int]) -> tuple[int, ...]:
    """The same ring from host 0, towards the lower of its neighbours."""
    start = order.index(0)
    turned = [*order[start:], *order[:start]]
    return tuple(turned if turned[1] < turned[-1] else [0, *turned[:0:-1]])
