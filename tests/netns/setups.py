"""What the tests of setup and teardown share: running them, and reading what hosts are."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.netns.steps import wait_until
from tests.simulated_macs import SimulatedMac, SimulatedMacs

__all__ = [
    "auto_setup",
    "await_end_of_processes",
    "carried_by",
    "journals",
    "states",
    "stop_answering",
    "teardown",
]

Done = subprocess.CompletedProcess[str]


def auto_setup(macs: SimulatedMacs, *options: str, hosts: Sequence[str] = ()) -> Done:
    """``distributed_config --auto-setup`` over these hosts, all of them by default."""
    names = ",".join(hosts or macs.names)
    return macs.run_cli(["--hosts", names, "--auto-setup", *options])


def teardown(macs: SimulatedMacs, *options: str, hosts: Sequence[str] = ()) -> Done:
    """``distributed_config teardown`` over these hosts, all of them by default."""
    return macs.run_cli(["teardown", "--hosts", ",".join(hosts or macs.names), *options])


def states(macs: SimulatedMacs) -> dict[str, str]:
    return {mac.name: mac.state() for mac in macs}


def journals(macs: SimulatedMacs) -> list[Path]:
    """The journals, and whatever else is in their folder."""
    folder = macs.home / ".local/state/distributed_config/hosts"
    return sorted(folder.iterdir()) if folder.exists() else []


def await_end_of_processes(macs: SimulatedMacs) -> None:
    """Wait until no process is left that a setup or teardown has started on a host.

    Not for so long that a dead-man that was not called off would have ended by itself.
    """
    wait_until(lambda: not any(_processes_left(mac) for mac in macs), 30)


def _processes_left(mac: SimulatedMac) -> list[str]:
    listed = mac.run(["/bin/ps", "-axww", "-o", "command="]).stdout.splitlines()
    return [line for line in listed if "dead-man" in line or line.startswith(("sleep", "/bin/sh"))]


def carried_by(macs: SimulatedMacs) -> dict[tuple[str, str], int]:
    """Bytes that each interface of each host has sent and received."""
    return {
        (mac.name, name): count.sent_bytes + count.received_bytes
        for mac in macs
        for name, count in mac.counters().items()
    }


def stop_answering(mac: SimulatedMac) -> None:
    """Have a host answer no ping; its sshd must not be on TCP port 22 either.

    A setup then waits for the answer with all its steps run, in the middle of everything.
    """
    setting = "/proc/sys/net/ipv4/icmp_echo_ignore_all"
    done = mac.run(["/bin/sh", "-c", f"echo 1 > {setting}"], user="root")
    assert (done.returncode, done.stderr) == (0, "")
