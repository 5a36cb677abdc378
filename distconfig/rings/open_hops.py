"""The state of a ring search: hops required, excluded or still open.

Whatever follows from the hops decided so far is drawn at once: a host with two
hops left needs both, a host with two required hops needs no other, the ends of
a required path must not meet before all hosts are on it, no host may be the
only bridge between two parts, and no more docks may be used than allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from distconfig.rings.hops import HopGraph

__all__ = ["Budget", "Contradiction", "OpenHops", "OutOfSteps", "each_bit"]


class OutOfSteps(Exception):
    """The budget ended before the search did."""


class Contradiction(Exception):
    """No ring agrees with the hops decided."""


@dataclass
class Budget:
    """Steps a search may still take; one step requires or excludes one hop."""

    steps: int

    def spend(self) -> None:
        """Take one step.

        Raises:
            OutOfSteps: None was left.
        """
        if self.steps <= 0:
            raise OutOfSteps
        self.steps -= 1


def each_bit(mask: int) -> Iterator[int]:
    """Positions of the bits set, lowest first.

    Example:
        >>> list(each_bit(0b10110))
        [1, 2, 4]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class OpenHops:
    """Hops of a ring to be: required, excluded or open.

    Args:
        docks: Hops through docks the ring may have.
    """

    __slots__ = (
        "_available",
        "_budget",
        "_changed",
        "_docked",
        "_docks_left",
        "_far_end",
        "_n_required",
        "_required",
    )

    def __init__(self, graph: HopGraph, docks: int, budget: Budget) -> None:
        self._available = list(graph.neighbours)
        self._required = [0] * graph.size
        self._far_end = list(range(graph.size))
        self._n_required = 0
        self._docked = graph.docked
        self._docks_left = docks
        self._changed = (1 << graph.size) - 1
        self._budget = budget
        if not docks:
            self._exclude_docks()

    def copy(self) -> OpenHops:
        """An independent copy that spends from the same budget."""
        twin = object.__new__(OpenHops)
        twin._available = self._available[:]
        twin._required = self._required[:]
        twin._far_end = self._far_end[:]
        twin._n_required = self._n_required
        twin._docked = self._docked
        twin._docks_left = self._docks_left
        twin._changed = self._changed
        twin._budget = self._budget
        return twin

    def open_at(self, host: int) -> int:
        """The possible neighbours of a host that are not decided yet, as a bit mask."""
        return self._available[host] & ~self._required[host]

    def require(self, a: int, b: int) -> None:
        """Decide that the ring has this hop.

        Raises:
            Contradiction: It can not have it.
        """
        if self._required[a] >> b & 1:
            return
        if not self._available[a] >> b & 1:
            raise Contradiction
        self._budget.spend()
        self._required[a] |= 1 << b
        self._required[b] |= 1 << a
        self._changed |= 1 << a | 1 << b
        self._n_required += 1
        self._join_paths(a, b)
        if self._docked[a] >> b & 1:
            self._docks_left -= 1
            if self._docks_left < 0:
                raise Contradiction
            if self._docks_left == 0:
                self._exclude_docks()

    def exclude(self, a: int, b: int) -> None:
        """Decide that the ring does not have this hop.

        Raises:
            Contradiction: It must have it.
        """
        if self._required[a] >> b & 1:
            raise Contradiction
        self._budget.spend()
        self._available[a] &= ~(1 << b)
        self._available[b] &= ~(1 << a)
        self._changed |= 1 << a | 1 << b

    def settle(self) -> None:
        """Draw every conclusion.

        Raises:
            Contradiction: No ring agrees with what is decided.
        """
        while self._changed:
            host = self._changed.bit_length() - 1
            self._changed ^= 1 << host
            available, required = self._available[host], self._required[host]
            n_available, n_required = available.bit_count(), required.bit_count()
            if n_available < 2 or n_required > 2:
                raise Contradiction
            if n_available == 2:
                for other in each_bit(available & ~required):
                    self.require(host, other)
            elif n_required == 2:
                for other in each_bit(available & ~required):
                    self.exclude(host, other)
        if self._docks_missing() > self._docks_left or _falls_apart(self._available):
            raise Contradiction

    def choose(self) -> tuple[int, int] | None:
        """The open hop to decide next, at the end of a required path if there is one."""
        best, chosen = (3, 0), -1
        for host, available in enumerate(self._available):
            n_required = self._required[host].bit_count()
            if n_required < 2:
                key = (2 - n_required, available.bit_count())
                if key < best:
                    best, chosen = key, host
        if chosen < 0:
            return None
        docked, others = self._docked[chosen], each_bit(self.open_at(chosen))
        return chosen, min(
            others, key=lambda other: (docked >> other & 1, self._available[other].bit_count())
        )

    def walk(self) -> tuple[int, ...]:
        """The ring from host 0, once every hop is decided, lower neighbour of host 0 first."""
        order = [0]
        visited, here = 1, 0
        while ahead := self._required[here] & ~visited:
            here = (ahead & -ahead).bit_length() - 1
            visited |= 1 << here
            order.append(here)
        return tuple(order)

    def _join_paths(self, a: int, b: int) -> None:
        """The paths that end at two hosts become one; its ends must not meet too early."""
        end_a, end_b = self._far_end[a], self._far_end[b]
        size = len(self._available)
        if end_a == b:
            if self._n_required < size:
                raise Contradiction
            return
        self._far_end[end_a], self._far_end[end_b] = end_b, end_a
        if self._n_required < size - 1 and self.open_at(end_a) >> end_b & 1:
            self.exclude(end_a, end_b)

    def _docks_missing(self) -> int:
        """Hops through docks still to be required, at least: hosts short of direct ones."""
        ends = 0
        for docked, available, required in zip(
            self._docked, self._available, self._required, strict=True
        ):
            if available & docked:
                short = 2 - (available & ~docked).bit_count() - (required & docked).bit_count()
                ends += max(0, short)
        return (ends + 1) // 2

    def _exclude_docks(self) -> None:
        for host, docked in enumerate(self._docked):
            for other in each_bit(docked & self.open_at(host)):
                self.exclude(host, other)


def _falls_apart(neighbours: list[int]) -> bool:
    """Whether the graph is in parts, or would be without one of its hosts."""
    depth = [0] * len(neighbours)
    low = [0] * len(neighbours)

    def visit(host: int, level: int) -> bool:
        depth[host] = low[host] = level
        children = 0
        for other in each_bit(neighbours[host]):
            if depth[other]:
                low[host] = min(low[host], depth[other])
                continue
            children += 1
            if visit(other, level + 1):
                return True
            if level > 1 and low[other] >= level:
                return True
            low[host] = min(low[host], low[other])
        return level == 1 and children > 1

    return visit(0, 1) or not all(depth)
