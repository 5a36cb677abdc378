"""Arrays of numpy, MLX and torch, and plain numbers, as numpy arrays and back.

Neither MLX nor torch is imported here: an array of theirs can only come in from
a program that has already imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ring_runtime.errors import UsageError

__all__ = ["Array", "adopt", "as_bytes", "find_dtype"]

Array = NDArray[Any]
Restore = Callable[[Array], Any]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def adopt(x: Any) -> tuple[Array, Restore | None]:
    """A numpy array with the values of ``x``, and how to turn a result into what ``x`` is.

    Args:
        x: A numpy array or scalar, a Python number, an ``mlx.core.array`` or a CPU tensor.

    Returns:
        The array shares memory with ``x`` where its library allows. None instead of a
        function means that a numpy array is the result.

    Raises:
        UsageError: It is none of these, or lives on a GPU.

    Example:
        >>> array, restore = adopt(2.5)
        >>> restore(array + 1)
        3.5
    """
    if isinstance(x, np.ndarray):
        if x.dtype.isnative:
            return np.asarray(x), None
        dtype = x.dtype
        return x.astype(dtype.newbyteorder("=")), lambda result: result.astype(dtype)
    if isinstance(x, np.generic):
        return np.asarray(x), lambda result: result[()] if result.ndim == 0 else result
    if isinstance(x, bool | int | float | complex):
        return _adopt_number(x)
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(x, mlx.array):
        return _adopt_mlx(x, mlx)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _adopt_torch(x, torch)
    raise UsageError(
        f"{type(x).__module__}.{type(x).__name__} is not an array",
        hint="Pass a numpy array, a number, an mlx.core.array or a torch.Tensor on the CPU.",
    )


def _adopt_number(x: bool | int | float | complex) -> tuple[Array, Restore]:
    try:
        array = np.array(x, np.int64) if type(x) is int else np.array(x)
    except OverflowError as error:
        raise UsageError(f"{x} does not fit into 64 bits", hint="Pass a float.") from error
    return array, lambda result: result.item() if result.ndim == 0 else result


def _adopt_mlx(x: Any, mlx: Any) -> tuple[Array, Restore]:
    if x.dtype == mlx.bfloat16:
        array = np.array(x.view(mlx.uint16), copy=False).view(_BFLOAT16)
        return array, lambda result: mlx.array(result.view(np.uint16)).view(mlx.bfloat16)
    return np.array(x, copy=False), mlx.array


def _adopt_torch(x: Any, torch: Any) -> tuple[Array, Restore]:
    if x.device.type != "cpu":
        raise UsageError(
            f"a tensor on {x.device} can not travel over the ring",
            hint="Pass tensor.cpu() and move the result back with result.to(tensor.device).",
        )
    tensor = x.detach()
    if x.dtype == torch.bfloat16:
        array = tensor.contiguous().view(torch.int16).numpy().view(_BFLOAT16)
        return array, lambda result: torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return tensor.numpy(), torch.from_numpy


def find_dtype(dtype: Any) -> tuple[np.dtype[Any], Restore | None]:
    """The numpy dtype of a dtype of numpy, MLX or torch, and how to make an array of its library.

    Raises:
        UsageError: It is no dtype.

    Example:
        >>> find_dtype("float32")[0]
        dtype('float32')
    """
    for name, like in (("mlx.core", "Dtype"), ("torch", "dtype")):
        library = sys.modules.get(name)
        if library is not None and isinstance(dtype, getattr(library, like)):
            if name == "torch":
                array, restore = _adopt_torch(library.empty(0, dtype=dtype), library)
            else:
                array, restore = _adopt_mlx(library.zeros(0, dtype=dtype), library)
            return array.dtype, restore
    try:
        return np.dtype("bool" if dtype is bool else dtype), None
    except TypeError:
        if dtype == "bfloat16":
            return _BFLOAT16, None
        raise UsageError(
            f"{dtype!r} is not a dtype", hint="Use one of numpy, mlx.core or torch."
        ) from None


def as_bytes(array: Array) -> memoryview:
    """The memory of a contiguous flat array of any dtype.

    Example:
        >>> bytes(as_bytes(np.array([1, 2], np.uint8)))
        b'\\x01\\x02'
    """
    return array.view(np.uint8).data
