"""The day after: restarts, moved cables and what mends them, on simulated Macs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.netns.setups import auto_setup, teardown
from tests.netns.steps import wait_until
from tests.simulated_macs import SimulatedMac, SimulatedMacs, ring_of, simulated

HOSTS = "studio1,studio2,studio3,studio4"


@pytest.fixture
def macs(tmp_path: Path) -> Iterator[SimulatedMacs]:
    """A ring of four that was set up; its hostfile is h.json."""
    with simulated(ring_of(4), tmp_path) as lab:
        assert auto_setup(lab, "-o", "h.json").returncode == 0
        yield lab


def drifts(macs: SimulatedMacs, *words: str) -> list[str]:
    """The sentences of status; its exit code fits them."""
    done = macs.run_cli(["status", *(words or ("--hosts", HOSTS)), "--json"])
    texts = [each["text"] for each in json.loads(done.stdout)["drifts"]]
    assert done.returncode == (8 if texts else 0), done.stderr
    return texts


def reapply(macs: SimulatedMacs, hosts: str = HOSTS) -> subprocess.CompletedProcess[str]:
    return macs.run_cli(["reapply", "--hosts", hosts])


def is_green(macs: SimulatedMacs) -> bool:
    return macs.run_cli(["verify", "--hosts", HOSTS, "--seconds", "1"]).returncode == 0


def shape_all(macs: SimulatedMacs) -> None:
    """So slow that what the kernel buffers bridges the pauses of a busy machine."""
    for mac in macs:
        mac.shape("en3", "50mbit")


# studio3 has 10.231.0.10 on en2, towards studio2 en3, and 10.231.0.13 on en3, towards studio4.


@pytest.mark.slow
def test_after_a_restart_status_names_every_drift_and_reapply_mends_it(
    macs: SimulatedMacs,
) -> None:
    assert drifts(macs) == []
    others = {mac.name: mac.state() for mac in macs if mac.name != "studio3"}
    macs["studio3"].reboot()
    assert drifts(macs) == [
        "studio3: en2 is back in bridge0.",
        "studio3: en2 has lost its address 10.231.0.10/30.",
        "studio3: en3 is back in bridge0.",
        "studio3: en3 has lost its address 10.231.0.13/30.",
    ]
    done = reapply(macs)
    assert done.returncode == 0, done.stderr
    assert drifts(macs) == []
    assert {mac.name: mac.state() for mac in macs if mac.name != "studio3"} == others
    shape_all(macs)
    assert is_green(macs)
    wait_until(lambda: all(mac.processes() == [] for mac in macs))


@pytest.mark.slow
def test_with_the_printed_persist_commands_a_restart_leaves_nothing_to_mend(
    macs: SimulatedMacs,
) -> None:
    mac = macs["studio3"]
    before = mac.state()
    printed = macs.run_cli(["persist", "--hosts", "studio3", "--print"])
    assert printed.returncode == 0
    run_commands(mac, printed.stdout)
    assert mac.state() == before
    mac.reboot()
    assert drifts(macs) == []
    assert macs.run_cli(["wait-ready", "--hostfile", "h.json", "--timeout", "100"]).returncode == 0
    undo = macs.run_cli(["unpersist", "--hosts", "studio3", "--print"])
    run_commands(mac, undo.stdout)
    mac.reboot()
    assert [text.partition(": ")[0] for text in drifts(macs)] == ["studio3"] * 4


def run_commands(mac: SimulatedMac, text: str) -> None:
    """Do what a person does with printed commands: paste them into a shell there."""
    commands = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert commands
    assert all(line.startswith("sudo /usr/sbin/networksetup -") for line in commands)
    done = mac.run(["/bin/sh", "-e", "-c", "\n".join(commands)])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_cable_in_another_port_is_named_and_takes_its_address_along(
    macs: SimulatedMacs,
) -> None:
    macs["studio2"].cut("en3")
    macs["studio2"].plug("en4", "studio3", "en2")
    assert drifts(macs) == [
        "studio2: no cable is seen at port 2.",
        "studio3: port 1's cable now goes to studio2 port 3.",
    ]
    done = reapply(macs)
    assert done.returncode == 0, done.stderr
    addresses = macs["studio2"].addresses()
    assert addresses["en4"] == ["10.231.0.9/30"]
    assert "en3" not in addresses
    assert drifts(macs) == []
    assert drifts(macs, "--hostfile", str(macs.home / "h.json")) == []
    ready = macs.run_cli(["wait-ready", "--hostfile", "h.json", "--timeout", "100"])
    assert ready.returncode == 0, ready.stderr


def test_wait_ready_returns_once_the_last_cable_answers(macs: SimulatedMacs) -> None:
    macs["studio3"].reboot()
    words = ["wait-ready", "--hostfile", "h.json", "--timeout", "100", "--verbose"]
    command = [sys.executable, "-m", "distconfig.cli", *words]
    with macs.popen(command, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        assert "no answer" in waiting.stderr.readline()
        assert reapply(macs).returncode == 0
        said = waiting.stderr.read()
        assert waiting.wait(100) == 0
    assert said.endswith("4 hops answer\n")


def test_wait_ready_that_is_out_of_time_names_what_is_missing(macs: SimulatedMacs) -> None:
    macs["studio3"].cut("en3")
    # Long enough for every host to be reached, also on a busy machine.
    words = ["wait-ready", "--hostfile", "h.json", "--timeout", "5", "--json"]
    done = macs.run_cli(words)
    assert done.returncode == 8
    assert json.loads(done.stdout) == {
        "format": 1,
        "ready": False,
        "waiting": [
            {
                "from": "studio3",
                "to": "studio4",
                "address": "10.231.0.14",
                "reason": "no answer",
            }
        ],
    }


@pytest.mark.slow
def test_commands_that_sudo_refuses_are_printed_and_a_teardown_ends_the_watch(
    macs: SimulatedMacs,
) -> None:
    macs["studio3"].reboot()
    macs["studio3"].set_sudo("password")
    done = macs.run_cli(["reapply", "--hosts", HOSTS, "--json"])
    assert done.returncode == 7
    document = json.loads(done.stdout)
    assert (document["changed"], list(document["left_to_you"])) == ([], ["studio3"])
    assert len(document["left_to_you"]["studio3"]["commands"]) == 7
    done = reapply(macs)
    assert done.returncode == 7
    assert "sudo /sbin/ifconfig en2 inet 10.231.0.10 netmask 255.255.255.252" in done.stdout
    macs["studio3"].set_sudo("free")
    assert teardown(macs).returncode == 0
    done = macs.run_cli(["status", "--hosts", HOSTS])
    assert done.returncode == 2
    assert "nothing is known to have been set up" in done.stderr


def test_watch_tells_a_drift_when_it_comes_and_when_it_is_gone(macs: SimulatedMacs) -> None:
    command = [sys.executable, "-m", "distconfig.cli", "watch", "--hosts", HOSTS, "--every", "0.3"]
    drift = "studio2: 10.231.0.1 is reached through en0, not en2."
    route = ["/usr/bin/sudo", "-n", "/sbin/route", "-n"]
    with macs.popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = iter(watching.stdout.readline, "")
        assert any("Gb/s" in line for line in lines)
        macs["studio2"].run([*route, "add", "-host", "10.231.0.1", "-interface", "en0"])
        assert any(line.endswith(f" {drift}\n") for line in lines)
        macs["studio2"].run([*route, "delete", "-host", "10.231.0.1"])
        assert any(line.endswith(f" no more: {drift}\n") for line in lines)
        watching.terminate()
        watching.stdout.read()
    wait_until(lambda: all(mac.processes() == [] for mac in macs))
