"""float16 and bfloat16 as float32 and back, as fast as numpy's vector operations allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["narrow", "widen"]

Array = NDArray[Any]

_FLOAT16 = np.dtype(np.float16)
_MAGNITUDE = np.uint16(0x7FFF)
_INFINITE = 0x7C00
# Of a float16 that was extended to 32 bits with its sign and moved up by 13: all but
# the three copies of the sign bit below the sign.
_KEEP = np.uint32(0x8FFFE000).view(np.int32)
_REBIAS = np.float32(2.0**112)


def widen(halves: Array, out: Array) -> None:
    """Write 16-bit floats to ``out`` as float32; every value has one.

    numpy converts float16 one by one; moving its bits into place and multiplying by a
    power of two, which is exact for subnormal numbers too, does it in vectors.

    Args:
        halves: float16 or bfloat16.
        out: float32, as long, in other memory.

    Example:
        >>> out = np.empty(3, np.float32)
        >>> widen(np.array([0.1, -np.inf, 6e-8], np.float16), out)
        >>> out.tolist() == [np.float16(0.1), -np.inf, np.float16(6e-8)]
        True
    """
    if halves.dtype != _FLOAT16 or _has_no_number(halves):
        np.copyto(out, halves)
        return
    bits = out.view(np.int32)
    np.copyto(bits, halves.view(np.int16))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _KEEP, out=bits)
    np.multiply(out, _REBIAS, out=out)


def _has_no_number(halves: Array) -> bool:
    """Whether there is an infinity or NaN, whose exponents a multiplication does not move."""
    if not halves.size:
        return False
    return bool(np.bitwise_and(halves.view(np.uint16), _MAGNITUDE).max() >= _INFINITE)


def narrow(floats: Array, out: Array) -> None:
    """Write float32 to ``out`` as 16-bit floats, each rounded to the nearest."""
    np.copyto(out, floats, casting="unsafe")
