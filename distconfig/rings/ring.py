"""The ring: a Hamiltonian cycle of the cabling, as a `RingPlan`.

The best ring has the largest width times Gb/s of its slowest cable, then the
larger width, then the fewest hops through docks, and is then the first in
order of the positions of its hosts in the list given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Topology
from distconfig.errors import NoRing, TopologyError
from distconfig.rings import ring_search
from distconfig.rings.hops import MAX_EXACT_HOSTS, HopGraph, Level, Offers, collect_offers
from distconfig.rings.no_ring import Witness, find_deep_witness, find_witness
from distconfig.rings.open_hops import Budget, OutOfSteps

__all__ = ["RingPlan", "find_ring", "is_rdma_cable"]

MAX_STEPS = 100_000
"""Steps of each stage of a search among more than 16 hosts; under a second."""

_SHORT_SEARCH_STEPS = 3_000
"""Steps of the search that is tried first up to 16 hosts: it mostly is the quicker way.

The exact one takes as long for any cabling, and loading numpy for it takes longer still.
"""


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
    def slowest_gbps(self) -> int | None:
        """Gb/s of the slowest cable used; None if the speed of one is wholly unknown."""
        speeds = [cable.gbps for cable in self.used_cables]
        return None if None in speeds else min(speed for speed in speeds if speed is not None)

    @property
    def hops_through_docks(self) -> int:
        """Hops that use a cable through a dock or display."""
        return len({hop for hop in self.cables if any(cable.via for cable in hop)})

    @property
    def used_cables(self) -> frozenset[Cable]:
        """The cables that carry the ring."""
        return frozenset(cable for hop in self.cables for cable in hop)


def is_rdma_cable(cable: Cable) -> bool:
    """Whether RDMA works over the cable, as far as both its ends tell."""
    return cable.is_usable and cable.rdma is not None


def find_ring(
    topology: Topology,
    *,
    is_eligible: Callable[[Cable], bool] = lambda cable: cable.is_usable,
    max_steps: int = MAX_STEPS,
) -> RingPlan:
    """The best ring through every listed host.

    Args:
        is_eligible: Which cables may be used; `is_rdma_cable` for a ring over RDMA.
        max_steps: Steps of each stage of the search among more than 16 hosts.

    Raises:
        NoRing: There is none, and the witness says why.
        TopologyError: Whether there is one was not found out within ``max_steps``.

    Cost:
        Under a second up to 16 hosts, whatever the cabling. Beyond, the search ends
        in ``max_steps`` at the latest, and the ring says if a better one may exist.
    """
    hosts, offers = topology.hosts, collect_offers(topology, is_eligible)
    if len(hosts) < 2:
        raise NoRing("a ring needs two hosts", hint="List every host of the ring.")
    if len(hosts) == 2:
        return _find_pair(topology, offers)
    _refuse_without_ring(topology, offers.graph(offers.lowest), max_steps)
    level, is_highest = _best_level(offers, max_steps)
    order, is_best = _best_order(offers.graph(level), max_steps)
    return _plan(offers, order, level.width, is_best and is_highest)


def _find_pair(topology: Topology, offers: Offers) -> RingPlan:
    """The ring of two hosts, whose two hops are the same cables."""
    levels = offers.levels()
    if not levels:
        raise _no_ring(topology, offers.graph(offers.lowest), Witness(few=(0, 1)))
    return _plan(offers, (0, 1), levels[0].width, True)


def _refuse_without_ring(topology: Topology, graph: HopGraph, max_steps: int) -> None:
    """Return if the graph has a ring.

    Raises:
        NoRing: It has none.
        TopologyError: Not known.
    """
    witness = find_witness(graph.neighbours)
    if witness is None:
        known = _decide(graph, Budget(max_steps))
        if known:
            return
        witness = find_deep_witness(graph.neighbours)
        if witness is None and known is None:
            raise TopologyError(
                f"the search ended after {max_steps} steps, neither finding a ring "
                f"nor ruling one out among {graph.size} hosts",
                hint="List fewer hosts, or add a cable between hosts that have few.",
            )
    raise _no_ring(topology, graph, witness or Witness())


def _no_ring(topology: Topology, graph: HopGraph, witness: Witness) -> NoRing:
    return NoRing(
        f"no ring through all {len(topology.hosts)} hosts",
        witness=witness.describe(topology.hosts, graph.neighbours, topology.unread),
        hint="`distributed_config advise` names the cables to add or move; "
        "`--allow-subset` takes the largest ring there is.",
    )


def _decide(graph: HopGraph, budget: Budget) -> bool | None:
    """Whether the graph has a ring; None if the budget did not suffice to tell."""
    is_small = graph.size <= MAX_EXACT_HOSTS
    try:
        steps = Budget(_SHORT_SEARCH_STEPS) if is_small else budget
        return ring_search.find_order(graph, steps) is not None
    except OutOfSteps:
        if not is_small:
            return None
    from distconfig.rings import ring_exact

    return ring_exact.has_ring(graph)


def _best_level(offers: Offers, max_steps: int) -> tuple[Level, bool]:
    """The highest level at which there is a ring, and whether it is proved the highest."""
    levels, is_proved = offers.levels(), True
    budget = Budget(max_steps)
    for index, level in enumerate(levels):
        share = Budget(budget.steps // (len(levels) - index))
        budget.steps -= share.steps
        graph = offers.graph(level)
        known = not find_witness(graph.neighbours) and _decide(graph, share)
        budget.steps += share.steps
        if known:
            return level, is_proved
        is_proved = is_proved and known is not None
    return offers.lowest, is_proved


def _best_order(graph: HopGraph, max_steps: int) -> tuple[tuple[int, ...], bool]:
    """The order of the best ring of a graph that has one, and whether it is proved the best."""
    if graph.size > MAX_EXACT_HOSTS:
        return ring_search.find_best_order(graph, max_steps)
    try:
        order, is_proved = ring_search.find_best_order(graph, _SHORT_SEARCH_STEPS)
    except OutOfSteps:
        is_proved = False
    if is_proved:
        return order, True
    from distconfig.rings import ring_exact

    best = ring_exact.find_best_order(graph)
    assert best is not None
    return best, True


def _plan(offers: Offers, order: Sequence[int], width: int, proved_best: bool) -> RingPlan:
    """The ring plan of an order of hosts."""
    return RingPlan(
        tuple(offers.hosts[host] for host in order),
        tuple(
            offers.hop(host, order[(rank + 1) % len(order)], width)
            for rank, host in enumerate(order)
        ),
        proved_best,
    )
