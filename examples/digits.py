"""The 1797 handwritten digits that scikit-learn ships, cut into batches for several ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

BATCH = 96  # Whatever divides it can be the number of ranks.


def digits() -> tuple[Array, Labels]:
    """Images as rows of 64 numbers from 0 to 1, and which digit each of them is."""
    images, labels = load_digits(return_X_y=True)
    return images / 16.0, labels.astype(np.int64)


def shares(steps: int, rank: int, size: int) -> Iterator[tuple[Array, Labels]]:
    """For each step this rank's part of the batch; together the ranks have the whole of it.

    All parts have the same length, so that the mean of the ranks' gradients is the
    gradient of the whole batch.
    """
    if BATCH % size:
        raise SystemExit(f"A batch of {BATCH} can not be shared out evenly among {size} ranks.")
    images, labels = digits()
    generator = np.random.default_rng(0)
    for _ in range(steps):
        batch = generator.choice(len(images), BATCH, replace=False)
        mine = batch[rank * BATCH // size : (rank + 1) * BATCH // size]
        yield images[mine], labels[mine]


def initial_weights() -> dict[str, Array]:
    """The weights of a network of 64, 48 and 10 units, the same on every rank."""
    generator = np.random.default_rng(1)
    return {
        "w1": generator.normal(size=(64, 48)) / 8,
        "b1": np.zeros(48),
        "w2": generator.normal(size=(48, 10)) / 7,
        "b2": np.zeros(10),
    }
