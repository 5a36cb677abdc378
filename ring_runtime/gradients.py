"""Averaging gradients over all ranks, several small arrays in one all-reduce."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ring_runtime.arguments import choose_group
from ring_runtime.arrays import Array, Restore, adopt, find_dtype
from ring_runtime.collectives import all_sum
from ring_runtime.group import Group
from ring_runtime.trees import tree_flatten, tree_map

__all__ = ["average_gradients"]

Leaf = tuple[Array, Restore | None]


def average_gradients(
    gradients: Any,
    group: Group | None = None,
    all_reduce_size: int = 32 * 1024**2,
    communication_stream: object = None,
    *,
    communication_type: Any = None,
) -> Any:
    """The mean of the gradients of all ranks, in a tree of the same form.

    Leaves are joined into buckets, in order, and every bucket is one `all_sum`.

    Args:
        gradients: Dicts, lists, tuples and named tuples of arrays; of the same form, shapes
            and dtypes on every rank.
        group: Default: what `init` returns. Alone, the gradients are returned as they are.
        all_reduce_size: A bucket is full when it has at least so many bytes. With 0, or when
            the leaves have different dtypes, every leaf is a bucket of its own.
        communication_stream: Accepted for compatibility with MLX.
        communication_type: The dtype on the wire, such as bfloat16 for half the bytes of
            float32; results have the dtype of the gradients all the same.

    Raises:
        UsageError: A leaf is not an array; nothing was sent.
        PeerError: The group is broken.

    Cost:
        That of `all_sum` for every bucket.

    Example:
        >>> average_gradients({"weight": np.ones(3), "bias": [np.zeros(1)]})
        {'weight': array([1., 1., 1.]), 'bias': [array([0.])]}
    """
    group = choose_group(group)
    leaves: list[Leaf] = [adopt(leaf) for _, leaf in tree_flatten(gradients)]
    if group.size() == 1 or not leaves:
        return gradients
    wire = None if communication_type is None else find_dtype(communication_type)[0]
    results: list[Any] = []
    for bucket in _fill_buckets(leaves, all_reduce_size, wire):
        results += _average(bucket, group, wire)
    following = iter(results)
    return tree_map(lambda _: next(following), gradients)


def _fill_buckets(
    leaves: list[Leaf], all_reduce_size: int, wire: np.dtype[Any] | None
) -> Iterator[list[Leaf]]:
    """The leaves in order, in buckets just large enough."""
    if all_reduce_size <= 0 or len({array.dtype for array, _ in leaves}) > 1:
        yield from ([leaf] for leaf in leaves)
        return
    bucket: list[Leaf] = []
    nbytes = 0
    for array, restore in leaves:
        bucket.append((array, restore))
        nbytes += array.size * (wire or array.dtype).itemsize
        if nbytes >= all_reduce_size:
            yield bucket
            bucket, nbytes = [], 0
    if bucket:
        yield bucket


def _average(bucket: list[Leaf], group: Group, wire: np.dtype[Any] | None) -> list[Any]:
    """The means of the arrays of a bucket, each as what it was given as."""
    dtype = bucket[0][0].dtype
    joined = np.concatenate([array.reshape(-1) for array, _ in bucket])
    if wire is not None:
        joined = joined.astype(wire, copy=False)
    total: Array = all_sum(joined, group=group, out=joined)
    if wire is not None:
        total = total.astype(dtype, copy=False)
    if dtype.kind in "biu":
        mean = total / group.size()
    else:
        mean = np.divide(total, np.asarray(group.size(), dtype), out=total)
    results = []
    at = 0
    for array, restore in bucket:
        part = mean[at : at + array.size].reshape(array.shape)
        at += array.size
        results.append(part if restore is None else restore(part))
    return results
