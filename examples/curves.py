"""Runs kept in a folder, and a picture of how their losses fell."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[np.float64]


def keep_run(folder: Path, size: int, losses: list[float], weights: dict[str, Array]) -> str:
    """Save this run beside earlier ones with other numbers of ranks, and draw all of them.

    Returns:
        How far the final weights are from those of the run alone, if there was one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{size}-ranks.npz", losses=np.array(losses), **weights)
    _draw(folder)
    alone = folder / "1-ranks.npz"
    if size == 1 or not alone.exists():
        return f"Run it on several ranks too, and see both curves in {folder / 'loss.png'}"
    with np.load(alone) as before:
        largest = max(float(np.abs(before[name] - weights[name]).max()) for name in weights)
    return f"largest difference from the weights of one rank: {largest:.2g}"


def _draw(folder: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    runs = sorted(folder.glob("*-ranks.npz"), key=lambda path: int(path.name.split("-")[0]))
    for index, path in enumerate(runs):
        ranks = int(path.name.split("-")[0])
        with np.load(path) as run:
            losses = run["losses"]
        # Curves that agree lie on each other: a broad pale one below, thin dashes above.
        axes.plot(
            np.arange(1, len(losses) + 1),
            losses,
            label="1 rank, whole batches" if ranks == 1 else f"{ranks} ranks",
            linewidth=7 if index == 0 else 1.5,
            alpha=0.4 if index == 0 else 1,
            linestyle="-" if index == 0 else (2 * index, (4, 4)),
        )
    axes.set(xlabel="step", ylabel="loss (cross-entropy of a batch)", ylim=(0, None))
    axes.set_title("Handwritten digits: the same training, shared out")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(folder / "loss.png", dpi=120)
    plt.close(figure)
