"""N ranks that share out every batch end with the weights of one that has it whole."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.programs import run

STEPS = "60"
SHAPES = {"losses": (60,), "w1": (64, 48), "b1": (48,), "w2": (48, 10), "b2": (10,)}


def load(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path) as saved:
        return {name: saved[name] for name in saved}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes the folder with the run of one rank, once for each library."""

    @cache
    def make(library: str) -> Path:
        return run_alone(library, tmp_path_factory.mktemp(library))

    return make


def run_alone(library: str, folder: Path) -> Path:
    script = f"examples/train_{library}.py"
    ended = run([sys.executable, script, "--steps", STEPS, "--out", str(folder)])
    assert ended.returncode == 0, ended.stderr
    return folder


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.parametrize(
    ("library", "size", "tolerance"),
    [
        ("numpy", 4, 1e-12),
        ("mlx", 2, 1e-5),
        pytest.param("torch", 2, 1e-12, marks=pytest.mark.slow),
        pytest.param("numpy", 2, 1e-12, marks=pytest.mark.slow),
        pytest.param("mlx", 4, 1e-5, marks=pytest.mark.slow),
        pytest.param("torch", 4, 1e-12, marks=pytest.mark.slow),
    ],
)
def test_training_shared_out(
    alone: Callable[[str], Path], library: str, size: int, tolerance: float
) -> None:
    """MLX trains in float32, the others in float64."""
    folder = alone(library)
    picture = folder / "loss.png"
    before = picture.read_bytes()
    script = f"examples/train_{library}.py"
    ended = run(
        ["distributed_launch", "-n", str(size), script, "--steps", STEPS, "--out", str(folder)]
    )
    assert ended.returncode == 0, ended.stderr
    one, many = load(folder / "1-ranks.npz"), load(folder / f"{size}-ranks.npz")
    assert {name: array.shape for name, array in one.items()} == SHAPES
    for name in SHAPES:
        assert np.abs(one[name] - many[name]).max() <= tolerance, name
    assert many["losses"][0] > 2
    assert many["losses"][-10:].mean() < 0.6
    assert f"world size {size}: loss 2." in ended.stdout
    assert "largest difference from the weights of one rank: " in ended.stdout
    assert png_size(picture) == (840, 504)
    assert picture.read_bytes() != before


def test_a_batch_that_can_not_be_shared_out_is_refused(tmp_path: Path) -> None:
    ended = run(
        ["distributed_launch", "-n", "5", "examples/train_numpy.py", "--out", str(tmp_path)]
    )
    assert ended.returncode == 1
    assert "A batch of 96 can not be shared out evenly among 5 ranks." in ended.stderr
    assert list(tmp_path.iterdir()) == []
