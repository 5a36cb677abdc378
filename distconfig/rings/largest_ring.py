"""The largest ring of a cabling that has none through all its hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import networkx as nx

from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Topology, restrict_topology
from distconfig.errors import NoRing
from distconfig.rings import ring_exact, ring_search
from distconfig.rings.hops import MAX_EXACT_HOSTS, HopGraph, Offers, collect_offers
from distconfig.rings.no_ring import find_witness
from distconfig.rings.open_hops import Budget, OutOfSteps, each_bit
from distconfig.rings.ring import RingPlan, find_ring

__all__ = ["LargestRing", "find_largest_ring"]

MAX_TRIES = 1_000
"""Sets of hosts left out that are tried among more than 16."""

STEPS_PER_TRY = 2_000


@dataclass(frozen=True)
class LargestRing:
    """The ring through as many hosts as can be.

    Args:
        left_out: The listed hosts that are not on it, in the order given.
        proved_largest: False when the search ended before every larger ring was ruled out.
    """

    ring: RingPlan
    left_out: tuple[str, ...] = ()
    proved_largest: bool = True


def find_largest_ring(
    topology: Topology, *, is_eligible: Callable[[Cable], bool] = lambda cable: cable.is_usable
) -> LargestRing:
    """The best of the rings through the most hosts; two hosts are a ring if one cable joins them.

    Args:
        is_eligible: Which cables may be used; `is_rdma_cable` for a ring over RDMA.

    Raises:
        NoRing: No usable cable joins two hosts.

    Cost:
        A second or two up to 16 hosts, and exact. Beyond, rings that leave out few
        hosts are tried first and then one is grown as far as it goes.
    """
    offers = collect_offers(topology, is_eligible)
    graph = offers.graph(offers.lowest)
    if not any(graph.neighbours):
        raise NoRing(
            f"no usable cable joins any two of the {len(topology.hosts)} hosts",
            hint="`distributed_config advise` names the cables to add.",
        )
    if graph.size <= MAX_EXACT_HOSTS:
        hosts, is_proved = _largest_exactly(offers, graph), True
    else:
        hosts, is_proved = _largest_found(graph)
    if len(hosts) < 3:
        hosts = _best_pair(offers)
    names = [topology.hosts[host] for host in sorted(hosts)]
    ring = find_ring(restrict_topology(topology, names), is_eligible=is_eligible)
    left_out = tuple(host for host in topology.hosts if host not in names)
    return LargestRing(ring, left_out, is_proved)


def _largest_exactly(offers: Offers, graph: HopGraph) -> Sequence[int]:
    """The hosts of the best ring of the largest size; fewer than three if there is none."""
    largest = ring_exact.find_largest_order(graph)
    if largest:
        for level in offers.levels(through_all=False):
            order = ring_exact.find_largest_order(offers.graph(level))
            if len(order) == len(largest):
                return order
    return largest


def _best_pair(offers: Offers) -> tuple[int, int]:
    """The first of the pairs of hosts with the best cables."""
    for level in offers.levels(through_all=False):
        graph = offers.graph(level)
        for masks in (graph.direct, graph.docked):
            for host, mask in enumerate(masks):
                if mask:
                    return host, next(each_bit(mask))
    raise AssertionError("there is a cable")


def _largest_found(graph: HopGraph) -> tuple[Sequence[int], bool]:
    """The hosts of the largest ring found, and whether it is known that none is larger.

    A ring lies within one block, a part that no single host cuts apart.
    """
    edges = [
        (host, other) for host, mask in enumerate(graph.neighbours) for other in each_bit(mask)
    ]
    blocks = sorted(
        map(sorted, nx.biconnected_components(nx.Graph(edges))), key=lambda b: (-len(b), b)
    )
    best: Sequence[int] = ()
    is_proved = True
    for block in blocks:
        if len(block) <= max(2, len(best)):
            break
        ring, is_largest = _largest_in_block(graph, block)
        if len(ring) > len(best):
            best = ring
        is_proved = is_proved and is_largest
    return best, is_proved


def _largest_in_block(graph: HopGraph, block: Sequence[int]) -> tuple[Sequence[int], bool]:
    """The largest ring found among the hosts of a block, and whether none there is larger."""
    is_proved = True
    scarce_first = sorted(block, key=lambda host: graph.neighbours[host].bit_count())
    for left_out in islice(_sets_to_leave_out(scarce_first), MAX_TRIES):
        hosts = [host for host in block if host not in left_out]
        part = _part_of(graph, hosts)
        if len(hosts) <= MAX_EXACT_HOSTS:
            return [hosts[host] for host in ring_exact.find_largest_order(part)], is_proved
        if find_witness(part.neighbours):
            continue
        try:
            order = ring_search.find_order(part, Budget(STEPS_PER_TRY))
        except OutOfSteps:
            is_proved = False
            continue
        if order:
            return [hosts[host] for host in order], is_proved
    return _grown_ring(graph, block), False


def _sets_to_leave_out(block: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for count in range(len(block)):
        yield from combinations(block, count)


def _part_of(graph: HopGraph, hosts: Sequence[int]) -> HopGraph:
    """The graph among some hosts, renumbered in their order."""

    def among(mask: int) -> int:
        return sum((mask >> host & 1) << index for index, host in enumerate(hosts))

    return HopGraph(
        tuple(among(graph.direct[host]) for host in hosts),
        tuple(among(graph.docked[host]) for host in hosts),
    )


def _grown_ring(graph: HopGraph, block: Sequence[int]) -> Sequence[int]:
    """A ring through some hosts of a block, made longer by detours until none is left."""
    part = nx.Graph(
        (host, other)
        for host in block
        for other in each_bit(graph.neighbours[host])
        if other in block
    )
    ring: list[int] = nx.cycle_basis(part, block[0])[0]
    while longer := _with_detour(part, ring):
        ring = longer
    return ring


def _with_detour(part: nx.Graph, ring: list[int]) -> list[int] | None:
    """The ring with a stretch replaced by a longer way through hosts that are not on it."""
    outside = part.subgraph(set(part) - set(ring))
    for component in nx.connected_components(outside):
        gates = [index for index, host in enumerate(ring) if component & set(part[host])]
        for first, second in combinations(gates, 2):
            for a, b in ((first, second), (second, first)):
                skipped = (b - a) % len(ring) - 1
                inside = part.subgraph(component | {ring[a], ring[b]}).copy()
                if inside.has_edge(ring[a], ring[b]):
                    inside.remove_edge(ring[a], ring[b])
                way = _long_way(inside, ring[a], ring[b])
                if len(way) - 2 > skipped:
                    turned = ring[b:] + ring[:b]
                    return turned[: len(ring) - skipped] + way[1:-1]
    return None


def _long_way(graph: nx.Graph, start: int, end: int) -> list[int]:
    """A long path between two hosts: the longest of the first hundred simple ones."""
    return max(islice(nx.all_simple_paths(graph, start, end), 100), key=len, default=[start, end])
