"""Arrays of MLX and tensors of torch as numpy arrays, and results as theirs again.

Neither library is imported here: an array of theirs can only come in from a program
that has already imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ring_runtime.errors import UsageError

__all__ = ["adopt_foreign_array", "find_foreign_dtype"]

Array = NDArray[Any]
Restore = Callable[[Array], Any]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def adopt_foreign_array(x: Any) -> tuple[Array, Restore] | None:
    """An array that shares memory with ``x``, and how to make its library's own of a result.

    Returns:
        None if ``x`` is neither MLX's nor torch's.

    Raises:
        UsageError: It lives on a GPU, is only a placeholder, or numpy has no such array.
    """
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(x, mlx.array):
        return _adopt_mlx(x, mlx)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _adopt_torch(x, torch)
    return None


def find_foreign_dtype(dtype: Any) -> tuple[np.dtype[Any], Restore] | None:
    """The numpy dtype of a dtype of MLX or torch, and how to make an array of its library.

    Returns:
        None if it belongs to neither.

    Raises:
        UsageError: numpy has no such dtype.
    """
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(dtype, mlx.Dtype):
        array, restore = _adopt_mlx(mlx.zeros(0, dtype=dtype, stream=mlx.cpu), mlx)
        return array.dtype, restore
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        array, restore = _adopt_torch(torch.empty(0, dtype=dtype, device="cpu"), torch)
        return array.dtype, restore
    return None


def _adopt_mlx(x: Any, mlx: Any) -> tuple[Array, Restore]:
    dtype = x.dtype
    is_bfloat16 = dtype == mlx.bfloat16
    try:
        array = np.array(x.view(mlx.uint16) if is_bfloat16 else x, copy=False)
    except ValueError as error:
        raise UsageError(
            f"this array has no values yet: {error}",
            hint="Call collectives outside functions given to mx.compile, mx.vmap and mx.grad.",
        ) from error
    if is_bfloat16:
        return array.view(_BFLOAT16), lambda result: mlx.array(result.view(np.uint16)).view(dtype)
    return array, lambda result: mlx.array(result, dtype=dtype)


def _adopt_torch(x: Any, torch: Any) -> tuple[Array, Restore]:
    if x.device.type != "cpu":
        raise UsageError(
            f"a tensor on the device {x.device} can not travel",
            hint="Pass tensor.cpu(), and move the result back with result.to(tensor.device).",
        )
    try:
        tensor = x.detach().resolve_conj().resolve_neg()
        if x.dtype == torch.bfloat16:
            bits = tensor.contiguous().view(torch.int16).numpy()
            return bits.view(_BFLOAT16), lambda result: torch.from_numpy(
                result.view(np.int16)
            ).view(torch.bfloat16)
        return tensor.numpy(), torch.from_numpy
    except (RuntimeError, TypeError) as error:
        raise UsageError(
            f"a tensor of {x.dtype} and {x.layout} can not travel: {error}",
            hint="Pass a dense tensor of a dtype that numpy has, outside torch.compile, "
            "torch.vmap and torch.func.grad.",
        ) from error
