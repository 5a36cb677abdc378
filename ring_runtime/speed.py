"""How long a collective takes on given cables: its schedule, walked through in simulated time.

The times are those of the cables. What the processors need comes on top where it does
not fit in between; ``python -m ring_runtime.bench`` measures both together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ring_runtime.arrays import find_dtype
from ring_runtime.cuts import CHUNK_NBYTES, STRIPE_NBYTES, cut, is_small
from ring_runtime.errors import UsageError
from ring_runtime.program import PARTIAL, Plan, make_program
from ring_runtime.reduction import find_reduction

__all__ = ["Cables", "expected_seconds"]

# What each does: reduce on the way around, gather on the way around.
_AROUND = {
    "all_sum": (True, True),
    "all_max": (True, True),
    "all_min": (True, True),
    "sum_scatter": (True, False),
    "all_gather": (False, True),
}


@dataclass(frozen=True)
class Cables:
    """The cables of a ring, all alike; of different ones the slowest sets the pace.

    Args:
        size: World size, at least 2.
        bytes_per_second: What TCP moves over one cable in one direction while the other is busy.
        hop_seconds: From a rank that sends a few bytes to its neighbour having them.
        width: Cables on every hop.

    Raises:
        UsageError: No ring is like this.
    """

    size: int
    bytes_per_second: float
    hop_seconds: float
    width: int = 1

    def __post_init__(self) -> None:
        if self.size < 2 or self.width < 1:
            raise UsageError(f"no ring has {self.size} ranks and {self.width} cables on a hop")
        if not self.bytes_per_second > 0 or not self.hop_seconds >= 0:
            raise UsageError(
                f"no cable carries {self.bytes_per_second} bytes/s, {self.hop_seconds} s late"
            )

    @property
    def outgoing(self) -> int:
        """How many cables a rank sends on at once: to both sides, unless they are one."""
        return self.width if self.size == 2 else 2 * self.width


def expected_seconds(
    operation: str, nbytes: int, cables: Cables, *, dtype: str = "float32"
) -> float:
    """How long the cables take, from the first rank's call to the last rank's result.

    Args:
        operation: ``all_sum``, ``all_max``, ``all_min``, ``sum_scatter``, ``all_gather``,
            ``broadcast``, ``send`` or ``barrier``.
        nbytes: Of the whole array, as in `bench`: of all_gather the result, of sum_scatter
            the input.

    Raises:
        UsageError: There is no such operation or dtype.

    Example:
        >>> cables = Cables(4, bytes_per_second=6.5e9, hop_seconds=250e-6)
        >>> f"{expected_seconds('all_sum', 4, cables) * 1e3:.2f} ms"
        '0.50 ms'
        >>> f"{expected_seconds('all_sum', 256 * 1024**2, cables) * 1e3:.1f} ms"
        '31.7 ms'
    """
    hop, speed, size = cables.hop_seconds, cables.bytes_per_second, cables.size
    if operation == "barrier":
        return size // 2 * hop
    if operation == "send":
        used = 1 if nbytes <= STRIPE_NBYTES else cables.width
        return hop + nbytes / (used * speed)
    if operation not in (*_AROUND, "broadcast"):
        raise UsageError(f"{operation!r} is not an operation whose time is known")
    kind, _ = find_dtype(dtype)
    contribution = nbytes // size if operation == "all_gather" else nbytes
    reduces, gathers = _AROUND.get(operation, (False, True))
    partial = find_reduction(operation, kind).partial if reduces else kind
    if is_small(contribution, kind.itemsize, size, cables.outgoing, widens=partial != kind):
        return size // 2 * (hop + contribution / speed)
    if operation == "broadcast":
        share = nbytes / cables.outgoing
        delay = (size - 2) * min(share, CHUNK_NBYTES) / speed
        return size // 2 * hop + (size - 1) * hop + delay + share / speed
    count, order = nbytes // kind.itemsize, tuple(range(size))
    plan = cut(count, partial.itemsize, 0, order, cables.outgoing, reduces=reduces, gathers=gathers)
    return _walk(plan, kind, partial, cables)


def _walk(
    plan: Plan, kind: np.dtype[np.generic], partial: np.dtype[np.generic], cables: Cables
) -> float:
    """When the last chunk of a strand arrives, if all ranks do the same at the same time."""
    now = 0.0
    arrivals: list[float] = []
    for part in make_program(plan, 0, False).sends:
        if part.after:
            now = max(now, arrivals[part.after - 1])
        itemsize = partial.itemsize if part.kind == PARTIAL else kind.itemsize
        now += (part.high - part.low) * itemsize / cables.bytes_per_second
        arrivals.append(now + cables.hop_seconds)
    return arrivals[-1]
