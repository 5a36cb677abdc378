"""``distributed_config persist`` and ``unpersist``: what makes a setup last, printed only."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from distconfig.errors import UsageError
from distconfig.screen import Screen
from distconfig.sources import HostSource, ask_hosts
from distconfig.survey import survey_recording
from distconfig.upkeep.persist import plan_persist, render_persist

__all__ = ["PersistOptions", "run_persist"]


@dataclass(frozen=True)
class PersistOptions:
    """The options of the command, as given.

    Args:
        undo: Print what takes it back.
        print_only: ``--print`` was given; nothing else can be asked for yet.
    """

    source: HostSource
    undo: bool = False
    print_only: bool = False
    json: bool = False
    ignore_unreachable: bool = False
    verbose: bool = False


def run_persist(options: PersistOptions) -> int:
    """Print for each host the commands that keep its ports' addresses over a restart.

    Raises:
        UsageError: ``--print`` is missing, or no port of these hosts has an address of a setup.
    """
    if not options.print_only:
        raise UsageError(
            "these commands are not run for you", hint="Add --print, read them, and run them."
        )
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    answers.close()
    survey = survey_recording(answers.recording)
    code = screen.show_failures(survey.failures, options.ignore_unreachable)
    plans = {host: plan_persist(each) for host, each in survey.topology.reports.items()}
    plans = {host: steps for host, steps in plans.items() if steps}
    if not plans and not code:
        raise UsageError(
            "no port of these hosts has an address of a setup",
            hint="Set them up first, with --auto-setup or the printed commands.",
        )
    if options.json:
        hosts = {
            host: [
                {"why": step.why, "commands": step.commands, "undo": step.undo} for step in steps
            ]
            for host, steps in plans.items()
        }
        sys.stdout.write(json.dumps({"format": 1, "hosts": hosts}, indent=2) + "\n")
    else:
        sys.stdout.write(render_persist(plans, undo=options.undo))
    return code
