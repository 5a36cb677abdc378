"""``distributed_config doctor``: what is wrong with these hosts, why, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from distconfig.doctor.checks import CHECKS, find_all, worst_first
from distconfig.doctor.evidence import Evidence, examine
from distconfig.doctor.probes import DOCTOR_PROBES, reach_probe
from distconfig.doctor.protection import find_refusals_here
from distconfig.doctor.report import finding_lines, needs_attention, render_findings
from distconfig.errors import CommandFailed, ProbeError, UsageError, VerifyError
from distconfig.hosts.fan_out import ask_all
from distconfig.hosts.shell import Connection
from distconfig.probes import PROBES
from distconfig.recordings.anonymise import anonymise
from distconfig.recordings.probe import record_hosts
from distconfig.recordings.recording import (
    HostRecording,
    OperatorNetwork,
    Recording,
    save_recording,
)
from distconfig.screen import Screen
from distconfig.sources import Answers, HostSource, ask_hosts

__all__ = ["DoctorOptions", "run_doctor"]

_REACH_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class DoctorOptions:
    """The options of the command, as given."""

    source: HostSource
    save: Path | None = None
    anonymise: bool = False
    json: bool = False
    verbose: bool = False


def run_doctor(options: DoctorOptions) -> int:
    """Examine the hosts and say what is wrong; 0 if nothing needs attention, else 8.

    Raises:
        UsageError: No host is named, or the recording can not be read or written.
    """
    if options.anonymise and options.save is None:
        raise UsageError("--anonymise without --save", hint="Say where: --save FOLDER.")
    screen = Screen(options.verbose)
    notes: list[str] = []
    answers = ask_hosts(options.source, notes.append)
    for note in notes:
        screen.note(note)
    try:
        recording = answers.recording
        if options.source.recording is None:
            recording = _ask_more(answers)
    finally:
        answers.close()
    if options.save is not None:
        kept = anonymise(recording) if options.anonymise else recording
        save_recording(kept, options.save)
        screen.note(f"saved to {options.save}")
    evidence = examine(recording)
    for host, facts in evidence.facts.items():
        for sentence in facts.unknown:
            screen.note(f"{host}: {sentence}")
    findings = worst_first([*find_all(evidence), *find_refusals_here(notes)])
    hosts = [each.host for each in recording.hosts]
    if options.json:
        sys.stdout.write(render_findings(hosts, findings))
    else:
        paper = Screen(is_product=True)
        for finding in findings:
            for text, style in finding_lines(finding):
                paper.say(text, style)
        if not findings:
            paper.say(f"{len(hosts)} hosts, {len(CHECKS)} checks: nothing is wrong.", "green")
    return VerifyError.exit_code if needs_attention(findings) else 0


def _ask_more(answers: Answers) -> Recording:
    """The recording with the answers to the doctor's own probes, in two further rounds."""
    recording = answers.recording
    more = record_hosts(
        answers.connections, operator=recording.operator, probes=(PROBES[0], *DOCTOR_PROBES)
    )
    recording = _with_answers(recording, {each.host: each for each in more.hosts})
    neighbours = _find_neighbours(examine(recording))
    tasks = {
        host: partial(_try_neighbours, host, connection, neighbours[host])
        for host, connection in answers.connections.items()
        if host in neighbours and not isinstance(connection, ProbeError)
    }
    tried = ask_all(
        tasks,
        timeout_s=_REACH_TIMEOUT_S + 10,
        give_up=lambda host: CommandFailed("no answer in time", host=host, argv=("/bin/sh",)),
    )
    good = {host: each for host, each in tried.items() if isinstance(each, HostRecording)}
    return _with_answers(recording, good)


def _with_answers(recording: Recording, more: Mapping[str, HostRecording]) -> Recording:
    hosts = tuple(
        replace(each, probes={**more[each.host].probes, **each.probes})
        if each.host in more and each.error is None
        else each
        for each in recording.hosts
    )
    return replace(recording, hosts=hosts)


def _find_neighbours(evidence: Evidence) -> dict[str, list[IPv4Address]]:
    """For each host the addresses at the far ends of its cables."""
    found: dict[str, list[IPv4Address]] = {}
    for cable in evidence.cables:
        for end in cable.ends:
            far = cable.other_end(end).address
            if far is not None and end.address is not None:
                found.setdefault(end.host, []).append(far.ip)
    return found


def _try_neighbours(
    host: str, connection: Connection, addresses: list[IPv4Address]
) -> HostRecording:
    probes = (PROBES[0], reach_probe(addresses))
    recording = record_hosts(
        {host: connection}, operator=OperatorNetwork(), probes=probes, timeout_s=_REACH_TIMEOUT_S
    )
    return recording.hosts[0]
