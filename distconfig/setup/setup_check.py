"""Before anything is changed: are the hosts still what was planned for, and may we?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distconfig.errors import ApplyError
from distconfig.hosts.shell import Shell
from distconfig.setup.host_round import Result, run_round
from distconfig.setup.host_scripts import render_check
from distconfig.setup.script_answers import HostAnswer
from distconfig.setup.setup_steps import SetupScript
from distconfig.setup.setup_text import render_command
from distconfig.setup.sudo_rules import asks_for_password
from distconfig.setup.verify import find_differences

__all__ = ["check_setup", "find_denied"]

_CHECK_TIMEOUT_S = 30.0


def check_setup(shells: Mapping[str, Shell], scripts: Mapping[str, SetupScript]) -> dict[str, str]:
    """Ask every host whether its steps can be run; nothing is changed.

    Args:
        scripts: Only hosts that have steps are asked.

    Returns:
        Host to the reason why its commands have to be run by hand.

    Raises:
        ApplyError: A port of the ring must not be touched, a host did not answer or is
            no longer what the plan was made for, or an interface does not take the mtu.
    """
    _raise_if_any({host: [*_refusals(script)] for host, script in scripts.items()})
    to_change = {host: script for host, script in scripts.items() if script.steps}
    texts = {
        host: render_check(script.commands, _interfaces_with_new_mtu(script))
        for host, script in to_change.items()
    }
    results = run_round(shells, texts, timeout_s=_CHECK_TIMEOUT_S)
    _raise_if_any({host: [*_problems(to_change[host], each)] for host, each in results.items()})
    denied = {
        host: find_denied(to_change[host].commands, answer)
        for host, answer in results.items()
        if isinstance(answer, HostAnswer)
    }
    return {host: reason for host, reason in denied.items() if reason}


def _raise_if_any(problems: Mapping[str, list[str]]) -> None:
    sentences = [f"{host}: {each}" for host, found in problems.items() for each in found]
    if sentences:
        raise ApplyError(
            "; ".join(sentences),
            undone="nothing was changed",
            hint="Mend that and run again, which plans anew.",
        )


def _refusals(script: SetupScript) -> Iterator[str]:
    """Why the ring can not be set up on a host; a surplus cable may stay as it is."""
    if any(goal.carries_ring for goal in script.refused_goals):
        yield from script.refused
    if script.steps and script.hardware_uuid is None:
        yield "it did not print its hardware UUID, under which the journal is kept"


def _interfaces_with_new_mtu(script: SetupScript) -> list[str]:
    now = {state.name: state.mtu for state in script.before}
    return [
        goal.interface
        for goal in script.goals
        if goal.mtu is not None and now.get(goal.interface, goal.mtu) != goal.mtu
    ]


def _problems(script: SetupScript, result: Result) -> Iterator[str]:
    if not isinstance(result, HostAnswer):
        yield str(result)
        return
    for difference in find_differences(script.before, result, with_link=True):
        yield f"{difference} since the plan was made"
    for goal in script.goals:
        lowest, highest = result.mtu_ranges.get(goal.interface, (0, 1 << 16))
        if goal.mtu is not None and not lowest <= goal.mtu <= highest:
            yield f"{goal.interface} takes an mtu of {lowest} to {highest}, not {goal.mtu}"


def find_denied(commands: tuple[tuple[str, ...], ...], answer: HostAnswer) -> str:
    """The first command that sudo does not allow without a password; empty if there is none."""
    if not commands or ("sudo", "all") in answer.facts:
        return ""
    said = {step.index: step.output for step in answer.steps if step.returncode != 0}
    asked = {step.index for step in answer.steps}
    for index, argv in enumerate(commands):
        if index in said or index not in asked or asks_for_password(answer.sudo_rules, argv):
            complaint = said.get(index, "")
            reason = f" ({complaint.splitlines()[0]})" if complaint else ""
            return f"not allowed without a password: {render_command(argv)}{reason}"
    return ""
