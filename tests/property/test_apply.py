"""A setup changes all hosts or none, whatever fails where."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from distconfig.errors import ApplyError, PoolExhausted
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.apply import apply_setup
from distconfig.setup.journal import open_journal
from distconfig.setup.setup_script import SetupScript, plan_setup
from tests.model_labs import model_labs
from tests.model_mac import ModelLab
from tests.model_shell import ModelShell

OPERATOR = OperatorNetwork((), (IPv4Network("0.0.0.0/0"),))


def scripts_or_pass(lab: ModelLab) -> dict[str, SetupScript]:
    topology = lab.topology()
    try:
        scripts = plan_setup(topology, None, plan_addresses(topology, OPERATOR))
    except PoolExhausted:
        assume(False)
        raise
    assume(not any(script.refused for script in scripts.values()))
    return scripts


@contextmanager
def shells_and_folder(lab: ModelLab) -> Iterator[tuple[dict[str, ModelShell], Path]]:
    with tempfile.TemporaryDirectory() as folder:
        yield {host: ModelShell(lab, host) for host in lab.macs}, Path(folder)


def states(lab: ModelLab) -> dict[str, object]:
    return {host: mac.state() for host, mac in lab.macs.items()}


@settings(max_examples=30)
@given(model_labs())
def test_without_a_failure_everything_is_as_planned(lab: ModelLab) -> None:
    scripts = scripts_or_pass(lab)
    with shells_and_folder(lab) as (shells, folder):
        outcome = apply_setup(shells, scripts, journals=folder)
        assert set(outcome.verified) == {g.cable for s in scripts.values() for g in s.goals}
        assert outcome.changed == tuple(host for host in lab.macs if scripts[host].steps)
        assert all(shell.dead_man == [] for shell in shells.values())
        assert len(list(folder.iterdir())) == len(outcome.changed)
        again = scripts_or_pass(lab)
        assert apply_setup(shells, again, journals=folder).changed == ()


@settings(max_examples=30)
@given(model_labs(), st.data())
def test_a_step_that_fails_anywhere_changes_nothing_anywhere(
    lab: ModelLab, data: st.DataObject
) -> None:
    scripts = scripts_or_pass(lab)
    before = states(lab)
    host = data.draw(st.sampled_from(sorted(lab.macs)))
    firm = [i for i, step in enumerate(scripts[host].steps) if step.unless is None]
    assume(firm)
    with shells_and_folder(lab) as (shells, folder):
        shells[host].failing_step = data.draw(st.sampled_from(firm))
        with pytest.raises(ApplyError) as caught:
            apply_setup(shells, scripts, journals=folder)
        assert caught.value.host == host
        assert states(lab) == before
        assert list(folder.iterdir()) == []
        assert all(shell.dead_man == [] for shell in shells.values())


@settings(max_examples=30)
@given(model_labs(), st.sampled_from(["check", "apply", "commit"]), st.data())
def test_a_host_lost_in_any_round_restores_itself_and_the_others_are_undone(
    lab: ModelLab, lost_in: str, data: st.DataObject
) -> None:
    scripts = scripts_or_pass(lab)
    before = states(lab)
    changing = [host for host in lab.macs if scripts[host].steps]
    assume(changing)
    lost = data.draw(st.sampled_from(changing))
    with shells_and_folder(lab) as (shells, folder):
        shells[lost].lost_in = lost_in
        real_run = shells[lost].run

        def lost_for_good(script: str, *, timeout_s: float) -> object:
            if lost_in in shells[lost].rounds:
                shells[lost].lost_in = shells[lost]._kind(script)
            return real_run(script, timeout_s=timeout_s)

        shells[lost].run = lost_for_good  # type: ignore[method-assign, assignment]
        with pytest.raises(ApplyError) as caught:
            apply_setup(shells, scripts, journals=folder)
        assert lost in str(caught.value)
        others = {host: state for host, state in states(lab).items() if host != lost}
        assert others == {host: state for host, state in before.items() if host != lost}
        shells[lost].fire_dead_man()
        assert states(lab) == before
        left = [path.stem for path in folder.iterdir()]
        machine = lab.macs[lost].hardware_uuid
        assert left == ([] if lost_in == "check" else [str(machine)])
        if left:
            with open_journal(folder, lost, machine) as file:
                assert {step.state for step in file.journal.steps} == {"planned"}


@settings(max_examples=30)
@given(model_labs(), st.data())
def test_hosts_without_the_right_are_left_alone_and_the_others_set_up(
    lab: ModelLab, data: st.DataObject
) -> None:
    scripts = scripts_or_pass(lab)
    before = states(lab)
    host = data.draw(st.sampled_from(sorted(lab.macs)))
    assume(scripts[host].steps)
    missing = data.draw(st.sampled_from(scripts[host].commands))
    with shells_and_folder(lab) as (shells, folder):
        shells[host].may = frozenset(scripts[host].commands) - {missing}
        outcome = apply_setup(shells, scripts, journals=folder)
        assert list(outcome.pending) == [host]
        assert " ".join(missing) in outcome.pending[host]
        assert lab.macs[host].state() == before[host]
        touching = {goal.cable for goal in scripts[host].goals}
        assert set(outcome.unverified) == touching
        assert not touching & set(outcome.verified)
        lab.macs[host].run_script(scripts[host])  # the person does
        again = apply_setup(shells, scripts_or_pass(lab), journals=folder)
        assert set(again.verified) == {g.cable for s in scripts.values() for g in s.goals}
