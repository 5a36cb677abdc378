"""Which cables to lay before any is in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distconfig.advice.proposal import PortBudget, Shape, propose_cabling, render_cabling
from distconfig.cabling.topology import assemble_topology
from distconfig.errors import TopologyError, UsageError
from distconfig.reports.report import HostReport
from distconfig.rings.ring import find_ring
from tests.graphs import Wire, blank_report, lay_cables


def hosts(names: str, ports: int = 4, **changes: object) -> dict[str, HostReport]:
    return {
        name: replace(blank_report(name, ports, rdma=True), **changes)  # type: ignore[arg-type]
        for name in names
    }


def laid(names: str, ports: int, shape: Shape) -> list[str]:
    return [str(cable) for cable in propose_cabling(names, hosts(names, ports), shape).cables]


def test_a_ring_takes_two_ports_of_each_host_in_the_order_given() -> None:
    assert laid("bcad", 2, "ring") == [
        "b en2 -- c en2",
        "c en3 -- a en2",
        "a en3 -- d en2",
        "b en3 -- d en3",
    ]


def test_a_double_ring_takes_four() -> None:
    assert laid("abc", 4, "double-ring") == [
        "a en2 -- b en2",
        "a en3 -- b en3",
        "b en4 -- c en2",
        "b en5 -- c en3",
        "a en4 -- c en4",
        "a en5 -- c en5",
    ]


def test_a_mesh_joins_every_two() -> None:
    assert laid("abcd", 3, "mesh") == [
        "a en2 -- b en2",
        "a en3 -- c en2",
        "a en4 -- d en2",
        "b en3 -- c en3",
        "b en4 -- d en3",
        "c en4 -- d en4",
    ]


@pytest.mark.parametrize(("shape", "cables"), [("ring", 1), ("double-ring", 2), ("mesh", 1)])
def test_two_hosts_have_one_hop(shape: Shape, cables: int) -> None:
    assert len(laid("ab", 2, shape)) == cables


def test_what_is_proposed_is_a_ring_once_it_is_laid() -> None:
    reports = hosts("abcdef")
    cables = propose_cabling("abcdef", reports, "double-ring").cables
    wires = [
        Wire(each.a.host, int(each.a.receptacle), each.b.host, int(each.b.receptacle))
        for each in cables
    ]

    plan = find_ring(assemble_topology("abcdef", lay_cables(reports, wires), {}))

    assert (plan.hosts, plan.width) == (tuple("abcdef"), 2)


def test_the_fastest_ports_come_first_and_those_without_rdma_last() -> None:
    reports = hosts("ab", 4, model="Mac16,9")
    slow = reports["a"].receptacles[1]
    ports = list(reports["a"].receptacles)
    ports[1] = replace(slow, ceiling_gbps=40)
    reports["a"] = replace(reports["a"], receptacles=tuple(ports))

    proposal = propose_cabling("ab", reports, "double-ring")

    assert [str(cable) for cable in proposal.cables] == ["a en4 -- b en3", "a en5 -- b en4"]
    assert proposal.without_rdma == frozenset()


def test_a_mesh_that_needs_the_port_beside_ethernet_says_that_it_has_no_rdma() -> None:
    reports = hosts("abc", 2, model="Mac16,9")

    proposal = propose_cabling("abc", reports, "mesh")

    assert proposal.budgets == tuple(
        PortBudget(host, needed=2, free=2, with_rdma=1, total=2) for host in "abc"
    )
    assert render_cabling(proposal).splitlines() == [
        "  1. a port 2 (System Information: Receptacle 2), en3 -- "
        "b port 2 (System Information: Receptacle 2), en3 (80 Gb/s at most)",
        "  2. a port 1 (back, beside Ethernet), en2 -- "
        "c port 2 (System Information: Receptacle 2), en3 (80 Gb/s at most, no RDMA)",
        "  3. b port 1 (back, beside Ethernet), en2 -- "
        "c port 1 (back, beside Ethernet), en2 (80 Gb/s at most, no RDMA)",
        "a: 2 of 2 free ports used (2 in all, 1 free with RDMA)",
        "b: 2 of 2 free ports used (2 in all, 1 free with RDMA)",
        "c: 2 of 2 free ports used (2 in all, 1 free with RDMA)",
    ]


def test_ports_in_use_are_not_proposed() -> None:
    reports = hosts("ab", 2)
    taken, free = reports["a"].receptacles
    reports["a"] = replace(
        reports["a"], receptacles=(replace(taken, is_connected=True, devices=("Dock",)), free)
    )

    assert [str(cable) for cable in propose_cabling("ab", reports).cables] == ["a en3 -- b en2"]


@pytest.mark.parametrize(
    ("shape", "message", "hint"),
    [
        ("ring", "a needs 2 and has 1 free of 1", "Free a port, or leave the host out."),
        ("double-ring", "a needs 4 and has 1 free of 1", "A single ring takes two ports per host."),
        (
            "mesh",
            "a needs 2 and has 1 free of 1",
            "With 1 free port per host a mesh has at most 2 hosts; a ring takes two ports "
            "per host, however many hosts there are.",
        ),
    ],
)
def test_too_few_ports_are_counted(shape: Shape, message: str, hint: str) -> None:
    reports = {**hosts("a", 1), **hosts("bc", 6)}

    with pytest.raises(TopologyError, match=message) as caught:
        propose_cabling("abc", reports, shape)

    assert caught.value.hint == hint


def test_an_unknown_shape_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no such shape: star"):
        propose_cabling("ab", hosts("ab"), "star")  # type: ignore[arg-type]


def test_one_host_is_not_cabled() -> None:
    with pytest.raises(TopologyError, match="needs two hosts"):
        propose_cabling("a", hosts("a"))
