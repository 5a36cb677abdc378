"""What goes wrong in the middle of a setup, and that no host is left half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.netns.setups import (
    auto_setup,
    await_end_of_processes,
    journals,
    states,
    stop_answering,
    teardown,
)
from tests.netns.steps import wait_until
from tests.simulated_macs import Bridge, SimulatedMac, SimulatedMacs, pair, ring_of, simulated

OFF = Bridge(up=False)


@contextmanager
def started(
    macs: SimulatedMacs, argv: list[str]
) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """A program on the operator's machine, with its standard input and output."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with macs.popen(argv, text=True, start_new_session=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process, process.stdin, process.stdout
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def driver(macs: SimulatedMacs, dead_man_s: int = 120, wait_s: int = 60) -> list[str]:
    """A setup that waits for answers longer than a test takes, also on a busy machine."""
    words = [",".join(macs.names), str(dead_man_s), str(wait_s)]
    return [sys.executable, "-m", "tests.netns.setup_driver", *words]


def between_plan_and_apply(macs: SimulatedMacs, change: Callable[[], object]) -> str:
    """What a setup says if the world changes after the plan was made."""
    with started(macs, driver(macs)) as (_, stdin, stdout):
        assert stdout.readline() == "planned\n"
        change()
        stdin.write("go\n")
        stdin.flush()
        return stdout.read()


def wait_for_steps(macs: SimulatedMacs, process: subprocess.Popen[str]) -> None:
    """Wait until every host has both its addresses; the setup then waits for answers."""

    def have_run() -> bool:
        assert process.poll() is None, process.communicate()
        return all({"en2", "en3"} <= set(mac.addresses()) for mac in macs)

    wait_until(have_run)


# Between planning and applying


def test_a_cable_pulled_after_planning_stops_the_setup_before_anything_changes(
    tmp_path: Path,
) -> None:
    with simulated(pair(), tmp_path) as macs:
        said = between_plan_and_apply(macs, lambda: macs["studio1"].cut("en2"))
        assert said.startswith("ApplyError: studio1: en2 has lost its link")
        assert "nothing was changed" in said
        macs["studio1"].plug("en2", "studio2", "en2")
        assert all(sorted(mac.members()["bridge0"]) == ["en2", "en3", "en4"] for mac in macs)
        assert all("en2" not in mac.addresses() for mac in macs)
        assert journals(macs) == []


def test_an_address_given_after_planning_stops_the_setup(tmp_path: Path) -> None:
    with simulated(pair().with_macs(bridge=None), tmp_path) as macs:
        words = "/usr/bin/sudo -n /sbin/ifconfig en2 inet 10.231.0.9 netmask 255.255.255.0"
        said = between_plan_and_apply(macs, lambda: macs["studio2"].run(words.split()))
        assert "studio2: en2 has got the address 10.231.0.9/24 since the plan was made" in said
        assert "en2" not in macs["studio1"].addresses()


def test_a_host_lost_after_planning_stops_the_setup(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = states(macs)
        said = between_plan_and_apply(macs, macs["studio2"].drop_ssh)
        assert said.startswith("ApplyError: studio2: ")
        assert states(macs) == before


# While the steps run


def test_a_command_that_fails_on_one_host_undoes_all(tmp_path: Path) -> None:
    """This sudo says that everything is allowed and then wants a password for some of it."""
    rights = ", ".join(
        [
            "/usr/bin/true",
            "/sbin/ifconfig bridge0 deletem en2",
            "/sbin/ifconfig bridge0 addm en2",
        ]
    )
    layout = ring_of(4).with_mac("studio3", sudo=f"admin ALL=(root) NOPASSWD: {rights}")
    with simulated(layout.with_macs(bridge=OFF), tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs, "-o", "hostfile.json")
        assert done.returncode == 7
        assert "studio3" in done.stderr
        assert "sudo /sbin/ifconfig bridge0 deletem en3" in done.stderr
        assert "a password is required" in done.stderr
        assert states(macs) == before
        assert journals(macs) == []
        await_end_of_processes(macs)
        assert not (macs.home / "hostfile.json").exists()


@pytest.mark.slow
def test_a_cable_that_carries_nothing_undoes_all(tmp_path: Path) -> None:
    layout = ring_of(3).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        stop_answering(macs["studio2"])
        done = auto_setup(macs)
        assert done.returncode == 8
        assert "studio1 en3 -> studio2 en2: studio2 does not answer at 10.231.0.2" in done.stderr
        assert "undone on studio1, studio2, studio3" in done.stderr
        assert states(macs) == before
        assert journals(macs) == []
        await_end_of_processes(macs)


@pytest.mark.slow
def test_a_host_whose_ssh_is_lost_restores_itself_and_the_others_are_undone_at_once(
    tmp_path: Path,
) -> None:
    layout = ring_of(4).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        stop_answering(macs["studio3"])  # of whom studio2 waits for an answer when it is lost
        with started(macs, driver(macs, dead_man_s=75, wait_s=60)) as (process, stdin, stdout):
            assert stdout.readline() == "planned\n"
            stdin.write("go\n")
            stdin.flush()
            wait_for_steps(macs, process)
            began = time.monotonic()
            macs["studio2"].drop_ssh()
            said = stdout.read()
            seconds = time.monotonic() - began
        assert said.startswith("ApplyError: lost while its commands were running: ")
        assert " -- studio2; undone on " in said
        assert "undone on studio1, studio3, studio4" in said
        assert "not undone on studio2: lost" in said
        assert seconds < 45  # and not the 60 that hosts would wait for each other
        for name in ("studio1", "studio3", "studio4"):
            assert macs[name].state() == before[name]
        wait_until(lambda: macs["studio2"].state() == before["studio2"], 120)
        await_end_of_processes(macs)
        assert len(journals(macs)) == 1
        assert teardown(macs).returncode == 0
        assert journals(macs) == []
        assert states(macs) == before


def test_ctrl_c_in_the_middle_undoes_all(tmp_path: Path) -> None:
    layout = ring_of(3).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        stop_answering(macs["studio1"])
        with started(macs, driver(macs)) as (process, stdin, _):
            stdin.write("go\n")
            stdin.flush()
            wait_for_steps(macs, process)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
        assert states(macs) == before
        assert journals(macs) == []
        await_end_of_processes(macs)


# The tool is killed


def answer_again(mac: SimulatedMac) -> None:
    answer = "echo 0 > /proc/sys/net/ipv4/icmp_echo_ignore_all"
    assert mac.run(["/bin/sh", "-c", answer], user="root").returncode == 0


@contextmanager
def killed_in_the_middle(macs: SimulatedMacs) -> Iterator[None]:
    """A setup of all hosts that ran every step and was killed before it could confirm."""
    stop_answering(macs["studio1"])
    cli = [sys.executable, "-m", "distconfig.cli", "--hosts", ",".join(macs.names), "--auto-setup"]
    with started(macs, cli) as (process, _, _):
        wait_for_steps(macs, process)
        os.killpg(process.pid, signal.SIGKILL)
    answer_again(macs["studio1"])
    assert len(journals(macs)) == len(macs.names)
    yield


def test_a_killed_setup_run_again_finishes_the_job(tmp_path: Path) -> None:
    """The dead-men of the killed run are called off; nothing is undone under the second."""
    layout = ring_of(3).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        with killed_in_the_middle(macs):
            done = auto_setup(macs, "-o", "hostfile.json")
            assert done.returncode == 0, done.stderr
            configured = states(macs)
            await_end_of_processes(macs)
            assert states(macs) == configured
            assert teardown(macs).returncode == 0
            assert states(macs) == before
            assert journals(macs) == []


def test_a_killed_setup_is_torn_down(tmp_path: Path) -> None:
    layout = ring_of(3).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        with killed_in_the_middle(macs):
            undone = teardown(macs)
            assert undone.returncode == 0, undone.stderr
            assert states(macs) == before
            assert journals(macs) == []
            await_end_of_processes(macs)


@pytest.mark.slow
def test_a_killed_setup_left_alone_undoes_itself_within_a_minute(tmp_path: Path) -> None:
    layout = ring_of(3).with_macs(bridge=OFF, ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        with killed_in_the_middle(macs):
            wait_until(lambda: states(macs) == before, 110)
            await_end_of_processes(macs)
            assert teardown(macs).returncode == 0
            assert journals(macs) == []
            assert states(macs) == before


def test_two_setups_at_once_do_not_mix(tmp_path: Path) -> None:
    layout = pair(2).with_macs(ssh_port=2222)
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        stop_answering(macs["studio1"])
        with started(macs, driver(macs)) as (process, stdin, stdout):
            stdin.write("go\n")
            stdin.flush()
            wait_for_steps(macs, process)
            undone = teardown(macs)
            assert undone.returncode == 7
            assert "another run is changing this host now" in undone.stderr
            answer_again(macs["studio1"])
            assert stdout.read() == "planned\ndone\n"
        assert teardown(macs).returncode == 0
        assert states(macs) == before
