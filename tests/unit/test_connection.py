"""The one data-moving primitive, over socket pairs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from ring_runtime.connection import Connection, Inflow, Outflow, exchange
from ring_runtime.errors import PeerLost, RingError

LARGE = 8 * 1024**2


class Bucket:
    """A sink that keeps what comes, in pieces of a given size."""

    def __init__(self, nbytes: int, piece: int) -> None:
        self.data = bytearray(nbytes)
        self.piece = piece
        self.at = 0
        self.seen = 0

    def incoming(self) -> memoryview:
        return memoryview(self.data)[self.at : self.at + self.piece]

    def underway(self, received: int) -> None:
        self.seen += received

    def arrived(self) -> None:
        self.at += self.piece


class Patient:
    """Waits for any socket; turns failures into PeerLost."""

    def __init__(self) -> None:
        self.waits = 0

    def wait(self, outs: list[Outflow], ins: list[Inflow]) -> None:
        self.waits += 1
        assert outs or ins

    def moved(self) -> None:
        pass

    def lost(self, connection: Connection, error: OSError | None) -> RingError:
        return PeerLost("ended" if error is None else str(error), peer=connection.peer)


@pytest.fixture
def pair() -> Iterator[tuple[Connection, Connection]]:
    near, far = socket.socketpair()
    with near, far:
        yield Connection(near, 1), Connection(far, 0)


def swap(connection: Connection, data: bytes, piece: int, bucket: Bucket) -> None:
    out = Outflow(connection, None, len(data))
    for start in range(0, len(data), piece):
        out.feed(memoryview(data)[start : start + piece])
    exchange([out], [Inflow(connection, len(bucket.data), bucket)], Patient())
    assert out.completed == -(-len(data) // piece)


@pytest.mark.parametrize("piece", [LARGE, 65536, 100_003])
def test_both_send_more_than_fits_into_the_sockets(
    pair: tuple[Connection, Connection], piece: int
) -> None:
    """The classic deadlock: nobody receives before having sent."""
    words = [bytes([rank + 1]) * LARGE for rank in range(2)]
    buckets = [Bucket(LARGE, 4096 * 7), Bucket(LARGE, 4096 * 7)]
    other = threading.Thread(target=swap, args=(pair[1], words[1], piece, buckets[1]))
    other.start()
    swap(pair[0], words[0], piece, buckets[0])
    other.join(90)
    assert buckets[0].data[: len(words[1])] == words[1]
    assert buckets[1].data[: len(words[0])] == words[0]


def test_what_a_sink_feeds_is_sent_on(pair: tuple[Connection, Connection]) -> None:
    """An echo: it starts with nothing to send."""
    near, far = pair
    out = Outflow(far, None, 6)

    class Echo(Bucket):
        def arrived(self) -> None:
            out.feed(memoryview(self.data)[self.at : self.at + self.piece])
            super().arrived()

    near.sock.send(b"abcdef")
    exchange([out], [Inflow(far, 6, Echo(6, 2))], Patient())
    assert near.sock.recv(100) == b"abcdef"


def test_two_pieces_leave_in_one_call_and_may_be_cut_anywhere() -> None:
    """A socket that takes a few bytes at a time sees header and data as one stream."""

    class Narrow:
        def __init__(self, taken: int) -> None:
            self.taken = taken
            self.stream = b""
            self.calls = 0

        def send(self, data: memoryview) -> int:
            return self.sendmsg((data,))

        def sendmsg(self, pieces: tuple[memoryview, ...]) -> int:
            self.calls += 1
            data = b"".join(pieces)[: self.taken]
            self.stream += data
            return len(data)

        def setblocking(self, _: bool) -> None:
            pass

    for taken in range(1, 12):
        sock = Narrow(taken)
        out = Outflow(Connection(sock, 1), None, 10)  # type: ignore[arg-type]
        out.restart(bytearray(b"head"), memoryview(b"tail00"), 10)
        exchange([out], [], Patient())
        assert sock.stream == b"headtail00"
        assert sock.calls == -(-10 // taken)


def test_the_end_of_a_stream_is_a_lost_peer(pair: tuple[Connection, Connection]) -> None:
    near, far = pair
    far.sock.send(b"ab")
    far.close()
    far.close()
    with pytest.raises(PeerLost, match="ended"):
        exchange([], [Inflow(near, 4, Bucket(4, 4))], Patient())
    out = Outflow(near, None, 4)
    out.feed(memoryview(b"data"))
    with pytest.raises(PeerLost) as loss:
        exchange([out], [], Patient())
    assert loss.value.peer == 1


def test_nothing_to_do_is_done_at_once() -> None:
    watch = Patient()
    exchange([], [], watch)
    assert watch.waits == 0
