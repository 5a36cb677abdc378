"""Why a cabling has no ring, in terms a person can check: `Witness`.

A ring without k of its hosts falls into k pieces at most. So hosts whose
removal leaves more parts than that rule every ring out, and so does a host
with fewer than two neighbours. Not every graph without a ring has such a
witness; the others are searched through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from distconfig.rings.open_hops import each_bit

__all__ = ["Witness", "find_deep_witness", "find_witness"]

_MAX_REMOVALS = 20_000
_MAX_TOLD = 6


@dataclass(frozen=True)
class Witness:
    """Hosts that rule every ring out; all empty if only a search could tell.

    Args:
        few: Hosts with fewer than two neighbours.
        removed: Hosts that a ring would have to pass more often than once.
        parts: What the others fall into without them; more parts than ``removed`` has hosts.
    """

    few: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    parts: tuple[tuple[int, ...], ...] = ()

    def describe(
        self, hosts: Sequence[str], neighbours: Sequence[int], unread: Mapping[str, str]
    ) -> str:
        """The witness in a sentence, with the names of the hosts."""
        if self.few:
            told = [
                _describe_few(hosts[host], neighbours[host], hosts, unread)
                for host in self.few[:_MAX_TOLD]
            ]
            more = len(self.few) - len(told)
            return "; ".join([*told, f"{more} more like them"] if more else told)
        if not self.parts:
            return f"every order of the {len(hosts)} hosts was ruled out"
        parts = [_list([hosts[host] for host in part]) for part in self.parts]
        if not self.removed:
            return f"no cable runs between {' | '.join(parts)}"
        removed = _list([hosts[host] for host in self.removed])
        if all(len(part) == 1 for part in self.parts):
            return (
                f"{_list([hosts[part[0]] for part in self.parts])} are cabled only to {removed}, "
                f"not to each other, and a ring can pass {removed} only once"
            )
        return f"without {removed} the others fall into {len(parts)} parts: {' | '.join(parts)}"


def find_witness(neighbours: Sequence[int]) -> Witness | None:
    """The simplest witness that few steps can find; None does not mean that there is a ring.

    Looks at hosts with fewer than two neighbours, parts without a cable between
    them, hosts that cut the rest apart, and sets of hosts not cabled to each other
    that have fewer neighbours than members, as in a bipartite graph with unequal
    sides.

    Example:
        >>> find_witness((0b0010, 0b0101, 0b1010, 0b0100))
        Witness(few=(0, 3), removed=(), parts=())
    """
    few = tuple(host for host, mask in enumerate(neighbours) if mask.bit_count() < 2)
    if few:
        return Witness(few=few)
    for removed in (0, *(1 << host for host in range(len(neighbours)))):
        parts = _parts(neighbours, removed)
        if len(parts) > max(1, removed.bit_count()):
            return _cut_witness(removed, parts)
    removed = _crowded_neighbours(neighbours)
    return _cut_witness(removed, _parts(neighbours, removed)) if removed else None


def find_deep_witness(neighbours: Sequence[int]) -> Witness | None:
    """Two or three hosts without which the others fall into more parts than that.

    Cost:
        Stops after 20,000 sets of hosts, so that large graphs are not searched through.
    """
    size = len(neighbours)
    tried = 0
    for count in (2, 3):
        for removed_hosts in combinations(range(size), count):
            tried += 1
            if tried > _MAX_REMOVALS:
                return None
            removed = sum(1 << host for host in removed_hosts)
            parts = _parts(neighbours, removed)
            if len(parts) > count:
                return _cut_witness(removed, parts)
    return None


def _cut_witness(removed: int, parts: Sequence[int]) -> Witness:
    return Witness(
        removed=tuple(each_bit(removed)), parts=tuple(tuple(each_bit(part)) for part in parts)
    )


def _parts(neighbours: Sequence[int], removed: int) -> list[int]:
    """The connected parts of the graph without some hosts, as bit masks."""
    left = (1 << len(neighbours)) - 1 & ~removed
    parts = []
    while left:
        part = frontier = left & -left
        while frontier:
            reached = 0
            for host in each_bit(frontier):
                reached |= neighbours[host]
            frontier = reached & left & ~part
            part |= frontier
        parts.append(part)
        left &= ~part
    return parts


def _crowded_neighbours(neighbours: Sequence[int]) -> int:
    """Hosts that are all the neighbours of more hosts than they are; 0 if there are none.

    A ring pairs every host with the next one. Where hosts can not be matched one
    to one with neighbours, the hosts reached by alternating paths from one left
    over have fewer neighbours than members (Hall 1935), and those of them that
    are nobody's neighbour among them are not cabled to each other.
    """
    partner: dict[int, int] = {}

    def match(host: int, tried: set[int]) -> bool:
        for other in each_bit(neighbours[host]):
            if other not in tried:
                tried.add(other)
                if other not in partner or match(partner[other], tried):
                    partner[other] = host
                    return True
        return False

    for host in range(len(neighbours)):
        tried: set[int] = set()
        if not match(host, tried):
            crowd = {host} | {partner[other] for other in tried}
            return sum(1 << other for other in tried - crowd)
    return 0


def _describe_few(
    host: str, neighbours: int, hosts: Sequence[str], unread: Mapping[str, str]
) -> str:
    if host in unread:
        return f"{host} did not tell its cables ({unread[host]})"
    only = [hosts[other] for other in each_bit(neighbours)]
    return f"{host} is cabled only to {only[0]}" if only else f"{host} is cabled to no other host"


def _list(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
