"""What to change about a cabling, in words a person can follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distconfig.advice.advice import Advice, advise, describe_ring, render_advice
from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import TopologyError
from distconfig.rings.ring import find_ring
from distconfig.survey import survey_recording
from tests.graphs import blank_report, lay_cables, parse_wires, wire
from tests.scenarios import scenario


def surveyed(name: str) -> Topology:
    return survey_recording(scenario(name).recording).topology


def steps(advice: Advice) -> list[tuple[str, list[str], list[str]]]:
    return [
        (step.kind, [str(end) for end in step.unplug], [str(end) for end in step.plug])
        for step in advice.steps
    ]


def the_advice(topology: Topology, purpose: str) -> Advice:
    (found,) = [advice for advice in advise(topology) if advice.purpose == purpose]
    return found


def test_a_chain_of_four_is_closed_with_one_cable() -> None:
    (advice,) = advise(surveyed("chain_of_four"))

    assert render_advice(advice) == (
        "There is no ring: mini1 is cabled only to mini2; mini4 is cabled only to mini3.\n"
        "  1. Add a Thunderbolt 5 cable from "
        "mini1 port 2 (System Information: Receptacle 2), en3 to "
        "mini4 port 2 (System Information: Receptacle 2), en3.\n"
        "Then the ring is mini1 - mini2 - mini3 - mini4 - mini1 "
        "(1 cable per hop, slowest at most 80 Gb/s).\n"
        "1 new cable is needed."
    )


def test_in_a_star_of_five_two_cables_move_and_one_is_added() -> None:
    (advice,) = advise(surveyed("star_of_five"))

    assert steps(advice) == [
        ("move", ["core en3"], ["leaf1 en3"]),
        ("move", ["core en4"], ["leaf2 en3"]),
        ("add", [], ["leaf3 en3", "leaf4 en3"]),
    ]
    assert advice.ring.hosts == ("core", "leaf1", "leaf2", "leaf3", "leaf4")
    assert advice.n_new_cables == 1


def test_the_fleet_needs_one_end_of_a_cable_moved_to_dune() -> None:
    (advice,) = advise(surveyed("fleet_of_four"))

    assert advice.reason == "There is no ring: dune is cabled only to birch."
    assert [step.sentence for step in advice.steps] == [
        "Leave the cable in cedar port 3 (System Information: Receptacle 3), en2 where it is; "
        "unplug its other end from birch port 1 (System Information: Receptacle 1), en2 "
        "and plug that into dune port 2 (System Information: Receptacle 2), en3."
    ]
    assert describe_ring(advice.ring) == (
        "atlas - birch - dune - cedar - atlas (1 cable per hop, slowest at most 40 Gb/s)"
    )
    assert advice.n_new_cables == 0


def test_a_pair_with_a_cable_through_a_dock_is_told_how_to_avoid_the_dock() -> None:
    (advice,) = advise(surveyed("pair_with_dock"))

    assert advice.purpose == "docks"
    assert advice.reason == (
        "The ring passes through HarborDock 5 between delta en3 and ember en3."
    )
    assert [step.sentence for step in advice.steps] == [
        "Leave the cable in ember port 3 (System Information: Receptacle 3), en3 where it is; "
        "unplug its other end from HarborDock 5 "
        "and plug that into delta port 3 (System Information: Receptacle 3), en4."
    ]
    assert (advice.ring.width, advice.ring.hops_through_docks) == (2, 0)


@pytest.mark.parametrize("name", ["triangle", "four_studios", "two_hosts_two_cables"])
def test_a_ring_that_uses_all_its_cables_at_full_speed_needs_no_advice(name: str) -> None:
    assert advise(surveyed(name)) == ()


def test_a_cable_in_a_port_without_interface_moves_to_one_that_has_it() -> None:
    advice = the_advice(surveyed("receptacle_without_interface"), "width")

    assert steps(advice) == [("move", ["studio2 port 2"], ["studio2 en4"])]


def test_a_cable_with_both_ends_in_one_host_is_put_to_use() -> None:
    advice = the_advice(surveyed("self_looped_cable"), "width")

    assert steps(advice) == [("move", ["studio1 en5"], ["studio2 en3"])]
    assert advice.topology.loops == ()


def test_a_slow_cable_between_fast_ports_is_replaced() -> None:
    topology = wire("a1-b1 40, b2-c1, c2-a2", ports=2)

    advice = the_advice(topology, "speed")

    assert [step.sentence for step in advice.steps] == [
        "Take out the cable between a port 1 (System Information: Receptacle 1), en2 "
        "and b port 1 (System Information: Receptacle 1), en2.",
        "Add a Thunderbolt 5 cable from a port 1 (System Information: Receptacle 1), en2 "
        "to b port 1 (System Information: Receptacle 1), en2.",
    ]
    assert advice.ring.slowest_gbps == 80


def test_a_host_that_can_do_no_better_is_not_advised_about() -> None:
    reports = {"a": blank_report("a"), "b": blank_report("b"), "c": blank_report("c", ceiling=40)}
    topology = assemble_topology("abc", lay_cables(reports, parse_wires(
        "a1-b1 80, b2-c1 40, c2-a2 40"
    )), {})  # fmt: skip

    assert advise(topology) == ()


def test_a_moved_cable_that_only_carries_40_is_no_help_where_80_is_asked() -> None:
    """a and d have a slow spare cable; the slow hop from a to b needs a better one."""
    topology = wire("a1-b1 40, b2-c1, c2-d1, d2-a2, a3-c3 40", "abcd")

    advice = the_advice(topology, "speed")

    assert [step.kind for step in advice.steps] == ["add"]
    assert advice.ring.slowest_gbps == 80


def test_one_hop_that_is_narrower_than_the_others_gets_a_cable() -> None:
    topology = wire("a1-b1, a2-b2, b3-c1, b4-c2, c3-a3", ports=4)

    advice = the_advice(topology, "width")

    assert steps(advice) == [("add", [], ["a en5", "c en5"])]
    assert advice.ring.width == 2


def test_idle_cables_of_a_mesh_over_rdma_are_not_taken_without_a_word() -> None:
    advice = the_advice(surveyed("mesh_of_four"), "width")

    assert "--backend jaccl" in advice.reason
    assert [step.kind for step in advice.steps] == ["move", "move", "add", "add"]


def test_a_port_that_holds_a_stranger_or_a_device_is_left_alone() -> None:
    topology = wire("a1-b1, b2-c1", ports=3)
    first, second, third = topology.reports["c"].receptacles
    taken = replace(second, is_connected=True, devices=("Drive",))
    reports = {
        **topology.reports,
        "c": replace(topology.reports["c"], receptacles=(first, taken, third)),
    }

    (advice,) = advise(assemble_topology("abc", reports, {}))

    assert steps(advice) == [("add", [], ["a en3", "c en4"])]


def test_hosts_without_a_free_port_give_up_a_doubled_cable() -> None:
    """Two hosts of two ports, joined twice, and a third whose cable leads back to itself."""
    topology = wire("a1-b1, a2-b2, c1-c2", "abc", ports=2)
    spare = wire("a1-b1, a2-b2", "abc", ports=2)

    assert steps(advise(topology)[0]) == [
        ("move", ["c en3"], ["b en3"]),
        ("move", ["b en3"], ["c en3"]),
    ]
    assert steps(advise(spare)[0]) == [
        ("move", ["a en3"], ["c en2"]),
        ("add", [], ["a en3", "c en3"]),
    ]


def test_a_cable_is_taken_out_only_to_free_its_port() -> None:
    """Two triangles share c; the cable that joins a and e needs a port at both."""
    topology = wire("a1-b1, b2-c1, c2-a2, c3-d1, d2-e1, e2-c4", "abcde")
    full = {host: replace(report, receptacles=report.receptacles[: 4 if host == "c" else 2])
            for host, report in topology.reports.items()}  # fmt: skip

    (advice,) = advise(assemble_topology("abcde", full, {}))

    assert steps(advice) == [
        ("remove", ["c en5", "e en3"], []),
        ("move", ["c en3"], ["e en3"]),
    ]
    assert advice.steps[0].sentence == (
        "Take out the cable between c port 4 (System Information: Receptacle 4), en5 "
        "and e port 2 (System Information: Receptacle 2), en3."
    )
    assert advice.n_new_cables == 0


def test_two_moves_that_wait_for_each_other_say_so() -> None:
    """Every port is in use and two cables have to change places."""
    topology = wire("a1-b1, a2-b2, c1-d1, c2-d2", "abcd", ports=2)

    (advice,) = advise(topology)

    assert [step.kind for step in advice.steps] == ["move", "move"]
    first, second = advice.steps
    assert "Hold the loose end until a later step has freed that port." in first.sentence
    assert "Hold" not in second.sentence
    assert first.plug == second.unplug
    assert second.plug == first.unplug
    assert find_ring(advice.topology).size == 4


def test_new_and_gone_cables_are_told_apart_for_a_picture() -> None:
    before = surveyed("fleet_of_four")
    (advice,) = advise(before)

    assert set(advice.topology.cables) - set(before.cables) == advice.new_cables
    assert set(before.cables) - set(advice.topology.cables) == advice.gone_cables
    assert [str(cable) for cable in advice.new_cables] == ["cedar en2 -- dune en3"]
    assert [str(cable) for cable in advice.gone_cables] == ["birch en2 -- cedar en2"]


def test_hosts_that_did_not_answer_are_left_out() -> None:
    topology = wire("a1-b1, b2-c1", "abc")
    reports = {host: topology.reports[host] for host in "ab"}

    assert advise(assemble_topology("abc", reports, {"c": "no answer"})) == ()


def test_hosts_with_too_few_ports_are_named() -> None:
    reports = lay_cables(
        {"a": blank_report("a", 2), "b": blank_report("b", 2), "c": blank_report("c", 1)},
        parse_wires("a1-b1"),
    )

    with pytest.raises(TopologyError, match=r"two Thunderbolt ports .* and c has 1"):
        advise(assemble_topology("abc", reports, {}))


def test_one_host_gets_no_advice() -> None:
    with pytest.raises(TopologyError, match="a ring needs two hosts that answer"):
        advise(assemble_topology(["a"], {"a": blank_report("a")}, {}))


def test_many_hosts_are_advised_and_it_is_said_when_fewer_steps_may_do() -> None:
    chain = ", ".join(f"h{n:02}a2-h{n + 1:02}a1" for n in range(20))

    (advice,) = advise(wire(chain, ports=2))

    assert steps(advice) == [("add", [], ["h00a en2", "h20a en3"])]
    assert advice.proved_fewest

    rings = ", ".join(f"{ring}{n}a2-{ring}{(n + 1) % 9}a1" for ring in ("x", "y") for n in range(9))
    (advice,) = advise(wire(rings, ports=2))

    assert [step.kind for step in advice.steps] == ["move", "move"]
    assert not advice.proved_fewest
    assert "Fewer steps may do" in render_advice(advice)
    assert advice.ring.size == 18
