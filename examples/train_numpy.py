"""Train a small network on handwritten digits, each rank on its part of every batch.

    python examples/train_numpy.py
    distributed_launch -n 4 examples/train_numpy.py

Both end with the same weights, and draw their losses into demo/train_numpy/loss.png.
Needs: pip install '.[examples]'
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from digits import Array, Labels, digits, initial_weights, shares

import ring_runtime as ring

RATE = 0.4


def forward(weights: dict[str, Array], images: Array) -> tuple[Array, Array]:
    """The hidden layer, and for each image the probabilities of the ten digits."""
    hidden = np.tanh(images @ weights["w1"] + weights["b1"])
    scores = hidden @ weights["w2"] + weights["b2"]
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, exponentials / exponentials.sum(axis=1, keepdims=True)


def loss_and_gradients(
    weights: dict[str, Array], images: Array, labels: Labels
) -> tuple[float, dict[str, Array]]:
    """The mean cross-entropy over these images, and its gradients."""
    hidden, probabilities = forward(weights, images)
    rows = np.arange(len(labels))
    loss = -float(np.log(probabilities[rows, labels]).mean())
    scores = probabilities.copy()
    scores[rows, labels] -= 1
    scores /= len(labels)
    inner = scores @ weights["w2"].T * (1 - hidden**2)
    return loss, {
        "w1": images.T @ inner,
        "b1": inner.sum(axis=0),
        "w2": hidden.T @ scores,
        "b2": scores.sum(axis=0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on handwritten digits with numpy.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("demo/train_numpy"))
    options = parser.parse_args()

    world = ring.init()
    weights = initial_weights()
    losses = []
    for images, labels in shares(options.steps, world.rank(), world.size()):
        loss, gradients = loss_and_gradients(weights, images, labels)
        gradients = ring.average_gradients(gradients)
        losses.append(ring.all_sum(loss) / world.size())
        for name, gradient in gradients.items():
            weights[name] -= RATE * gradient

    if world.rank() == 0:
        from curves import keep_run  # Loads matplotlib, which the other ranks do not need.

        images, labels = digits()
        right = float((forward(weights, images)[1].argmax(axis=1) == labels).mean())
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}"
        print(f"world size {world.size()}: {fall}, {right:.1%} right")
        print(keep_run(options.out, world.size(), losses, weights))


if __name__ == "__main__":
    main()
