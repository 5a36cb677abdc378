"""Properties of the topology that hold for any cabling."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from distconfig.cabling.topology import assemble_topology
from tests.cablings import wire_lists
from tests.graphs import Wire, blank_report, lay_cables

Drawn = tuple[tuple[str, ...], list[Wire]]


def ends(wire: Wire) -> frozenset[tuple[str, str]]:
    return frozenset({(wire.a, str(wire.port_a)), (wire.b, str(wire.port_b))})


@given(wire_lists(), st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
@settings(max_examples=60, deadline=None)
def test_a_cable_is_kept_if_an_end_sees_it_and_confirmed_if_both_do(
    drawn: Drawn, hidden_at_a: set[int], hidden_at_b: set[int]
) -> None:
    hosts, wires = drawn
    reports = lay_cables({host: blank_report(host, 16) for host in hosts}, wires)
    for hidden, is_a in ((hidden_at_a, True), (hidden_at_b, False)):
        for wire in (wire for index, wire in enumerate(wires) if index in hidden):
            host, port = (wire.a, wire.port_a) if is_a else (wire.b, wire.port_b)
            blind = tuple(
                replace(each, peers=()) if each.label == str(port) else each
                for each in reports[host].receptacles
            )
            reports[host] = replace(reports[host], receptacles=blind)

    topology = assemble_topology(hosts, reports, {})

    seen = {
        frozenset((end.host, end.receptacle) for end in cable.ends): cable.confirmed
        for cable in topology.cables
    }
    assert seen == {
        ends(wire): index not in hidden_at_a | hidden_at_b
        for index, wire in enumerate(wires)
        if index not in hidden_at_a & hidden_at_b
    }


@given(wire_lists(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_cables_are_the_same_whatever_the_order_of_hosts(drawn: Drawn, random: Random) -> None:
    hosts, wires = drawn
    reports = lay_cables({host: blank_report(host, 16) for host in hosts}, wires)
    other = sorted(hosts, key=lambda _: random.random())

    def facts(order: tuple[str, ...] | list[str]) -> set[object]:
        return {
            (
                frozenset((end.host, end.receptacle, end.interface) for end in cable.ends),
                cable.gbps,
                cable.via,
                cable.confirmed,
            )
            for cable in assemble_topology(order, reports, {}).cables
        }

    assert facts(hosts) == facts(other)


@given(wire_lists(), st.data())
@settings(max_examples=40, deadline=None)
def test_cables_to_a_host_that_is_not_read_become_strangers_and_no_other_cable_changes(
    drawn: Drawn, data: st.DataObject
) -> None:
    hosts, wires = drawn
    reports = lay_cables({host: blank_report(host, 16) for host in hosts}, wires)
    lost = data.draw(st.sampled_from(hosts))
    whole = assemble_topology(hosts, reports, {})
    read = {host: report for host, report in reports.items() if host != lost}

    part = assemble_topology(hosts, read, {lost: "no answer"})

    assert part.cables == tuple(
        cable for cable in whole.cables if lost not in (cable.a.host, cable.b.host)
    )
    assert len(part.strangers) == len(whole.cables) - len(part.cables)
