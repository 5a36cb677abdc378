"""Which ring is chosen, and what is said when there is none."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import networkx as nx
import pytest

from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import NoRing, TopologyError
from distconfig.rings import ring_exact
from distconfig.rings.hops import collect_offers
from distconfig.rings.ring import RingPlan, find_ring, is_rdma_cable
from distconfig.survey import survey_recording
from tests.graphs import (
    blank_report,
    topology_of,
    topology_of_edges,
    wire,
    wires_of_edges,
)
from tests.scenarios import scenario


def hops(plan: RingPlan) -> list[list[str]]:
    return [[str(cable) for cable in hop] for hop in plan.cables]


def test_rank_0_is_the_first_host_and_rank_1_the_earlier_given_of_its_neighbours() -> None:
    plan = find_ring(wire("a1-c1, c2-b1, b2-d1, d2-a2", "abcd"))

    assert plan.hosts == ("a", "c", "b", "d")
    assert hops(plan) == [
        ["a en2 -- c en2"],
        ["b en2 -- c en3"],
        ["b en3 -- d en2"],
        ["a en3 -- d en3"],
    ]
    assert plan.proved_best


def test_both_hops_of_two_hosts_are_the_same_cables() -> None:
    plan = find_ring(wire("a1-b2, a3-b1"))

    both = ["a en2 -- b en3", "a en4 -- b en2"]
    assert (plan.width, hops(plan)) == (2, [both, both])


def test_two_slow_cables_lose_against_a_fast_one() -> None:
    plan = find_ring(wire("a1-b1 20, a2-b2 80"))

    assert hops(plan) == [["a en3 -- b en3"]] * 2


def test_two_slow_cables_win_where_they_carry_more_than_the_fast_one() -> None:
    plan = find_ring(wire("a1-b1 80, a2-b2 60"))

    assert hops(plan) == [["a en2 -- b en2", "a en3 -- b en3"]] * 2


def test_the_wider_of_two_equal_rings_is_chosen() -> None:
    assert find_ring(wire("a1-b1 80, a2-b2 40")).width == 2


def test_a_longer_way_round_is_taken_to_use_doubled_cables() -> None:
    """All four are in a mesh; only a-c-b-d-a has every cable doubled."""
    plan = find_ring(
        wire(
            "a1-b1, c1-d1, a2-c2, a3-c3, c4-b2, c5-b3, b4-d2, b5-d3, d4-a4, d5-a5",
            "abcd",
            ports=5,
        )
    )

    assert (plan.hosts, plan.width) == (("a", "c", "b", "d"), 2)


def test_a_slow_hop_is_avoided_if_another_order_has_none() -> None:
    mesh = "a1-b1 40, a2-c1 80, a3-d1 80, b2-c2 80, b3-d2 80, c3-d3 40"

    plan = find_ring(wire(mesh, "abcd"))

    assert (plan.hosts, plan.slowest_gbps) == (("a", "c", "b", "d"), 80)


def test_a_dock_is_avoided_but_not_at_the_price_of_speed() -> None:
    direct = wire("a1-b1 80 via Dock, a2-c1, a3-d1, b2-c2, b3-d2, c3-d3", "abcd")
    slower = wire("a1-b1 80 via Dock, a2-b2 40, b3-c1 80, c2-a3 80", "abc")

    assert find_ring(direct).hosts == ("a", "c", "b", "d")
    assert find_ring(direct).hops_through_docks == 0
    assert hops(find_ring(slower))[0] == ["a en2 -- b en2"]


def test_a_cable_of_unknown_speed_counts_as_its_ceiling() -> None:
    plan = find_ring(wire("a1-b1 80, a2-b2 0"))

    assert hops(plan)[0] == ["a en3 -- b en3", "a en2 -- b en2"]
    assert plan.cables[0][0].is_ceiling


def test_of_equal_cables_the_confirmed_and_then_the_first_is_used() -> None:
    assert hops(find_ring(wire("a2-b1 80, a1-b2 80, b3-c1, c2-a3")))[0] == ["a en2 -- b en3"]


def test_a_ring_over_rdma_uses_only_cables_that_carry_it() -> None:
    topology = wire("a1-b1 80, a2-b2 40, b3-c1 80, c2-a3 80", rdma=True)

    assert hops(find_ring(topology, is_eligible=is_rdma_cable))[0] == ["a en2 -- b en2"]
    with pytest.raises(NoRing, match="a is cabled only to c; b is cabled only to c"):
        find_ring(wire("a2-b2 40, b3-c1 80, c2-a3 80", "abc", rdma=True), is_eligible=is_rdma_cable)


@pytest.mark.parametrize(
    ("wires", "witness"),
    [
        ("a1-b1, b2-c1, c2-d1", "a is cabled only to b; d is cabled only to c"),
        ("a1-b1, a2-b2, c1-c2", "a is cabled only to b; b is cabled only to a; "
         "c is cabled to no other host"),
        ("a1-b1, b2-c1, c2-a2, d1-e1, e2-f1, f2-d2",
         "no cable runs between a, b and c | d, e and f"),
        ("a1-b1, b2-c1, c2-a2, c3-d1, d2-e1, e2-c4",
         "without c the others fall into 2 parts: a and b | d and e"),
        ("a1-x1, a2-y1, b1-x2, b2-y2, c1-x3, c2-y3, x4-y4",
         "a, b and c are cabled only to x and y, not to each other, and a ring can pass x and y "
         "only once"),
    ],
)  # fmt: skip
def test_no_ring_is_explained(wires: str, witness: str) -> None:
    with pytest.raises(NoRing) as caught:
        find_ring(wire(wires))

    assert caught.value.witness == witness
    assert "distributed_config advise" in caught.value.hint


def test_three_pairs_between_two_hosts_are_a_witness() -> None:
    """Three chains of two hosts between x and y: neither parity nor a cut host tells."""
    topology = wire("x1-a1, a2-b1, b2-y1, x2-c1, c2-d1, d2-y2, x3-e1, e2-f1, f2-y3", "xyabcdef")

    with pytest.raises(NoRing, match=r"without x and y the others fall into 3 parts: a and b | "):
        find_ring(topology)


def test_a_host_that_did_not_answer_is_named_with_the_reason() -> None:
    reports = {host: wire("a1-b1, b2-c1, c2-a2").reports[host] for host in "ab"}
    topology = assemble_topology("abc", reports, {"c": "timed out after 10 s"})

    with pytest.raises(NoRing, match=r"c did not tell its cables \(timed out after 10 s\)"):
        find_ring(topology)


def test_one_host_is_no_ring() -> None:
    with pytest.raises(NoRing, match="a ring needs two hosts"):
        find_ring(assemble_topology(["a"], {"a": blank_report("a")}, {}))


def generalised_petersen(size: int, step: int) -> nx.Graph:
    outer = ((host, (host + 1) % size) for host in range(size))
    inner = ((size + host, size + (host + step) % size) for host in range(size))
    return nx.Graph([*outer, *inner, *((host, size + host) for host in range(size))])


def flower_snark(size: int) -> nx.Graph:
    """Stars around a ring, the leaves in one ring of the same and one of twice the length."""
    graph = nx.Graph()
    for star in range(size):
        following = (star + 1) % size
        last = star == size - 1
        graph.add_edges_from((("hub", star), (leaf, star)) for leaf in "xyz")
        graph.add_edge(("x", star), ("x", following))
        graph.add_edge(("y", star), ("z" if last else "y", following))
        graph.add_edge(("z", star), ("y" if last else "z", following))
    return nx.convert_node_labels_to_integers(graph)


def coxeter() -> nx.Graph:
    """Three-element sets of seven that are no line of the Fano plane, joined if disjoint."""
    lines = {(0, 1, 3), (1, 2, 4), (2, 3, 5), (3, 4, 6), (0, 4, 5), (1, 5, 6), (0, 2, 6)}
    triples = [
        (a, b, c)
        for a in range(7)
        for b in range(a + 1, 7)
        for c in range(b + 1, 7)
        if (a, b, c) not in lines
    ]
    return nx.convert_node_labels_to_integers(
        nx.Graph((one, two) for one in triples for two in triples if not set(one) & set(two))
    )


def without_each(graph: nx.Graph) -> Iterable[nx.Graph]:
    return (graph.subgraph(set(graph) - {host}) for host in graph)


WITHOUT_RING = {
    "petersen": generalised_petersen(5, 2),
    "petersen_11_2": generalised_petersen(11, 2),
    "petersen_17_2_of_34": generalised_petersen(17, 2),
    "coxeter": coxeter(),
    "flower_snark_5": flower_snark(5),
    "flower_snark_7": flower_snark(7),
    "sides_of_15_and_17": nx.complete_bipartite_graph(15, 17),
    "sides_of_7_and_9": nx.complete_bipartite_graph(7, 9),
}


@pytest.mark.parametrize("name", WITHOUT_RING)
def test_famous_graphs_are_proved_to_have_no_ring_within_a_second(name: str) -> None:
    graph = nx.convert_node_labels_to_integers(WITHOUT_RING[name])
    topology = topology_of_edges(graph.edges, len(graph))

    start = time.process_time()
    with pytest.raises(NoRing) as caught:
        find_ring(topology)

    assert time.process_time() - start < 1
    assert caught.value.witness


def test_the_hypohamiltonian_graphs_have_a_ring_once_any_host_is_left_out() -> None:
    """Shows that the graphs above are what their names say, and that the search is not blind."""
    for graph in (WITHOUT_RING["petersen"], WITHOUT_RING["coxeter"]):
        for part in without_each(graph):
            small = nx.convert_node_labels_to_integers(part)
            assert find_ring(topology_of_edges(small.edges, len(small))).size == len(small)


@pytest.mark.parametrize("degree", [3, 4, 6])
def test_64_hosts_take_under_two_seconds(degree: int) -> None:
    graph = nx.random_regular_graph(degree, 64, seed=degree)
    topology = topology_of_edges(graph.edges, 64)

    start = time.process_time()
    plan = find_ring(topology)

    assert time.process_time() - start < 2
    assert (plan.size, plan.proved_best) == (64, True)


def test_16_hosts_in_a_full_mesh_take_under_a_second() -> None:
    topology = topology_of_edges(nx.complete_graph(16).edges, 16)

    start = time.process_time()
    plan = find_ring(topology)

    assert time.process_time() - start < 1
    assert plan.hosts == topology.hosts


@pytest.mark.parametrize(("degree", "seed"), [(5, 11), (6, 1), (8, 16)])
def test_16_hosts_with_many_docks_take_under_a_second(degree: int, seed: int) -> None:
    """Cablings on which the short search gives up, so that the table over all sets decides."""
    graph, random = nx.random_regular_graph(degree, 16, seed=seed), Random(seed)
    docked = {edge for edge in graph.edges if random.random() < 0.5}
    wires = [
        replace(laid, via=("Dock",) if edge in docked else ())
        for edge, laid in zip(graph.edges, wires_of_edges(graph.edges, 16), strict=True)
    ]
    topology = topology_of(wires, [f"h{host}_" for host in range(16)], ports=degree)

    start = time.process_time()
    plan = find_ring(topology)

    assert time.process_time() - start < 1
    assert plan.proved_best
    offers = collect_offers(topology)
    order = ring_exact.find_best_order(offers.graph(offers.lowest))
    assert plan.hosts == tuple(topology.hosts[host] for host in order or ())


def test_a_search_that_ends_early_says_so_and_never_that_there_is_no_ring() -> None:
    graph = flower_snark(7)
    topology = topology_of_edges(graph.edges, len(graph))

    with pytest.raises(TopologyError, match="the search ended after 50 steps") as caught:
        find_ring(topology, max_steps=50)

    assert not isinstance(caught.value, NoRing)


def test_a_ring_that_is_not_proved_best_says_so() -> None:
    graph = nx.random_regular_graph(4, 40, seed=1)
    topology = topology_of_edges(graph.edges, 40)

    plan = find_ring(topology, max_steps=150)

    assert (plan.size, plan.proved_best) == (40, False)


def surveyed(name: str) -> Topology:
    return survey_recording(scenario(name).recording).topology


def test_the_fleet_has_no_ring_because_of_dune_and_without_it_has_one() -> None:
    fleet = surveyed("fleet_of_four")

    with pytest.raises(NoRing, match="dune is cabled only to birch"):
        find_ring(fleet)

    three = {host: fleet.reports[host] for host in ("atlas", "birch", "cedar")}
    assert find_ring(assemble_topology(tuple(three), three, {})).hosts == tuple(three)


@pytest.mark.parametrize(
    ("hosts", "cables", "message"),
    [
        (("a",), 0, "not a ring"),
        (("a", "b"), 1, "not a ring"),
        (("a", "c"), 2, "does not join"),
    ],
)
def test_a_ring_plan_is_a_ring(hosts: tuple[str, ...], cables: int, message: str) -> None:
    cable = wire("a1-b1").cables[0]

    with pytest.raises(ValueError, match=message):
        RingPlan(hosts, ((cable,),) * cables)


def test_the_hops_of_a_ring_plan_are_equally_wide() -> None:
    one, two = wire("a1-b1, a2-b2").cables

    with pytest.raises(ValueError, match="hops differ in width"):
        RingPlan(("a", "b"), ((one,), (one, two)))
