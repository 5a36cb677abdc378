"""The collectives over MPI, with the guarantees for dtypes that the ring gives.

MPI's own operations serve where they mean what numpy means. Where they do not (NaN,
sums of small integers that wrap around, the 16-bit floats that MPI does not know),
operations of our own do.
Arrays travel in pieces, because a count in MPI has 31 bits and so that scratch
memory stays bounded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.errors import CollectiveMismatch
from ring_runtime.mpi import MpiGroup
from ring_runtime.reduction import find_reduction
from ring_runtime.wire import DTYPES

__all__ = ["broadcast_array", "gather_arrays", "receive_array", "reduce_arrays", "send_array"]

PIECE_NBYTES = 64 * 1024**2
MESSAGE_NBYTES = 1024**3


def reduce_arrays(group: MpiGroup, operation: str, array: Array, result: Array) -> None:
    """Reduce to all of ``result``, or to our segment if it is shorter than the array."""
    size = group.size()
    kind = find_reduction(operation, array.dtype).partial
    blocks = np.ascontiguousarray(array).reshape(1 if result.size == array.size else size, -1)
    flat = result.reshape(-1)
    carrier, operator = _find_operator(operation, kind)
    with group.turn() as communicator:
        reduce = communicator.Allreduce if len(blocks) == 1 else communicator.Reduce_scatter_block
        for piece in _pieces(flat.size, PIECE_NBYTES // (kind.itemsize * len(blocks))):
            mine = np.ascontiguousarray(blocks[:, piece], kind)
            if kind != flat.dtype:
                total = np.empty(mine.shape[1], kind)
                reduce(mine.view(carrier), total.view(carrier), operator)
                with np.errstate(all="ignore"):
                    np.copyto(flat[piece], total, casting="unsafe")
            elif np.may_share_memory(mine, flat):
                reduce(mine.copy().view(carrier), flat[piece].view(carrier), operator)
            else:
                reduce(mine.view(carrier), flat[piece].view(carrier), operator)


def gather_arrays(group: MpiGroup, array: Array, rows: Array) -> None:
    """Fill ``rows``, one for each rank."""
    size = group.size()
    own = as_bytes(np.ascontiguousarray(array).reshape(-1))
    with group.turn() as communicator:
        nbytes = len(own)
        if size * nbytes <= PIECE_NBYTES:
            communicator.Allgather(own, as_bytes(rows.reshape(-1)))
            return
        table = rows.view(np.uint8).reshape(size, nbytes)
        for piece in _pieces(nbytes, PIECE_NBYTES // size):
            gathered = np.empty((size, piece.stop - piece.start), np.uint8)
            communicator.Allgather(own[piece], gathered)
            table[:, piece] = gathered


def broadcast_array(group: MpiGroup, array: Array, root: int, result: Array) -> None:
    """Fill ``result`` with the array of rank ``root``."""
    if group.rank() == root and result.ctypes.data != array.ctypes.data:
        np.copyto(result, array)
    data = as_bytes(result.reshape(-1))
    with group.turn() as communicator:
        for piece in _pieces(len(data), PIECE_NBYTES):
            communicator.Bcast(data[piece], root)


def send_array(group: MpiGroup, dst: int, array: Array, name: str) -> None:
    """Send a contiguous array to any other rank."""
    data = as_bytes(array.reshape(-1))
    with group.turn() as communicator:
        for piece in _pieces(len(data), MESSAGE_NBYTES):
            communicator.Send(data[piece], dst, DTYPES.index(name))


def receive_array(group: MpiGroup, src: int, result: Array, name: str) -> None:
    """Fill ``result`` with what a rank sends.

    Raises:
        CollectiveMismatch: It sent something of another dtype or size.
    """
    mpi = importlib.import_module("mpi4py.MPI")
    data = as_bytes(result.reshape(-1))
    status = mpi.Status()
    with group.turn() as communicator:
        for piece in _pieces(len(data), MESSAGE_NBYTES):
            message = communicator.Mprobe(src, mpi.ANY_TAG, status)
            sent, wanted = status.Get_count(mpi.BYTE), piece.stop - piece.start
            if (status.Get_tag(), sent) != (DTYPES.index(name), wanted):
                raise CollectiveMismatch(
                    f"rank {src} sent something else than rank {group.rank()} receives",
                    ours=f"rank {group.rank()} expects {wanted} bytes of {name}",
                    theirs=f"rank {src} sent {sent} bytes of {DTYPES[status.Get_tag()]}",
                    peer=src,
                    hint="Give recv the shape and dtype that the other rank sends.",
                )
            message.Recv(data[piece])


def _pieces(count: int, at_most: int) -> Iterator[slice]:
    """Parts of a count, at least one, so that empty arrays meet the others as well."""
    at_most = max(at_most, 1)
    for start in range(0, max(count, 1), at_most):
        yield slice(start, min(start + at_most, count))


@lru_cache(maxsize=64)
def _find_operator(operation: str, kind: np.dtype[Any]) -> tuple[np.dtype[Any], Any]:
    """As what an array travels, so that MPI knows its dtype, and MPI's operation on it."""
    mpi = importlib.import_module("mpi4py.MPI")
    is_sum = operation in ("all_sum", "sum_scatter")
    if kind.kind == "b":  # The sum is *or*, which on bytes of 0 and 1 is the maximum.
        return np.dtype(np.uint8), mpi.MIN if operation == "all_min" else mpi.MAX
    if kind.kind in "iu" and not is_sum:
        return kind, mpi.MAX if operation == "all_max" else mpi.MIN
    # Open MPI's sums of 8 and 16 bits stop at the largest number on some processors, where
    # numpy's wrap around (_mm512_adds_epi8 in its ompi/mca/op/avx/op_avx_functions.c).
    if is_sum and (kind.kind not in "iu" or kind.itemsize > 2):
        return kind, mpi.SUM
    # MPI's maximum of a NaN is undefined, and it knows no 16-bit floats.
    carrier = np.dtype(np.uint16) if kind.kind in "fV" and kind.itemsize == 2 else kind
    return carrier, mpi.Op.Create(_make_combine(operation, kind), commute=True)


def _make_combine(operation: str, kind: np.dtype[Any]) -> Callable[[Any, Any, Any], None]:
    reduction = find_reduction(operation, kind)

    def combine(received: Any, own: Any, datatype: Any) -> None:
        total = np.frombuffer(own, kind)
        reduction.fold(np.frombuffer(received, kind), total, out=total)

    return combine
