"""Jobs on simulated Macs: from cables to a sum, over the cables and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.launch.jobs import wait_until
from tests.simulated_macs import SimulatedMac, SimulatedMacs, pair, ring_of, simulated

IS_POSSIBLE = sys.platform == "linux" and os.geteuid() == 0
pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(not IS_POSSIBLE, reason="simulated Macs need root on Linux"),
]

MIB = 1 << 20

SUM = """
import numpy as np, ring_runtime as ring
world = ring.init(strict=True)
x = ring.all_sum(np.full(16 << 20, world.rank() + 1, np.float32))
print(f"{world.rank()} of {world.size()}: {x.min():g} {x.max():g}")
"""
WAIT = """
import os, signal, sys
print("ready", flush=True)
signal.pause()
"""
MPI_SUM = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
import numpy as np
import ring_runtime as ring
group = ring.init(strict=True)
ours = ring.all_sum(np.full(3, group.rank() + 1.0, np.float16))
line = f"{group.rank()} of {group.size()} on {os.uname().nodename}: {total} {ours.tolist()}\\n"
os.write(1, line.encode())
"""


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with the programs, which every host may read."""
    folder = Path(tempfile.mkdtemp(prefix="programs-"))
    folder.chmod(0o755)
    for name, text in {"sum": SUM, "wait": WAIT, "mpi_sum": MPI_SUM}.items():
        (folder / f"{name}.py").write_text(text)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def ring4(programs: Path) -> Iterator[SimulatedMacs]:
    """Four Macs in a ring, configured, with ``hostfile.json`` in the operator's home."""
    folder = Path(tempfile.mkdtemp(prefix="ring4-"))
    try:
        with simulated(ring_of(4), folder, shared=[programs]) as macs:
            words = ["--hosts", ",".join(macs.names), "--auto-setup", "-o", "hostfile.json"]
            done = macs.run_cli(words)
            assert done.returncode == 0, done.stderr
            yield macs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Started:
    """A launch by the operator whose ranks run."""

    def __init__(self, macs: SimulatedMacs, *words: str, ranks: int) -> None:
        argv = [sys.executable, "-m", "distconfig.launch.cli", *words]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = macs.popen(argv, stdin=subprocess.DEVNULL, **pipes)
        self.out = b""
        while self.out.count(b"ready\n") < ranks:
            data = os.read(self._process.stdout.fileno(), 4096)
            assert data, self._process.communicate()
            self.out += data
        self.began = time.monotonic()

    def end(self) -> tuple[int, str]:
        """Its exit code and what it said, once it has ended."""
        _, err = self._process.communicate(timeout=90)
        self.seconds = time.monotonic() - self.began
        return self._process.returncode, err.decode()

    def kill(self) -> None:
        """SIGKILL, so that it can tell nobody."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


def nothing_left(*macs: SimulatedMac, within_s: float = 5.0) -> None:
    """Fail unless no process and no file of a job is left on the hosts within the time."""
    wait_until(lambda: not any(mac.processes() for mac in macs), within_s)
    for mac in macs:
        found = mac.run(["/usr/bin/find", "/tmp", "-name", "distributed_launch-*"], user="root")
        assert found.stdout == ""


def sent_bytes(macs: SimulatedMacs) -> dict[str, dict[str, int]]:
    return {
        mac.name: {name: count.sent_bytes for name, count in mac.counters().items()} for mac in macs
    }


def test_a_sum_goes_over_the_cables(ring4: SimulatedMacs, programs: Path) -> None:
    before = sent_bytes(ring4)
    done = ring4.run_launch(["--hostfile", "hostfile.json", str(programs / "sum.py")])
    after = sent_bytes(ring4)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"{rank} of 4: 10 10" for rank in range(4)]
    for host in ring4.names:
        grown = {name: after[host][name] - before[host][name] for name in ("en0", "en2", "en3")}
        # Each rank sends 2 x 3/4 of its 64 MiB, half of it each way around.
        assert grown["en2"] > 47 * MIB
        assert grown["en3"] > 47 * MIB
        assert grown["en0"] < (grown["en2"] + grown["en3"]) / 100
    nothing_left(*ring4)


def test_a_host_whose_lan_is_down(ring4: SimulatedMacs, programs: Path) -> None:
    words = ("--hostfile", "hostfile.json", "--lost-after", "3", str(programs / "wait.py"))
    job = Started(ring4, *words, ranks=4)
    lost = ring4["studio3"]
    lost.lan_down()
    try:
        code, said = job.end()
        assert code == 255
        assert re.match(
            "distributed_launch: rank 2 on studio3 was lost: nothing was heard of it for [3-9] s; "
            "3 others were ended",
            said,
        ), said
        assert job.seconds < 25  # and not the usual minute
        nothing_left(*ring4, within_s=25.0)
    finally:
        lost.lan_up()


def test_a_connection_that_is_cut(ring4: SimulatedMacs, programs: Path) -> None:
    job = Started(ring4, "--hostfile", "hostfile.json", str(programs / "wait.py"), ranks=4)
    ring4["studio2"].drop_ssh()
    code, said = job.end()
    assert code == 255
    assert "rank 1 on studio2 was lost: the connection to its agent ended" in said
    nothing_left(*ring4)


def test_a_launcher_that_is_killed(ring4: SimulatedMacs, programs: Path) -> None:
    job = Started(ring4, "--hostfile", "hostfile.json", str(programs / "wait.py"), ranks=4)
    job.kill()
    nothing_left(*ring4)


def test_a_cable_that_was_moved_is_told_before_any_rank_runs(
    ring4: SimulatedMacs, programs: Path
) -> None:
    """An old hostfile: two hosts no longer have the addresses it lists."""
    hosts = json.loads((ring4.home / "hostfile.json").read_text())
    first, second = hosts[0]["ips"], hosts[1]["ips"]
    hosts[0]["ips"], hosts[1]["ips"] = second, first
    (ring4.home / "old.json").write_text(json.dumps(hosts))
    done = ring4.run_launch(["--hostfile", "old.json", str(programs / "sum.py")])
    assert (done.returncode, done.stdout) == (125, "")
    assert [line for line in done.stderr.splitlines() if not line.startswith("      ")] == [
        "distributed_launch: nothing was started because of 2 problems:",
        f"  studio1: {second[0]} is not an address of this host",
        f"  studio2: {first[0]} is not an address of this host",
    ]


def test_an_address_that_the_kernel_refuses_to_reach(ring4: SimulatedMacs) -> None:
    """What macOS does to a program without the Local Network permission."""
    mac = ring4["studio1"]
    route = ["nsenter", f"--target={mac.pid}", "--net", "ip", "route"]
    subprocess.run([*route, "add", "unreachable", "203.0.113.0/30"], check=True)
    try:
        request = {
            "cwd": "/", "cwd_is_asked": False, "python": None, "program": ["python", "-m"],
            "path": None, "binds": [], "reach": [["203.0.113.1", 9], ["127.0.0.1", 9]],
            "mpirun": False, "ssh_to": [],
        }  # fmt: skip
        text = "import json, sys; from distconfig.launch.agent_checks import answer_checks as a; "
        text += "print(json.dumps(a(json.load(sys.stdin))))"
        env = {"PYTHONPATH": str(Path(__file__).parents[2])}
        done = mac.run([sys.executable, "-c", text], env=env, input=json.dumps(request))
        problems = json.loads(done.stdout)["problems"]
        assert [(each["kind"], each["address"]) for each in problems] == [
            ("unreachable", "203.0.113.1")
        ]
    finally:
        subprocess.run([*route, "del", "unreachable", "203.0.113.0/30"], check=True)


def run_shell(mac: SimulatedMac, text: str) -> str:
    """What a shell of the host's user prints."""
    done = mac.run(["/bin/sh", "-c", text])
    assert done.returncode == 0, done.stderr
    return done.stdout


def introduce(mac: SimulatedMac, other: SimulatedMac) -> None:
    """Let the user of a host know another by its name, as a key pair and settings of ssh do."""
    config = f"Host {other.name}\\n HostName {other.lan_address}\\n StrictHostKeyChecking no\\n"
    run_shell(mac, "mkdir -p ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
    run_shell(mac, f"printf '{config}' >~/.ssh/config; chmod 600 ~/.ssh/config")


def test_mpi_over_two_hosts(programs: Path, tmp_path: Path) -> None:
    words = ["--hosts", "studio1,studio2", "--backend", "mpi"]
    words += ["--mpi-arg", "--mca btl_tcp_if_include en0", str(programs / "mpi_sum.py")]
    with simulated(pair(), tmp_path, shared=[programs]) as macs:
        one, two = macs
        introduce(one, two)
        refused = macs.run_launch(words)
        assert refused.returncode == 125
        assert (
            "studio1: mpirun would start ranks over ssh, and from here ssh studio2 fails: "
        ) in refused.stderr
        assert "Permission denied" in refused.stderr
        key = run_shell(one, "cat ~/.ssh/id_ed25519.pub")
        accepted = two.run(["/bin/sh", "-c", "cat >>~/.ssh/authorized_keys"], input=key)
        assert accepted.returncode == 0, accepted.stderr
        done = macs.run_launch(words)
        assert done.returncode == 0, done.stderr
        lines = [
            "0 of 2 on studio1: 3 [3.0, 3.0, 3.0]",
            "1 of 2 on studio2: 3 [3.0, 3.0, 3.0]",
        ]
        assert sorted(done.stdout.splitlines()) == lines
        nothing_left(*macs)


@pytest.mark.slow
def test_sixteen_hosts_start_within_eight_seconds(programs: Path, tmp_path: Path) -> None:
    with simulated(ring_of(16), tmp_path, shared=[programs]) as macs:
        hosts = [{"ssh": mac.name, "ips": [mac.lan_address]} for mac in macs]
        (macs.home / "h.json").write_text(json.dumps(hosts))
        seconds: list[float] = []
        while len(seconds) < 5 and min(seconds, default=8.0) >= 8.0:
            began = time.monotonic()
            done = macs.run_launch(["--hostfile", "h.json", "--", "sh", "-c", "echo $MLX_RANK"])
            seconds.append(time.monotonic() - began)
            assert done.returncode == 0, done.stderr
            assert sorted(map(int, done.stdout.split())) == list(range(16))
        nothing_left(*macs)
        assert min(seconds) < 8.0
