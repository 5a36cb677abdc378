"""Small arrays, above all of two ranks: every dtype and shape, however often and in what bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ring_runtime as ring
from ring_runtime.connection import Connection, Inflow, Outflow
from ring_runtime.errors import CollectiveMismatch, PeerLost
from ring_runtime.group import Group
from ring_runtime.pair import Pair
from ring_runtime.patience import Patience
from ring_runtime.reduction import find_reduction
from ring_runtime.wire import DTYPES, HEADER_NBYTES, encode_header
from tests.local_rings import results_of, run_ranks

Array = NDArray[Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
KINDS = [BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in DTYPES]
SHAPES = [(), (1,), (3,), (2, 3), (7, 5), (3, 1, 4, 1, 5), (40, 9), (3, 40_000)]


def numbers(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 50, shape).astype(dtype)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_every_shape_again_and_again(dtype: np.dtype[Any], size: int) -> None:
    """A new result, one that is given, one in place, and inputs with gaps and in other orders."""

    def body(world: Group) -> list[Array]:
        found: list[Array] = []
        for shape in SHAPES:
            x = numbers(dtype, shape, world.rank())
            before = x.copy()
            out, place = np.zeros_like(x), x.copy()
            gaps = np.zeros((*shape, 2), dtype)[..., 0]
            gaps[...] = x
            found += [ring.all_sum(x, group=world) for _ in range(2)]
            assert ring.all_sum(x, group=world, out=out) is out
            assert ring.all_sum(place, group=world, out=place) is place
            found += [out, place]
            found += [ring.all_sum(gaps, group=world), ring.all_sum(x.T, group=world).T]
            assert np.array_equal(x, before)
        return found

    for results in results_of(run_ranks(size, body)):
        for index, result in enumerate(results):
            shape = SHAPES[index // 6]
            expected = reduce(np.add, (numbers(dtype, shape, rank) for rank in range(size)))
            assert (result.dtype, result.shape) == (dtype, shape)
            assert np.array_equal(result, expected)


@pytest.mark.parametrize("size", [2, 3])
def test_what_reduces_is_kept_also_for_what_is_no_numpy_array(size: int) -> None:
    def body(world: Group) -> bool:
        kept = []
        for x in (2.5, np.array(2.5), 2.5):
            assert ring.all_sum(x, group=world) == 2.5 * size
            kept.append(world.calls.find_ready("all_sum", np.array(2.5)))
        return kept[0] is not None and all(each is kept[0] for each in kept)

    assert run_ranks(size, body) == [True] * size


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("nbytes", [131068, 131072, 131076, 262144, 400_000, 1_048_576])
def test_arrays_larger_than_what_a_connection_takes_at_once(dtype: Any, nbytes: int) -> None:
    count = nbytes // np.dtype(dtype).itemsize

    def body(world: Group) -> list[Array]:
        x = numbers(np.dtype(dtype), (count,), world.rank())
        return [ring.all_sum(x, group=world) for _ in range(3)]

    expected = numbers(np.dtype(dtype), (count,), 0) + numbers(np.dtype(dtype), (count,), 1)
    for results in results_of(run_ranks(2, body)):
        assert all(np.array_equal(result, expected) for result in results)


class Trickle:
    """A socket that takes and gives as many bytes at a time as a script says, 0 for not now."""

    def __init__(self, takes: Sequence[int], gives: Sequence[int], coming: bytes) -> None:
        self.takes, self.gives = iter(takes), iter(gives)
        self.coming = coming
        self.sent = b""

    def setblocking(self, flag: bool) -> None:
        pass

    def sendmsg(self, buffers: Sequence[Any]) -> int:
        data = b"".join(bytes(memoryview(buffer).cast("B")) for buffer in buffers)
        count = next(self.takes, len(data))
        if not count:
            raise BlockingIOError
        self.sent += data[:count]
        return len(data[:count])

    def send(self, buffer: Any) -> int:
        return self.sendmsg([buffer])

    def recvmsg_into(self, buffers: Sequence[Any]) -> tuple[int, None, int, None]:
        count = next(self.gives, len(self.coming))
        if not count and self.coming:
            raise BlockingIOError
        given = 0
        for buffer in buffers:
            room = memoryview(buffer).cast("B")
            part = self.coming[: min(count - given, len(room))]
            room[: len(part)] = part
            self.coming = self.coming[len(part) :]
            given += len(part)
        return given, None, 0, None

    def recv_into(self, buffer: Any) -> int:
        return self.recvmsg_into([buffer])[0]


class Still:
    """A ring in which waiting takes no time."""

    def __init__(self) -> None:
        self.patience = Patience(0, may_spin=True)

    def wait(self, outs: Sequence[Outflow], ins: Sequence[Inflow]) -> None:
        self.patience.is_spinning()

    def moved(self) -> None:
        self.patience.moved()

    def lost(self, connection: Connection, error: OSError | None) -> PeerLost:
        return PeerLost("ended" if error is None else str(error), peer=connection.peer)

    def mismatch(self, connection: Connection, ours: bytes, theirs: bytes) -> CollectiveMismatch:
        return CollectiveMismatch("other header", peer=connection.peer)


def trickled(
    dtype: Any,
    takes: Sequence[int],
    gives: Sequence[int],
    count: int,
    change: Callable[[bytes], bytes],
) -> tuple[Array, Trickle, bytes]:
    """What a swap gives over such a socket, the socket, and what should have been sent."""
    ours, theirs = (numbers(np.dtype(dtype), (count,), seed) for seed in (0, 1))
    header = encode_header(0, 5, "all_sum", str(ours.dtype), ours.shape, 0, ours.nbytes)
    sock = Trickle(takes, gives, change(bytes(header) + theirs.tobytes()))
    reduction = find_reduction("all_sum", ours.dtype)
    connection: Any = Connection(sock, 1)  # type: ignore[arg-type]
    still: Any = Still()
    pair = Pair(still, connection, True, header, reduction, ours.nbytes)
    result = np.zeros_like(ours)
    pair.run(ours, result)
    assert still.patience._since == 0.0  # a wait that never ended would soon be one too long
    return result, sock, bytes(header) + ours.tobytes()


CUTS = st.lists(
    st.sampled_from([0, 1, 3, 50, 111, 112, 113, 200, 131072, 131184, 140_000]), max_size=40
)


@given(
    dtype=st.sampled_from([np.float32, np.float16, np.int64]),
    takes=CUTS,
    gives=CUTS,
    count=st.sampled_from([1, 2, 100, 65536, 70_001]),
)
@example(dtype=np.float32, takes=[], gives=[0], count=10)
@example(dtype=np.float32, takes=[], gives=[50, 0, 0], count=10)
@example(dtype=np.float32, takes=[0], gives=[0, 0, 0], count=70_001)
@example(dtype=np.float32, takes=[112], gives=[131_184, 0, 50], count=70_001)
@example(dtype=np.float16, takes=[113, 0], gives=[140_000, 1, 0], count=140_001)
def test_however_the_bytes_come_and_go(
    dtype: Any, takes: list[int], gives: list[int], count: int
) -> None:
    result, sock, message = trickled(dtype, takes, gives, count, lambda data: data)
    expected = numbers(np.dtype(dtype), (count,), 0) + numbers(np.dtype(dtype), (count,), 1)
    assert np.array_equal(result, expected)
    assert sock.sent == message
    assert sock.coming == b""


@given(takes=CUTS, gives=CUTS, at=st.integers(0, HEADER_NBYTES - 1), bit=st.integers(0, 7))
def test_another_header_is_refused_however_it_comes(
    takes: list[int], gives: list[int], at: int, bit: int
) -> None:
    def flip(data: bytes) -> bytes:
        return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]

    with pytest.raises(CollectiveMismatch):
        trickled(np.float32, takes, gives, 100, flip)


@given(takes=CUTS, gives=CUTS, length=st.integers(0, HEADER_NBYTES + 399))
def test_an_end_in_the_middle_is_a_loss(takes: list[int], gives: list[int], length: int) -> None:
    with pytest.raises(PeerLost):
        trickled(np.float32, takes, gives, 100, lambda data: data[:length])
