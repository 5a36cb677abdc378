"""Every scenario says what a person says is true of it."""

from __future__ import annotations

import pytest

from distconfig.errors import NoRing
from distconfig.probes import PROBES
from distconfig.rings.ring import find_ring
from distconfig.survey import survey_recording
from tests.make_fixtures import compose_recording
from tests.scenario_macs import SCENARIOS
from tests.scenarios import StoredScenario, load_scenarios

STORED = load_scenarios()
each_scenario = pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored.name)


def test_every_folder_is_a_scenario_that_can_be_written_again() -> None:
    assert {stored.name for stored in STORED} == set(SCENARIOS)


@each_scenario
def test_the_recording_is_what_make_fixtures_writes(stored: StoredScenario) -> None:
    assert stored.recording == compose_recording(stored.name)


@each_scenario
def test_a_scenario_says_why_it_exists(stored: StoredScenario) -> None:
    assert set(stored.about) == {"why", "hardware", "macos", "samples", "composed", "absent"}
    assert all(isinstance(text, str) and text for text in stored.about.values())


@each_scenario
def test_the_cabling_is_as_expected(stored: StoredScenario) -> None:
    topology = survey_recording(stored.recording).topology
    assert topology.unread == {}
    assert topology.cables == stored.expected.cables
    assert topology.strangers == stored.expected.strangers
    assert topology.loops == stored.expected.loops


@each_scenario
def test_the_hosts_are_as_expected(stored: StoredScenario) -> None:
    reports = survey_recording(stored.recording).topology.reports
    expected = stored.expected
    assert {host: reports[host].receptacles for host in expected.receptacles} == (
        expected.receptacles
    )
    found = {host: report.ambiguous for host, report in reports.items() if report.ambiguous}
    assert found == expected.ambiguous
    told = {host: report.problems for host, report in reports.items() if report.problems}
    assert told == expected.problems
    unread = {host: frozenset(each.unread) for host, each in reports.items() if each.unread}
    assert unread == expected.unread


@each_scenario
def test_every_line_is_understood(stored: StoredScenario) -> None:
    reports = survey_recording(stored.recording).topology.reports
    assert {host: report.notes for host, report in reports.items()} == dict.fromkeys(reports, ())


@each_scenario
def test_the_ring_is_as_expected(stored: StoredScenario) -> None:
    topology = survey_recording(stored.recording).topology
    if stored.expected.ring:
        ring = find_ring(topology)
        assert (ring.hosts, ring.width) == (stored.expected.ring, stored.expected.width)
    else:
        with pytest.raises(NoRing):
            find_ring(topology)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_every_probe_answers_in_two_scenarios(probe: object) -> None:
    answering = [
        stored.name
        for stored in STORED
        if any(
            done.returncode == 0
            for host in stored.recording.hosts
            for name, done in host.probes.items()
            if name == getattr(probe, "name", None)
        )
    ]
    assert len(answering) >= 2
