"""The training of train_numpy.py with torch's tensors, gradients and optimizer.

    python examples/train_torch.py
    distributed_launch -n 4 examples/train_torch.py

Needs: pip install '.[examples]' torch
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from digits import digits, initial_weights, shares

import ring_runtime as ring

RATE = 0.4


def make_network() -> torch.nn.Sequential:
    """64, 48 and 10 units."""
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 48), torch.nn.Tanh(), torch.nn.Linear(48, 10)
    ).double()
    first = initial_weights()
    values = (first["w1"].T, first["b1"], first["w2"].T, first["b2"])
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.copy_(torch.tensor(value))
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on handwritten digits with torch.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("demo/train_torch"))
    options = parser.parse_args()

    torch.set_num_threads(1)  # All ranks of a trial share the cores of one machine.
    world = ring.init()
    network = make_network()
    parameters = list(network.parameters())
    optimizer = torch.optim.SGD(parameters, lr=RATE)
    losses = []
    for images, labels in shares(options.steps, world.rank(), world.size()):
        loss = torch.nn.functional.cross_entropy(
            network(torch.from_numpy(images)), torch.from_numpy(labels)
        )
        optimizer.zero_grad()
        loss.backward()
        averages = ring.average_gradients([parameter.grad for parameter in parameters])
        for parameter, average in zip(parameters, averages, strict=True):
            parameter.grad = average
        losses.append(ring.all_sum(loss).item() / world.size())
        optimizer.step()

    if world.rank() == 0:
        from curves import keep_run  # Loads matplotlib, which the other ranks do not need.

        images, labels = digits()
        guesses = network(torch.from_numpy(images)).argmax(dim=1).numpy()
        right = float((guesses == labels).mean())
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}"
        print(f"world size {world.size()}: {fall}, {right:.1%} right")
        w1, b1, w2, b2 = (parameter.detach().numpy() for parameter in parameters)
        weights = {"w1": w1.T, "b1": b1, "w2": w2.T, "b2": b2}
        print(keep_run(options.out, world.size(), losses, weights))


if __name__ == "__main__":
    main()
