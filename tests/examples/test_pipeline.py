"""The pipeline gives exactly what one process gives, on the ring and over MPI."""

from __future__ import annotations

import sys

import pytest

from tests.programs import run


@pytest.mark.parametrize(
    ("size", "shares"),
    [
        (2, ["0 to 3", "4 to 7"]),
        (4, ["0 to 1", "2 to 3", "4 to 5", "6 to 7"]),
        (3, ["0 to 1", "2 to 4", "5 to 7"]),
    ],
)
def test_over_the_ring(size: int, shares: list[str]) -> None:
    ended = run(["distributed_launch", "-n", str(size), "examples/pipeline.py"])
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.splitlines()) == sorted(
        [
            *(f"rank {rank} has layers {layers}" for rank, layers in enumerate(shares)),
            f"12 batches through {size} ranks give exactly what one process gives",
        ]
    )


def test_over_mpi() -> None:
    ended = run(["mpirun", "--oversubscribe", "-n", "4", sys.executable, "examples/pipeline.py"])
    assert ended.returncode == 0, ended.stderr
    assert "12 batches through 4 ranks give exactly what one process gives" in ended.stdout


def test_alone() -> None:
    ended = run([sys.executable, "examples/pipeline.py"])
    assert ended.returncode == 0, ended.stderr
    assert "12 batches through 1 ranks give exactly what one process gives" in ended.stdout
