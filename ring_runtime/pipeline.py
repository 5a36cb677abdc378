"""Large collectives: all strands of a ring collective, a broadcast or a message, at once."""

from __future__ import annotations

from collections.abc import Sequence

from ring_runtime.arrays import Array
from ring_runtime.connection import Connection, Inflow, Outflow, Sink, exchange
from ring_runtime.program import Plan, find_programs
from ring_runtime.reduction import Reduction
from ring_runtime.relay import Route
from ring_runtime.ring import Ring
from ring_runtime.schedule import bounds, mirror
from ring_runtime.strand import Strand
from ring_runtime.wire import HEADER_NBYTES

__all__ = ["broadcast_chain", "move_message", "run_ring"]


class _HeaderCheck:
    """Receives the header, then hands the flow over to the sink of the data."""

    def __init__(self, ring: Ring, header: bytearray) -> None:
        self.ring = ring
        self.header = header
        self.buffer = bytearray(HEADER_NBYTES)
        self.inflow: Inflow | None = None
        self.then: Sink | None = None

    def incoming(self) -> memoryview:
        """Room for the header."""
        return memoryview(self.buffer)

    def underway(self, received: int) -> None:
        """Nothing to do before it is whole."""

    def arrived(self) -> None:
        """Compare it with ours."""
        assert self.inflow is not None
        if self.buffer != self.header:
            raise self.ring.mismatch(self.inflow.connection, bytes(self.header), bytes(self.buffer))
        if self.then is not None:
            self.inflow.sink = self.then


def run_ring(
    ring: Ring,
    routes: tuple[Route, ...],
    plan: Plan,
    header: bytearray,
    source: Array,
    out: Array,
    reduction: Reduction,
    pool: Array,
) -> None:
    """Reduce-scatter, all-gather, or one after the other as an all-reduce.

    Args:
        source: Our flat contribution; unused when nothing is reduced.
        out: The flat result. Of an all-gather it already holds our own segment. It may be
            ``source`` when all ranks get the whole result.
        pool: Bytes for each strand and row of partial results.

    Raises:
        PeerError: The ring is broken.

    Cost:
        ``(size - 1) / size`` of the buffer sent per rank for each of the two halves,
        spread over all connections in both directions.
    """
    hops = [hop for route in routes for hop in zip(route.outs, route.ins, strict=True)]
    narrow, wide = reduction.dtype.itemsize, reduction.partial.itemsize
    outs, ins = [], []
    programs = find_programs(plan, len(routes[0].outs))
    for (outward, inward), program, rows in zip(hops, programs, pool, strict=True):
        outflow = Outflow(outward, header, program.sent[0] * narrow + program.sent[1] * wide)
        strand = Strand(program, source, out, reduction, rows, outflow)
        nbytes = program.received[0] * narrow + program.received[1] * wide
        outs.append(outflow)
        ins.append(_checked_inflow(ring, inward, header, nbytes, strand))
    exchange(outs, ins, ring)


def _checked_inflow(
    ring: Ring, connection: Connection, header: bytearray, nbytes: int, then: Sink
) -> Inflow:
    check = _HeaderCheck(ring, header)
    check.then = then
    check.inflow = Inflow(connection, HEADER_NBYTES + nbytes, check)
    return check.inflow


class _Landing:
    """Receives a share straight into its place, passing each chunk on if there is a next rank."""

    def __init__(self, place: memoryview, onward: Outflow | None, chunk_nbytes: int) -> None:
        self.place = place
        self.onward = onward
        self.chunk_nbytes = chunk_nbytes
        self.at = 0

    def incoming(self) -> memoryview:
        """The next chunk of the place."""
        return self.place[self.at : self.at + self.chunk_nbytes]

    def underway(self, received: int) -> None:
        """Chunks are passed on when they are whole."""

    def arrived(self) -> None:
        """Pass the chunk on."""
        chunk = self.place[self.at : self.at + self.chunk_nbytes]
        self.at += len(chunk)
        if self.onward is not None:
            self.onward.feed(chunk)


def broadcast_chain(
    ring: Ring,
    routes: tuple[Route, ...],
    size: int,
    distance: int,
    out: memoryview,
    chunk_nbytes: int,
) -> None:
    """Carry the root's bytes to everyone: each strand its share, all the way around.

    The ranks must have agreed on the call before, see `relay`.

    Args:
        distance: Ours from the root, to the right; the root's is 0.
        out: The root's bytes there, elsewhere room for them.

    Cost:
        The buffer once over each hop, half of it in each direction, plus ``size - 2``
        chunks of delay.
    """
    strands = sum(len(route.outs) for route in routes)
    outs, ins = [], []
    index = 0
    for flows_left, route in enumerate(routes):
        hops = mirror(distance, size) if flows_left else distance
        for outward, inward in zip(route.outs, route.ins, strict=True):
            low, high = bounds(0, len(out), strands, index)
            index += 1
            if low == high:
                continue
            outflow = Outflow(outward, None, high - low) if hops < size - 1 else None
            if outflow is not None:
                outs.append(outflow)
            if hops:
                landing = _Landing(out[low:high], outflow, chunk_nbytes)
                ins.append(Inflow(inward, high - low, landing))
            elif outflow is not None:
                outflow.feed(out[low:high])
    exchange(outs, ins, ring)


def move_message(
    ring: Ring,
    connections: Sequence[Connection],
    header: bytearray,
    data: memoryview,
    *,
    sends: bool,
    chunk: int,
) -> None:
    """Send bytes to a neighbour over several connections, or receive them.

    Args:
        connections: As many as the message shall use, in the same order at both ends.
        data: What to send, or where it lands.

    Raises:
        PeerError: The ring is broken.
    """
    outs, ins = [], []
    for index, connection in enumerate(connections):
        low, high = bounds(0, len(data), len(connections), index)
        if sends:
            outflow = Outflow(connection, header, high - low)
            if high > low:
                outflow.feed(data[low:high])
            outs.append(outflow)
        else:
            landing = _Landing(data[low:high], None, chunk)
            ins.append(_checked_inflow(ring, connection, header, high - low, landing))
    exchange(outs, ins, ring)
