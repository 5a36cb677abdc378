"""Rings of up to 16 hosts, exactly: dynamic programming over sets of hosts.

For every set of hosts and every host in it, what is the least number of hops
through docks of a path that starts at that host, visits the set once and ends
at the ring's first host? A ring is such a path closed (Held and Karp 1962).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from distconfig.rings.hops import HopGraph

__all__ = ["find_best_order", "find_largest_order", "has_ring"]

_NONE = 100
"""More hops through docks than any ring has; twice this and a hop still fit into a byte."""

_Costs = npt.NDArray[np.uint8]
_Sets = npt.NDArray[np.intp]


def has_ring(graph: HopGraph) -> bool:
    """Whether some ring visits every host of the graph.

    Cost:
        n * 2^n bit operations; about 10 ms for 16 hosts.
    """
    neighbours = [mask >> 1 for mask in graph.neighbours[1:]]
    ends = np.zeros(1 << len(neighbours), np.uint16)
    for host, mask in enumerate(graph.neighbours[1:]):
        ends[1 << host] = (mask & 1) << host
    for sets, host in _growing_sets(len(neighbours)):
        reached = (ends[sets] & np.uint16(neighbours[host])) != 0
        ends[sets | 1 << host] |= reached.astype(np.uint16) << np.uint16(host)
    return bool(int(ends[-1]) & (graph.neighbours[0] >> 1))


def find_best_order(graph: HopGraph) -> tuple[int, ...] | None:
    """The ring with the fewest hops through docks, of those the first in order of positions.

    Returns:
        Hosts in rank order, or None if there is no ring at all.

    Cost:
        n^2 * 2^n operations on bytes; about 50 ms for 16 hosts.

    Example:
        >>> find_best_order(HopGraph((0b1110, 0b1101, 0b1011, 0b0111), (0, 0, 0, 0)))
        (0, 1, 2, 3)
    """
    if graph.size < 3:
        raise ValueError("two hosts are a ring of their own kind")
    rings = _Rings(graph, 0)
    everyone = np.array([len(rings.paths) - 1])
    if rings.total(everyone).min() >= _NONE:
        return None
    return rings.first_order(everyone)


def find_largest_order(graph: HopGraph) -> tuple[int, ...]:
    """The best of the rings with the most hosts, three at least; empty if there is none.

    Best is as for `find_best_order`, where orders of different hosts compare as well.
    """
    best_key: tuple[int, int] = (0, 0)
    best: tuple[int, ...] = ()
    for start in range(graph.size - 2):
        if graph.size - start < -best_key[0]:
            break
        rings = _Rings(graph, start)
        sets = np.arange(1, len(rings.paths))
        totals = rings.total(sets)
        counts = _bit_counts(len(rings.paths))[1:]
        closed = (totals < _NONE) & (counts >= 2)
        if not closed.any():
            continue
        largest = counts[closed].max()
        closed &= counts == largest
        docks = totals[closed].min()
        key = (-int(largest) - 1, int(docks))
        if key < best_key:
            best_key = key
            best = rings.first_order(sets[closed & (totals == docks)])
    return best


class _Rings:
    """Cheapest paths back to one host through sets of the hosts after it."""

    def __init__(self, graph: HopGraph, start: int) -> None:
        self._start = start
        costs = _hop_costs(graph)[start:, start:]
        self._from_start = costs[0, 1:]
        self._between = costs[1:, 1:]
        self.paths = self._cheapest_paths()

    def _cheapest_paths(self) -> _Costs:
        """Row: a set of hosts; column: the host its path starts at; all end at the start host."""
        size = len(self._from_start)
        paths = np.full((1 << size, size), _NONE, np.uint8)
        for host in range(size):
            paths[1 << host, host] = self._from_start[host]
        for sets, host in _growing_sets(size):
            through = (paths[sets] + self._between[host]).min(axis=1)
            np.minimum(through, _NONE, out=through)
            paths[sets | 1 << host, host] = through
        return paths

    def total(self, sets: _Sets) -> _Costs:
        """Cost of the cheapest ring through the start host and each set."""
        totals: _Costs = (self.paths[sets] + self._from_start).min(axis=1)
        return totals

    def first_order(self, sets: _Sets) -> tuple[int, ...]:
        """The first order in positions among the cheapest rings through any of the sets."""
        order = [self._start]
        hops, left = self._from_start, int(self.total(sets).min())
        while sets.size and sets.any():
            reach = self.paths[sets] + hops
            host = int(np.flatnonzero((reach == left).any(axis=0))[0])
            sets = sets[reach[:, host] == left] & ~(1 << host)
            left -= int(hops[host])
            hops = self._between[host]
            order.append(self._start + 1 + host)
        return tuple(order)


def _hop_costs(graph: HopGraph) -> _Costs:
    """1 for a hop through a dock, 0 for any other, `_NONE` where there is none."""
    bits = np.arange(graph.size)
    direct = np.array(graph.direct)[:, None] >> bits & 1
    docked = np.array(graph.docked)[:, None] >> bits & 1
    return np.where(direct, 0, np.where(docked, 1, _NONE)).astype(np.uint8)


def _bit_counts(size: int) -> npt.NDArray[np.uint8]:
    """The number of hosts in each set numbered below ``size``, a power of two."""
    counts = np.zeros(1, np.uint8)
    while len(counts) < size:
        counts = np.concatenate((counts, counts + np.uint8(1)))
    return counts


def _growing_sets(size: int) -> Iterator[tuple[_Sets, int]]:
    """Sets by number of hosts, each with every host it lacks."""
    counts = _bit_counts(1 << size)
    for count in range(1, size):
        sets = np.flatnonzero(counts == count)
        for host in range(size):
            yield sets[(sets >> host & 1) == 0], host
