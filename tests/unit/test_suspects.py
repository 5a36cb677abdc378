"""Whom a rank waits for, from what is under way."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from ring_runtime.connection import Connection, Inflow, Outflow, Sink
from ring_runtime.suspects import Suspects, find_suspects


class Nowhere:
    """A sink that is never asked."""

    def incoming(self) -> memoryview | None:
        raise AssertionError

    def underway(self, received: int) -> None:
        raise AssertionError

    def arrived(self) -> None:
        raise AssertionError


NOWHERE: Sink = Nowhere()


@pytest.fixture
def peers() -> Iterator[dict[int, Connection]]:
    """Connections to rank 1 and to rank 3."""
    pairs = {rank: socket.socketpair() for rank in (1, 3)}
    yield {rank: Connection(ours, rank) for rank, (ours, _) in pairs.items()}
    for pair in pairs.values():
        for end in pair:
            end.close()


def inflow(connection: Connection, remaining: int, *, started: bool = False) -> Inflow:
    flow = Inflow(connection, remaining, NOWHERE)
    flow.started = started
    return flow


def test_who_has_sent_nothing_is_late(peers: dict[int, Connection]) -> None:
    ins = [inflow(peers[3], 8), inflow(peers[1], 8)]
    assert find_suspects((), ins, ()) == Suspects((1, 3), True, False, False)
    assert find_suspects((), ins, (3,)) == Suspects((1,), True, False, False)
    assert find_suspects((), ins, (1, 3)) == Suspects((1, 3), False, True, False)
    done = [inflow(peers[1], 0), ins[0]]
    assert find_suspects((), done, ()) == Suspects((3,), True, False, False)


def test_who_has_begun_to_send_may_be_waiting_itself(peers: dict[int, Connection]) -> None:
    ins = [inflow(peers[1], 8, started=True), inflow(peers[3], 8, started=True)]
    assert find_suspects((), ins, ()) == Suspects((1, 3), False, False, False)
    assert find_suspects((), ins, (1,)) == Suspects((3,), False, False, False)
    assert find_suspects((), ins, (1, 3)) == Suspects((1, 3), False, True, False)
    late = [ins[0], inflow(peers[3], 8)]
    assert find_suspects((), late, ()) == Suspects((3,), True, False, False)


def test_who_takes_nothing(peers: dict[int, Connection]) -> None:
    outs = [Outflow(peers[1], None, 8), Outflow(peers[3], None, 0)]
    assert find_suspects(outs, (), ()) == Suspects((1,), False, False, True)
    assert find_suspects(outs, (), (1,)) == Suspects((1,), False, True, True)
    # What is to come says more than what is to go.
    assert find_suspects(outs, [inflow(peers[3], 8)], ()) == Suspects((3,), True, False, False)


@pytest.mark.parametrize(
    ("ranks", "wait_too", "text"),
    [
        ((1,), False, "rank 1"),
        ((1, 3), False, "rank 1 and rank 3"),
        ((1,), True, "rank 1, which waits as well"),
        ((1, 3), True, "rank 1 and rank 3, which wait as well"),
    ],
)
def test_their_names(ranks: tuple[int, ...], wait_too: bool, text: str) -> None:
    assert str(Suspects(ranks, False, wait_too, False)) == text
