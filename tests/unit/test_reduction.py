"""Combining arrays, and 16-bit floats as float32, against numpy."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ring_runtime.arrays import Array
from ring_runtime.errors import UsageError
from ring_runtime.halves import narrow, widen
from ring_runtime.reduction import check_dtype, find_reduction

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EVERY_HALF = np.arange(65536, dtype=np.uint16)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16])
@pytest.mark.parametrize("numbers_only", [False, True])
def test_every_sixteen_bit_float_is_widened_as_by_numpy(dtype: Any, numbers_only: bool) -> None:
    halves = EVERY_HALF.view(dtype)
    if numbers_only:
        halves = halves[np.isfinite(halves.astype(np.float32))]
    out = np.empty(len(halves), np.float32)
    widen(halves, out)
    expected = halves.astype(np.float32)
    is_nan = np.isnan(expected)
    assert np.array_equal(np.isnan(out), is_nan)
    assert np.array_equal(out[~is_nan].view(np.uint32), expected[~is_nan].view(np.uint32))


def test_nothing_is_widened_to_nothing() -> None:
    widen(np.empty(0, np.float16), np.empty(0, np.float32))


def sums_of_halves(dtype: Any) -> Array:
    """Every finite half alone, and sums of two and of three drawn from all magnitudes alike."""
    halves = EVERY_HALF.view(dtype).astype(np.float32)
    halves = halves[np.isfinite(halves)]
    first, second, third = np.random.default_rng(1).choice(halves, (3, 100_000))
    return np.concatenate([halves, first + second, (first + second) + third])


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16])
@pytest.mark.parametrize("may_overflow", [False, True])
def test_sums_of_halves_are_rounded_as_by_numpy(dtype: Any, may_overflow: bool) -> None:
    with np.errstate(over="ignore"):
        floats = sums_of_halves(dtype)
        expected = floats.astype(dtype)
        if not may_overflow:
            floats = floats[np.isfinite(expected.astype(np.float32))]
            expected = floats.astype(dtype)
        out = np.empty(len(floats), dtype)
        narrow(floats, out, np.empty_like(floats))
    assert np.array_equal(out.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (2049.0, 2048.0),  # half way between two float16: to the even one
        (2051.0, 2052.0),
        (-2049.0, -2048.0),
        (65519.0, 65504.0),  # the largest float16
        (65520.0, np.inf),
        (-65520.0, -np.inf),
        (np.inf, np.inf),
        (-0.0, -0.0),
        (2.0**-24, 2.0**-24),  # the smallest
        (3 * 2.0**-24, 3 * 2.0**-24),
        (2.0**-14, 2.0**-14),  # the smallest that is not subnormal
        (2.0**-14 + 2.0**-24, 2.0**-14 + 2.0**-24),
    ],
)
def test_a_float_becomes_the_nearest_float16(value: float, rounded: float) -> None:
    out = np.zeros(3, np.float16)
    with np.errstate(over="ignore"):
        narrow(np.array([value, 1.0, value], np.float32), out, np.empty(3, np.float32))
    assert out.tolist() == [rounded, 1.0, rounded]
    assert np.signbit(out).tolist() == [np.signbit(rounded), False, np.signbit(rounded)]


def test_nothing_is_rounded_to_nothing() -> None:
    narrow(np.empty(0, np.float32), np.empty(0, np.float16), np.empty(0, np.float32))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16])
@pytest.mark.parametrize("count", [0, 1, 65536, 150_001])
def test_a_fold_of_halves_may_read_from_the_upper_half_of_where_it_writes(
    dtype: Any, count: int
) -> None:
    generator = np.random.default_rng(2)
    received, own = (generator.normal(size=count).astype(dtype) for _ in range(2))
    row = np.empty(count, np.float32)
    upper = row.view(dtype)[count:]
    upper[:] = received
    find_reduction("all_sum", dtype).fold(upper, own, out=row)
    assert np.array_equal(row, received.astype(np.float32) + own.astype(np.float32))
    find_reduction("all_sum", dtype).fold(row, own, out=row)
    expected = received.astype(np.float32) + own.astype(np.float32) + own.astype(np.float32)
    assert np.array_equal(row, expected)
    out = np.empty(count, dtype)
    find_reduction("all_sum", dtype).fold(row, own, out=out)
    assert np.array_equal(out, (row + own.astype(np.float32)).astype(dtype))


def test_overflow_gives_infinity_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (np.float16, np.float32, np.complex64):
            large = np.full(3, np.finfo(dtype).max, dtype)
            out = np.empty(3, dtype)
            find_reduction("all_sum", np.dtype(dtype)).fold_all([large, large, large], out)
            assert np.all(np.isinf(out))
        nothing = np.array([np.inf, -np.inf], np.float32)
        out = np.empty(2, np.float32)
        find_reduction("all_sum", np.dtype(np.float32)).fold_all([nothing, -nothing], out)
        assert np.all(np.isnan(out))


def test_contributions_are_added_in_rank_order() -> None:
    """(1e8 + 1) - 1e8 is 0 in float32 and 1 in any other order that keeps the 1 for last."""
    parts = [np.array([value], np.float32) for value in (1e8, 1.0, -1e8)]
    out = np.empty(1, np.float32)
    find_reduction("all_sum", np.dtype(np.float32)).fold_all(parts, out)
    assert out.tolist() == [0.0]
    find_reduction("all_sum", np.dtype(np.float32)).fold_all([parts[0], parts[2], parts[1]], out)
    assert out.tolist() == [1.0]


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "longdouble", "clongdouble", "O", "S3", "V2"])
def test_other_dtypes_are_refused_with_a_list_of_those_that_can_travel(dtype: str) -> None:
    with pytest.raises(UsageError, match="bfloat16, float32"):
        check_dtype(np.dtype(dtype), "all_sum")
