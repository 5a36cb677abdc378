"""Rings whose ranks are threads of the test, joined by socket pairs instead of cables."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from ring_runtime.connection import Connection
from ring_runtime.group import Group, make_world
from ring_runtime.neighbour import Neighbour
from ring_runtime.ring import Ring

DEADLINE_S = 100.0


def make_rings(size: int, *, width: int = 1, timeout: float = 80.0) -> list[Ring]:
    """The rings of all ranks; with one rank, a ring of nobody else."""
    if size == 1:
        return [Ring(0, 1, None, None)]
    lefts: list[Neighbour] = [Neighbour((rank - 1) % size, [], []) for rank in range(size)]
    rights: list[Neighbour] = [Neighbour((rank + 1) % size, [], []) for rank in range(size)]
    for rank in range(size):
        other = (rank + 1) % size
        for kind in ("data", "control"):
            for _ in range(width):
                near, far = socket.socketpair()
                getattr(rights[rank], kind).append(Connection(near, other, f"rank {other}"))
                getattr(lefts[other], kind).append(Connection(far, rank, f"rank {rank}"))
    return [
        Ring(rank, size, lefts[rank], rights[rank], timeout=timeout, may_spin=False)
        for rank in range(size)
    ]


def run_ranks(
    size: int,
    body: Callable[[Group], Any],
    *,
    width: int = 1,
    timeout: float = 80.0,
    close: bool = True,
) -> list[Any]:
    """What ``body`` returned or raised on each rank, all of them at once.

    Raises:
        TimeoutError: A rank was not done in time.
    """
    rings = make_rings(size, width=width, timeout=timeout)
    outcomes: list[Any] = [None] * size

    def run(rank: int) -> None:
        world = make_world(rings[rank], width)
        try:
            outcomes[rank] = body(world)
        except Exception as error:
            outcomes[rank] = error
        if close:
            world.close()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    late = [rank for rank, thread in enumerate(threads) if thread.is_alive()]
    for ring in rings:
        ring.release()
    if late:
        raise TimeoutError(f"ranks {late} are still running")
    return outcomes


def results_of(outcomes: list[Any]) -> list[Any]:
    """The same outcomes, none of them an error.

    Raises:
        Exception: The first error among them.
    """
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes
