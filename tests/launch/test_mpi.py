"""Jobs of the MPI backend on this machine, through a real mpirun."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended

Run = Callable[..., Ended]
Until = Callable[[int], None]

RANK = 'rank = int(os.environ["OMPI_COMM_WORLD_RANK"])\n'


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Writes a Python script whose ranks know themselves from MPI."""

    def write(text: str) -> str:
        head = "import os, pathlib, signal, sys\n" + RANK
        head += 'def ready(): pathlib.Path(f"ready-{rank}").touch()\n'
        (tmp_path / "program.py").write_text(head + text)
        return "program.py"

    return write


def test_a_sum_over_four_ranks(run: Run, program: Callable[[str], str]) -> None:
    name = program(
        """
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
names = [name for name in os.environ if name in ("MLX_RANK", "MLX_HOSTFILE", "RING_SECRET")]
os.write(1, f"{world.rank} {world.size} {total} {os.environ['A']} {names}\\n".encode())
"""
    )
    ended = run("--backend", "mpi", "-n", "4", "--env", "A=b c", name)
    assert ended.code == 0
    assert sorted(ended.out.decode().splitlines()) == [f"{rank} 4 10 b c []" for rank in range(4)]


def test_arguments_for_mpirun(run: Run, program: Callable[[str], str]) -> None:
    name = program('os.write(1, os.environ["A"].encode())')
    ended = run("--backend", "mpi", "--mpi-arg", "-x 'A=b c'", name)
    assert (ended.code, ended.out) == (0, b"b c")


def test_the_code_of_a_rank_is_ours(run: Run, program: Callable[[str], str]) -> None:
    ended = run("--backend", "mpi", "-n", "2", program("if rank: sys.exit(7)\nsignal.pause()"))
    assert ended.code == 7
    assert "distributed_launch: mpirun on 127.0.0.1 exited with code 7" in ended.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_launcher_ends_mpirun_and_its_ranks(
    number: signal.Signals, launch: Launch, program: Callable[[str], str], until_ready: Until
) -> None:
    job = launch("--backend", "mpi", "-n", "2", program("ready(); signal.pause()"))
    until_ready(2)
    job.send(number)
    job.leaves_nothing()
    assert job.end().code == (-9 if number == signal.SIGKILL else 130)


def test_logs_are_those_of_mpirun(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    name = program('os.write(1, b"out\\n")')
    assert run("--backend", "mpi", "--log-dir", "logs", name).code == 0
    logs = {path.name: path.read_bytes() for path in (tmp_path / "logs").iterdir()}
    assert logs == {"mpirun.stdout": b"out\n", "mpirun.stderr": b""}


def test_no_mpirun(run: Run, tmp_path: Path) -> None:
    """Another Python, with no mpirun beside it, and none on PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    words = ("--backend", "mpi", "--python", f"{tmp_path}/bin/python", "x.py")
    (tmp_path / "x.py").touch()
    ended = run(*words, env={"PATH": "/nowhere"})
    assert ended.code == 125
    assert "127.0.0.1: there is no mpirun beside Python, on PATH" in ended.text
    ended = run("--no-check", *words, env={"PATH": "/nowhere"})
    assert (ended.code, ended.text) == (
        125,
        "distributed_launch: there is no mpirun on 127.0.0.1\n",
    )


def test_an_mpirun_that_does_not_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "bin" / "mpirun").write_text("#!/bin/sh\necho no library; exit 127\n")
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    (tmp_path / "x.py").touch()
    ended = run("--backend", "mpi", "--python", f"{tmp_path}/bin/python", "x.py")
    assert ended.code == 125
    assert f"127.0.0.1: {tmp_path}/bin/mpirun --version fails: no library" in ended.text
