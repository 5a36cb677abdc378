"""A group of ranks, as users hold it: who we are in it, and how to split it."""

from __future__ import annotations

import struct
import zlib
from types import TracebackType

import numpy as np

from ring_runtime.arrays import Array
from ring_runtime.calls import Calls, ReadyReduction
from ring_runtime.diagnosis import describe_exception
from ring_runtime.errors import GroupClosed, RingError, UsageError
from ring_runtime.relay import Route
from ring_runtime.ring import Ring

__all__ = ["Group", "check_choice", "make_world"]

_NOTHING: Array = np.zeros((), np.uint8)


class Group:
    """Ranks that call collectives together. Made by `init` and by `split`.

    Args:
        ring: The connections, shared by all groups of this process on them.
        position: Our place in the direction of flow "right".
        order: The rank at each position.
        routes: To the right and, with more than two ranks, to the left.
        identity: The same number on all members, carried by every header.
    """

    def __init__(
        self,
        ring: Ring,
        position: int,
        order: tuple[int, ...],
        routes: tuple[Route, ...],
        identity: int = 0,
    ) -> None:
        self.ring = ring
        self.position = position
        self.order = order
        self.routes = routes
        self.identity = identity
        self.calls = Calls(ring, position, order, routes, identity)
        self.strands = sum(len(route.outs) for route in routes)
        self._is_closed = False
        self._size = len(order)

    def rank(self) -> int:
        """Our rank in this group, from 0."""
        return self.order[self.position]

    def size(self) -> int:
        """How many ranks this group has."""
        return self._size

    def __repr__(self) -> str:
        return f"<Group rank {self.rank()} of {self.size()}>"

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and self.identity == 0:
            self.ring.close(f"raised {describe_exception(error)}")
        self.close()

    def close(self) -> None:
        """Leave in good order, free the TCP ports; closing twice is fine.

        A group made by `split` shares its connections with the group it came from, and
        leaves them open.
        """
        self._is_closed = True
        if self.identity == 0:
            self.ring.close()

    def barrier(self) -> None:
        """Return once every rank of the group has called it.

        Raises:
            PeerError: The group is broken.
        """
        self.check_open()
        if self.size() > 1:
            with self.ring:
                self.calls.relay("barrier", _NOTHING, "uint8", nbytes=0).run(_NOTHING)

    def check_open(self) -> None:
        """Refuse to go on with a closed or broken group, before anything else is looked at.

        Raises:
            RingError: `GroupClosed`, or the error that broke it.
        """
        if self.ring.error is not None:
            raise self.ring.error.with_traceback(None)
        if self._is_closed:
            raise GroupClosed("this group was closed", hint="Do not close it before the end.")

    def is_closed(self) -> bool:
        """Whether `close` was called; a broken group is not closed by itself."""
        return self._is_closed

    def find_ready(self, operation: str, array: Array) -> ReadyReduction | None:
        """What reduced arrays like this one before; none when closed."""
        return None if self._is_closed else self.calls.find_ready(operation, array)

    def run_ready(self, ready: ReadyReduction, array: Array, result: Array) -> None:
        """The next collective of this group, by way of that.

        Args:
            array: Contiguous.
            result: Contiguous and as large, in other memory.
        """
        with self.ring:
            self.calls.stamp(ready.header)
            ready.run(array, result)

    def split(self, color: int, key: int = -1) -> Group:
        """The group of all ranks that gave the same color; every rank has to call it.

        Args:
            color: Any integer from -2**63 to 2**63 - 1.
            key: Ranks of the new group are in order of it; negative stands for our rank.

        Raises:
            UsageError: On a ring a group is one rank, all ranks, or two neighbours.
            PeerError: The group is broken.
        """
        self.check_open()
        check_choice(color, key)
        choices = self._gather_choices(color, self.rank() if key < 0 else key)
        groups: dict[int, list[int]] = {}
        for rank in sorted(range(self.size()), key=lambda rank: (choices[rank][1], rank)):
            groups.setdefault(choices[rank][0], []).append(rank)
        for members in groups.values():
            self._check_possible(members)
        stamp = struct.pack("!IQq", self.identity, self.calls.sequence, color)
        return self._subgroup(groups[color], zlib.crc32(stamp) or 1)

    def _gather_choices(self, color: int, key: int) -> list[tuple[int, int]]:
        """What each rank asked for, by rank."""
        if self.size() == 1:
            return [(color, key)]
        with self.ring:
            choice = np.array([color, key])
            choices = self.calls.relay("split", choice, "int64").run(choice)
            return [(int(color), int(key)) for color, key in choices]

    def _check_possible(self, members: list[int]) -> None:
        size = self.size()
        if len(members) in (1, size):
            return
        places = sorted(self.order.index(rank) for rank in members)
        if len(members) == 2 and (places[1] - places[0]) in (1, size - 1):
            return
        raise UsageError(
            f"ranks {', '.join(map(str, sorted(members)))} can not form a group on a ring of "
            f"{size}: only one rank, all ranks, or two neighbours can",
            hint='For any other split use init(backend="mpi").',
        )

    def _subgroup(self, members: list[int], identity: int) -> Group:
        """The group of these of our ranks, in the order of their new ranks."""
        size = self.size()
        if len(members) == 1:
            return Group(Ring(0, 1, None, None), 0, (0,), (), identity)
        if len(members) == size:
            new_rank = {rank: index for index, rank in enumerate(members)}
            order = tuple(new_rank[rank] for rank in self.order)
            return Group(self.ring, self.position, order, self.routes, identity)
        first, second = (self.order.index(rank) for rank in members)
        ahead = self.order.index(next(r for r in members if r != self.rank()))
        is_low = ahead == (self.position + 1) % size
        right = self.routes[0]
        connections = right.outs if is_low else right.ins
        order = (0, 1) if second == (first + 1) % size else (1, 0)
        return Group(
            self.ring, 0 if is_low else 1, order, (Route(connections, connections),), identity
        )


def check_choice(color: int, key: int) -> None:
    """Refuse what a rank can not choose at a split, before anything is sent.

    Raises:
        UsageError: It is no integer, or too large.
    """
    for name, value in (("color", color), ("key", key)):
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise UsageError(f"{name}={value!r} is not a 64-bit integer")


def make_world(ring: Ring, width: int = 1) -> Group:
    """The group of all ranks of a ring.

    Args:
        width: How many connections to use on every hop: as many as the hop with the fewest has.

    Raises:
        RingError: The ring lacks a neighbour.
    """
    if ring.size == 1:
        return Group(ring, 0, (0,), ())
    if ring.left is None or ring.right is None:
        raise RingError("a ring of several ranks needs both neighbours")
    right, left = tuple(ring.right.data), tuple(ring.left.data)
    if ring.size == 2:
        # Each rank has called the other; one of the two hops covers every cable, both ways.
        hop = right if ring.rank == 0 else left
        return Group(ring, ring.rank, (0, 1), (Route(hop, hop),))
    right, left = right[:width], left[:width]
    routes = (Route(right, left), Route(left, right))
    return Group(ring, ring.rank, tuple(range(ring.size)), routes)
