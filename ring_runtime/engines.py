"""What carries a collective: the algorithms of the ring, or MPI, as the group says."""

from __future__ import annotations

import numpy as np

from ring_runtime import algorithms, mpi_algorithms
from ring_runtime.arguments import check_rank, find_hop
from ring_runtime.arrays import Array
from ring_runtime.errors import UsageError
from ring_runtime.group import Group
from ring_runtime.mpi import MpiGroup

__all__ = ["broadcast_array", "gather_arrays", "receive_array", "reduce_arrays", "send_array"]


def reduce_arrays(group: Group, operation: str, array: Array, name: str, result: Array) -> None:
    """Reduce to all of ``result``, or to our segment if it is shorter than the array."""
    if isinstance(group, MpiGroup):
        mpi_algorithms.reduce_arrays(group, operation, array, result)
    else:
        algorithms.reduce_arrays(group, operation, array, name, result)


def gather_arrays(group: Group, array: Array, name: str, rows: Array) -> None:
    """Fill ``rows``, one for each rank."""
    if isinstance(group, MpiGroup):
        mpi_algorithms.gather_arrays(group, array, rows)
    else:
        algorithms.gather_arrays(group, array, name, rows)


def broadcast_array(group: Group, array: Array, name: str, root: int, result: Array) -> None:
    """Fill ``result`` with the array of rank ``root``."""
    if isinstance(group, MpiGroup):
        mpi_algorithms.broadcast_array(group, array, root, result)
    else:
        algorithms.broadcast_array(group, array, name, root, result)


def send_array(group: Group, dst: int, array: Array, name: str) -> None:
    """Send an array: on the ring to a neighbour, over MPI to any other rank.

    Raises:
        UsageError: There is no way to that rank.
    """
    if isinstance(group, MpiGroup):
        _check_other(group, dst, "dst")
        array = np.ascontiguousarray(array).reshape(array.shape)
        mpi_algorithms.send_array(group, int(dst), array, name)
        return
    outs, _ = find_hop(group, dst, "dst")
    array = np.ascontiguousarray(array).reshape(array.shape)
    algorithms.move_array(group, int(dst), outs, array, name, sends=True)


def receive_array(group: Group, src: int, result: Array, name: str) -> None:
    """Fill ``result``: on the ring from a neighbour, over MPI from any other rank.

    Raises:
        UsageError: There is no way from that rank.
    """
    if isinstance(group, MpiGroup):
        _check_other(group, src, "src")
        mpi_algorithms.receive_array(group, int(src), result, name)
        return
    _, ins = find_hop(group, src, "src")
    algorithms.move_array(group, int(src), ins, result, name, sends=False)


def _check_other(group: Group, rank: int, name: str) -> None:
    check_rank(group, rank, name)
    if int(rank) == group.rank():
        raise UsageError(f"{name}={rank} is this rank itself", hint="Name another rank.")
