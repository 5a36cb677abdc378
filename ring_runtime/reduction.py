"""Adding (or comparing) arrays of every supported dtype, the same way on every rank.

The two 16-bit floats are added in float32: partial sums travel as float32 and
are rounded once, at the end. Maximum and minimum round nothing and stay in
their own dtype.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ring_runtime.errors import UsageError
from ring_runtime.halves import narrow, widen
from ring_runtime.wire import DTYPES

__all__ = ["Reduction", "check_dtype", "find_reduction"]

Array = NDArray[Any]
Combine = Callable[..., Any]

_PIECE = 32768
_NAMES = {np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name): name for name in DTYPES}
_HALVES = frozenset(np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16))
_UFUNCS: dict[str, Combine] = {
    "all_sum": np.add,
    "sum_scatter": np.add,
    "all_max": np.maximum,
    "all_min": np.minimum,
}


def check_dtype(dtype: np.dtype[Any], operation: str) -> str:
    """The name of a dtype that can travel.

    Raises:
        UsageError: It can not, or not with this operation.

    Example:
        >>> check_dtype(np.dtype("float32"), "all_sum")
        'float32'
    """
    name = _NAMES.get(dtype)
    if name is None:
        raise UsageError(
            f"{operation} of dtype {dtype} is not possible",
            hint=f"Convert the array to one of: {', '.join(DTYPES)}.",
        )
    if operation in ("all_max", "all_min") and dtype.kind == "c":
        raise UsageError(
            f"{operation} of {name} is not defined: complex numbers have no order",
            hint="Use the real part, the imaginary part or the absolute value.",
        )
    return name


def _silence(call: Combine) -> Combine:
    """The same without a word about overflow, infinities and NaN, which are results too.

    To enter a context in which numpy does not warn is cheaper than `numpy.errstate`, but
    before numpy 2 that setting belongs to the thread and not to the context.
    """
    if int(np.__version__.partition(".")[0]) < 2:
        return np.errstate(all="ignore")(call)
    context = contextvars.copy_context()
    context.run(lambda: np.seterr(all="ignore"))
    return partial(context.run, call)


class Reduction:
    """How arrays of one dtype are combined by one operation; for one thread at a time.

    Args:
        combine: The numpy function of two arrays with ``out=``.
        dtype: Of the arrays.

    Attributes:
        name: Of the dtype, as in headers.
        fold: ``fold(received, own, out=out)`` writes the combination of two equally long flat
            arrays to ``out``, of ``dtype`` to finish or of ``partial`` to pass on. The first is
            a contribution or a partial result, the second a contribution. ``out`` may be
            either; if it is wider than ``received`` it may hold that in its upper half.
        partial: The dtype of what travels once two contributions are combined.
        widens: Whether that is another one.
    """

    def __init__(self, combine: Combine, dtype: np.dtype[Any]) -> None:
        self.combine = combine
        self.dtype = dtype
        self.name = _NAMES[dtype]
        self.widens = dtype in _HALVES and combine is np.add
        self.partial: np.dtype[Any] = np.dtype(np.float32) if self.widens else dtype
        self._room = np.empty((2, 0), np.float32)
        self.fold: Combine = combine
        if self.widens:
            # numpy converts as it adds, some thousand at a time; to convert float16 it is slow.
            is_slow = dtype == np.float16
            at_once = partial(combine, dtype=np.float32, casting="unsafe")
            self.fold = _silence(self._fold_widened if is_slow else at_once)
        elif dtype.kind not in "biu":
            self.fold = _silence(combine)
        self._narrow_all = _silence(self._narrow_widened)

    def _fold_widened(self, received: Array, own: Array, out: Array) -> None:
        for start in range(0, len(own), _PIECE):
            piece = slice(start, start + _PIECE)
            theirs, ours = self._rooms(len(own[piece]))
            widen(own[piece], ours)
            if received.dtype == ours.dtype:
                first = received[piece]
            else:
                first = theirs
                widen(received[piece], first)
            if out.dtype == ours.dtype:
                self.combine(first, ours, out=out[piece])
            else:
                self.combine(first, ours, out=ours)
                narrow(ours, out[piece], theirs)

    def _rooms(self, count: int) -> Array:
        """Two rows of so many float32 for a moment, at most a piece."""
        if self._room.shape[1] < count:
            self._room = np.empty((2, count), np.float32)
        return self._room[:, :count]

    def fold_all(self, contributions: Sequence[Array], out: Array) -> None:
        """Write the combination of all contributions, first to last, to ``out``.

        Args:
            out: Overlaps none of them.
        """
        first, second, *others = contributions
        if not self.widens or not others:
            self.fold(first, second, out=out)
            for other in others:
                self.fold(out, other, out=out)
            return
        total = np.empty(len(first), np.float32)
        self.fold(first, second, out=total)
        for other in others:
            self.fold(total, other, out=total)
        self._narrow_all(total, out)

    def _narrow_widened(self, total: Array, out: Array) -> None:
        for start in range(0, len(out), _PIECE):
            piece = slice(start, start + _PIECE)
            narrow(total[piece], out[piece], self._rooms(len(out[piece]))[0])


def find_reduction(operation: str, dtype: np.dtype[Any]) -> Reduction:
    """The reduction of an operation for a dtype that `check_dtype` accepted."""
    return Reduction(_UFUNCS[operation], dtype)
