"""What users pass to a collective, checked before the first byte is sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ring_runtime.arrays import Array
from ring_runtime.connection import Connection
from ring_runtime.errors import UsageError
from ring_runtime.group import Group
from ring_runtime.worlds import find_world

__all__ = ["check_rank", "check_shape", "choose_group", "find_hop", "is_apart", "prepare_result"]

Connections = tuple[Connection, ...]


def choose_group(group: Group | None) -> Group:
    """The group itself, or the one that `init` returns; it is open.

    Raises:
        RingError: It is closed or broken.
    """
    group = find_world() if group is None else group
    group.check_open()
    return group


def check_rank(group: Group, rank: int, name: str) -> None:
    """Refuse what is not a rank of the group.

    Args:
        name: Of the parameter, for the message.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(rank, int | np.integer) or not 0 <= rank < group.size():
        raise UsageError(
            f"{name}={rank!r} is not a rank of this group", hint=f"It has {group.size()} ranks."
        )


def check_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape as a tuple of plain integers.

    Raises:
        UsageError: It is none.

    Example:
        >>> check_shape([2, np.int64(3)])
        (2, 3)
    """
    dims = tuple(shape) if not isinstance(shape, int) else (shape,)
    if not all(isinstance(dim, int | np.integer) and dim >= 0 for dim in dims) or len(dims) > 64:
        raise UsageError(f"{shape!r} is not a shape", hint="Pass lengths that are not negative.")
    return tuple(map(int, dims))


def is_apart(out: object, array: Array) -> bool:
    """Whether ``out`` can take a result like ``array`` and shares no memory with it."""
    return (
        type(out) is np.ndarray
        and out.dtype == array.dtype
        and out.shape == array.shape
        and out.flags.carray
        and not np.may_share_memory(out, array)
    )


def prepare_result(
    out: Array | None, shape: tuple[int, ...], array: Array, *, may_be_input: bool
) -> Array:
    """Room for a result: ``out`` if it fits, else a new array.

    Args:
        array: The input, whose dtype the result has.
        may_be_input: Whether ``out`` may be the input itself.

    Raises:
        UsageError: It does not fit, or overlaps the input.
    """
    if out is None:
        return np.empty(shape, array.dtype)
    fits = (
        isinstance(out, np.ndarray)
        and (out.shape, out.dtype) == (shape, array.dtype)
        and out.flags.c_contiguous
        and out.flags.writeable
    )
    if not fits:
        raise UsageError(
            "out does not fit the result",
            hint=f"Pass a writable, contiguous numpy array of {array.dtype} and shape {shape}.",
        )
    if np.may_share_memory(out, array):
        same = out.ctypes.data == array.ctypes.data and array.flags.c_contiguous
        if not (may_be_input and same):
            raise UsageError("out overlaps the input", hint="Pass an array of its own.")
    return out


def find_hop(group: Group, rank: int, name: str) -> tuple[Connections, Connections]:
    """The connections to a neighbour and those from it."""
    check_rank(group, rank, name)
    size = group.size()
    ahead = (group.order.index(int(rank)) - group.position) % size
    if ahead == 0:
        raise UsageError(f"{name}={rank} is this rank itself", hint="Name another rank.")
    if ahead not in (1, size - 1):
        raise UsageError(
            f"{name}={rank} is not next to rank {group.rank()} on the ring",
            hint='Pass it on from neighbour to neighbour, or use init(backend="mpi").',
        )
    to_right, to_left = group.routes[0], group.routes[-1]
    if ahead == 1:
        return to_right.outs, to_left.ins
    return to_left.outs, to_right.ins
