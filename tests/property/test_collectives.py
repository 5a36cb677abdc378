"""Every collective against numpy; ranks are threads, and arrays are cut small to be cut often."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ring_runtime as ring
from ring_runtime import algorithms, cuts
from ring_runtime.group import Group
from ring_runtime.wire import DTYPES
from tests.local_rings import results_of, run_ranks

Array = NDArray[Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
KINDS = [BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in DTYPES]
ORDERED = [dtype for dtype in KINDS if dtype.kind != "c"]
SHAPES = st.sampled_from(
    [(), (0,), (1,), (3,), (2, 3), (3, 0, 2), (7, 5), (64,), (3, 1, 4, 1, 5), (311,), (40, 9)]
)


@contextlib.contextmanager
def cut_small(relayed: int) -> Iterator[None]:
    """Pipeline what is larger than so many bytes, in chunks of at most 48."""
    with (
        mock.patch.object(cuts, "RELAY_NBYTES", relayed),
        mock.patch.object(cuts, "PAIR_NBYTES", relayed),
        mock.patch.object(cuts, "PAIR_WIDENED_NBYTES", relayed),
        mock.patch.object(cuts, "CHUNK_NBYTES", 48),
        mock.patch.object(algorithms, "CHUNK_NBYTES", 48),
        mock.patch.object(cuts, "SMALLEST_CHUNK_NBYTES", 16),
        mock.patch.object(algorithms, "STRIPE_NBYTES", relayed),
    ):
        yield


def inputs(size: int, shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> list[Array]:
    """An array for each rank, whose sums are exact in every dtype but the 16-bit floats."""
    generator = np.random.default_rng(seed)
    arrays = []
    for _ in range(size):
        values = generator.integers(0, 12, shape)
        if dtype.kind in "fcV":
            values = (values - 6) / 4  # type: ignore[assignment]
        if dtype.kind == "c":
            values = values + 1j * generator.integers(-6, 6, shape)  # type: ignore[assignment]
        arrays.append(np.asarray(values).astype(dtype))
    return arrays


def total(arrays: list[Array]) -> Array:
    """The sum by numpy; 16-bit floats in float32, rounded once."""
    dtype = arrays[0].dtype
    wide = np.float32 if dtype in (np.dtype(np.float16), BFLOAT16) else dtype
    result = arrays[0].astype(wide)
    for array in arrays[1:]:
        result = result + array.astype(wide)
    return result.astype(dtype)


def assert_same(results: list[Array], expected: Array) -> None:
    """All ranks hold the same bits, and they are the expected values."""
    for result in results:
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == results[0].tobytes()
    assert np.array_equal(results[0], expected)


WORLDS = {
    "size": st.integers(1, 8),
    "width": st.integers(1, 3),
    "shape": SHAPES,
    "relayed": st.sampled_from([0, 10**9]),
    "seed": st.integers(0, 2**32 - 1),
}


@given(dtype=st.sampled_from(KINDS), **WORLDS)
def test_all_sum(
    size: int, width: int, shape: tuple[int, ...], relayed: int, seed: int, dtype: np.dtype[Any]
) -> None:
    arrays = inputs(size, shape, dtype, seed)
    before = [array.copy() for array in arrays]

    def body(world: Group) -> Array:
        return ring.all_sum(arrays[world.rank()], group=world)

    with cut_small(relayed):
        results = results_of(run_ranks(size, body, width=width))
    assert_same(results, total(arrays))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@given(dtype=st.sampled_from(ORDERED), largest=st.booleans(), **WORLDS)
def test_all_max_and_all_min(
    size: int,
    width: int,
    shape: tuple[int, ...],
    relayed: int,
    seed: int,
    dtype: np.dtype[Any],
    largest: bool,
) -> None:
    arrays = inputs(size, shape, dtype, seed)
    call, ufunc = (ring.all_max, np.maximum) if largest else (ring.all_min, np.minimum)
    with cut_small(relayed):
        results = results_of(
            run_ranks(size, lambda world: call(arrays[world.rank()], group=world), width=width)
        )
    expected = arrays[0]
    for array in arrays[1:]:
        expected = ufunc(expected, array)
    assert_same(results, np.asarray(expected, dtype))


@given(dtype=st.sampled_from(KINDS), **WORLDS)
def test_all_gather(
    size: int, width: int, shape: tuple[int, ...], relayed: int, seed: int, dtype: np.dtype[Any]
) -> None:
    arrays = inputs(size, shape, dtype, seed)
    with cut_small(relayed):
        results = results_of(
            run_ranks(
                size, lambda world: ring.all_gather(arrays[world.rank()], group=world), width=width
            )
        )
    assert_same(results, np.concatenate([np.atleast_1d(array) for array in arrays]))


@given(dtype=st.sampled_from(KINDS), rows=st.integers(0, 5), **WORLDS)
def test_sum_scatter(
    size: int,
    width: int,
    shape: tuple[int, ...],
    relayed: int,
    seed: int,
    dtype: np.dtype[Any],
    rows: int,
) -> None:
    arrays = inputs(size, (size * rows, *shape), dtype, seed)
    with cut_small(relayed):
        results = results_of(
            run_ranks(
                size, lambda world: ring.sum_scatter(arrays[world.rank()], group=world), width=width
            )
        )
    whole = total(arrays)
    for rank, result in enumerate(results):
        assert np.array_equal(result, whole[rank * rows : (rank + 1) * rows])
        assert (result.dtype, result.shape) == (dtype, (rows, *shape))


@given(dtype=st.sampled_from(KINDS), root=st.integers(0, 7), **WORLDS)
def test_broadcast(
    size: int,
    width: int,
    shape: tuple[int, ...],
    relayed: int,
    seed: int,
    dtype: np.dtype[Any],
    root: int,
) -> None:
    arrays = inputs(size, shape, dtype, seed)
    root %= size
    with cut_small(relayed):
        results = results_of(
            run_ranks(
                size,
                lambda world: ring.broadcast(arrays[world.rank()], root, group=world),
                width=width,
            )
        )
    assert_same(results, arrays[root])


@given(dtype=st.sampled_from(KINDS), **{**WORLDS, "size": st.integers(2, 8)})
def test_messages_to_both_neighbours(
    size: int, width: int, shape: tuple[int, ...], relayed: int, seed: int, dtype: np.dtype[Any]
) -> None:
    arrays = inputs(size, shape, dtype, seed)

    def body(world: Group) -> tuple[Array, Array]:
        right, left = (world.rank() + 1) % size, (world.rank() - 1) % size
        mine = arrays[world.rank()]
        assert ring.send(mine, right, group=world) is mine
        from_left = ring.recv(shape, dtype, left, group=world)
        ring.send(mine, left, group=world)
        return from_left, ring.recv_like(mine, right, group=world)

    with cut_small(relayed):
        results = results_of(run_ranks(size, body, width=width))
    for rank, (from_left, from_right) in enumerate(results):
        assert_same([from_left], arrays[rank - 1])
        assert_same([from_right], arrays[(rank + 1) % size])


@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from([0, 10**9]))
def test_float_sums_are_close_and_the_same_everywhere(size: int, seed: int, relayed: int) -> None:
    """Each of size - 1 additions is off by at most half a unit in the last place of its result."""
    generator = np.random.default_rng(seed)
    arrays = [generator.normal(size=200).astype(np.float32) for _ in range(size)]
    with cut_small(relayed):
        results = results_of(
            run_ranks(size, lambda world: ring.all_sum(arrays[world.rank()], group=world))
        )
    exact = np.sum([array.astype(np.float64) for array in arrays], axis=0)
    scale = np.sum([np.abs(array.astype(np.float64)) for array in arrays], axis=0)
    assert all(result.tobytes() == results[0].tobytes() for result in results)
    assert np.all(np.abs(results[0] - exact) <= (size - 1) * scale * 2.0**-24)


@given(st.integers(2, 6), st.sampled_from(["float16", BFLOAT16]), st.sampled_from([0, 10**9]))
def test_sixteen_bit_floats_are_added_in_thirty_two(size: int, dtype: Any, relayed: int) -> None:
    """1 + tiny + tiny ...: in 16 bits every tiny would be lost."""
    tiny = 2.0**-11 if dtype == "float16" else 2.0**-8
    arrays = [np.full(50, 1.0 if rank == 0 else tiny).astype(dtype) for rank in range(size)]
    with cut_small(relayed):
        results = results_of(
            run_ranks(size, lambda world: ring.all_sum(arrays[world.rank()], group=world))
        )
    expected = np.full(50, 1.0 + (size - 1) * tiny, np.float32).astype(dtype)
    assert_same(results, expected)


@pytest.mark.parametrize("relayed", [0, 10**9])
@pytest.mark.parametrize("dtype", ["float16", BFLOAT16, "float32", "float64"])
def test_nan_and_infinity_come_through(dtype: Any, relayed: int) -> None:
    values = np.array([np.nan, np.inf, -np.inf, np.inf, 1] * 20).astype(dtype)
    others = np.array([1, 1, 1, -np.inf, np.nan] * 20).astype(dtype)
    arrays = [values, others, np.zeros(100, dtype)]

    def body(world: Group) -> list[Array]:
        mine = arrays[world.rank()]
        return [call(mine, group=world) for call in (ring.all_sum, ring.all_max, ring.all_min)]

    with cut_small(relayed):
        sums, highs, lows = zip(*results_of(run_ranks(3, body)), strict=True)
    expected = [np.nan, np.inf, -np.inf, np.nan, np.nan] * 20
    assert np.array_equal(sums[0].astype(np.float64), expected, equal_nan=True)
    expected = [np.nan, np.inf, 1, np.inf, np.nan] * 20
    assert np.array_equal(highs[0].astype(np.float64), expected, equal_nan=True)
    expected = [np.nan, 0, -np.inf, -np.inf, np.nan] * 20
    assert np.array_equal(lows[0].astype(np.float64), expected, equal_nan=True)


@pytest.mark.parametrize("relayed", [0, 10**9])
@pytest.mark.parametrize("size", [2, 3])
def test_strided_reversed_and_foreign_byte_order(size: int, relayed: int) -> None:
    base = np.arange(240, dtype=np.float32).reshape(12, 20)
    views = [base[::2, ::-3], base.T, np.broadcast_to(base[0], (6, 20)), base.astype(">f4")]

    def body(world: Group) -> list[Array]:
        results = []
        for view in views:
            results.append(ring.all_sum(view, group=world))
            results.append(ring.all_gather(view, group=world))
            results.append(ring.broadcast(view, 1, group=world))
        return results

    with cut_small(relayed):
        for results in results_of(run_ranks(size, body)):
            for view, sums, joined, same in zip(
                views, results[::3], results[1::3], results[2::3], strict=True
            ):
                assert np.array_equal(sums, size * view)
                assert sums.dtype == view.dtype
                assert np.array_equal(joined, np.concatenate([view] * size))
                assert np.array_equal(same, view)


@settings(max_examples=20)
@given(st.integers(2, 5), st.sampled_from([0, 10**9]), st.booleans())
def test_out_holds_the_result_and_may_be_the_input(size: int, relayed: int, in_place: bool) -> None:
    def body(world: Group) -> tuple[Array, Array]:
        mine = np.arange(100, dtype=np.int32) * (world.rank() + 1)
        out = mine if in_place else np.zeros(100, np.int32)
        result = ring.all_sum(mine, group=world, out=out)
        assert result is out
        return result, mine

    with cut_small(relayed):
        results = results_of(run_ranks(size, body))
    expected = np.arange(100, dtype=np.int32) * (size * (size + 1) // 2)
    for rank, (result, mine) in enumerate(results):
        assert np.array_equal(result, expected)
        if not in_place:
            assert np.array_equal(mine, np.arange(100) * (rank + 1))


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("count", [65536, 65537, 1_000_003])
def test_real_thresholds(size: int, count: int) -> None:
    arrays = [np.random.default_rng(rank).integers(-9, 9, count) for rank in range(size)]

    def body(world: Group) -> list[Array]:
        mine = arrays[world.rank()].astype(np.int8)
        return [
            ring.all_sum(arrays[world.rank()], group=world),
            ring.all_sum(mine, group=world),
            ring.all_gather(mine, group=world),
        ]

    for result, small, gathered in results_of(run_ranks(size, body, width=2)):
        assert np.array_equal(result, np.sum(arrays, axis=0))
        assert np.array_equal(small, np.sum(arrays, axis=0).astype(np.int8))
        assert np.array_equal(gathered, np.concatenate(arrays).astype(np.int8))
