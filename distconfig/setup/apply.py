"""Setting up real hosts: all of them or none, each armed to restore itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from distconfig.cabling.topology import Cable
from distconfig.errors import ApplyError, DistconfigError, VerifyError
from distconfig.hosts.shell import Shell
from distconfig.reports.report import InterfaceState
from distconfig.setup.host_round import Result, run_round
from distconfig.setup.host_scripts import render_apply, render_commit, render_undo
from distconfig.setup.journal import JournalFile, open_journal
from distconfig.setup.script_answers import HostAnswer
from distconfig.setup.setup_check import check_setup
from distconfig.setup.setup_steps import EndGoal, SetupScript
from distconfig.setup.setup_text import render_command
from distconfig.setup.verify import find_differences, find_faults

__all__ = ["DEAD_MAN_S", "SetupOutcome", "apply_setup"]

#: Seconds after which a host undoes a setup that was not confirmed.
DEAD_MAN_S = 60
_WAIT_FOR_PEERS_S = 15
_APPLY_TIMEOUT_S = 40.0
_COMMIT_TIMEOUT_S = 15.0
_UNDO_TIMEOUT_S = 30.0

OnProgress = Callable[[str, str], None]


@dataclass(frozen=True)
class SetupOutcome:
    """What became of a setup that did not fail.

    Args:
        changed: Hosts on which steps were run.
        pending: Host to the reason why its commands have to be run by hand; after that,
            another setup finishes the job.
        verified: Cables that carry both ways what was planned.
        unverified: Cables with an end on a pending host.
    """

    changed: tuple[str, ...]
    pending: Mapping[str, str] = field(default_factory=dict)
    verified: tuple[Cable, ...] = ()
    unverified: tuple[Cable, ...] = ()


def _silently(host: str, text: str) -> None:
    pass


def apply_setup(
    shells: Mapping[str, Shell],
    scripts: Mapping[str, SetupScript],
    *,
    journals: Path,
    on_progress: OnProgress = _silently,
    dead_man_s: int = DEAD_MAN_S,
) -> SetupOutcome:
    """Run the steps of every host at once, verify every cable, and keep it or undo it all.

    First every host is asked whether its steps can be run. Hosts whose sudo does
    not allow them are left to the person; the others are set up. A host without
    steps is only verified.

    Args:
        shells: A shell for every host of the scripts.
        journals: The folder to keep journals in, see `journal_folder`.
        on_progress: Told what happens on a host.
        dead_man_s: After so many seconds a host that was not confirmed undoes its steps.

    Raises:
        ApplyError: A step could not be run; what ran was undone, as the error says.
        VerifyError: A cable does not carry what was planned; everything was undone.
    """
    for host, script in scripts.items():
        on_progress(
            host, f"checking {len(script.steps)} commands" if script.steps else "as planned"
        )
    pending = check_setup(shells, scripts)
    for host, reason in pending.items():
        on_progress(host, f"left to you: {reason}")
    active = {host: script for host, script in scripts.items() if host not in pending}
    refused = {goal.cable for script in scripts.values() for goal in script.refused_goals}
    goals = {
        host: tuple(
            goal for goal in script.goals if goal.peer_host in active and goal.cable not in refused
        )
        for host, script in active.items()
    }
    with ExitStack() as stack:
        files = {
            host: stack.enter_context(open_journal(journals, host, script.hardware_uuid))
            for host, script in active.items()
            if script.hardware_uuid is not None
        }
        for host, file in files.items():
            if active[host].steps:
                file.write(file.journal.with_planned(active[host]))
        unconfirmed = {h: file for h, file in files.items() if file.journal.undo_of_unconfirmed}
        _Setup(shells, active, goals, unconfirmed, on_progress, dead_man_s).run()
    tried = {goal.cable: None for each in goals.values() for goal in each}
    planned = {goal.cable: None for script in scripts.values() for goal in script.goals}
    return SetupOutcome(
        tuple(host for host, script in active.items() if script.steps),
        pending,
        tuple(tried),
        tuple(cable for cable in planned if cable not in tried and cable not in refused),
    )


@dataclass
class _Setup:
    """One setup between its first change and its confirmation.

    Args:
        files: The journals of the hosts that have something to confirm: steps to run now,
            or steps of a setup that was killed.
    """

    shells: Mapping[str, Shell]
    scripts: Mapping[str, SetupScript]
    goals: Mapping[str, tuple[EndGoal, ...]]
    files: Mapping[str, JournalFile]
    on_progress: OnProgress
    dead_man_s: int

    def run(self) -> None:
        try:
            self._apply()
            self._commit()
        except DistconfigError as error:
            self._explain(error, self._undo())
            raise
        except BaseException:  # Ctrl-C among them; nothing may stay half done
            self._undo()
            raise
        for file in self.files.values():
            file.write(file.journal.with_unconfirmed("done"))

    def _apply(self) -> None:
        for host in self.files:
            self.on_progress(host, f"running {len(self.scripts[host].steps)} commands")
        texts = {
            host: self._apply_text(host)
            for host in self.scripts
            if host in self.files or self.goals[host]
        }
        results = run_round(
            self.shells, texts, timeout_s=_APPLY_TIMEOUT_S, is_end=lambda each: not _is_done(each)
        )
        for host, result in results.items():
            if not _is_done(result):
                raise _step_error(self.scripts[host], result)
        self._raise_faults(results, peers_tried=True)
        for host in results:
            self.on_progress(host, f"verified {len(self.goals[host])} cable ends")

    def _apply_text(self, host: str) -> str:
        file = self.files.get(host)
        return render_apply(
            file.journal.hardware_uuid if file else None,
            self.scripts[host].steps,
            file.journal.undo_of_unconfirmed if file else (),
            self.goals[host],
            dead_man_s=self.dead_man_s,
            wait_s=_WAIT_FOR_PEERS_S,
        )

    def _commit(self) -> None:
        texts = {
            host: render_commit(file.journal.hardware_uuid) for host, file in self.files.items()
        }
        results = run_round(self.shells, texts, timeout_s=_COMMIT_TIMEOUT_S)
        for host, result in results.items():
            if not isinstance(result, HostAnswer):
                what = f"lost while the setup was confirmed: {result.what}"
                raise ApplyError(what, host=host) from result
        self._raise_faults(results, peers_tried=False)
        for host in results:
            self.on_progress(host, "confirmed")

    def _raise_faults(self, results: Mapping[str, Result], *, peers_tried: bool) -> None:
        faults = [
            fault
            for host, answer in results.items()
            if isinstance(answer, HostAnswer)
            for fault in find_faults(self.goals[host], answer, peers_tried=peers_tried)
        ]
        if faults:
            cables = dict.fromkeys(str(fault.goal.cable) for fault in faults)
            raise VerifyError(
                "; ".join(f"{fault.direction}: {fault.reason}" for fault in faults),
                cable=", ".join(cables),
            )

    def _undo(self) -> dict[str, str]:
        """Take everything back on every host; host to what is still not as it was."""
        for host in self.files:
            self.on_progress(host, "undoing")
        texts = {
            host: render_undo(file.journal.hardware_uuid, file.journal.undo_of_unconfirmed)
            for host, file in self.files.items()
        }
        left: dict[str, str] = {}
        for host, result in run_round(self.shells, texts, timeout_s=_UNDO_TIMEOUT_S).items():
            if not isinstance(result, HostAnswer):
                left[host] = f"lost; it undoes its steps by itself within {self.dead_man_s} s"
            elif differences := find_differences(self._before(host), result):
                left[host] = ", ".join(differences)
            else:
                file = self.files[host]
                with suppress(ApplyError):  # a step that is marked as run does no harm
                    file.write(file.journal.with_unconfirmed("undone"))
            self.on_progress(host, left.get(host, "undone"))
        return left

    def _before(self, host: str) -> tuple[InterfaceState, ...]:
        """What the interfaces are once all is undone that was not confirmed."""
        journal = self.files[host].journal
        has_confirmed = any(step.state == "done" for step in journal.steps)
        return self.scripts[host].before if has_confirmed else journal.before

    def _explain(self, error: DistconfigError, left: Mapping[str, str]) -> None:
        """Put into the error what was undone and what was not."""
        undone = [host for host in self.files if host not in left]
        sentences = [f"undone on {', '.join(undone)}"] if undone else []
        sentences += [f"not undone on {host}: {reason}" for host, reason in left.items()]
        text = "; ".join(sentences) or "nothing had been changed"
        if isinstance(error, ApplyError):
            error.undone = text
        else:
            error.what = f"{error.what} ({text})"
        if left:
            error.hint = f"{error.hint} `distributed_config teardown` undoes what is left.".strip()


def _is_done(result: Result) -> bool:
    return isinstance(result, HostAnswer) and ("done",) in result.facts


def _step_error(script: SetupScript, result: Result) -> ApplyError:
    """The error for a host whose steps did not all run."""
    if not isinstance(result, HostAnswer):
        what = f"lost while its commands were running: {result.what}"
        error = ApplyError(what, host=script.host)
        error.__cause__ = result
        return error
    for kind, what in (
        ("unwatched", "the dead-man was gone before this step"),
        ("unrouted", "the route still leads elsewhere after this step"),
    ):
        for index, step in enumerate(script.steps):
            if (kind, str(index)) in result.facts:
                return ApplyError(what, host=script.host, step=render_command(step.argv))
    steps = dict(enumerate(script.steps))
    failed = [each for each in result.steps if each.returncode and each.index in steps]
    if not failed:
        return ApplyError("its commands did not run to the end", host=script.host)
    return ApplyError(
        f"a command failed with exit code {failed[-1].returncode}: {failed[-1].output}",
        host=script.host,
        step=render_command(steps[failed[-1].index].argv),
        hint="Run that command on the host to see more.",
    )
