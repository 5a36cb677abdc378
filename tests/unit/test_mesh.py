"""The full mesh that jaccl needs, and why there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import TopologyError
from distconfig.reports.report import HostReport
from distconfig.rings.mesh import find_full_mesh
from distconfig.survey import survey_recording
from tests.graphs import blank_report, lay_cables, parse_wires
from tests.scenarios import scenario


def topology(wires: str, **hosts: HostReport) -> Topology:
    enabled = {name: replace(report, rdma_status="enabled") for name, report in hosts.items()}
    ready = {name: enabled[name] if not hosts[name].rdma_status else hosts[name] for name in hosts}
    return assemble_topology(tuple(hosts), lay_cables(ready, parse_wires(wires)), {})


def rdma(host: str, **changes: object) -> HostReport:
    return replace(blank_report(host, rdma=True), **changes)  # type: ignore[arg-type]


def test_a_mesh_is_as_wide_as_its_thinnest_pair_and_lists_the_devices_of_each_rank() -> None:
    plan = find_full_mesh(
        topology("a1-b1, a2-b2, a3-c1, a4-c2, b3-c3", a=rdma("a"), b=rdma("b"), c=rdma("c"))
    )

    assert (plan.hosts, plan.width) == (("a", "b", "c"), 1)
    assert plan.devices(0, 1) == ("rdma_en2",)
    assert plan.devices(0, 2) == ("rdma_en4",)
    assert plan.devices(2, 0) == ("rdma_en2",)
    assert plan.devices(2, 1) == plan.devices(1, 2) == ("rdma_en4",)


def test_two_hosts_use_all_their_cables() -> None:
    plan = find_full_mesh(topology("a1-b3, a2-b1", a=rdma("a"), b=rdma("b")))

    assert plan.devices(0, 1) == ("rdma_en2", "rdma_en3")
    assert plan.devices(1, 0) == ("rdma_en4", "rdma_en2")


def test_the_recorded_mesh_of_four_is_one() -> None:
    plan = find_full_mesh(survey_recording(scenario("mesh_of_four").recording).topology)

    assert plan.width == 1
    assert [plan.devices(rank, 3) for rank in range(3)] == [
        ("rdma_en4",),
        ("rdma_en4",),
        ("rdma_en4",),
    ]


def test_every_missing_pair_is_named() -> None:
    with pytest.raises(TopologyError) as caught:
        find_full_mesh(topology("a1-b1, c1-d1", a=rdma("a"), b=rdma("b"), c=rdma("c"), d=rdma("d")))

    assert caught.value.what == (
        "no full mesh over RDMA: no cable joins a and c; no cable joins a and d; "
        "no cable joins b and c; no cable joins b and d"
    )


@pytest.mark.parametrize(
    ("wires", "a", "reason"),
    [
        ("a1-b1 40", blank_report("a", ceiling=40), "a has no Thunderbolt 5 port"),
        ("a1-b1 40", rdma("a"), "its link is 40 Gb/s, and Thunderbolt 5 needs 80"),
        ("a1-b1 80 via Dock 5", rdma("a"), "it passes through Dock 5"),
        (
            "a1-b1 80",
            replace(blank_report("a"), model="Mac16,9"),
            "a port 1 (back, beside Ethernet) is known to have none",
        ),
        (
            "a1-b1 80",
            replace(blank_report("a"), rdma_status="disabled"),
            "RDMA is switched off on a",
        ),
        ("a1-b1 80", blank_report("a"), "a en2 has no RDMA device"),
    ],
)
def test_the_reason_why_a_cable_carries_no_rdma(wires: str, a: HostReport, reason: str) -> None:
    with pytest.raises(TopologyError) as caught:
        find_full_mesh(topology(wires, a=a, b=rdma("b")))

    assert caught.value.what == (
        f"no full mesh over RDMA: a en2 -- b en2 carries no RDMA ({reason})"
    )
    assert "Thunderbolt 5, macOS 26.2" in caught.value.hint


def test_a_macos_without_rdma_is_named_with_its_version() -> None:
    reports = {"a": replace(blank_report("a"), os_version="15.5"), "b": rdma("b")}
    old = assemble_topology("ab", lay_cables(reports, parse_wires("a1-b1 80")), {})

    with pytest.raises(TopologyError, match=r"macOS 15.5 on a has no RDMA, which came with 26.2"):
        find_full_mesh(old)


def test_a_service_that_one_end_does_not_offer_is_told() -> None:
    ready = topology("a1-b1", a=rdma("a"), b=rdma("b"))
    first, *rest = ready.reports["a"].receptacles
    deaf = replace(first, peers=(replace(first.peers[0], offers_rdma=False),))
    reports = {
        "a": replace(ready.reports["a"], receptacles=(deaf, *rest)),
        "b": ready.reports["b"],
    }

    with pytest.raises(TopologyError, match="one end does not offer the RDMA service"):
        find_full_mesh(assemble_topology("ab", reports, {}))


def test_one_host_is_no_mesh() -> None:
    with pytest.raises(TopologyError, match="a mesh needs two hosts"):
        find_full_mesh(topology("", a=rdma("a")))
