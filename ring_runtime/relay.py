"""Small collectives: whole contributions travel both ways until everybody has them all.

A rank sends its contribution to both neighbours and passes on what it receives
from one to the other; nobody's contribution travels more than half way around.
Every rank then holds all of them and combines them in rank order by itself, so
all ranks compute the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.ring import Ring
from ring_runtime.schedule import relay_hops
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["Route", "relay", "relay_scratch"]

_ALIGNMENT = 64


@dataclass(frozen=True)
class Route:
    """The connections of one direction of flow, in the same order on both ends of a hop.

    Args:
        outs: Where data leaves.
        ins: Where it comes from; with two ranks these are the same connections.
    """

    outs: tuple[Connection, ...]
    ins: tuple[Connection, ...]


class _Passing:
    """What comes from one neighbour: its own contribution, then those from behind it."""

    def __init__(
        self,
        ring: Ring,
        connection: Connection,
        onward: Outflow,
        header: bytearray,
        buffer: memoryview,
        nbytes: int,
        hops: int,
    ) -> None:
        self.ring = ring
        self.connection = connection
        self.onward = onward
        self.header = header
        self.buffer = buffer
        self.nbytes = nbytes
        self.hops = hops
        self.count = 0
        self.seen = 0

    def incoming(self) -> memoryview:
        """Room for the next contribution, the first one with the header before it."""
        start = HEADER_NBYTES + self.count * self.nbytes
        return self.buffer[start if self.count else 0 : start + self.nbytes]

    def underway(self, received: int) -> None:
        """Check the header as soon as it is there: the rest of a wrong call may never come."""
        before, self.seen = self.seen, self.seen + received
        if before < HEADER_NBYTES <= self.seen:
            self._check()

    def _check(self) -> None:
        if self.header != self.buffer[:HEADER_NBYTES]:
            theirs = bytes(self.buffer[:HEADER_NBYTES])
            raise self.ring.mismatch(self.connection, bytes(self.header), theirs)

    def arrived(self) -> None:
        """Pass the contribution on, unless it has come half way around."""
        if not self.count:
            self._check()
        self.count += 1
        if self.count < self.hops:
            end = HEADER_NBYTES + self.count * self.nbytes
            self.onward.feed(self.buffer[end - self.nbytes : end])


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def relay_scratch(size: int, nbytes: int) -> int:
    """How many bytes of scratch memory a relay of contributions of ``nbytes`` needs."""
    ahead, back = relay_hops(size)
    return sum(_aligned(HEADER_NBYTES + count * nbytes) for count in (1, ahead, back))


def relay(
    ring: Ring,
    routes: tuple[Route, ...],
    size: int,
    header: bytearray,
    nbytes: int,
    scratch: memoryview,
) -> list[memoryview]:
    """Everybody's contribution, in order of distance to the left, ours first.

    When it returns, every rank of the group has begun the same call.

    Args:
        routes: To the right and, with more than two ranks, to the left.
        nbytes: Of every contribution, at least 1.
        scratch: `relay_scratch` bytes; our contribution stands at `HEADER_NBYTES`.

    Raises:
        PeerError: The ring is broken.

    Cost:
        ``size // 2`` hops; ``(size - 1) * nbytes`` sent per rank, over two directions.
    """
    scratch[:HEADER_NBYTES] = header
    own = scratch[: HEADER_NBYTES + nbytes]
    at = _aligned(HEADER_NBYTES + nbytes)
    outs, ins, buffers = [], [], []
    for route, hops in zip(routes, relay_hops(size), strict=False):
        length = HEADER_NBYTES + hops * nbytes
        buffer = scratch[at : at + length]
        at += _aligned(length)
        out = Outflow(route.outs[0], length)
        out.feed(own)
        passing = _Passing(ring, route.ins[0], out, header, buffer, nbytes, hops)
        outs.append(out)
        ins.append(Inflow(route.ins[0], length, passing))
        buffers.append((buffer, hops))
    exchange(outs, ins, ring)
    contributions = [own[HEADER_NBYTES:]]
    (buffer, hops), *others = buffers
    for hop in range(hops):
        start = HEADER_NBYTES + hop * nbytes
        contributions.append(buffer[start : start + nbytes])
    for buffer, hops in others:
        for hop in range(hops - 1, -1, -1):
            start = HEADER_NBYTES + hop * nbytes
            contributions.append(buffer[start : start + nbytes])
    return contributions
