"""The planner's rings against every order of the hosts, tried one by one."""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import NoRing
from distconfig.rings import ring_exact, ring_search
from distconfig.rings.hops import HopGraph, collect_offers
from distconfig.rings.largest_ring import find_largest_ring
from distconfig.rings.no_ring import Witness, find_deep_witness, find_witness
from distconfig.rings.open_hops import Budget
from distconfig.rings.ring import find_ring
from tests.brute_force import Ring, best_ring, cables_between
from tests.cablings import topologies, wire_lists
from tests.graphs import Wire, blank_report, lay_cables, topology_of, topology_of_edges


def found_ring(topology: Topology) -> Ring | None:
    try:
        plan = find_ring(topology)
    except NoRing:
        return None
    assert plan.proved_best
    gbps = min(cable.gbps or 0 for cable in plan.used_cables)
    return plan.hosts, plan.width, gbps, plan.hops_through_docks


@given(topologies())
@settings(max_examples=100, deadline=None)
def test_the_ring_found_is_the_best_of_all_orders(topology: Topology) -> None:
    assert found_ring(topology) == best_ring(topology, topology.hosts)


@given(topologies())
@settings(max_examples=50, deadline=None)
def test_each_hop_uses_its_fastest_cables(topology: Topology) -> None:
    try:
        plan = find_ring(topology)
    except NoRing:
        return
    for rank, hop in enumerate(plan.cables):
        between = cables_between(topology, plan.hosts[rank], plan.hosts[(rank + 1) % plan.size])
        assert [(each.gbps, each.via) for each in hop] == [
            (each.gbps, each.via) for each in between[: plan.width]
        ]


@st.composite
def hop_graphs(draw: st.DrawFn, max_size: int = 9) -> HopGraph:
    size = draw(st.integers(3, max_size))
    direct, docked = [0] * size, [0] * size
    for a, b in combinations(range(size), 2):
        masks = draw(st.sampled_from([direct, direct, docked, None]))
        if masks is not None:
            masks[a] |= 1 << b
            masks[b] |= 1 << a
    return HopGraph(tuple(direct), tuple(docked))


@given(hop_graphs())
@settings(max_examples=150, deadline=None)
def test_the_search_for_many_hosts_agrees_with_the_table_for_few(graph: HopGraph) -> None:
    expected = ring_exact.find_best_order(graph)

    assert ring_exact.has_ring(graph) == (expected is not None)
    if expected is None:
        assert ring_search.find_order(graph, Budget(10**6)) is None
    else:
        assert ring_search.find_best_order(graph, 10**6) == (expected, True)


@given(wire_lists(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_reports_is_irrelevant(
    drawn: tuple[tuple[str, ...], list[Wire]],
    random: Random,
) -> None:
    hosts, wires = drawn
    reports = lay_cables({host: blank_report(host, 16) for host in hosts}, wires)
    shuffled = sorted(reports.items(), key=lambda _: random.random())

    first, second = (assemble_topology(hosts, dict(each), {}) for each in (reports, shuffled))

    assert first == second
    assert found_ring(first) == found_ring(second)


@given(wire_lists(min_hosts=3), st.data())
@settings(max_examples=50, deadline=None)
def test_one_more_cable_never_makes_the_ring_worse(
    drawn: tuple[tuple[str, ...], list[Wire]], data: st.DataObject
) -> None:
    hosts, wires = drawn
    a, b = data.draw(st.permutations(hosts))[:2]
    before = found_ring(topology_of(wires, hosts, ports=16))
    after = found_ring(topology_of([*wires, Wire(a, 16, b, 16, 40)], hosts, ports=16))

    if before is not None:
        assert after is not None
        assert (after[1] * after[2], after[1]) >= (before[1] * before[2], before[1])


def is_true_of(witness: Witness, neighbours: tuple[int, ...]) -> bool:
    """The witness holds and rules every ring out, checked from the definition."""
    if witness.few:
        return all(bin(neighbours[host]).count("1") < 2 for host in witness.few)
    everyone = {*witness.removed, *(host for part in witness.parts for host in part)}
    apart = not any(
        neighbours[a] >> b & 1
        for one, two in combinations(witness.parts, 2)
        for a in one
        for b in two
    )
    return (
        everyone == set(range(len(neighbours)))
        and apart
        and len(witness.parts) > max(1, len(witness.removed))
        and sum(map(len, witness.parts)) + len(witness.removed) == len(everyone)
    )


@given(hop_graphs(max_size=8))
@settings(max_examples=200, deadline=None)
def test_a_witness_is_true_of_the_graph_and_excludes_a_ring(graph: HopGraph) -> None:
    for witness in (find_witness(graph.neighbours), find_deep_witness(graph.neighbours)):
        if witness is not None:
            assert is_true_of(witness, graph.neighbours)
            assert not ring_exact.has_ring(graph)


@given(topologies(max_hosts=6))
@settings(max_examples=60, deadline=None)
def test_the_largest_ring_is_the_best_of_the_largest_among_all_sets_of_hosts(
    topology: Topology,
) -> None:
    candidates: list[tuple[int, Ring]] = []
    for size in range(len(topology.hosts), 1, -1):
        for hosts in combinations(topology.hosts, size):
            ring = best_ring(topology, hosts)
            if ring:
                candidates.append((size, ring))
        if candidates:
            break
    try:
        largest = find_largest_ring(topology)
    except NoRing:
        assert not candidates
        return

    def preference(candidate: tuple[int, Ring]) -> tuple[int, int, int, list[int]]:
        _, (order, width, gbps, docked) = candidate
        return (-width * gbps, -width, docked, [topology.hosts.index(host) for host in order])

    _, (order, width, gbps, docked) = min(candidates, key=preference)
    plan = largest.ring
    slowest = min(cable.gbps or 0 for cable in plan.used_cables)
    assert (plan.hosts, plan.width, slowest, plan.hops_through_docks) == (
        order, width, gbps, docked,
    )  # fmt: skip
    assert largest.left_out == tuple(host for host in topology.hosts if host not in order)
    assert largest.proved_largest


@given(st.permutations(range(24)), st.sets(st.tuples(st.integers(0, 23), st.integers(0, 23))))
@settings(max_examples=20, deadline=None)
def test_a_planted_ring_of_many_hosts_is_found(
    order: list[int], extra: set[tuple[int, int]]
) -> None:
    planted = {tuple(sorted(pair)) for pair in zip(order, [*order[1:], order[0]], strict=True)}
    edges = sorted(planted | {(a, b) for a, b in extra if a < b})
    topology = topology_of_edges(edges, 24)

    plan = find_ring(topology)

    assert sorted(plan.hosts) == sorted(topology.hosts)
    assert plan.hosts[0] == topology.hosts[0]
    second, last = (topology.hosts.index(plan.hosts[rank]) for rank in (1, -1))
    assert second < last


@given(topologies())
@settings(max_examples=50, deadline=None)
def test_offers_list_every_usable_cable_once(topology: Topology) -> None:
    offers = collect_offers(topology)
    listed = [cable for cables in offers.cables.values() for cable in cables]

    assert sorted(listed, key=str) == sorted(topology.usable_cables, key=str)
