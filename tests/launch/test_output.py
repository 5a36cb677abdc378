"""What ranks write: apart, exact, in whole lines, and never more than memory takes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended, Job, wait_until

Run = Callable[..., Ended]
Script = Callable[..., str]
Until = Callable[[int], None]


def test_standard_output_and_error_stay_apart(run: Run, script: Script) -> None:
    name = script('os.write(1, b"out\\n"); os.write(2, b"err\\n"); os.write(1, b"more\\n")')
    ended = run("-n", "1", name)
    assert (ended.out, ended.err) == (b"out\nmore\n", b"err\n")


def test_ten_mebibytes_of_anything_arrive_unchanged(run: Run, tmp_path: Path) -> None:
    data = random.Random(5).randbytes(10 << 20)
    (tmp_path / "data").write_bytes(data)
    ended = run("-n", "2", "--", "sh", "-c", '[ "$MLX_RANK" = 0 ] || cat data')
    assert ended.code == 0
    assert hashlib.sha256(ended.out).digest() == hashlib.sha256(data).digest()


def test_the_last_bytes_of_a_rank_that_is_killed_are_not_lost(run: Run, script: Script) -> None:
    name = script('os.write(1, b"x" * 60000); os.kill(os.getpid(), signal.SIGKILL)')
    ended = run("-n", "1", name)
    assert (ended.code, len(ended.out)) == (137, 60000)


def test_lines_of_different_ranks_are_never_mixed(run: Run, script: Script) -> None:
    name = script('for _ in range(400): os.write(1, b"%d" % rank * 99 + b"\\n")')
    ended = run("-n", "4", name)
    lines = ended.out.decode().splitlines()
    assert sorted(lines) == [str(rank) * 99 for rank in range(4) for _ in range(400)]


def test_a_rank_that_ends_without_a_newline(run: Run, script: Script) -> None:
    name = script('os.write(1, b"rank %d" % rank)')
    ended = run("-n", "3", name)
    assert sorted(ended.out.split(b"\n")) == [b"rank 0", b"rank 1", b"rank 2"]


def test_tags_without_a_terminal_have_no_colour(run: Run, script: Script) -> None:
    name = script('os.write(1, b"a\\nb\\n"); os.write(2, b"c\\n")')
    ended = run("-n", "1", "--tag-output", name)
    assert (ended.out, ended.err) == (b"[0] a\n[0] b\n", b"[0] c\n")


def read_until(job: Job, wanted: bytes) -> bytes:
    """What the job writes, up to and with these bytes."""
    assert job.process.stdout is not None
    got = b""
    while not got.endswith(wanted):
        data = os.read(job.process.stdout.fileno(), 1)
        assert data, f"the end came after {got!r}"
        got += data
    return got


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_prompt_appears_and_can_be_answered(ranks: int, launch: Launch, script: Script) -> None:
    name = script(
        """
say("rank", rank)
if rank == 0:
    sys.stdout.write("name? "); sys.stdout.flush()
    say("hello", sys.stdin.readline().strip())
"""
    )
    job = launch("-n", str(ranks), name, stdin=subprocess.PIPE)
    before = read_until(job, b"name? ")
    ended = job.end(b"ada\n")
    assert ended.code == 0
    lines = (before + ended.out).splitlines()
    assert sorted(lines) == [b"name? hello ada", b"rank 0", b"rank 1"][: ranks + 1]


def test_whoever_writes_after_a_prompt_begins_on_a_new_line(launch: Launch, script: Script) -> None:
    name = script(
        """
if rank == 1:
    say("begin")
    while not os.path.exists("go"): pass
    say("not my line")
else:
    while not os.path.exists("begun"): pass
    sys.stdout.write("name? "); sys.stdout.flush()
    sys.stdin.read()
"""
    )
    job = launch("-n", "2", name, stdin=subprocess.PIPE)
    folder = Path(f"/proc/{job.process.pid}/cwd").readlink()
    read_until(job, b"begin\n")
    (folder / "begun").touch()
    read_until(job, b"name? ")
    (folder / "go").touch()
    assert read_until(job, b"line\n") == b"\nnot my line\n"
    assert job.end(b"").code == 0


def test_a_reader_that_leaves_ends_the_job(launch: Launch, script: Script) -> None:
    name = script('while True: say("y")')
    job = launch("-n", "2", name)
    read_until(job, b"y\n")
    assert job.process.stdout is not None
    job.process.stdout.close()
    job.process.stdout = None
    ended = job.end()
    job.leaves_nothing()
    assert (ended.code, ended.err) == (128 + signal.SIGPIPE, b"")


def peak_memory_mib(pid: int) -> float:
    """The most memory a process has had resident; 0 once it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].partition("kB")[0] or 0) / 1024


def test_a_slow_reader_holds_the_rank_back(launch: Launch, script: Script, tmp_path: Path) -> None:
    """A rank that writes for ever gets stuck, and the launcher and its agent stay small."""
    name = script(
        """
chunk = b"x" * 65536
written = 0
while True:
    written += os.write(1, chunk)
    pathlib.Path("written.part").write_text(str(written))
    os.rename("written.part", "written")
"""
    )
    job = launch("-n", "1", name)
    progress = tmp_path / "written"
    wait_until(progress.exists)
    seen = [0, 0.0]

    def is_stuck() -> bool:
        written, now = int(progress.read_text()), time.monotonic()
        if written != seen[0]:
            seen[:] = [written, now]
        return now - seen[1] > 1.0

    wait_until(is_stuck)
    assert seen[0] < 4 << 20
    assert peak_memory_mib(job.process.pid) < 100
    job.send(signal.SIGTERM)
    reader = threading.Thread(target=job.end)
    reader.start()
    reader.join()
    assert job.process.returncode == 143
    job.leaves_nothing()


def test_a_reader_that_reads_no_more_does_not_keep_a_launcher_told_to_end(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    job = launch("-n", "1", script("ready()\nwhile True: os.write(1, b'x' * 65536)"))
    until_ready(1)
    job.send(signal.SIGTERM)
    wait_until(lambda: job.process.poll() is not None, 60.0)
    assert job.process.returncode == 143
    job.leaves_nothing()


def test_others_are_heard_while_one_is_held_back(run: Run, script: Script) -> None:
    """Credit is per stream: megabytes of one rank do not keep the exit of another from us."""
    name = script(
        """
if rank == 0:
    while True: os.write(1, b"x" * 65535 + b"\\n")
sys.exit(3)
"""
    )
    assert run("-n", "2", name).code == 3


@pytest.mark.slow
def test_a_gibibyte_through_a_slow_terminal(launch: Launch, script: Script) -> None:
    name = script(
        """
line = b"0123456789abcde\\n" * 4096
for _ in range((1 << 30) // len(line)): os.write(1, line)
"""
    )
    job = launch("-n", "1", name)
    assert job.process.stdout is not None
    pause = threading.Event()
    got, peak, digest = 0, 0.0, hashlib.sha256()
    while data := os.read(job.process.stdout.fileno(), 1 << 16):
        digest.update(data)
        got += len(data)
        if got % (1 << 23) < len(data):
            pause.wait(0.05)
            peak = max(peak, peak_memory_mib(job.process.pid))
    assert job.end().code == 0
    assert got == 1 << 30
    assert digest.digest() == hashlib.sha256(b"0123456789abcde\n" * (1 << 26)).digest()
    assert peak < 100
