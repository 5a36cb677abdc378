"""Which hosts could be neighbours in a ring, and over which cables.

Hosts are positions in the list given; sets of hosts are bit masks. A hop of
width w between two hosts uses the w fastest cables between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from distconfig.cabling.cable import Cable, sort_cables
from distconfig.cabling.topology import Topology

__all__ = ["MAX_EXACT_HOSTS", "HopGraph", "Level", "Offers", "collect_offers"]

MAX_EXACT_HOSTS = 16
"""Up to so many, `ring_exact` rules out every better ring in less than a second."""


@dataclass(frozen=True)
class HopGraph:
    """Pairs of hosts that could be neighbours, as a bit mask of neighbours per host.

    Args:
        direct: Neighbours that are reached without a dock.
        docked: Neighbours that are reached only through a dock; none of them in ``direct``.
    """

    direct: tuple[int, ...]
    docked: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of hosts."""
        return len(self.direct)

    @property
    def neighbours(self) -> tuple[int, ...]:
        """All possible neighbours of each host, as bit masks."""
        return tuple(map(int.__or__, self.direct, self.docked))


@dataclass(frozen=True, order=True)
class Level:
    """What is asked of every hop; a better ring has a greater level.

    Args:
        value: Width times Gb/s of the slowest cable.
        width: Cables per hop.
    """

    value: int
    width: int

    @property
    def gbps(self) -> int:
        """Speed asked of the slowest cable; 0 asks nothing."""
        return self.value // self.width


@dataclass(frozen=True)
class Offers:
    """The cables between each pair of hosts, best first.

    Args:
        cables: Pairs of positions, the lower first.
    """

    hosts: tuple[str, ...]
    cables: Mapping[tuple[int, int], tuple[Cable, ...]]

    def hop(self, a: int, b: int, width: int) -> tuple[Cable, ...]:
        """The cables that a hop of this width between two hosts uses, fastest first."""
        return self.cables[min(a, b), max(a, b)][:width]

    def graph(self, level: Level) -> HopGraph:
        """The pairs of hosts whose hop reaches the level."""
        direct, docked = [0] * len(self.hosts), [0] * len(self.hosts)
        for (a, b), cables in self.cables.items():
            if len(cables) < level.width or speed(cables[level.width - 1]) < level.gbps:
                continue
            masks = docked if any(cable.via for cable in cables[: level.width]) else direct
            masks[a] |= 1 << b
            masks[b] |= 1 << a
        return HopGraph(tuple(direct), tuple(docked))

    @property
    def lowest(self) -> Level:
        """The level every ring reaches."""
        return Level(0, 1)

    def levels(self, *, through_all: bool = True) -> list[Level]:
        """Levels a ring could have, best first.

        Args:
            through_all: Leave out levels that a ring through all hosts can not have,
                as far as each host alone can tell.
        """
        found = []
        for width in range(1, max(map(len, self.cables.values()), default=0) + 1):
            speeds = {
                speed(cables[width - 1]) for cables in self.cables.values() if len(cables) >= width
            }
            if through_all:
                ceiling = self._ceiling(width)
                speeds = {each for each in speeds if each <= ceiling}
            found += [Level(width * each, width) for each in speeds]
        return sorted(found, reverse=True)

    def _ceiling(self, width: int) -> int:
        """The slowest, over the hosts, of each host's second-best hop; -1 if one has no two."""
        best: list[list[int]] = [[] for _ in self.hosts]
        for pair, cables in self.cables.items():
            if len(cables) >= width:
                for end in pair:
                    best[end].append(speed(cables[width - 1]))
        needed = 2 if len(self.hosts) > 2 else 1
        return min(sorted(speeds)[-needed] if len(speeds) >= needed else -1 for speeds in best)


def speed(cable: Cable) -> int:
    """Gb/s that count when rings are compared; a wholly unknown speed counts as none."""
    return cable.gbps or 0


def collect_offers(
    topology: Topology, is_eligible: Callable[[Cable], bool] = lambda cable: cable.is_usable
) -> Offers:
    """The eligible cables of each pair of hosts: fastest, then no dock, then confirmed, first."""
    position = {host: index for index, host in enumerate(topology.hosts)}
    between: dict[tuple[int, int], list[Cable]] = {}
    for cable in sort_cables(filter(is_eligible, topology.cables), topology.hosts):
        between.setdefault((position[cable.a.host], position[cable.b.host]), []).append(cable)
    return Offers(
        topology.hosts,
        {
            pair: tuple(
                sorted(cables, key=lambda each: (-speed(each), bool(each.via), not each.confirmed))
            )
            for pair, cables in between.items()
        },
    )
