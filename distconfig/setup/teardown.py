"""Taking setups back on real hosts, as far as they are still as the setups left them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from distconfig.cabling.topology import Topology
from distconfig.hosts.shell import Shell
from distconfig.setup.host_round import Result, run_round
from distconfig.setup.host_scripts import render_check, render_undo
from distconfig.setup.journal import Journal, JournalFile, open_journal
from distconfig.setup.mac_commands import Argv
from distconfig.setup.script_answers import HostAnswer
from distconfig.setup.setup_check import find_denied
from distconfig.setup.setup_text import render_command
from distconfig.setup.teardown_plan import TeardownScript, plan_teardown
from distconfig.setup.verify import find_differences

__all__ = ["TeardownResult", "apply_teardown"]

_CHECK_TIMEOUT_S = 30.0
_UNDO_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class TeardownResult:
    """What became of one host.

    Args:
        commands: What was to be run, in order.
        left: Sentences about what was not taken back, and why.
        pending: Why nothing was run and the commands have to be run by hand; empty if
            they were run.
        is_settled: No command failed or is pending; what is left was left on purpose.
    """

    host: str
    commands: tuple[Argv, ...]
    left: tuple[str, ...] = ()
    pending: str = ""
    is_settled: bool = True


def _silently(host: str, text: str) -> None:
    pass


def apply_teardown(
    shells: Mapping[str, Shell],
    topology: Topology,
    *,
    journals: Path,
    on_progress: Callable[[str, str], None] = _silently,
    dry_run: bool = False,
) -> dict[str, TeardownResult]:
    """Undo on every host that answered what setups did to it and nothing changed since.

    Args:
        shells: A shell for every host with a report in the topology.
        topology: Of a probe round made just now.
        journals: The folder that holds the journals, see `journal_folder`.
        dry_run: Only say what would be run.

    Raises:
        ApplyError: A journal is held by another run, or can not be read.
    """
    with ExitStack() as stack:
        files = {
            host: stack.enter_context(open_journal(journals, host, report.hardware_uuid))
            for host, report in topology.reports.items()
            if report.hardware_uuid is not None
        }
        known = {host: file.journal for host, file in files.items() if file.journal.steps}
        scripts = plan_teardown(topology, known)
        if dry_run:
            return {host: _planned(script) for host, script in scripts.items()}
        pending = _check(shells, scripts)
        for host, reason in pending.items():
            on_progress(host, f"left to you: {reason}")
        to_run = {host: script for host, script in scripts.items() if host not in pending}
        results = _run(shells, to_run, files, on_progress)
        return {
            host: replace(_planned(script), pending=pending[host])
            if host in pending
            else _conclude(script, results.get(host), files.get(host))
            for host, script in scripts.items()
        }


def _planned(script: TeardownScript) -> TeardownResult:
    """What is known of a host before anything was run on it."""
    commands = tuple(step.argv for step in script.steps)
    return TeardownResult(script.host, commands, script.left, is_settled=False)


def _check(shells: Mapping[str, Shell], scripts: Mapping[str, TeardownScript]) -> dict[str, str]:
    """Host to the reason why its commands can not be run by us."""
    commands = {
        host: tuple(step.argv for step in script.steps)
        for host, script in scripts.items()
        if script.steps
    }
    texts = {host: render_check(each) for host, each in commands.items()}
    reasons = {
        host: find_denied(commands[host], result) if isinstance(result, HostAnswer) else str(result)
        for host, result in run_round(shells, texts, timeout_s=_CHECK_TIMEOUT_S).items()
    }
    return {host: reason for host, reason in reasons.items() if reason}


def _run(
    shells: Mapping[str, Shell],
    scripts: Mapping[str, TeardownScript],
    files: Mapping[str, JournalFile],
    on_progress: Callable[[str, str], None],
) -> dict[str, Result]:
    texts = {}
    for host, script in scripts.items():
        if script.steps:
            on_progress(host, f"running {len(script.steps)} commands")
            machine = files[host].journal.hardware_uuid if host in files else None
            texts[host] = render_undo(machine, [step.argv for step in script.steps])
    return run_round(shells, texts, timeout_s=_UNDO_TIMEOUT_S)


def _conclude(
    script: TeardownScript, result: Result | None, file: JournalFile | None
) -> TeardownResult:
    """The result of a host, and its journal brought up to date."""
    planned = _planned(script)
    if result is not None and not isinstance(result, HostAnswer):
        return replace(planned, left=(*script.left, str(result)))
    failed = {step.index: step.output for step in result.steps if step.returncode} if result else {}
    failures = [
        f"{render_command(step.argv)} failed: {failed[index]}"
        for index, step in enumerate(script.steps)
        if index in failed
    ]
    if file is None or not file.journal.steps:
        return replace(planned, left=(*script.left, *failures), is_settled=not failures)
    journal = file.journal
    if failures and result is not None and not find_differences(journal.before, result):
        failures = []  # the dead-man of a setup that was killed was faster
        settled = frozenset(range(len(journal.steps)))
    else:
        unsettled = {step.journal_index for i, step in enumerate(script.steps) if i in failed}
        settled = script.settled - unsettled
    journal = _with_undone(journal, settled)
    file.write(journal)
    left = [*script.left, *failures]
    if result is not None and journal.is_settled:
        left += [f"not as before: {each}" for each in find_differences(journal.before, result)]
    return replace(planned, left=tuple(left), is_settled=not failures)


def _with_undone(journal: Journal, indices: Collection[int]) -> Journal:
    return replace(
        journal,
        steps=tuple(
            replace(step, state="undone") if index in indices else step
            for index, step in enumerate(journal.steps)
        ),
    )
