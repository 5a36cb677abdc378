"""Adding (or comparing) arrays of every supported dtype, the same way on every rank.

The two 16-bit floats are added in float32: partial sums travel as float32 and
are rounded once, at the end. Maximum and minimum round nothing and stay in
their own dtype.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
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


def _quiet_context() -> contextvars.Context | None:
    """A context in which numpy does not warn, which is cheaper to enter than `numpy.errstate`.

    Returns:
        None before numpy 2, where that setting belongs to the thread and not to the context.
    """
    if int(np.__version__.partition(".")[0]) < 2:
        return None
    context = contextvars.copy_context()
    context.run(lambda: np.seterr(all="ignore"))
    return context


class Reduction:
    """How arrays of one dtype are combined by one operation; for one thread at a time.

    Args:
        combine: The numpy function of two arrays with ``out=``.
        dtype: Of the arrays.

    Attributes:
        name: Of the dtype, as in headers.
        partial: The dtype of what travels once two contributions are combined.
        widens: Whether that is another one.
    """

    def __init__(self, combine: Combine, dtype: np.dtype[Any]) -> None:
        self.combine = combine
        self.dtype = dtype
        self.name = _NAMES[dtype]
        self.widens = dtype in _HALVES and combine is np.add
        self.partial: np.dtype[Any] = np.dtype(np.float32) if self.widens else dtype
        self._context = _quiet_context() if dtype.kind not in "biu" else None
        self._is_exact = dtype.kind in "biu"
        self._room = np.empty((2, 0), np.float32)

    def fold(self, received: Array, own: Array, out: Array) -> None:
        """Write the combination of two equally long flat arrays to ``out``.

        Args:
            received: A contribution (``dtype``) or a partial result (``partial``).
            own: Our contribution.
            out: Of ``dtype`` to finish, of ``partial`` to pass on. It may be ``received``, and,
                if that is narrower, may hold it in its upper half.
        """
        if self.widens:
            self._quietly(self._fold_widened, received, own, out=out)
        elif self._is_exact:
            self.combine(received, own, out=out)
        else:
            self._quietly(self.combine, received, own, out=out)

    def _quietly(self, call: Combine, *arrays: Array, out: Array) -> None:
        """Do this without a word about overflow, infinities and NaN, which are results too."""
        if self._context is not None:
            self._context.run(call, *arrays, out=out)
            return
        with np.errstate(all="ignore"):
            call(*arrays, out=out)

    def _fold_widened(self, received: Array, own: Array, out: Array) -> None:
        if self._room.shape[1] < min(len(own), _PIECE):
            self._room = np.empty((2, min(len(own), _PIECE)), np.float32)
        for start in range(0, len(own), _PIECE):
            piece = slice(start, start + _PIECE)
            theirs, ours = self._room[:, : len(own[piece])]
            widen(own[piece], ours)
            if received.dtype == ours.dtype:
                theirs = received[piece]
            else:
                widen(received[piece], theirs)
            if out.dtype == ours.dtype:
                self.combine(theirs, ours, out=out[piece])
            else:
                self.combine(theirs, ours, out=ours)
                narrow(ours, out[piece])

    def fold_all(self, contributions: Sequence[Array], out: Array) -> None:
        """Write the combination of all contributions, first to last, to ``out``.

        Args:
            out: Overlaps none of them.
        """
        first, second, *others = contributions
        if not self.widens or not others:
            self.fold(first, second, out)
            for other in others:
                self.fold(out, other, out)
            return
        total = np.empty(len(first), np.float32)
        self.fold(first, second, total)
        for other in others:
            self.fold(total, other, total)
        self._quietly(narrow, total, out=out)


def find_reduction(operation: str, dtype: np.dtype[Any]) -> Reduction:
    """The reduction of an operation for a dtype that `check_dtype` accepted."""
    return Reduction(_UFUNCS[operation], dtype)
