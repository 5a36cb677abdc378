"""The training of train_numpy.py with MLX's arrays, gradients and optimizer.

    python examples/train_mlx.py
    distributed_launch -n 4 examples/train_mlx.py

Gradients are averaged after nn.value_and_grad has returned them: collectives take part
neither in mx.grad nor in mx.compile. Needs: pip install '.[examples,mlx]'
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
import numpy as np
from digits import digits, initial_weights, shares

import ring_runtime as ring

RATE = 0.4


class Network(nn.Module):  # type: ignore[misc]
    """64, 48 and 10 units."""

    def __init__(self) -> None:
        super().__init__()
        first = initial_weights()
        self.hidden = nn.Linear(64, 48)
        self.scores = nn.Linear(48, 10)
        self.hidden.weight = mx.array(first["w1"].T, dtype=mx.float32)
        self.hidden.bias = mx.array(first["b1"], dtype=mx.float32)
        self.scores.weight = mx.array(first["w2"].T, dtype=mx.float32)
        self.scores.bias = mx.array(first["b2"], dtype=mx.float32)

    def __call__(self, images: mx.array) -> mx.array:
        return self.scores(mx.tanh(self.hidden(images)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on handwritten digits with MLX.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("demo/train_mlx"))
    options = parser.parse_args()

    world = ring.init()
    network = Network()
    optimizer = optimizers.SGD(learning_rate=RATE)

    def loss_of(images: mx.array, labels: mx.array) -> mx.array:
        return nn.losses.cross_entropy(network(images), labels, reduction="mean")

    loss_and_gradients = nn.value_and_grad(network, loss_of)
    losses = []
    for images, labels in shares(options.steps, world.rank(), world.size()):
        loss, gradients = loss_and_gradients(mx.array(images, dtype=mx.float32), mx.array(labels))
        gradients = ring.average_gradients(gradients)
        losses.append(ring.all_sum(loss).item() / world.size())
        optimizer.update(network, gradients)
        mx.eval(network.parameters())

    if world.rank() == 0:
        from curves import keep_run  # Loads matplotlib, which the other ranks do not need.

        images, labels = digits()
        guesses = np.array(network(mx.array(images, dtype=mx.float32))).argmax(axis=1)
        right = float((guesses == labels).mean())
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}"
        print(f"world size {world.size()}: {fall}, {right:.1%} right")
        weights = {
            "w1": np.array(network.hidden.weight, np.float64).T,
            "b1": np.array(network.hidden.bias, np.float64),
            "w2": np.array(network.scores.weight, np.float64).T,
            "b2": np.array(network.scores.bias, np.float64),
        }
        print(keep_run(options.out, world.size(), losses, weights))


if __name__ == "__main__":
    main()
