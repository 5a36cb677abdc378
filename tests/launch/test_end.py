"""The end of a job: whose exit code is ours, what is said, and that nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended, wait_until

Run = Callable[..., Ended]
Script = Callable[..., str]
Until = Callable[[int], None]

WAIT_FOR_EVER = "\nready(); signal.pause()\n"


def test_all_is_well(run: Run) -> None:
    ended = run("-n", "3", "true")
    assert (ended.code, ended.out, ended.err) == (0, b"", b"")


@pytest.mark.parametrize(
    ("death", "code", "said"),
    [
        ("sys.exit(7)", 7, "exited with code 7; 3 others were ended"),
        (
            r'sys.exit("one\ntwo \x1b[2J")',
            1,
            "exited with code 1; 3 others were ended; its last lines:\n    one\n    two \\x1b[2J",
        ),
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            139,
            "was ended by signal 11 (SIGSEGV); 3 others were ended",
        ),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            137,
            "was ended by signal 9 (SIGKILL); 3 others were ended",
        ),
    ],
)
def test_the_first_failure_ends_the_others_and_gives_the_code(
    death: str, code: int, said: str, run: Run, script: Script
) -> None:
    ended = run("-n", "4", script(f"if rank == 2: {death}{WAIT_FOR_EVER}"))
    assert ended.code == code
    assert ended.text.endswith(f"distributed_launch: rank 2 on 127.0.0.1 {said}\n")


def test_a_rank_that_ends_well_ends_nobody_else(run: Run, script: Script) -> None:
    name = script(
        """
pathlib.Path(f"pid-{rank}.part").write_text(str(os.getpid()))
os.rename(f"pid-{rank}.part", f"pid-{rank}")
if rank == 1: sys.exit(0)
while not os.path.exists("pid-1"): pass
other = pathlib.Path("pid-1").read_text()
while os.path.exists(f"/proc/{other}/exe"): pass
time.sleep(0.3)
say("still here")
"""
    )
    ended = run("-n", "3", name)
    assert (ended.code, ended.out) == (0, b"still here\n" * 2)


def test_first_in_time_is_first(run: Run, script: Script) -> None:
    """Rank 0 fails because rank 1 did: it is told to end, and exits with another code."""
    name = script(
        """
if rank == 0:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(5))
    ready()
    while True: signal.pause()
while not os.path.exists("ready-0"): pass
sys.exit(3)
"""
    )
    ended = run("-n", "2", name)
    assert ended.code == 3
    assert "rank 1 on 127.0.0.1 exited with code 3" in ended.text


def test_a_rank_that_lost_its_peer_is_not_blamed(run: Run, script: Script) -> None:
    """Rank 0 is gone first, but says why; the one it speaks of takes longer to die."""
    name = script(
        """
class PeerLost(Exception): pass
PeerLost.__module__ = "ring_runtime.errors"
pathlib.Path(f"pid-{rank}.part").write_text(str(os.getpid()))
os.rename(f"pid-{rank}.part", f"pid-{rank}")
if rank == 0:
    raise PeerLost("rank 1 closed its connection")
while not os.path.exists("pid-0"): pass
other = pathlib.Path("pid-0").read_text()
while os.path.exists(f"/proc/{other}/exe"): pass
os._exit(9)  # the launcher waits half a second for us
"""
    )
    ended = run("-n", "2", name)
    assert ended.code == 9
    assert "rank 1 on 127.0.0.1 exited with code 9" in ended.text


def test_a_victim_alone_is_blamed_after_a_moment(run: Run, script: Script) -> None:
    name = script(
        """
class PeerLost(Exception): pass
if rank == 0: raise PeerLost("rank 1 is silent")
signal.pause()
"""
    )
    ended = run("-n", "2", name)
    assert ended.code == 1
    assert "rank 0 on 127.0.0.1 exited with code 1; the other rank was ended" in ended.text


def test_ranks_that_ignore_term_are_killed_after_the_grace(run: Run, script: Script) -> None:
    name = script(
        """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready()
if rank == 1:
    while not os.path.exists("ready-0"): pass
    sys.exit(4)
while True: signal.pause()
"""
    )
    ended = run("-n", "2", name)
    assert ended.code == 4
    assert ended.seconds >= 3.0


def test_a_rank_has_time_to_clean_up(run: Run, script: Script, tmp_path: Path) -> None:
    name = script(
        """
def clean_up(*_):
    say("cleaned up")
    sys.exit(0)
signal.signal(signal.SIGTERM, clean_up)
ready()
if rank == 1:
    while not os.path.exists("ready-0"): pass
    sys.exit(4)
while True: signal.pause()
"""
    )
    ended = run("-n", "2", name)
    assert (ended.code, ended.out) == (4, b"cleaned up\n")


def test_children_of_ranks_go_with_them(run: Run, script: Script) -> None:
    name = script(
        """
for _ in range(2): subprocess.Popen(["sleep", "1000"])
ready()
while rank == 1 and not os.path.exists("ready-0"): pass
if rank == 1: os.kill(os.getpid(), signal.SIGKILL)
signal.pause()
"""
    )
    assert run("-n", "2", name).code == 137


def test_what_a_rank_leaves_running_is_ended(run: Run, script: Script) -> None:
    name = script('subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)')
    assert run("-n", "2", name).code == 0


def test_what_a_rank_leaves_writing_is_heard_for_a_moment(run: Run) -> None:
    """It writes once the rank has gone and the agent has noticed."""
    rank_is_there = "kill -0 $$ 2>/dev/null"
    late = f"(while {rank_is_there}; do sleep 0.01; done; echo late)"
    ended = run("--", "bash", "-c", f"{late} & echo early")
    assert (ended.code, ended.out) == (0, b"early\nlate\n")


def test_a_pipe_held_by_a_process_that_left_the_group_holds_up_nothing(
    launch: Launch, script: Script
) -> None:
    job = launch(script('subprocess.Popen(["sleep", "1000"], start_new_session=True); say("x")'))
    ended = job.end()
    assert (ended.code, ended.out) == (0, b"x\n")
    assert list(job.processes().values()) == ["sleep 1000 "]  # it asked to be left alone


@pytest.mark.parametrize(
    ("word", "mode", "code", "said"),
    [
        ("nothing-of-this-name", None, 127, "there is no program nothing-of-this-name"),
        ("./there", 0o644, 126, "./there is not an executable file"),
        ("./folder/there", None, 127, "there is no program ./folder/there"),
    ],
)
def test_a_program_that_can_not_be_started(
    word: str, mode: int | None, code: int, said: str, run: Run, tmp_path: Path
) -> None:
    if mode is not None:
        (tmp_path / word).write_text("#!/bin/sh\n")
        (tmp_path / word).chmod(mode)
    ended = run("-n", "2", word)
    assert ended.code == code
    assert f"127.0.0.1: {said}\n" in ended.text


def test_a_program_that_only_the_kernel_refuses(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "odd").chmod(0o755)
    ended = run("-n", "2", "./odd")
    assert ended.code == 126
    assert "rank 0 on 127.0.0.1 could not be started: ./odd: Exec format error" in ended.text


def test_one_rank_that_never_starts_ends_the_rest(run: Run, tmp_path: Path) -> None:
    ended = run("-n", "3", "--no-check", "--", "./missing")
    assert ended.code == 127
    assert ended.text.startswith(
        "distributed_launch: rank 0 on 127.0.0.1 could not be started: "
        "./missing: No such file or directory"
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_to_the_launcher_ends_all(
    number: signal.Signals, code: int, launch: Launch, script: Script, until_ready: Until
) -> None:
    job = launch("-n", "3", script(WAIT_FOR_EVER))
    until_ready(3)
    job.send(number)
    ended = job.end()
    job.leaves_nothing()
    assert (ended.code, ended.err) == (code, b"")


def test_killing_the_launcher_ends_all(launch: Launch, script: Script, until_ready: Until) -> None:
    job = launch("-n", "3", script(f"subprocess.Popen(['sleep', '1000']){WAIT_FOR_EVER}"))
    until_ready(3)
    job.send(signal.SIGKILL)
    job.leaves_nothing()


def test_killing_the_launcher_ends_ranks_that_ignore_term(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    name = script("signal.signal(signal.SIGTERM, signal.SIG_IGN); ready()\nwhile True: say('y')")
    job = launch("-n", "2", name, stdout=os.open("/dev/null", os.O_WRONLY))
    until_ready(2)
    job.send(signal.SIGKILL)
    job.leaves_nothing()


def test_killing_the_launcher_before_it_has_started_anything(launch: Launch) -> None:
    job = launch("-n", "2", "sleep", "1000")
    wait_until(lambda: len(job.processes()) > 1)
    job.send(signal.SIGKILL)
    job.leaves_nothing()


def test_interrupting_twice_kills_at_once(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    name = script(
        """
signal.signal(signal.SIGTERM, lambda *_: pathlib.Path(f"told-{rank}").touch())
ready()
while True: signal.pause()
"""
    )
    program = "import sys, distconfig.launch.agent_ranks as ranks; ranks.GRACE_S = 60.0; "
    program += (
        "sys.argv[:] = sys.argv[3:]; from distconfig.launch.cli import main; sys.exit(main())"
    )
    job = launch("-n", "2", name, wrapper=(sys.executable, "-c", program))
    until_ready(2)
    job.send(signal.SIGINT)
    folder = Path(f"/proc/{job.process.pid}/cwd").readlink()
    wait_until(lambda: len(list(folder.glob("told-*"))) == 2)
    again = job.send(signal.SIGINT)
    ended = job.end()
    job.leaves_nothing()
    assert ended.code == 130
    assert job.began + ended.seconds - again < 30  # and not the sixty seconds of grace


def test_an_interrupt_before_any_rank_runs(launch: Launch, tmp_path: Path) -> None:
    fifo = tmp_path / "h.json"
    os.mkfifo(fifo)
    job = launch("--hostfile", "h.json", "true")
    held = []

    def is_reading() -> bool:
        with contextlib.suppress(OSError):
            held.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(held)

    wait_until(is_reading)
    job.send(signal.SIGINT)
    ended = job.end()
    os.close(held[0])
    job.leaves_nothing()
    assert (ended.code, ended.err) == (130, b"")


def test_a_stopped_job_goes_on_where_it_was(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    """Ctrl-Z stops the ranks too, and however long it lasts nobody takes us for dead."""
    name = script('ready(); sys.stdin.readline(); say("went on")')
    job = launch("-n", "2", "--lost-after", "2", name, stdin=-1)
    until_ready(2)

    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    job.send(signal.SIGTSTP)
    ranks = [pid for pid, words in job.processes().items() if name in words]
    wait_until(lambda: [state(pid) for pid in ranks].count("T") == 3)
    began = job.send(signal.SIGTSTP)
    wait_until(lambda: time.monotonic() - began > 4.5)
    job.send(signal.SIGCONT)
    ended = job.end(b"x\n")
    job.leaves_nothing()
    assert (ended.code, ended.out) == (0, b"went on\nwent on\n")


def test_sixty_four_ranks(run: Run) -> None:
    ended = run("-n", "64", "--tag-output", "--", "sh", "-c", "echo $MLX_RANK of $MLX_WORLD_SIZE")
    assert (ended.code, ended.text) == (0, "")
    lines = sorted(ended.out.decode().splitlines())
    assert lines == [f"[{rank:2}] {rank} of 64" for rank in range(64)]


def test_sixty_four_ranks_end_with_the_first_that_fails(run: Run) -> None:
    ended = run("-n", "64", "--", "sh", "-c", "[ $MLX_RANK = 50 ] && exit 3; sleep 1000")
    assert ended.code == 3
    assert ended.text == (
        "distributed_launch: rank 50 on 127.0.0.1 exited with code 3; 63 others were ended\n"
    )
