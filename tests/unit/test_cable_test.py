"""Rounds, verdicts and samples of cable tests, without any host."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.cabling.topology import Cable, CableEnd
from distconfig.reports.report import HostReport, InterfaceState
from distconfig.setup.addressed import AddressedCable, AddressedEnd, find_addressed_cables
from distconfig.upkeep.cable_test.ends import find_faults_at_ends, find_tested_cables
from distconfig.upkeep.cable_test.report import notes_on_cables, render_judgements
from distconfig.upkeep.cable_test.results import CableResult, DirectionResult, Load
from distconfig.upkeep.cable_test.rounds import plan_rounds
from distconfig.upkeep.cable_test.samples import LinkWatch, Sample, find_dips
from distconfig.upkeep.cable_test.verdicts import Verdict, judge_cables
from distconfig.upkeep.intended import IntendedCable, IntendedEnd
from distconfig.upkeep.tries import TryResult
from tests.model_mac import ModelLab, ModelMac

# Rounds


@pytest.mark.parametrize(
    ("hosts", "rounds"), [(2, 1), (3, 3), (4, 3), (5, 5), (8, 7), (15, 15), (16, 15)]
)
def test_a_mesh_takes_as_few_rounds_as_can_be(hosts: int, rounds: int) -> None:
    pairs = list(combinations(range(hosts), 2))
    assert len(plan_rounds(pairs, pairs)) == rounds


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]),
        max_size=20,
    )
)
def test_every_cable_has_one_round_and_no_host_two_cables_in_it(
    pairs: list[tuple[int, int]],
) -> None:
    rounds = plan_rounds(list(range(len(pairs))), pairs)
    assert sorted(index for group in rounds for index in group) == list(range(len(pairs)))
    for group in rounds:
        hosts = [host for index in group for host in pairs[index]]
        assert len(hosts) == len(set(hosts))
    if pairs:
        # No schedule is shorter than the busiest host's cables; and a cable waits only while
        # one beside it has its round.
        degree = max(Counter(host for pair in pairs for host in pair).values())
        assert degree <= len(rounds) <= 2 * degree - 1


@pytest.mark.parametrize(("hosts", "rounds"), [(3, 3), (4, 2), (16, 2), (17, 3)])
def test_a_ring_takes_two_rounds_or_three(hosts: int, rounds: int) -> None:
    pairs = [(host, (host + 1) % hosts) for host in range(hosts)]
    assert len(plan_rounds(pairs, pairs)) == rounds


def test_two_cables_between_two_hosts_take_two_rounds() -> None:
    assert plan_rounds(["one", "two"], [("a", "b"), ("b", "a")]) == (("one",), ("two",))


# Verdicts: a ring of three, en3 of each cabled to en2 of the next

REPORTS = {host: HostReport(host) for host in "abc"}


def cable(number: int, gbps: int | None = 80) -> AddressedCable:
    """The cable from host ``a``, ``b`` or ``c`` to the next, on 10.231.0.(4n)/30."""
    here, there = "abcabc"[number], "abcabc"[number + 1]
    a = AddressedEnd(CableEnd(here, "2", "en3"), IPv4Interface(f"10.231.0.{4 * number + 1}/30"))
    b = AddressedEnd(CableEnd(there, "1", "en2"), IPv4Interface(f"10.231.0.{4 * number + 2}/30"))
    return AddressedCable(a, b, Cable(a.end, b.end, gbps=gbps))


def carried(gbps: float, by: str, arrived: str) -> Load:
    nbytes = int(gbps * 1e9 / 8)
    return Load(nbytes, 1.0, {"en0": 900, by: nbytes + 50_000}, {"en0": 800, arrived: nbytes})


def measured(number: int, there: float = 10.0, back: float = 10.0, gbps: int = 80) -> CableResult:
    """A cable on which everything is well, at these rates."""
    tested = cable(number, gbps)
    return CableResult(
        tested,
        DirectionResult(
            tested.a, tested.b, TryResult("en3", 0.2, True), carried(there, "en3", "en2")
        ),
        DirectionResult(
            tested.b, tested.a, TryResult("en2", 0.2, True), carried(back, "en2", "en3")
        ),
    )


def verdicts(*results: CableResult) -> list[str]:
    return [each.verdict.value for each in judge_cables(results, REPORTS)]


def test_three_cables_that_carry_alike_are_good() -> None:
    judgements = judge_cables([measured(n, 9.0 + n) for n in range(3)], REPORTS)
    assert [each.verdict for each in judgements] == [Verdict.GOOD] * 3
    assert [each.causes for each in judgements] == [()] * 3


def test_under_half_of_the_median_is_slow_and_half_is_not() -> None:
    # The rates are 10, 10, 10, 10, and those of the third: their median is 10.
    assert verdicts(measured(0), measured(1), measured(2, 4.99, 4.99)) == ["good", "good", "slow"]
    assert verdicts(measured(0), measured(1), measured(2, 5.01, 5.01)) == ["good"] * 3


def test_one_slow_direction_makes_a_cable_slow_and_is_named() -> None:
    judgement = judge_cables([measured(0), measured(1), measured(2, 10.0, 0.7)], REPORTS)[2]
    assert judgement.verdict is Verdict.SLOW
    assert judgement.causes[0] == "a to c carried 0.70 Gb/s, cables like it 10.00"
    assert judgement.causes[1].startswith("one direction only")


def test_cables_are_compared_with_those_of_the_same_trained_speed_only() -> None:
    fast = [measured(0, 30.0, 30.0), measured(1, 30.0, 30.0)]
    assert verdicts(*fast, measured(2, 12.01, 12.01, gbps=40)) == ["good", "good", "good"]
    assert verdicts(*fast, measured(2, 11.9, 11.9, gbps=40)) == ["good", "good", "slow"]


def test_alone_a_cable_is_held_to_a_part_of_its_trained_speed() -> None:
    assert verdicts(measured(0, 24.1, 24.1)) == ["good"]
    assert verdicts(measured(0, 23.9, 24.1)) == ["slow"]
    unknown = measured(0, 1.0, 1.0)
    assert verdicts(replace(unknown, cable=cable(0, None))) == ["good"]


def test_a_route_over_another_interface_is_the_wrong_way_even_if_nothing_arrives() -> None:
    result = measured(0)
    astray = replace(result.there, tried=TryResult("en0", None, False), load=None)
    (judgement,) = judge_cables([replace(result, there=astray)], REPORTS)
    assert judgement.verdict is Verdict.WRONG_WAY
    assert judgement.causes == ("a routes 10.231.0.2 through en0, not en3",)


def test_counters_overrule_a_route_that_looks_right() -> None:
    result = measured(0)
    load = carried(10.0, "en0", "en0")
    (judgement,) = judge_cables([replace(result, there=replace(result.there, load=load))], REPORTS)
    assert judgement.verdict is Verdict.WRONG_WAY
    assert judgement.causes == ("a sent it through en0, not en3",)


def test_a_port_counts_before_the_bridge_that_holds_it() -> None:
    nbytes = 10**9
    load = Load(nbytes, 1.0, {"bridge0": nbytes, "en3": nbytes}, {})
    tested = cable(0)
    assert DirectionResult(tested.a, tested.b, load=load).carried_by() == "en3"


def test_no_answer_is_dead_with_what_is_seen_at_the_ends() -> None:
    tested = replace(cable(0), seen=None)
    silent = TryResult("en3", None, False)
    result = CableResult(
        tested,
        DirectionResult(tested.a, tested.b, silent),
        DirectionResult(tested.b, tested.a, replace(silent, interface="en2")),
        ("neither a nor b sees a cable there",),
    )
    (judgement,) = judge_cables([result], REPORTS)
    assert judgement.verdict is Verdict.DEAD
    assert judgement.causes == (
        "neither a nor b sees a cable there",
        "b does not answer a at 10.231.0.2",
        "a does not answer b at 10.231.0.1",
    )


def test_without_addresses_a_cable_is_dead_and_says_what_gives_them() -> None:
    tested = cable(0)
    bare = AddressedCable(replace(tested.a, address=None), replace(tested.b, address=None), None)
    nothing = (DirectionResult(bare.a, bare.b), DirectionResult(bare.b, bare.a))
    (judgement,) = judge_cables([CableResult(bare, *nothing, ("a en3 has not got one",))], REPORTS)
    assert judgement.verdict is Verdict.DEAD
    assert judgement.causes == ("no end has an address; --auto-setup gives it one",)


def test_without_python_a_ping_is_enough_and_the_reason_is_remarked() -> None:
    result = measured(0)
    pinged = [replace(d, load=None, no_load_because="no Python 3.8 or newer on b") for d in
              result.directions]  # fmt: skip
    (judgement,) = judge_cables([replace(result, there=pinged[0], back=pinged[1])], REPORTS)
    assert judgement.verdict is Verdict.GOOD
    assert judgement.remarks == (
        "a to b not measured: no Python 3.8 or newer on b",
        "b to a not measured: no Python 3.8 or newer on b",
    )


def test_a_ping_without_a_stream_is_dead_and_points_to_firewalls() -> None:
    result = measured(0)
    broken = replace(result.there, load=None, broke_because="timed out")
    (judgement,) = judge_cables([replace(result, there=broken)], REPORTS)
    assert judgement.verdict is Verdict.DEAD
    assert judgement.causes == (
        "a to b: 10.231.0.2 answers, a stream does not come through (timed out); "
        "see firewalls with doctor, and the MTU at both ends",
    )


def test_json_and_picture_carry_the_numbers() -> None:
    judgements = judge_cables([measured(0), measured(1), measured(2, 1.0, 1.0)], REPORTS)
    document = json.loads(render_judgements(judgements, {}, ["second 4: a en3 lost its link"]))
    assert document["format"] == 1
    assert document["events"] == ["second 4: a en3 lost its link"]
    third = document["cables"][2]
    assert third["verdict"] == "slow"
    assert third["trained_gbps"] == 80
    assert third["directions"][0] == {
        "from": "c", "to": "a", "route": "en3", "answered": True, "rtt_ms": 0.2, "gbps": 1.0,
        "bytes": 125_000_000, "carried_by": "en3", "arrived_by": "en2",
        "not_measured_because": None,
    }  # fmt: skip
    notes, marks = notes_on_cables(judgements)
    assert list(notes.values()) == ["10.00 / 10.00 Gb/s measured"] * 2 + [
        "1.00 / 1.00 Gb/s measured"
    ]
    assert list(marks.values()) == ["slow"]


# What is tested, and what is seen at its ends


def lab_of_two() -> ModelLab:
    macs = [ModelMac(host, lan=IPv4Interface(f"192.168.1.{11 + n}/24")) for n, host in
            enumerate("ab")]  # fmt: skip
    lab = ModelLab.of(*macs)
    lab.plug("a", "en3", "b", "en2")
    macs[0].interfaces["en3"].addresses.append(IPv4Interface("10.231.0.1/30"))
    macs[1].interfaces["en2"].addresses.append(IPv4Interface("10.231.0.2/30"))
    return lab


def intended(lab: ModelLab) -> IntendedCable:
    machines: Mapping[str, ModelMac] = lab.macs
    return IntendedCable(
        IntendedEnd("a", machines["a"].hardware_uuid, "2", "en3", IPv4Interface("10.231.0.1/30")),
        IntendedEnd("b", machines["b"].hardware_uuid, "1", "en2", IPv4Interface("10.231.0.2/30")),
    )


def test_a_cable_with_both_addresses_is_tested_once() -> None:
    lab = lab_of_two()
    (found,) = find_tested_cables(lab.topology(), [intended(lab)])
    assert [str(end.address) for end in found.ends] == ["10.231.0.1/30", "10.231.0.2/30"]
    assert found.seen is not None
    assert find_faults_at_ends(found, lab.topology()) == ()


def test_a_cable_that_was_cut_is_known_by_its_addresses() -> None:
    lab = lab_of_two()
    lab.plugged.clear()
    (found,) = find_tested_cables(lab.topology(), [])
    assert found.seen is None
    assert find_faults_at_ends(found, lab.topology()) == ("neither a nor b sees a cable there",)


def test_a_cable_that_was_cut_after_a_restart_is_known_by_what_was_set_up() -> None:
    lab = lab_of_two()
    lab.plugged.clear()
    lab.macs["b"].interfaces["en2"].addresses.clear()
    topology = lab.topology()
    (found,) = find_tested_cables(topology, [intended(lab)])
    assert find_faults_at_ends(found, topology) == (
        "neither a nor b sees a cable there",
        "b en2 has not got its address 10.231.0.2/30",
    )


def test_a_host_that_did_not_answer_is_not_said_to_see_nothing() -> None:
    lab = lab_of_two()
    (found,) = find_tested_cables(lab.topology(), [])
    alone = replace(lab.topology(["a"]), hosts=("a", "b"), unread={"b": "it is asleep"})
    unseen = replace(found, seen=None)
    assert find_faults_at_ends(unseen, alone) == ("a sees no cable there", "b did not answer")
    silent = TryResult("en3", None, False)
    result = CableResult(
        unseen,
        DirectionResult(unseen.a, unseen.b, silent),
        DirectionResult(unseen.b, unseen.a),
        find_faults_at_ends(unseen, alone),
    )
    (judgement,) = judge_cables([result], alone.reports)
    assert judgement.verdict is Verdict.DEAD
    assert judgement.causes[2:] == ("b does not answer a at 10.231.0.2",)


def test_the_state_of_an_end_is_named() -> None:
    lab = lab_of_two()
    lab.macs["a"].add_bridge("bridge0", ["en3"])
    lab.macs["b"].interfaces["en2"].up = False
    (found,) = find_addressed_cables(lab.topology())
    assert find_faults_at_ends(found, lab.topology()) == (
        "a en3 is in bridge0, which is up",
        "b en2 is down",
    )


# Long loads


def test_dips_are_the_seconds_with_less_than_half_of_the_usual() -> None:
    rates = [10, 100, 100, 40, 100, 51, 0, 100, 100]
    samples = [Sample(float(second), 1.0, rate) for second, rate in enumerate(rates, 1)]
    assert find_dips(samples) == (4.0, 7.0)
    assert find_dips(samples[:2]) == ()
    assert find_dips([*samples, Sample(8.1, 0.1, 0)]) == (4.0, 7.0)


def test_links_that_come_and_go_become_sentences() -> None:
    def state(name: str, is_active: bool) -> InterfaceState:
        return InterfaceState(name, True, 1500, is_active=is_active)

    watch = LinkWatch({("a", "en3"), ("b", "en2")})
    assert watch.look("a", [state("en3", True), state("en4", False)], 0) == []
    assert watch.look("b", [state("en2", True)], 0) == []
    assert watch.look("a", [state("en3", True), state("en4", True)], 2) == []
    assert watch.look("a", [state("en3", False)], 4) == ["second 4: a en3 lost its link"]
    silence = "second 12: b did not answer (no answer within 10 s)"
    assert watch.miss("b", "no answer within 10 s", 12) == [silence]
    assert watch.miss("b", "no answer within 10 s", 22) == []
    assert watch.look("b", [state("en2", True)], 24) == ["second 24: b answers again"]
    assert watch.look("a", [state("en3", True)], 26) == ["second 26: a en3 has its link again"]
