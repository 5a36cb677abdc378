"""All that the checks look at, as one value: `Evidence`, read from a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from distconfig.cabling.topology import Topology
from distconfig.doctor.facts import HostFacts, assemble_facts
from distconfig.errors import UnexpectedOutput
from distconfig.probes.hardware import parse_hardware
from distconfig.recordings.recording import Recording, select_hosts
from distconfig.reports.report import HostReport
from distconfig.setup.addressed import AddressedCable, find_addressed_cables
from distconfig.survey import Survey, survey_recording

__all__ = ["Evidence", "examine"]


@dataclass(frozen=True)
class Evidence:
    """What all hosts said, read.

    Args:
        facts: Of each host that answered.
        twins: Host to the name given before that leads to the same machine; such hosts
            are in no other part of this.
    """

    survey: Survey
    facts: Mapping[str, HostFacts]
    twins: Mapping[str, str]

    @property
    def topology(self) -> Topology:
        """The cabling."""
        return self.survey.topology

    @property
    def macs(self) -> tuple[HostReport, ...]:
        """The reports of hosts that run macOS."""
        return tuple(each for each in self.topology.reports.values() if each.platform == "Darwin")

    @property
    def cables(self) -> tuple[AddressedCable, ...]:
        """The cables with their addresses."""
        return find_addressed_cables(self.topology)

    def cabled_interfaces(self, host: str) -> tuple[str, ...]:
        """The interfaces of a host behind which a listed host is, in canonical order of cables."""
        ends = [end for cable in self.topology.cables for end in cable.ends if end.host == host]
        return tuple(dict.fromkeys(end.interface for end in ends if end.interface))


def examine(recording: Recording) -> Evidence:
    """The evidence in a recording; what can not be read of a host costs only that."""
    twins = _find_twins(recording)
    different = [each.host for each in recording.hosts if each.host not in twins]
    survey = survey_recording(select_hosts(recording, different))
    facts = {
        each.host: assemble_facts(each)
        for each in recording.hosts
        if each.host in survey.topology.reports
    }
    return Evidence(survey, facts, twins)


def _find_twins(recording: Recording) -> dict[str, str]:
    """Names that lead to a machine named before, by its hardware UUID."""
    machines: dict[UUID, str] = {}
    twins = {}
    for each in recording.hosts:
        answer = each.probes.get("hardware")
        if answer is None or each.error is not None:
            continue
        try:
            machine = parse_hardware(answer.stdout).value
        except UnexpectedOutput:
            continue
        if machines.setdefault(machine, each.host) != each.host:
            twins[each.host] = machines[machine]
    return twins
