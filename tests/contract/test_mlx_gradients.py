"""`average_gradients` and the tree functions beside those of the installed mlx."""

from __future__ import annotations

from collections import namedtuple
from typing import Any
from unittest import mock

import mlx.core as mx
import mlx.nn
import mlx.utils
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ring_runtime as ring
from ring_runtime import gradients as gradients_module
from ring_runtime.group import Group
from tests.local_rings import results_of, run_ranks

Pair = namedtuple("Pair", ["weight", "bias"])
NAMES = st.sampled_from(["w", "b", "layers", "norm", "x1"])
LEAVES = st.integers(0, 40)
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3)
            | st.dictionaries(NAMES, inner, min_size=1, max_size=3)
        ),
        max_leaves=10,
    ),
    min_size=1,
    max_size=4,
)


class TwoRanks:
    """Stands in for an MLX group of two ranks with the same gradients."""

    def size(self) -> int:
        return 2


def count_theirs(tree: Any, all_reduce_size: int) -> tuple[int, Any]:
    """How many messages MLX sends for this tree, and what it returns."""
    messages = []

    def all_sum(x: Any, **_: Any) -> Any:
        messages.append(x.size)
        return x * 2

    with mock.patch.object(mx.distributed, "all_sum", all_sum):
        result = mlx.nn.average_gradients(tree, TwoRanks(), all_reduce_size)
    return len(messages), result


@settings(max_examples=100)
@given(TREES, st.sampled_from([0, 1, 40, 100, 400, 2**20]), st.booleans())
def test_the_same_means_in_the_same_number_of_messages(
    sizes: Any, all_reduce_size: int, mixed: bool
) -> None:
    kinds = [mx.float32, mx.float16] if mixed else [mx.float32]
    tree = mlx.utils.tree_map(lambda size: mx.arange(size).astype(kinds[size % len(kinds)]), sizes)
    mx.eval(tree)  # the streams of this thread are not those of the ranks' threads
    number, expected = count_theirs(tree, all_reduce_size)
    messages: list[int] = []

    def all_sum(x: Any, **settings: Any) -> Any:
        messages.append(x.size)
        return ring.all_sum(x, **settings)

    with mock.patch.object(gradients_module, "all_sum", all_sum):
        results = results_of(
            run_ranks(2, lambda world: ring.average_gradients(tree, world, all_reduce_size))
        )
    assert len(messages) == 2 * number
    for result in results:
        ours, theirs = mlx.utils.tree_flatten(result), mlx.utils.tree_flatten(expected)
        assert [path for path, _ in ours] == [path for path, _ in theirs]
        for (_, mine), (_, other) in zip(ours, theirs, strict=True):
            assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
            assert mx.array_equal(mine, other)


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 300), st.sampled_from([None, "float16", "float64"]))
def test_the_mean_of_every_leaf_in_a_tree_of_any_form(
    size: int, all_reduce_size: int, communication_type: str | None
) -> None:
    def gradients(rank: int) -> Any:
        values = np.arange(12, dtype=np.float32) * (rank + 1)
        return {
            "a": [values, (values[:3], Pair(values.reshape(3, 4)[:, ::2], values[0]))],
            "b": {"c": (), "d": values[:0]},
        }

    results = results_of(
        run_ranks(
            size,
            lambda world: ring.average_gradients(
                gradients(world.rank()),
                world,
                all_reduce_size,
                communication_type=communication_type,
            ),
        )
    )
    factor = (size + 1) / 2
    values = np.arange(12, dtype=np.float32) * factor
    for result in results:
        long, (short, pair) = result["a"]
        assert type(pair) is Pair
        assert np.allclose(long, values)
        assert np.allclose(short, values[:3])
        assert np.allclose(pair.weight, values.reshape(3, 4)[:, ::2])
        assert pair.bias == 0
        assert result["b"]["c"] == ()
        assert result["b"]["d"].shape == (0,)
        assert {long.dtype, short.dtype, pair.weight.dtype} == {np.dtype(np.float32)}


def test_alone_the_gradients_are_returned_as_they_are() -> None:
    tree = {"a": np.ones(3)}

    def body(world: Group) -> bool:
        return ring.average_gradients(tree, world) is tree

    assert run_ranks(1, body) == [True]


@given(TREES)
def test_trees_are_flattened_and_built_as_by_mlx(tree: Any) -> None:
    flat = ring.tree_flatten(tree)
    assert flat == mlx.utils.tree_flatten(tree)
    assert ring.tree_flatten(tree, destination={}) == mlx.utils.tree_flatten(tree, destination={})
    assert ring.tree_unflatten(flat) == mlx.utils.tree_unflatten(flat)
    assert ring.tree_unflatten(dict(flat)) == mlx.utils.tree_unflatten(dict(flat))
    assert ring.tree_map(lambda x: x + 1, tree) == mlx.utils.tree_map(lambda x: x + 1, tree)


@pytest.mark.parametrize(
    "flat",
    [[("", 3)], [("0", 1), ("2", 2)], [("1.a", 1), ("01.b", 2)], [("0.x.1", 5)], []],
)
def test_odd_paths_give_what_mlx_gives(flat: list[tuple[str, int]]) -> None:
    assert ring.tree_unflatten(flat) == mlx.utils.tree_unflatten(flat)


def test_leaves_may_be_chosen() -> None:
    tree = {"a": [1, 2], "b": (3,)}
    is_leaf = lambda node: isinstance(node, list)  # noqa: E731
    assert ring.tree_flatten(tree, is_leaf=is_leaf) == mlx.utils.tree_flatten(tree, is_leaf=is_leaf)
    assert ring.tree_flatten(tree, ".top") == mlx.utils.tree_flatten(tree, ".top")
    assert ring.tree_map(str, tree, is_leaf=is_leaf) == {"a": "[1, 2]", "b": ("3",)}
    both = ring.tree_map(lambda x, y: x * y, tree, {"a": [5, 6], "b": (7,), "c": 0})
    assert both == {"a": [5, 12], "b": (21,)}
