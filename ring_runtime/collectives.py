"""The collectives users call: they check their arguments and return what they were given.

Every one of them has to be called by all ranks of the group, in the same order and
with the same shapes and dtypes; that is checked, see docs/collectives.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ring_runtime.arguments import (
    check_rank,
    check_shape,
    choose_group,
    is_apart,
    prepare_result,
)
from ring_runtime.arrays import Array, adopt, find_dtype
from ring_runtime.engines import (
    broadcast_array,
    gather_arrays,
    receive_array,
    reduce_arrays,
    send_array,
)
from ring_runtime.errors import UsageError
from ring_runtime.group import Group
from ring_runtime.reduction import check_dtype
from ring_runtime.worlds import find_world

__all__ = [
    "all_gather",
    "all_max",
    "all_min",
    "all_sum",
    "barrier",
    "broadcast",
    "recv",
    "recv_like",
    "send",
    "sum_scatter",
]


def all_sum(
    x: Any, *, group: Group | None = None, stream: object = None, out: Array | None = None
) -> Any:
    """The sum of the arrays of all ranks, the same bits on every rank.

    float16 and bfloat16 are added in float32 and rounded once; bool is *or*.

    Args:
        x: The same shape and dtype on every rank; it is not modified.
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX; everything happens on the CPU, at once.
        out: A numpy array for the result; it may be ``x`` itself. After an error its contents
            mean nothing.

    Raises:
        UsageError: Nothing was sent; the group stays usable.
        PeerError: The group is broken.

    Cost:
        Up to 512 KiB (1 MiB with two ranks) ``size // 2`` hops; above, ``2 * (size - 1)``
        hops, overlapped, and ``2 * (size - 1) / size`` of the array sent by each rank,
        half of it in each direction.

    Example:
        >>> all_sum(np.arange(3))  # alone: a copy
        array([0, 1, 2])
    """
    return _all_reduce("all_sum", x, group, out)


def all_max(
    x: Any, *, group: Group | None = None, stream: object = None, out: Array | None = None
) -> Any:
    """The elementwise maximum over all ranks; NaN wins, complex is refused; else like `all_sum`.

    Example:
        >>> all_max(2.5)
        2.5
    """
    return _all_reduce("all_max", x, group, out)


def all_min(
    x: Any, *, group: Group | None = None, stream: object = None, out: Array | None = None
) -> Any:
    """The elementwise minimum over all ranks; NaN wins, complex is refused; else like `all_sum`.

    Example:
        >>> all_min(2.5)
        2.5
    """
    return _all_reduce("all_min", x, group, out)


def all_gather(
    x: Any, *, group: Group | None = None, stream: object = None, out: Array | None = None
) -> Any:
    """The arrays of all ranks joined along the first axis, in rank order.

    Args:
        x: The same shape and dtype on every rank. A number or 0-d array counts as shape (1,).
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX.
        out: A numpy array for the result.

    Raises:
        UsageError: Nothing was sent; the group stays usable.
        PeerError: The group is broken.

    Cost:
        ``size - 1`` times the array sent by each rank, half of it in each direction.

    Example:
        >>> all_gather(np.ones((2, 3))).shape
        (2, 3)
    """
    group = choose_group(group)
    array, restore = adopt(x)
    name = check_dtype(array.dtype, "all_gather")
    size = group.size()
    shape = (size * array.shape[0], *array.shape[1:]) if array.ndim else (size,)
    result = prepare_result(out, shape, array, may_be_input=False)
    gather_arrays(group, array, name, result.reshape(size, -1))
    return result if restore is None else restore(result)


def sum_scatter(
    x: Any, *, group: Group | None = None, stream: object = None, out: Array | None = None
) -> Any:
    """Our part of the sum over all ranks, which is shared out along the first axis.

    Args:
        x: The same shape and dtype on every rank; its first axis is a multiple of the size.
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX.
        out: A numpy array for the result.

    Returns:
        Rows ``rank * n`` to ``(rank + 1) * n`` of the sum, n being ``len(x) // size``.

    Raises:
        UsageError: Nothing was sent; the group stays usable.
        PeerError: The group is broken.

    Cost:
        ``(size - 1) / size`` of the array sent by each rank, half of it in each direction.

    Example:
        >>> sum_scatter(np.arange(4))
        array([0, 1, 2, 3])
    """
    group = choose_group(group)
    array, restore = adopt(x)
    name = check_dtype(array.dtype, "sum_scatter")
    size = group.size()
    if not array.ndim or array.shape[0] % size:
        raise UsageError(
            f"sum_scatter of shape {array.shape} over {size} ranks is not possible",
            hint=f"Make the length of the first axis a multiple of {size}.",
        )
    shape = (array.shape[0] // size, *array.shape[1:])
    result = prepare_result(out, shape, array, may_be_input=False)
    reduce_arrays(group, "sum_scatter", array, name, result)
    return result if restore is None else restore(result)


def broadcast(
    x: Any,
    root: int = 0,
    *,
    group: Group | None = None,
    stream: object = None,
    out: Array | None = None,
) -> Any:
    """The array of rank ``root``, on every rank.

    Args:
        x: The same shape and dtype on every rank; only the values of ``root`` matter.
        root: A rank of the group.
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX.
        out: A numpy array for the result; it may be ``x`` itself.

    Raises:
        UsageError: Nothing was sent; the group stays usable.
        PeerError: The group is broken.

    Cost:
        The array once over each hop, half of it in each direction.

    Example:
        >>> broadcast(np.arange(3), 0)
        array([0, 1, 2])
    """
    group = choose_group(group)
    array, restore = adopt(x)
    name = check_dtype(array.dtype, "broadcast")
    check_rank(group, root, "root")
    result = prepare_result(out, array.shape, array, may_be_input=True)
    broadcast_array(group, array, name, int(root), result)
    return result if restore is None else restore(result)


def send(x: Any, dst: int, *, group: Group | None = None, stream: object = None) -> Any:
    """Send an array to a neighbour on the ring, or to any rank over MPI; returns ``x``.

    It returns once the array is on its way; a large one is on its way only when ``dst``
    is receiving. Two ranks that both send something large before they receive wait for
    each other until RING_TIMEOUT: let one of them receive first.

    Args:
        dst: Another rank of the group: on the ring, the one before or after ours.
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX.

    Raises:
        UsageError: Nothing was sent; the group stays usable.
        PeerError: The group is broken.

    Cost:
        The array once over one hop, spread over its connections, or over both directions
        with two ranks.
    """
    group = choose_group(group)
    array, _ = adopt(x)
    name = check_dtype(array.dtype, "send")
    send_array(group, dst, array, name)
    return x


def recv(
    shape: Sequence[int],
    dtype: Any,
    src: int,
    *,
    group: Group | None = None,
    stream: object = None,
    out: Array | None = None,
) -> Any:
    """The array that a neighbour on the ring sends, or any rank over MPI.

    Args:
        shape: As ``src`` sends it.
        dtype: As ``src`` sends it, of numpy, ``mlx.core`` or torch; its library's array is
            returned.
        src: Another rank of the group: on the ring, the one before or after ours.
        group: Default: what `init` returns.
        stream: Accepted for compatibility with MLX.
        out: A numpy array for the result.

    Raises:
        UsageError: Nothing was received; the group stays usable.
        PeerError: The group is broken; a `CollectiveMismatch` if ``src`` sent something else.
    """
    group = choose_group(group)
    kind, restore = find_dtype(dtype)
    name = check_dtype(kind, "recv")
    dims = check_shape(shape)
    result = prepare_result(out, dims, np.empty(0, kind), may_be_input=False)
    receive_array(group, src, result, name)
    return result if restore is None else restore(result)


def recv_like(x: Any, src: int, *, group: Group | None = None, stream: object = None) -> Any:
    """The array another rank sends, of the shape, dtype and library of ``x``; see `recv`."""
    array, restore = adopt(x)
    result = recv(array.shape, array.dtype, src, group=group)
    return result if restore is None else restore(result)


def barrier(*, group: Group | None = None, stream: object = None) -> None:
    """Return once every rank of the group has called it.

    Raises:
        PeerError: The group is broken.
    """
    choose_group(group).barrier()


def _all_reduce(operation: str, x: Any, group: Group | None, out: Array | None) -> Any:
    group = find_world() if group is None else group
    if type(x) is np.ndarray:
        ready = group.find_ready(operation, x)
        if ready is not None and x.flags.c_contiguous and (out is None or is_apart(out, x)):
            result = np.empty_like(x) if out is None else out
            group.run_ready(ready, x, result)
            return result
    group.check_open()
    array, restore = adopt(x)
    name = check_dtype(array.dtype, operation)
    result = prepare_result(out, array.shape, array, may_be_input=True)
    reduce_arrays(group, operation, array, name, result)
    return result if restore is None else restore(result)
