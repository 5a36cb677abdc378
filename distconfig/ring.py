"""The ring: a Hamiltonian cycle of the cabling, as a `RingPlan`."""

from __future__ import annotations

from dataclasses import dataclass

from distconfig.topology import Cable

__all__ = ["RingPlan"]


@dataclass(frozen=True)
class RingPlan:
    """Hosts in rank order and the cables of every hop.

    Args:
        hosts: ``hosts[i]`` runs rank i; rank 0 is the first host given, rank 1 the
            earlier given of its two ring neighbours.
        cables: ``cables[i]`` joins rank i and rank i + 1 (the last one closes the
            ring); every hop has the same number, fastest first.
        proved_best: False when the search ended before every better ring was ruled out.
    """

    hosts: tuple[str, ...]
    cables: tuple[tuple[Cable, ...], ...]
    proved_best: bool = True

    def __post_init__(self) -> None:
        size = len(self.hosts)
        if size < 2 or len(set(self.hosts)) != size or len(self.cables) != size:
            raise ValueError(f"not a ring: {self.hosts} with {len(self.cables)} hops")
        if len({len(hop) for hop in self.cables}) != 1 or not self.cables[0]:
            raise ValueError("hops differ in width")
        for rank, hop in enumerate(self.cables):
            ends = {self.hosts[rank], self.hosts[(rank + 1) % size]}
            if any({cable.a.host, cable.b.host} != ends for cable in hop):
                raise ValueError(f"a cable of hop {rank} does not join {sorted(ends)}")

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.hosts)

    @property
    def width(self) -> int:
        """Parallel cables used on every hop."""
        return len(self.cables[0])

    @property
    def used_cables(self) -> frozenset[Cable]:
        """The cables that carry the ring."""
        return frozenset(cable for hop in self.cables for cable in hop)
