"""The largest ring where there is none through all hosts."""

from __future__ import annotations

import networkx as nx
import pytest

from distconfig.errors import NoRing
from distconfig.rings.largest_ring import find_largest_ring
from distconfig.rings.ring import is_rdma_cable
from distconfig.survey import survey_recording
from tests.graphs import topology_of_edges, wire
from tests.scenarios import scenario


def test_the_fleet_without_dune() -> None:
    found = find_largest_ring(survey_recording(scenario("fleet_of_four").recording).topology)

    assert found.ring.hosts == ("atlas", "birch", "cedar")
    assert (found.left_out, found.proved_largest) == (("dune",), True)


def test_of_two_largest_rings_the_faster_is_chosen() -> None:
    found = find_largest_ring(wire("a1-b1 40, b2-c1, c2-a2, c3-d1, d2-e1, e2-c4", "abcde"))

    assert (found.ring.hosts, found.left_out) == (("c", "d", "e"), ("a", "b"))


def test_a_chain_has_only_pairs_and_the_best_of_them_is_taken() -> None:
    found = find_largest_ring(wire("a1-b1 40, b2-c1 80, c2-d1 80"))

    assert (found.ring.hosts, found.left_out) == (("b", "c"), ("a", "d"))


def test_a_ring_through_all_leaves_nobody_out() -> None:
    assert find_largest_ring(wire("a1-b1, b2-c1, c2-a2")).left_out == ()


def test_only_eligible_cables_are_used() -> None:
    topology = wire("a1-b1, b2-c1, c2-a2 40, a3-b3", "abc", rdma=True)

    found = find_largest_ring(topology, is_eligible=is_rdma_cable)

    assert (found.ring.hosts, found.ring.width) == (("a", "b"), 2)


def test_no_cable_at_all_is_no_ring() -> None:
    with pytest.raises(NoRing, match="no usable cable joins any two of the 2 hosts"):
        find_largest_ring(wire("a1-a2, b1-b2"))


def test_many_hosts_of_which_two_hang_on_by_one_cable() -> None:
    graph = nx.circulant_graph(30, [1, 3])
    graph.add_edges_from([(4, 30), (11, 31)])

    found = find_largest_ring(topology_of_edges(graph.edges, 32))

    assert found.left_out == ("h30_", "h31_")
    assert found.proved_largest


def test_many_hosts_of_which_one_must_be_left_out_wherever_it_is() -> None:
    """Sides of 11 and 12 hosts; only the larger side can spare one."""
    graph = nx.complete_bipartite_graph(11, 12)

    found = find_largest_ring(topology_of_edges(graph.edges, 23))

    assert found.ring.size == 22
    assert found.proved_largest


def test_where_many_must_be_left_out_a_long_ring_is_grown() -> None:
    """Sides of 10 and 20 hosts: ten of the larger side are left out."""
    graph = nx.complete_bipartite_graph(10, 20)

    found = find_largest_ring(topology_of_edges(graph.edges, 30))

    assert found.ring.size == 20
    assert not found.proved_largest


def test_the_largest_of_several_blocks_is_taken() -> None:
    graph = nx.disjoint_union(nx.cycle_graph(7), nx.cycle_graph(18))
    graph.add_edge(0, 7)

    found = find_largest_ring(topology_of_edges(graph.edges, 25))

    assert (found.ring.size, found.proved_largest) == (18, True)
