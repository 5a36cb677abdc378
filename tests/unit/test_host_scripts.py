"""Scripts for hosts are well formed for the shells that macOS may have as ``/bin/sh``."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from uuid import UUID

import pytest

from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.host_scripts import render_apply, render_check, render_commit, render_undo
from distconfig.setup.setup_script import SetupScript, plan_setup
from tests.model_mac import ModelLab, ModelMac

MACHINE = UUID("4c4c4544-0000-4000-8000-000000000001")


def script_of_a() -> SetupScript:
    lab = ModelLab.of(ModelMac("a"), ModelMac("b"))
    lab.macs["a"].add_bridge("bridge0", ["en2", "en3", "en4"])
    lab.plug("a", "en2", "b", "en3")
    topology = lab.topology()
    return plan_setup(topology, None, plan_addresses(topology, OperatorNetwork()))["a"]


def texts() -> Iterator[str]:
    script = script_of_a()
    goals = script.goals
    yield render_check(script.commands, ["en2"])
    yield render_check(())
    yield render_apply(MACHINE, script.steps, script.undo, goals, dead_man_s=60, wait_s=15)
    yield render_apply(None, (), (), goals, dead_man_s=60, wait_s=15)
    yield render_commit(MACHINE)
    yield render_undo(MACHINE, script.undo)
    yield render_undo(None, ())


@pytest.mark.parametrize("shell", [["/bin/sh"], ["/bin/bash", "--posix"]])
@pytest.mark.parametrize("text", list(texts()))
def test_every_script_parses(shell: list[str], text: str) -> None:
    done = subprocess.run([*shell, "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_that_changes_something_goes_through_sudo_and_only_those() -> None:
    script = script_of_a()
    text = render_apply(MACHINE, script.steps, script.undo, (), dead_man_s=60, wait_s=15)
    for argv in script.commands:
        command = " ".join(argv)
        assert text.count(command) == text.count(f"/usr/bin/sudo -n -- {command}")
    check = render_check(script.commands)
    assert check.count("/usr/bin/sudo -n -- ") == 1  # `sudo -n -- true`; the rest only asks
    assert check.count("/usr/bin/sudo -n -l -- /") == len(script.commands)


def test_a_dead_man_carries_its_machine_and_the_whole_undo() -> None:
    script = script_of_a()
    text = render_apply(MACHINE, script.steps, script.undo, (), dead_man_s=7, wait_s=15)
    dead_man = text[text.index("dead_man=$(") : text.index("watched()")]
    assert f"distributed_config dead-man {MACHINE}" in dead_man
    assert "sleep 7 &" in dead_man
    places = [dead_man.index(" ".join(argv)) for argv in script.undo]
    assert places == sorted(places)
