"""What both ends of each cable saw becomes one topology."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from distconfig.cabling.cable import Cable, CableEnd
from distconfig.cabling.topology import Stranger, assemble_topology, restrict_topology
from distconfig.errors import UsageError
from distconfig.reports.report import AmbiguousSighting, HostReport, PeerSighting, Receptacle
from tests.graphs import NAMESPACE, blank_report, domain, lay_cables, parse_wires, wire


def test_a_cable_that_both_ends_see_is_one_edge() -> None:
    topology = wire("a2-b3 40")

    assert topology.cables == (
        Cable(CableEnd("a", "2", "en3"), CableEnd("b", "3", "en4"), gbps=40),
    )
    assert list(topology.graph.nodes) == ["a", "b"]
    assert topology.problems == ()


def test_ends_and_cables_are_in_the_order_of_hosts_then_of_receptacles_as_numbers() -> None:
    topology = wire("c10-a9, b1-a10, c2-a11", ["c", "b", "a"], ports=12)

    assert [str(cable) for cable in topology.cables] == [
        "c en3 -- a en12",
        "c en11 -- a en10",
        "b en2 -- a en11",
    ]


def test_a_cable_that_one_end_sees_is_kept_and_told() -> None:
    reports = lay_cables({"a": blank_report("a"), "b": blank_report("b")}, parse_wires("a1-b1"))
    reports["b"] = replace(reports["b"], receptacles=blank_report("b").receptacles)

    topology = assemble_topology(["a", "b"], reports, {})

    assert topology.cables == (
        Cable(CableEnd("a", "1", "en2"), CableEnd("b", "1", "en2"), confirmed=False, gbps=80),
    )
    assert topology.problems == ("a en2 -- b en2 was seen from one end only",)


@pytest.mark.parametrize("hosts", [["a", "b"], ["b", "a"]])
def test_docks_are_listed_from_the_first_end_to_the_second(hosts: list[str]) -> None:
    reports = {"a": blank_report("a"), "b": blank_report("b")}
    seen = PeerSighting(domain("b", 1), via=("Near Dock", "Far Display"))
    a1 = replace(reports["a"].receptacles[0], is_connected=True, peers=(seen,))
    reports["a"] = replace(reports["a"], receptacles=(a1, *reports["a"].receptacles[1:]))

    (cable,) = assemble_topology(hosts, reports, {}).cables

    docks = ("Near Dock", "Far Display")
    assert cable.via == (docks if hosts[0] == "a" else docks[::-1])


def test_a_dock_that_both_ends_see_is_listed_once() -> None:
    reports = {"a": blank_report("a"), "b": blank_report("b")}
    for host, peer in (("a", "b"), ("b", "a")):
        seen = PeerSighting(domain(peer, 1), via=("Display",))
        port = replace(reports[host].receptacles[0], is_connected=True, peers=(seen,))
        reports[host] = replace(reports[host], receptacles=(port,))

    assert assemble_topology(["a", "b"], reports, {}).cables[0].via == ("Display",)


def test_a_cable_is_as_fast_as_its_slower_end_and_falls_back_to_the_lower_ceiling() -> None:
    reports = {"a": blank_report("a", 3), "b": blank_report("b", 3, ceiling=40)}
    reports = lay_cables(reports, parse_wires("a1-b1 80, a2-b2 0, a3-b3 0"))
    b1, b2, b3 = reports["b"].receptacles
    reports["b"] = replace(
        reports["b"],
        receptacles=(replace(b1, link_gbps=20), b2, replace(b3, ceiling_gbps=None)),
    )
    a1, a2, a3 = reports["a"].receptacles
    reports["a"] = replace(reports["a"], receptacles=(a1, a2, replace(a3, ceiling_gbps=None)))

    cables = assemble_topology(["a", "b"], reports, {}).cables

    assert [(cable.gbps, cable.is_ceiling) for cable in cables] == [
        (20, False),
        (40, True),
        (None, False),
    ]


def test_a_peer_of_no_listed_host_is_a_stranger() -> None:
    peer = PeerSighting(UUID(int=7), "Mac16,9", via=("Dock",))
    a1 = replace(blank_report("a").receptacles[0], is_connected=True, peers=(peer,))
    topology = assemble_topology(["a"], {"a": HostReport("a", receptacles=(a1,))}, {})

    assert topology.strangers == (
        Stranger(CableEnd("a", "1", "en2"), UUID(int=7), "Mac16,9", ("Dock",)),
    )
    assert topology.cables == ()


def test_a_cable_within_one_host_is_kept_apart_and_told() -> None:
    topology = wire("a3-a1, a2-b2")

    assert topology.loops == (Cable(CableEnd("a", "1", "en2"), CableEnd("a", "3", "en4"), gbps=80),)
    assert [str(cable) for cable in topology.cables] == ["a en3 -- b en3"]
    assert topology.problems == ("both ends of one cable are in a: ports 1 and 3",)


def test_a_port_without_interface_makes_its_cable_unusable_and_says_why() -> None:
    reports = lay_cables({"a": blank_report("a"), "b": blank_report("b")}, parse_wires("a1-b1"))
    a1, *rest = reports["a"].receptacles
    mute = replace(a1, interface=None, interface_problem="no name for it")
    reports["a"] = replace(reports["a"], receptacles=(mute, *rest))

    topology = assemble_topology(["a", "b"], reports, {})

    assert topology.usable_cables == ()
    assert topology.problems == (
        "a port 1 -- b en2 can not be used: a port 1 has no known interface (no name for it)",
    )


@pytest.mark.parametrize("known", [True, False])
def test_two_names_of_one_machine_are_refused(known: bool) -> None:
    report = blank_report("a")
    if not known:  # then the domains tell
        report = replace(report, hardware_uuid=None)
    reports = {"a": report, "alias": replace(report, host="alias")}

    with pytest.raises(UsageError, match="a and alias are two names of one machine"):
        assemble_topology(["a", "alias"], reports, {})


def test_a_domain_that_two_machines_claim_is_told_and_resolved_from_the_other_side() -> None:
    reports = {host: blank_report(host, 2) for host in "abc"}
    reports = lay_cables(reports, parse_wires("a1-b1"))
    stolen = replace(reports["c"].receptacles[0], domain_uuid=domain("b", 1))
    reports["c"] = replace(reports["c"], receptacles=(stolen, reports["c"].receptacles[1]))

    topology = assemble_topology(["a", "b", "c"], reports, {})

    assert [str(cable) for cable in topology.cables] == ["a en2 -- b en2"]
    shown = str(domain("b", 1)).upper()
    assert topology.problems == (f"b and c claim one domain UUID, {shown}",)


def test_a_host_listed_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="a is listed twice"):
        assemble_topology(["a", "a"], {"a": blank_report("a")}, {})


def test_hosts_that_did_not_answer_stay_as_nodes_and_their_cables_lead_to_strangers() -> None:
    reports = lay_cables({"a": blank_report("a"), "b": blank_report("b")}, parse_wires("a1-b1"))

    topology = assemble_topology(["a", "b"], {"a": reports["a"]}, {"b": "timed out"})

    assert list(topology.graph.nodes) == ["a", "b"]
    assert topology.cables == ()
    assert [each.domain_uuid for each in topology.strangers] == [domain("b", 1)]
    assert topology.unread == {"b": "timed out"}


def test_of_several_cables_at_one_receptacle_the_one_that_joins_otherwise_unjoined_is_used() -> (
    None
):
    """A dock at a1 leads to b and c; a and b have a cable of their own."""
    topology = wire("a1-b1 80 via Dock, a1-c1 80 via Dock, a2-b2 80, b3-c3 80")

    assert {str(cable): cable.obstacle for cable in topology.cables} == {
        "a en2 -- b en2": "its port already carries a en2 -- c en2",
        "a en3 -- b en3": "",
        "a en2 -- c en2": "",
        "b en4 -- c en4": "",
    }
    assert "a en2 -- b en2 can not be used: its port already carries a en2 -- c en2" in (
        topology.problems
    )


def test_rdma_needs_the_service_and_a_device_at_both_ends_and_a_fast_direct_link() -> None:
    topology = wire("a1-b1 80, a2-b2 40, a3-b3 80 via Dock", rdma=True)
    assert [cable.rdma for cable in topology.cables] == [("rdma_en2", "rdma_en2"), None, None]

    a1, *rest = topology.reports["a"].receptacles
    deaf = replace(a1, peers=(replace(a1.peers[0], offers_rdma=False),))
    bare = replace(a1, rdma_device=None)
    for port in (deaf, bare):
        changed = replace(topology.reports["a"], receptacles=(port, *rest))
        reports = {"a": changed, "b": topology.reports["b"]}
        assert assemble_topology("ab", reports, {}).cables[0].rdma is None


def test_restricting_keeps_the_cables_among_the_hosts_and_turns_the_others_to_strangers() -> None:
    topology = wire("a1-b1, b2-c1, c2-a2")

    part = restrict_topology(topology, ["c", "a"])

    assert part == assemble_topology(
        ["c", "a"], {host: topology.reports[host] for host in "ac"}, {}
    )
    assert [str(cable) for cable in part.cables] == ["c en3 -- a en3"]
    assert [str(each.seen_from) for each in part.strangers] == ["c en2", "a en2"]


INTEL_BUS = uuid5(NAMESPACE, "intel bus")


def intel(
    *peers: tuple[str | None, PeerSighting], connected: str = "12", devices: str = ""
) -> HostReport:
    """An Intel host with receptacles 1 and 2 on one bus; None as label leaves it open."""
    receptacles = tuple(
        Receptacle(
            label,
            INTEL_BUS,
            f"en{label}",
            is_connected=label in connected,
            devices=("OldDock",) if label in devices else (),
            peers=tuple(peer for where, peer in peers if where == label),
        )
        for label in ("1", "2")
    )
    ambiguous = tuple(AmbiguousSighting(peer, ("1", "2")) for where, peer in peers if where is None)
    return HostReport(
        "intel",
        hardware_uuid=uuid5(NAMESPACE, "intel"),
        receptacles=receptacles,
        ambiguous=ambiguous,
    )


def mini(name: str, sees: UUID = INTEL_BUS) -> HostReport:
    report = blank_report(name, 2)
    port = replace(report.receptacles[0], is_connected=True, peers=(PeerSighting(sees),))
    return replace(report, receptacles=(port, report.receptacles[1]))


def test_a_known_receptacle_of_an_intel_bus_settles_which_one_the_peer_sees() -> None:
    reports = {
        "intel": intel(("2", PeerSighting(domain("m", 1)))),
        "m": mini("m"),
    }

    topology = assemble_topology(["intel", "m"], reports, {})

    assert topology.cables == (
        Cable(CableEnd("intel", "2", "en2"), CableEnd("m", "1", "en2"), gbps=120, is_ceiling=True),
    )


def test_the_only_connected_receptacle_of_an_intel_bus_is_the_one_the_peer_sees() -> None:
    reports = {"intel": intel(connected="2"), "m": mini("m")}

    (cable,) = assemble_topology(["intel", "m"], reports, {}).cables

    assert (cable.a, cable.confirmed) == (CableEnd("intel", "2", "en2"), False)


def test_an_open_intel_receptacle_is_the_one_that_no_other_cable_takes() -> None:
    reports = {
        "intel": intel(("1", PeerSighting(domain("m", 1))), (None, PeerSighting(domain("n", 1)))),
        "m": mini("m"),
        "n": mini("n"),
    }

    topology = assemble_topology(["intel", "m", "n"], reports, {})

    assert [str(cable) for cable in topology.cables] == [
        "intel en1 -- m en2",
        "intel en2 -- n en2",
    ]
    assert all(cable.confirmed for cable in topology.cables)


def test_an_open_intel_receptacle_with_a_dock_does_not_hold_a_direct_cable() -> None:
    reports = {"intel": intel((None, PeerSighting(domain("m", 1))), devices="1"), "m": mini("m")}

    (cable,) = assemble_topology(["intel", "m"], reports, {}).cables

    assert cable.a == CableEnd("intel", "2", "en2")


def test_intel_receptacles_that_nothing_tells_apart_are_told() -> None:
    reports = {
        "intel": intel((None, PeerSighting(domain("m", 1))), (None, PeerSighting(domain("n", 1)))),
        "m": mini("m"),
        "n": mini("n"),
    }

    topology = assemble_topology(["intel", "m", "n"], reports, {})

    assert topology.cables == ()
    assert topology.problems == (
        "a cable runs from intel port 1 or 2 to m port 1, and nothing says which; "
        "unplug one of them and look again",
        "a cable runs from intel port 1 or 2 to n port 1, and nothing says which; "
        "unplug one of them and look again",
    )


def test_a_receptacle_that_sees_its_own_domain_is_told() -> None:
    a1 = replace(
        blank_report("a").receptacles[0],
        is_connected=True,
        peers=(PeerSighting(domain("a", 1)),),
    )

    topology = assemble_topology(["a"], {"a": HostReport("a", receptacles=(a1,))}, {})

    assert topology.loops == ()
    assert topology.problems == ("a port 1 sees itself",)
