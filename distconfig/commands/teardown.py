"""``distributed_config teardown``: hosts as they were before setups, as far as that is safe."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from distconfig.cabling.topology import Topology
from distconfig.errors import ApplyError, UsageError
from distconfig.screen import Screen
from distconfig.setup.journal import journal_folder
from distconfig.setup.setup_text import render_command
from distconfig.setup.teardown import TeardownResult, apply_teardown
from distconfig.sources import HostSource, ask_hosts
from distconfig.survey import survey_recording
from distconfig.upkeep.cable_record import forget_machines, record_path

__all__ = ["TeardownOptions", "teardown_hosts"]


@dataclass(frozen=True)
class TeardownOptions:
    """The options of the command, as given."""

    source: HostSource
    dry_run: bool = False
    ignore_unreachable: bool = False
    verbose: bool = False


def teardown_hosts(options: TeardownOptions) -> int:
    """Undo what setups did on every host that answers; returns the exit code.

    Raises:
        DistconfigError: Nothing could be done.
    """
    if options.source.recording is not None and not options.dry_run:
        raise UsageError(
            "teardown with --from: a recording can not be changed",
            hint="Add --dry-run to see what would be run.",
        )
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    try:
        survey = survey_recording(answers.recording)
        code = screen.show_failures(survey.failures, options.ignore_unreachable)
        results = apply_teardown(
            answers.shells,
            survey.topology,
            journals=journal_folder(os.environ),
            on_progress=screen.progress,
            dry_run=options.dry_run,
        )
    finally:
        answers.close()
    if not options.dry_run:
        _forget(results, survey.topology)
    _show(results, options.dry_run, screen)
    is_done = options.dry_run or all(each.is_settled for each in results.values())
    return code if is_done else (code or ApplyError.exit_code)


def _forget(results: Mapping[str, TeardownResult], topology: Topology) -> None:
    """Drop the cables of hosts on which nothing of a setup is left."""
    machines = (
        topology.reports[host].hardware_uuid for host, each in results.items() if each.is_settled
    )
    path = record_path(journal_folder(os.environ))
    forget_machines(path, (machine for machine in machines if machine is not None))


def _show(results: Mapping[str, TeardownResult], dry_run: bool, screen: Screen) -> None:
    """What is left and why on stderr; commands that are a person's to run on stdout."""
    for host, result in results.items():
        for sentence in result.left:
            screen.warn(f"{host}: {sentence}")
        if result.pending:
            screen.warn(f"{host} was left to you: {result.pending}")
        if result.commands and (dry_run or result.pending):
            sys.stdout.write(f"# {host}: {'would be run' if dry_run else 'run these on it'}\n")
            for argv in result.commands:
                sys.stdout.write(render_command(argv) + "\n")
        elif not result.commands and not result.left:
            screen.say(f"{host}: nothing to undo")
