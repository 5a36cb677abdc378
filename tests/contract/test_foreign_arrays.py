"""Arrays of MLX and torch go in and come back as what they were, in a group of one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
import torch

import ring_runtime as ring
from ring_runtime.arrays import adopt, find_dtype
from ring_runtime.errors import UsageError

SHAPES = [(), (0,), (1,), (2, 3), (3, 0, 2), (2, 1, 3)]
MLX_DTYPES = [
    "bool_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
]
TORCH_DTYPES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def values(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """0, 1, 2, ... which every dtype but bool holds exactly."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MLX_DTYPES)
def test_mlx_arrays_come_back_as_they_were(name: str, shape: tuple[int, ...]) -> None:
    with mx.stream(mx.cpu):
        x = mx.array(values(shape)).astype(getattr(mx, name))
        result = ring.all_sum(x)
        assert isinstance(result, mx.array)
        assert (result.dtype, result.shape) == (x.dtype, shape)
        assert result is not x
        assert mx.array_equal(result, x)
        gathered = ring.all_gather(x)
        assert (gathered.dtype, gathered.shape) == (x.dtype, shape or (1,))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_tensors_come_back_as_they_were(name: str, shape: tuple[int, ...]) -> None:
    x = torch.from_numpy(values(shape)).to(getattr(torch, name))
    result = ring.all_sum(x)
    assert isinstance(result, torch.Tensor)
    assert (result.dtype, tuple(result.shape)) == (x.dtype, shape)
    assert result.numel() == 0 or result.data_ptr() != x.data_ptr()
    assert torch.equal(result, x)
    gathered = ring.all_gather(x)
    assert (gathered.dtype, tuple(gathered.shape)) == (x.dtype, shape or (1,))


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_views_that_are_not_contiguous(name: str) -> None:
    ours = mx.array(values((4, 6))).astype(getattr(mx, name))
    for view in (ours.T, ours[:, ::2], ours.T[1:, ::3], mx.broadcast_to(ours[0], (3, 6))):
        assert mx.array_equal(ring.all_sum(view), view)
    theirs = torch.from_numpy(values((4, 6))).to(getattr(torch, name))
    for view in (theirs.T, theirs[:, ::2], theirs.T[1:, ::3], theirs[0].expand(3, 6)):
        assert torch.equal(ring.all_sum(view), view)


def test_the_way_in_copies_nothing() -> None:
    ours = mx.zeros((1000,))
    mx.eval(ours)
    assert np.shares_memory(adopt(ours)[0], np.array(ours, copy=False))
    for dtype in (torch.float32, torch.bfloat16):
        theirs = torch.zeros(1000, dtype=dtype)
        adopt(theirs)[0][3] = 7
        assert theirs[3] == 7


def test_parameters_conjugates_and_negatives_of_torch() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    result = ring.all_sum(parameter)
    assert torch.equal(result, torch.ones(3))
    assert not result.requires_grad
    complex_ = torch.tensor([1 + 2j, 3 - 4j])
    assert torch.equal(ring.all_sum(complex_.conj()), torch.tensor([1 - 2j, 3 + 4j]))
    assert torch.equal(ring.all_sum(complex_.conj().imag), torch.tensor([-2.0, 4.0]))


def test_numbers_come_back_as_numbers() -> None:
    for number in (True, 7, 2.5, 1 + 2j):
        result = ring.all_sum(number)
        assert result == number
        assert type(result) is type(number)
    scalar = ring.all_max(np.float16(2.5))
    assert scalar == 2.5
    assert type(scalar) is np.float16
    with pytest.raises(UsageError, match="does not fit into 64 bits"):
        ring.all_sum(2**64)


def test_a_tensor_elsewhere_is_refused_with_the_way_out() -> None:
    """The device "meta" stands for a GPU: both are not the CPU."""
    with pytest.raises(UsageError, match=r"device meta can not travel -- Pass tensor\.cpu\(\)"):
        ring.all_sum(torch.ones(3, device="meta"))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3).to_sparse(),
        torch.ones(3).to(torch.float8_e5m2),
    ],
    ids=lambda tensor: f"{tensor.dtype}-{tensor.layout}",
)
def test_tensors_that_numpy_does_not_have_are_refused(tensor: torch.Tensor) -> None:
    with pytest.raises(UsageError, match=r"can not travel: .* -- Pass a dense tensor of a dtype"):
        ring.all_sum(tensor)


def test_functions_being_transformed_are_refused() -> None:
    with pytest.raises(UsageError, match=r"Call collectives outside functions given to mx.compile"):
        mx.compile(ring.all_sum)(mx.ones(3))
    with pytest.raises(UsageError, match=r"outside torch.compile, torch.vmap and torch.func.grad"):
        torch.vmap(ring.all_sum)(torch.ones(2, 3))


def test_other_things_are_no_arrays() -> None:
    for thing in ("text", None, [1, 2], object()):
        with pytest.raises(UsageError, match="is not an array"):
            ring.all_sum(thing)


@pytest.mark.parametrize(
    ("dtype", "kind", "library"),
    [
        ("float32", "float32", np.ndarray),
        (np.int16, "int16", np.ndarray),
        (bool, "bool", np.ndarray),
        ("bfloat16", "bfloat16", np.ndarray),
        (mx.bfloat16, "bfloat16", mx.array),
        (mx.float64, "float64", mx.array),
        (mx.complex64, "complex64", mx.array),
        (torch.bfloat16, "bfloat16", torch.Tensor),
        (torch.int64, "int64", torch.Tensor),
        (torch.bool, "bool", torch.Tensor),
    ],
    ids=str,
)
def test_dtypes_of_three_libraries(dtype: Any, kind: str, library: type) -> None:
    found, restore = find_dtype(dtype)
    assert str(found) == kind
    result = np.zeros((2, 3), found)
    restored = result if restore is None else restore(result)
    assert isinstance(restored, library)
    assert tuple(restored.shape) == (2, 3)
    if library is not np.ndarray:
        assert restored.dtype == dtype


def test_what_is_no_dtype() -> None:
    for thing in ("float33", torch.float8_e5m2, "text", object()):
        with pytest.raises(UsageError):
            find_dtype(thing)


def test_neither_library_is_imported_for_others_arrays(root: Path) -> None:
    script = (
        "import sys, numpy as np, ring_runtime as ring\n"
        "ring.all_sum(np.ones(3)); ring.all_gather(1.5); ring.broadcast(np.float32(1))\n"
        "print(sorted({'mlx', 'mlx.core', 'torch', 'mpi4py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
