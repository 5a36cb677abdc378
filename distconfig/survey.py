"""What all hosts said, read: a `Recording` becomes reports, failures and a `Topology`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.errors import DistconfigError, ProbeError, ReportError
from distconfig.recordings.recording import Recording, select_hosts
from distconfig.reports.report import HostReport, assemble

__all__ = ["Survey", "survey_recording", "without_unreachable"]


@dataclass(frozen=True)
class Survey:
    """A recording and what it means.

    Args:
        failures: Why a host is missing from the topology's reports, by host.
    """

    recording: Recording
    topology: Topology
    failures: Mapping[str, DistconfigError]

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Hosts that could not be asked, in the order given."""
        return self._failed(ProbeError)

    @property
    def not_understood(self) -> tuple[str, ...]:
        """Hosts that answered what could not be read, in the order given."""
        return self._failed(ReportError)

    def _failed(self, kind: type[DistconfigError]) -> tuple[str, ...]:
        return tuple(
            host for host in self.topology.hosts if isinstance(self.failures.get(host), kind)
        )


def survey_recording(recording: Recording) -> Survey:
    """Read every host of a recording; a host that failed costs only itself.

    Raises:
        UsageError: Two of the names lead to one machine.
    """
    reports: dict[str, HostReport] = {}
    failures: dict[str, DistconfigError] = {}
    for entry in recording.hosts:
        if entry.error is not None:
            failures[entry.host] = entry.error
            continue
        try:
            reports[entry.host] = assemble(entry)
        except ReportError as error:
            failures[entry.host] = error
    hosts = [entry.host for entry in recording.hosts]
    unread = {host: error.what for host, error in failures.items()}
    return Survey(recording, assemble_topology(hosts, reports, unread), failures)


def without_unreachable(survey: Survey) -> Survey:
    """The survey of the hosts that could be asked, as if the others had not been named."""
    if not survey.unreachable:
        return survey
    asked = [host for host in survey.topology.hosts if host not in survey.unreachable]
    return survey_recording(select_hosts(survey.recording, asked))
