"""Arrays of numpy, MLX and torch, and plain numbers, as numpy arrays and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ring_runtime.errors import UsageError
from ring_runtime.foreign_arrays import adopt_foreign_array, find_foreign_dtype

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
    foreign = adopt_foreign_array(x)
    if foreign is not None:
        return foreign
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


def find_dtype(dtype: Any) -> tuple[np.dtype[Any], Restore | None]:
    """The numpy dtype of a dtype of numpy, MLX or torch, and how to make an array of its library.

    Raises:
        UsageError: It is no dtype.

    Example:
        >>> find_dtype("float32")[0]
        dtype('float32')
    """
    foreign = find_foreign_dtype(dtype)
    if foreign is not None:
        return foreign
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
