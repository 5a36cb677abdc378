"""A deep network shared out along the ring: each rank holds some layers, batches flow right.

    distributed_launch -n 4 examples/pipeline.py

Rank 0 feeds small batches, every rank applies its layers and sends the result on, and the
last one, which is rank 0's left neighbour, sends it back to rank 0. There it is compared
with what the whole network gives in one process.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import ring_runtime as ring

Array = NDArray[np.float32]

LAYERS = 8
WIDTH = 256
BATCHES = 12
ROWS = 64


def layer(number: int) -> Array:
    generator = np.random.default_rng(number)
    return (generator.normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)


def apply(layers: list[Array], x: Array) -> Array:
    for weights in layers:
        x = np.tanh(x @ weights)
    return x


def batches() -> Iterator[Array]:
    generator = np.random.default_rng(100)
    for _ in range(BATCHES):
        yield generator.normal(size=(ROWS, WIDTH)).astype(np.float32)


def feed(layers: list[Array], size: int) -> list[Array]:
    """Rank 0: send batches on and collect the results, of size - 1 batches under way at most.

    Each other rank has room for one; with more under way, all ranks could be sending and
    none receiving.
    """
    results: list[Array] = []
    for number, batch in enumerate(batches()):
        if number >= size - 1:
            results.append(ring.recv((ROWS, WIDTH), np.float32, size - 1))
        ring.send(apply(layers, batch), 1)
    while len(results) < BATCHES:
        results.append(ring.recv((ROWS, WIDTH), np.float32, size - 1))
    return results


def pass_on(layers: list[Array], rank: int, size: int) -> None:
    """Any other rank: receive from the left, compute, send to the right."""
    for _ in range(BATCHES):
        batch = ring.recv((ROWS, WIDTH), np.float32, rank - 1)
        ring.send(apply(layers, batch), (rank + 1) % size)


def main() -> None:
    world = ring.init()
    rank, size = world.rank(), world.size()
    mine = range(rank * LAYERS // size, (rank + 1) * LAYERS // size)
    layers = [layer(number) for number in mine]
    print(f"rank {rank} has layers {mine.start} to {mine.stop - 1}")
    if rank > 0:
        pass_on(layers, rank, size)
        return
    whole = [layer(number) for number in range(LAYERS)]
    results = feed(layers, size) if size > 1 else [apply(whole, batch) for batch in batches()]
    for result, batch in zip(results, batches(), strict=True):
        if not np.array_equal(result, apply(whole, batch)):
            raise SystemExit("The pipeline does not give what one process gives.")
    print(f"{BATCHES} batches through {size} ranks give exactly what one process gives")


if __name__ == "__main__":
    main()
