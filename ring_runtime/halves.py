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
_UNBIAS = np.float32(2.0**-112)
# Half way from the largest float16 to the next.
_TOO_LARGE = 65520.0
# The smallest float16, not yet multiplied.
_SMALLEST = np.float32(2.0**-136)


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
    if halves.dtype != _FLOAT16 or _has_no_number(halves) or not _keeps_subnormals():
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


def narrow(floats: Array, out: Array, room: Array) -> None:
    """Write sums of 16-bit floats to ``out``, each rounded to the nearest, ties to even.

    numpy rounds to float16 one by one. Multiplied by a power of two, which is exact for a
    multiple of the smallest float16, the bits of a float32 are those of the float16 and some
    more, which integer vector operations round away.

    Args:
        floats: float32; written over.
        out: float16 or bfloat16, as long.
        room: 32-bit memory, as long, written over.
    """
    if out.dtype != _FLOAT16 or not _may_move_bits(floats):
        np.copyto(out, floats, casting="unsafe")
        return
    np.multiply(floats, _UNBIAS, out=floats)
    bits, other = floats.view(np.uint32), room.view(np.uint32)
    np.right_shift(bits, 13, out=other)
    np.bitwise_and(other, 1, out=other)
    np.add(other, 0xFFF, out=other)
    np.add(bits, other, out=bits)
    np.bitwise_and(bits, 0x80000000, out=other)
    np.right_shift(other, 3, out=other)
    np.bitwise_or(bits, other, out=bits)
    np.right_shift(bits, 13, out=bits)
    np.copyto(out.view(np.uint16), bits, casting="unsafe")


def _may_move_bits(floats: Array) -> bool:
    """Whether all of these round to a finite float16."""
    if not floats.size:
        return False
    return bool(floats.min() > -_TOO_LARGE and floats.max() < _TOO_LARGE) and _keeps_subnormals()


def _keeps_subnormals() -> bool:
    """Whether this thread calculates with subnormal numbers; some libraries have it flush them."""
    return bool(_SMALLEST * _REBIAS)
