"""Calls that do not match and bytes that are not right: always an error, never a number."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ring_runtime as ring
from ring_runtime.errors import CollectiveMismatch, PeerError
from ring_runtime.group import Group
from tests.local_rings import run_ranks

Call = tuple[str, str, tuple[int, ...], int]
OPERATIONS = ["all_sum", "all_max", "all_min", "all_gather", "sum_scatter", "broadcast", "barrier"]
DTYPES = ["int8", "uint8", "int16", "float16", "int32", "float32", "int64", "float64", "complex64"]
SHAPES = [(2,), (2, 3), (3, 2), (6,), (1, 6), (2, 3, 1), (0,), (0, 2), (400, 300), (120_000,)]


def draw(generator: random.Random) -> Call:
    operation = generator.choice(OPERATIONS)
    dtype = generator.choice(DTYPES[:-1] if operation in ("all_max", "all_min") else DTYPES)
    shape = generator.choice(SHAPES)
    if operation == "sum_scatter":
        shape = (2 * shape[0], *shape[1:])
    return operation, dtype, shape, generator.randrange(2) if operation == "broadcast" else 0


def perform(call: Call, world: Group) -> Any:
    operation, dtype, shape, root = call
    if operation == "barrier":
        return ring.barrier(group=world)
    array = np.ones(shape, dtype)
    if operation == "broadcast":
        return ring.broadcast(array, root, group=world)
    return getattr(ring, operation)(array, group=world)


def check_pairs(count: int, seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(count):
        calls = [draw(generator), draw(generator)]
        if calls[0] == calls[1] or calls[0][0] == calls[1][0] == "barrier":
            continue
        outcomes = run_ranks(2, lambda world, calls=calls: perform(calls[world.rank()], world))
        for outcome in outcomes:
            assert isinstance(outcome, CollectiveMismatch), (calls, outcome)
            for operation, dtype, shape, _ in calls:
                if operation != "barrier":
                    assert f"{operation} " in str(outcome)
                    assert f" of {dtype} ({', '.join(map(str, shape))}" in str(outcome)


def test_five_hundred_random_pairs_of_different_calls() -> None:
    check_pairs(500, 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_random_pairs_of_different_calls() -> None:
    check_pairs(10_000, 2)


class Tampered:
    """A socket that changes the first bytes that are sent through it."""

    def __init__(self, sock: socket.socket, change: Callable[[bytes], bytes]) -> None:
        self._sock = sock
        self._change = change
        self._is_first = True

    def send(self, data: memoryview) -> int:
        return self.sendmsg((data,))

    def sendmsg(self, pieces: Sequence[bytearray | memoryview]) -> int:
        if not self._is_first:
            return self._sock.sendmsg(pieces)
        self._is_first = False
        data = b"".join(pieces)
        self._sock.setblocking(True)
        self._sock.sendall(self._change(data))
        self._sock.setblocking(False)
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def flip(generator: random.Random) -> Callable[[bytes], bytes]:
    at, bit = generator.randrange(112), 1 << generator.randrange(8)
    return lambda data: data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def cut(generator: random.Random) -> Callable[[bytes], bytes]:
    at, count = generator.randrange(100), generator.randint(1, 12)
    return lambda data: data[:at] + data[at + count :]


def insert(generator: random.Random) -> Callable[[bytes], bytes]:
    at, more = generator.randrange(112), generator.randbytes(generator.randint(1, 12))
    return lambda data: data[:at] + more + data[at:]


def tampered_job(change: Callable[[bytes], bytes], shape: tuple[int, ...]) -> Callable[..., None]:
    """Rank 1's words to its right are changed; who was served from the left may be done before."""

    def body(world: Group) -> None:
        ring.barrier(group=world)
        if world.rank() == 1:
            for connection in world.routes[0].outs:
                connection.sock = Tampered(connection.sock, change)  # type: ignore[assignment]
        total = ring.all_sum(np.ones(shape, np.float32), group=world)
        assert np.all(total == world.size())
        ring.barrier(group=world)

    return body


def check_tampering(count: int, seed: int) -> None:
    generator = random.Random(seed)
    for number in range(count):
        change = generator.choice((flip, cut, insert))(generator)
        size, shape = generator.choice((2, 3, 4)), generator.choice(((40,), (3,), (300_000,)))
        outcomes = run_ranks(size, tampered_job(change, shape), timeout=5)
        assert all(isinstance(outcome, PeerError) for outcome in outcomes), (number, outcomes)


def test_a_hundred_changed_headers_on_an_established_connection() -> None:
    check_tampering(100, 3)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_changed_headers_on_an_established_connection() -> None:
    check_tampering(1000, 4)
