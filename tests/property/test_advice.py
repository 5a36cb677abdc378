"""Advice, once followed, gives the ring; and nobody finds a shorter one by trying all."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from distconfig.advice.advice import Advice, advise
from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import NoRing, TopologyError
from distconfig.rings.ring import RingPlan, find_ring
from tests.cablings import HOSTS
from tests.graphs import Wire, blank_report, lay_cables
from tests.rewiring_brute_force import State, fewest_steps


@st.composite
def tight_cablings(
    draw: st.DrawFn, *, max_hosts: int, is_plain: bool = False
) -> tuple[Topology, list[int], State]:
    """Hosts of few ports, some with a cable: the topology, the ports, and what joins what.

    Args:
        is_plain: All cables are direct, between two hosts, and equally fast.
    """
    size = draw(st.integers(2, max_hosts))
    hosts = HOSTS[:size]
    ports = [draw(st.integers(2, 4)) for _ in hosts]
    used = [0] * size
    wires, state = [], []
    pairs = [*combinations(range(size), 2), *([] if is_plain else [(0, 0), (1, 1)])]
    fewest = draw(st.integers(0, 2 * size))
    for a, b in draw(st.lists(st.sampled_from(pairs), min_size=fewest, max_size=12)):
        ends = Counter((a, b))
        if any(used[host] + number > ports[host] for host, number in ends.items()):
            continue
        places = []
        for host in (a, b):
            used[host] += 1
            places.append(used[host])
        gbps = 80 if is_plain else draw(st.sampled_from([80, 80, 40]))
        via = () if is_plain or a == b else draw(st.sampled_from([(), (), ("Dock",)]))
        wires.append(Wire(hosts[a], places[0], hosts[b], places[1], gbps, via))
        state.append((a, b))
    ceilings = [120] * size if is_plain else [draw(st.sampled_from([120, 120, 40])) for _ in hosts]
    reports = {
        host: blank_report(host, number, ceiling=ceiling)
        for host, number, ceiling in zip(hosts, ports, ceilings, strict=True)
    }
    topology = assemble_topology(hosts, lay_cables(reports, wires), {})
    return topology, ports, tuple(sorted(state))


def ring_value(plan: RingPlan) -> tuple[int, int, int]:
    gbps = min(cable.gbps or 0 for cable in plan.used_cables)
    return plan.width * gbps, plan.width, -plan.hops_through_docks


def followed(topology: Topology, advice: Advice) -> list[Cable]:
    """The cables once each step is done, checking that a person could do it."""
    cables = [*topology.cables, *topology.loops]
    for step in advice.steps:
        if step.old:
            cables.remove(step.old)
        if step.new:
            cables.append(step.new)
        assert len(step.unplug) == {"move": 1, "add": 0, "remove": 2}[step.kind]
        assert len(step.plug) == {"move": 1, "add": 2, "remove": 0}[step.kind]
        assert all(str(end.receptacle) in step.sentence for end in step.plug)
    return cables


@given(tight_cablings(max_hosts=6))
@settings(max_examples=80, deadline=None)
def test_following_the_advice_fits_the_ports_and_gives_the_ring(
    drawn: tuple[Topology, list[int], State],
) -> None:
    topology, _, _ = drawn
    try:
        advices = advise(topology)
    except TopologyError:
        return
    try:
        before = find_ring(topology)
    except NoRing:
        before = None
        assert [advice.purpose for advice in advices] == ["ring"]
    for advice in advices:
        after = followed(topology, advice)
        assert sorted(map(str, after)) == sorted(
            map(str, (*advice.topology.cables, *advice.topology.loops))
        )
        plugged = Counter((end.host, end.receptacle) for cable in after for end in cable.ends)
        assert max(plugged.values()) == 1
        for step in advice.steps:
            for end in step.plug:
                receptacle = topology.reports[end.host].receptacle(end.receptacle)
                assert (receptacle.interface, receptacle.devices) == (end.interface, ())
        assert advice.ring == find_ring(advice.topology)
        if before is not None:
            value, width, docks = ring_value(before)
            new_value, new_width, new_docks = ring_value(advice.ring)
            assert (new_value, new_width) >= (value, width)
            assert new_value > value or new_docks > docks


@given(tight_cablings(max_hosts=6, is_plain=True))
@settings(max_examples=60, deadline=None)
def test_no_shorter_advice_exists(drawn: tuple[Topology, list[int], State]) -> None:
    topology, ports, state = drawn
    size = len(ports)
    affordable = {2: 4, 3: 4, 4: 3, 5: 2, 6: 2}[size]
    mends = [advice for advice in advise(topology) if advice.purpose == "ring"]
    assert all(advice.proved_fewest for advice in mends)
    n_steps = len(mends[0].steps) if mends else 0

    found = fewest_steps(ports, state, 1, min(n_steps, affordable))

    assert found == (n_steps if n_steps <= affordable else None)


@given(tight_cablings(max_hosts=6))
@settings(max_examples=30, deadline=None)
def test_advice_is_the_same_each_time_and_for_any_order_of_reports(
    drawn: tuple[Topology, list[int], State],
) -> None:
    topology, _, _ = drawn
    turned = dict(reversed(topology.reports.items()))
    again = assemble_topology(topology.hosts, turned, {})
    try:
        expected = advise(topology)
    except TopologyError as error:
        expected = (str(error),)  # type: ignore[assignment]
    try:
        found = advise(again)
    except TopologyError as error:
        found = (str(error),)  # type: ignore[assignment]

    assert found == expected
