"""The fewest cables to touch so that hosts in a given order form a ring.

A cable that the ring does not use can be moved (one end stays, the other is
plugged in elsewhere) or taken out; cables can be added. Every one of these is
a step. What counts is that the cabling at the end fits the free receptacles.

Let the *demands* be the cables that the hops of the ring lack, and let some
idle cables be *touched*. Each touched cable vacates its receptacles, and can
become a demand that it shares a host with. So the steps are the demands plus
the touched cables that become none; that is a matching, and the receptacles a
host is short of say how many of its idle cables must be touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from distconfig.rings.open_hops import Budget

__all__ = ["Idle", "Move", "Pair", "Rewiring", "Wiring", "hops_of", "rewire"]

Pair = tuple[int, int]
"""Two hosts, the lower first."""


@dataclass(frozen=True)
class Idle:
    """A cable as far as moving it is concerned.

    Args:
        hosts: The hosts at its two ends.
        is_sound: Per end: the receptacle can carry a cable of the ring as it is, and
            is free once this cable is unplugged.
        is_fit: The cable itself is good enough for the ring.
    """

    hosts: tuple[int, int]
    is_sound: tuple[bool, bool] = (True, True)
    is_fit: bool = True

    def vacated(self) -> Counter[int]:
        """How many receptacles of which host are free once it is unplugged at both ends."""
        return Counter(
            host for host, is_sound in zip(self.hosts, self.is_sound, strict=True) if is_sound
        )

    def kept_end(self, demand: Pair) -> int | None:
        """The end that stays where it is if the cable becomes the demand."""
        for end, host in enumerate(self.hosts):
            if self.is_fit and self.is_sound[end] and host in demand:
                return end
        return None


@dataclass(frozen=True)
class Wiring:
    """The cables there are, and the receptacles there are for more.

    Args:
        free: Per host, the free receptacles that could carry a cable of the ring.
        cables: All cables, to be touched in this order of preference.
        good: The cables good enough for the ring, best first, by the pair they join.
    """

    free: tuple[int, ...]
    cables: tuple[Idle, ...]
    good: Mapping[Pair, tuple[int, ...]]

    def most(self, host: int) -> int:
        """Cables of the ring that a host could hold at most."""
        good = {cable for found in self.good.values() for cable in found}
        return self.free[host] + sum(
            at == host and (is_sound or index in good)
            for index, cable in enumerate(self.cables)
            for at, is_sound in zip(cable.hosts, cable.is_sound, strict=True)
        )

    def lacking(self, pair: Pair, width: int) -> int:
        """Cables that a hop between two hosts lacks."""
        return max(0, width - len(self.good.get(pair, ())))


@dataclass(frozen=True)
class Move:
    """A cable that becomes a hop's: one end stays, the other is plugged into another host."""

    cable: int
    kept_end: int
    hop: Pair


@dataclass(frozen=True)
class Rewiring:
    """What to do so that the hosts in this order form a ring."""

    order: tuple[int, ...]
    moves: tuple[Move, ...]
    adds: tuple[Pair, ...]
    removes: tuple[int, ...]

    @property
    def n_steps(self) -> int:
        """Cables to touch or to add."""
        return len(self.moves) + len(self.adds) + len(self.removes)

    @property
    def n_new_cables(self) -> int:
        """Cables to buy, if those taken out are used again."""
        return max(0, len(self.adds) - len(self.removes))


def hops_of(order: Sequence[int]) -> list[Pair]:
    """The pairs of neighbours on the ring; two hosts have one hop.

    Example:
        >>> hops_of((0, 2, 1))
        [(0, 2), (1, 2), (0, 1)]
    """
    if len(order) == 2:
        return [(min(order), max(order))]
    following = (*order[1:], order[0])
    return [(min(a, b), max(a, b)) for a, b in zip(order, following, strict=True)]


def rewire(
    wiring: Wiring, order: Sequence[int], width: int, max_steps: int, budget: Budget
) -> Rewiring | None:
    """The fewest steps for a ring of this order and width, with the fewest new cables.

    Returns:
        None if it takes more than ``max_steps``.

    Raises:
        OutOfSteps: The budget ended before that was known.

    Example:
        >>> square = Wiring((1, 1, 1), (Idle((0, 1)), Idle((1, 2))), {(0, 1): (0,), (1, 2): (1,)})
        >>> rewire(square, (0, 1, 2), 1, 3, Budget(10))
        Rewiring(order=(0, 1, 2), moves=(), adds=((0, 2),), removes=())
    """
    demands = [pair for pair in hops_of(order) for _ in range(wiring.lacking(pair, width))]
    if len(demands) > max_steps:
        return None
    kept = {cable for pair in hops_of(order) for cable in wiring.good.get(pair, ())[:width]}
    idle = [cable for cable in range(len(wiring.cables)) if cable not in kept]
    short = Counter(host for pair in demands for host in pair)
    short.subtract(dict(enumerate(wiring.free)))
    matching = _Matching(wiring, demands)
    touched = _Cover(wiring, matching, budget).find(idle, +short, max_steps - len(demands))
    if touched is None:
        return None
    removes = [cable for cable in touched if not matching.match(cable)]
    for cable in idle:
        if cable not in touched:
            matching.match(cable)
    moves = []
    for index, cable in sorted(matching.taken.items()):
        end = wiring.cables[cable].kept_end(demands[index])
        assert end is not None
        moves.append(Move(cable, end, demands[index]))
    adds = [pair for index, pair in enumerate(demands) if index not in matching.taken]
    return Rewiring(tuple(order), tuple(moves), tuple(adds), tuple(removes))


class _Matching:
    """Cables matched to the demands they can become."""

    def __init__(self, wiring: Wiring, demands: Sequence[Pair]) -> None:
        self._options = [
            [index for index, pair in enumerate(demands) if cable.kept_end(pair) is not None]
            for cable in wiring.cables
        ]
        self.n_demands = len(demands)
        self.taken: dict[int, int] = {}

    def match(self, cable: int) -> bool:
        """Match one more cable, changing the partners of others if need be."""
        return self._augment(cable, set())

    def _augment(self, cable: int, tried: set[int]) -> bool:
        for index in self._options[cable]:
            if index not in tried:
                tried.add(index)
                if index not in self.taken or self._augment(self.taken[index], tried):
                    self.taken[index] = cable
                    return True
        return False

    def n_unmatched(self, cables: Sequence[int]) -> int:
        """How many of these cables can not all be matched at once; forgets matches made."""
        self.taken = {}
        unmatched = sum(not self.match(cable) for cable in cables)
        self.taken = {}
        return unmatched


class _Cover:
    """The search for idle cables that vacate what hosts are short of."""

    def __init__(self, wiring: Wiring, matching: _Matching, budget: Budget) -> None:
        self._vacated = [cable.vacated() for cable in wiring.cables]
        self._matching = matching
        self._budget = budget

    def find(
        self, idle: Sequence[int], short: Counter[int], most_unmatched: int
    ) -> tuple[int, ...] | None:
        """The cables to touch, with the fewest of them that can become no demand.

        Raises:
            OutOfSteps: The budget ended.
        """
        fewest = self._fewest_unmatched(idle, short, 0)
        for allowed in range(fewest, most_unmatched + 1):
            found = self._extend(idle, short, (), allowed)
            if found is not None:
                return found
        return None

    def _extend(
        self, idle: Sequence[int], short: Counter[int], touched: tuple[int, ...], allowed: int
    ) -> tuple[int, ...] | None:
        """Touch cables of the first host that is short, then of the next; depth first."""
        self._budget.spend()
        if self._matching.n_unmatched(touched) > allowed:
            return None
        if not short:
            return touched
        if self._fewest_unmatched(idle, short, len(touched)) > allowed:
            return None
        host = min(short)
        passed_over: set[int] = set()
        for cable in idle:
            if not self._vacated[cable][host]:
                continue
            passed_over.add(cable)
            rest = [each for each in idle if each not in passed_over]
            left = +(short - self._vacated[cable])
            found = self._extend(rest, left, (*touched, cable), allowed)
            if found is not None:
                return found
        return None

    def _fewest_unmatched(self, idle: Sequence[int], short: Counter[int], n_touched: int) -> int:
        """A bound from numbers alone: cables to touch at least, less the demands there are."""
        if not short:
            return 0
        most = max((sum((short & self._vacated[cable]).values()) for cable in idle), default=0)
        if not most:
            return len(self._vacated) + 1
        n_more = -(-sum(short.values()) // most)
        return max(0, n_touched + n_more - self._matching.n_demands)
