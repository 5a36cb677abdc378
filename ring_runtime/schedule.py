"""Who sends what when: the ring algorithms as integers, with no data and no sockets.

A *position* is a place on the ring, counted in the direction the data flows: to
the right, position p sends to p + 1. Data that flows to the left follows the
same steps with positions mirrored, see `mirror`.

A buffer is cut three times. Into *segments*, one per position. Each segment
into *shares*, one per strand (a direction and a connection). Each share into
*chunks*, which are what is in flight while others are reduced.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ScheduleStep",
    "all_gather_steps",
    "bounds",
    "mirror",
    "reduce_scatter_steps",
    "relay_hops",
    "wavefront",
]


@dataclass(frozen=True)
class ScheduleStep:
    """One step of a ring algorithm at one position.

    Args:
        send: The segment that goes to the right.
        recv: The segment that comes from the left.
        reduces: Whether what comes is added to our own, or replaces it.
    """

    send: int
    recv: int
    reduces: bool


def reduce_scatter_steps(position: int, size: int) -> list[ScheduleStep]:
    """Steps after which ``position`` alone holds the fully reduced segment ``position``.

    In every step a position sends one segment to its right while it receives,
    from its left, the segment that one sends in the same step. Following these
    steps with `all_gather_steps` makes an all-reduce.

    Args:
        size: World size. With 1 there is nobody to talk to and no step.

    Returns:
        ``size - 1`` steps, all reducing. The last one receives segment ``position``.

    Cost:
        ``(size - 1) / size`` of the buffer sent per rank, the least possible.

    Example:
        >>> [(step.send, step.recv) for step in reduce_scatter_steps(0, 4)]
        [(3, 2), (2, 1), (1, 0)]
    """
    return [
        ScheduleStep((position - 1 - step) % size, (position - 2 - step) % size, True)
        for step in range(size - 1)
    ]


def all_gather_steps(position: int, size: int) -> list[ScheduleStep]:
    """Steps after which every position holds every segment, if each starts with its own.

    Returns:
        ``size - 1`` steps, none reducing.

    Cost:
        ``(size - 1) / size`` of the gathered buffer sent per rank, the least possible.

    Example:
        >>> [(step.send, step.recv) for step in all_gather_steps(0, 4)]
        [(0, 3), (3, 2), (2, 1)]
    """
    return [
        ScheduleStep((position - step) % size, (position - 1 - step) % size, False)
        for step in range(size - 1)
    ]


def mirror(position: int, size: int) -> int:
    """The position as counted by data that flows the other way.

    Its own inverse; segments are renamed by it too, so that position p owns segment p
    whichever way the data flows.

    Example:
        >>> [mirror(position, 4) for position in range(4)]
        [0, 3, 2, 1]
    """
    return -position % size


def relay_hops(size: int) -> tuple[int, int]:
    """How far to the right and to the left a contribution travels to reach everybody.

    Cost:
        ``size // 2`` hops one after the other, instead of the ``2 * (size - 1)`` of a
        reduce-scatter and all-gather.

    Example:
        >>> relay_hops(2), relay_hops(4), relay_hops(5)
        ((1, 0), (2, 1), (2, 2))
    """
    return size // 2, (size - 1) // 2


def bounds(low: int, high: int, parts: int, index: int) -> tuple[int, int]:
    """Where part ``index`` of ``parts`` nearly equal parts of ``low..high`` begins and ends.

    Sizes differ by at most one; with fewer items than parts some parts are empty.

    Example:
        >>> [bounds(0, 10, 4, index) for index in range(4)]
        [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    span = high - low
    return low + span * index // parts, low + span * (index + 1) // parts


def wavefront(chunks: int, steps: int, lag: int) -> list[tuple[int, int]]:
    """The order in which the ``(chunk, step)`` pairs of a strand go over its connection.

    Chunk c takes its step s in slot ``c + lag * s``, so step s + 1 of a chunk is
    sent ``lag`` slots after its step s was received: while a chunk is reduced, the
    others keep the connection busy. All positions use the same order, and what is
    sent in a slot depends only on what was received in earlier slots, so nobody
    waits in a circle. At most ``lag`` slots of partial results are alive at once,
    whatever the size of the buffer.

    Within a slot later steps go first: they were received longest ago.

    Example:
        >>> wavefront(3, 2, 1)
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
        >>> wavefront(3, 2, 2)
        [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (2, 1)]
    """
    order = []
    for slot in range(chunks + lag * (steps - 1)):
        for step in range(steps - 1, -1, -1):
            chunk = slot - lag * step
            if 0 <= chunk < chunks:
                order.append((chunk, step))
    return order
