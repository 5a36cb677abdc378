"""Standard input: given to every rank, at each one's pace; closed, file, pipe, terminal."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended, Job, wait_until

Run = Callable[..., Ended]
Script = Callable[..., str]
Until = Callable[[int], None]


def test_a_pipe_is_given_to_every_rank(launch: Launch) -> None:
    job = launch("-n", "3", "cat", stdin=subprocess.PIPE)
    ended = job.end(b"one\ntwo\n")
    job.leaves_nothing()
    assert sorted(ended.out.splitlines()) == [b"one"] * 3 + [b"two"] * 3


def test_a_file_is_given_whole(launch: Launch, tmp_path: Path) -> None:
    data = random.Random(6).randbytes(10 << 20)
    (tmp_path / "data").write_bytes(data)
    with (tmp_path / "data").open("rb") as file:
        job = launch("-n", "2", "--", "sha256sum", stdin=file.fileno())
        ended = job.end()
    job.leaves_nothing()
    assert ended.out.decode() == f"{hashlib.sha256(data).hexdigest()}  -\n" * 2


def cpu_seconds(job: Job) -> float:
    """What all processes of a job have used so far."""
    ticks = 0
    for pid in job.processes():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


CLOSED = ("sh", "-c", 'exec "$@" <&-', "sh")
EMPTY = ("sh", "-c", 'exec "$@" </dev/null', "sh")


@pytest.mark.parametrize("wrapper", [CLOSED, EMPTY], ids=["closed", "empty"])
def test_no_input_is_an_end_and_costs_nothing(
    wrapper: tuple[str, ...], launch: Launch, script: Script, until_ready: Until
) -> None:
    name = script('assert sys.stdin.read() == ""; ready(); signal.pause()')
    job = launch("-n", "2", name, wrapper=wrapper)
    until_ready(2)
    began, before = time.monotonic(), cpu_seconds(job)
    wait_until(lambda: time.monotonic() - began > 2.0)
    assert cpu_seconds(job) - before < 0.5
    job.send(signal.SIGTERM)
    ended = job.end()
    job.leaves_nothing()
    assert (ended.code, ended.err) == (143, b"")


def test_a_rank_that_reads_nothing_holds_up_nobody(launch: Launch, script: Script) -> None:
    """Rank 1 never reads; rank 0 still gets twenty times what pipes and windows hold."""
    name = script(
        """
import hashlib
if rank == 0:
    say(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())
    pathlib.Path("over").touch()
while not os.path.exists("over"): pass
"""
    )
    data = random.Random(7).randbytes(20 << 20)
    job = launch("-n", "2", name, stdin=subprocess.PIPE)
    ended = job.end(data)
    job.leaves_nothing()
    assert (ended.code, ended.out.decode().strip()) == (0, hashlib.sha256(data).hexdigest())


def test_input_that_nobody_reads_is_not_swallowed(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    """An endless source is stopped by a full window, not read into memory or onto the disk."""
    job = launch("-n", "2", script("ready(); signal.pause()"), stdin=subprocess.PIPE)
    until_ready(2)
    assert job.process.stdin is not None
    fd = job.process.stdin.fileno()
    os.set_blocking(fd, False)
    written = 0
    stuck_since: list[float] = []

    def is_stuck() -> bool:
        nonlocal written
        try:
            written += os.write(fd, b"y" * 65536)
            stuck_since.clear()
        except BlockingIOError:
            stuck_since.append(time.monotonic())
        return bool(stuck_since) and stuck_since[-1] - stuck_since[0] > 1.0

    wait_until(is_stuck)
    assert written < 4 << 20
    job.send(signal.SIGTERM)
    assert job.end().code == 143
    job.leaves_nothing()


def test_a_rank_that_closes_its_input(launch: Launch) -> None:
    job = launch("-n", "2", "--", "sh", "-c", "exec <&-; echo x", stdin=subprocess.PIPE)
    ended = job.end(b"y" * (1 << 20))
    job.leaves_nothing()
    assert (ended.code, ended.out) == (0, b"x\nx\n")
