"""``distributed_config status`` and ``reapply``: drift from what was set up, and its mending."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from distconfig.errors import ApplyError, ProbeError, UsageError, VerifyError
from distconfig.screen import Screen
from distconfig.setup.apply import SetupOutcome, apply_setup
from distconfig.setup.journal import journal_folder
from distconfig.setup.setup_text import render_setup
from distconfig.sources import Answers, HostSource, ask_hosts
from distconfig.survey import Survey, survey_recording
from distconfig.upkeep.cable_record import load_record, record_path, record_setup
from distconfig.upkeep.intended import IntendedCable, find_intended
from distconfig.upkeep.reapply import ReapplyPlan, plan_reapply
from distconfig.upkeep.status import Drift, find_drifts
from ring_runtime.hostfile import load_hostfile

__all__ = ["ReapplyOptions", "StatusOptions", "find_what_was_set_up", "run_reapply", "run_status"]


@dataclass(frozen=True)
class StatusOptions:
    """The options of ``status``, as given."""

    source: HostSource
    json: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class ReapplyOptions:
    """The options of ``reapply``, as given."""

    source: HostSource
    dry_run: bool = False
    json: bool = False
    verbose: bool = False


def find_what_was_set_up(source: HostSource, survey: Survey) -> tuple[IntendedCable, ...]:
    """The cables set up between these hosts, by the record kept here and the hostfile given.

    Raises:
        UsageError: Neither tells of any.
    """
    recorded = load_record(record_path(journal_folder(os.environ)))
    hostfile = load_hostfile(source.hostfile) if source.hostfile is not None else None
    intended = find_intended(recorded, hostfile, survey.topology)
    if not intended:
        raise UsageError(
            "nothing is known to have been set up between these hosts",
            hint="Set them up with --auto-setup, or give the hostfile: --hostfile FILE.",
        )
    return intended


def run_status(options: StatusOptions) -> int:
    """Say what is no longer as it was set up: 0 if nothing, 8 if something, 3 if nobody answered.

    Raises:
        UsageError: Nothing is known to have been set up.
    """
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    answers.close()
    survey = survey_recording(answers.recording)
    intended = find_what_was_set_up(options.source, survey)
    drifts = find_drifts(intended, survey.topology)
    if options.json:
        sys.stdout.write(_render(intended, drifts))
    else:
        paper = Screen(is_product=True)
        for drift in drifts:
            paper.say(drift.text, "yellow")
        if not drifts:
            paper.say(f"{len(intended)} cables: as they were set up.", "green")
    if not survey.topology.reports:
        return ProbeError.exit_code
    return VerifyError.exit_code if drifts else 0


def _render(intended: Sequence[IntendedCable], drifts: Sequence[Drift]) -> str:
    document = {
        "format": 1,
        "cables": [
            {
                "ends": [
                    {
                        "host": end.host,
                        "port": end.port or None,
                        "interface": end.interface or None,
                        "address": str(end.address),
                    }
                    for end in cable.ends
                ]
            }
            for cable in intended
        ],
        "drifts": [
            {
                "host": drift.host,
                "kind": drift.kind.value,
                "text": drift.text,
                "cable": intended.index(drift.cable),
            }
            for drift in drifts
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def run_reapply(options: ReapplyOptions) -> int:
    """Bring back what was set up where it drifted; 0 if all of it holds now.

    Raises:
        ApplyError: A command failed; everything was undone.
        VerifyError: A cable does not carry; everything was undone.
        UsageError: Nothing is known to have been set up, or a recording was to be changed.
    """
    if options.source.recording is not None and not options.dry_run:
        raise UsageError(
            "reapply with --from: a recording can not be changed",
            hint="Add --dry-run to see what would be run.",
        )
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    try:
        survey = survey_recording(answers.recording)
        intended = find_what_was_set_up(options.source, survey)
        drifts = find_drifts(intended, survey.topology)
        for drift in drifts:
            screen.say(drift.text, "yellow")
        plan = plan_reapply(intended, drifts, survey.topology)
        if options.dry_run:
            sys.stdout.write(render_setup(plan.scripts, with_undo=True))
            return 0
        outcome = _apply(plan, answers, survey, screen)
    finally:
        answers.close()
    left = {host: plan.scripts[host] for host in outcome.pending}
    if options.json:
        sys.stdout.write(_render_outcome(drifts, plan, outcome))
    elif left:
        sys.stdout.write(render_setup(left))
    if left:
        return ApplyError.exit_code
    return VerifyError.exit_code if plan.hopeless else 0


def _render_outcome(drifts: Sequence[Drift], plan: ReapplyPlan, outcome: SetupOutcome) -> str:
    document = {
        "format": 1,
        "drifts": [drift.text for drift in drifts],
        "changed": list(outcome.changed),
        "left_to_you": {
            host: {"reason": reason, "commands": [step.argv for step in plan.scripts[host].steps]}
            for host, reason in outcome.pending.items()
        },
        "hopeless": list(plan.hopeless),
        "verified": len(outcome.verified),
    }
    return json.dumps(document, indent=2) + "\n"


def _apply(plan: ReapplyPlan, answers: Answers, survey: Survey, screen: Screen) -> SetupOutcome:
    journals = journal_folder(os.environ)
    for sentence in plan.hopeless:
        screen.warn(sentence)
    outcome = apply_setup(
        answers.shells, plan.scripts, journals=journals, on_progress=screen.progress
    )
    record_setup(record_path(journals), plan.scripts, survey.topology)
    for host, reason in outcome.pending.items():
        screen.warn(f"{host} was left to you: {reason}")
    screen.say(f"{len(outcome.verified)} cables verified both ways", "green")
    return outcome
