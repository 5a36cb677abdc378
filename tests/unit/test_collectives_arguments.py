"""What can not be done is refused before the first byte, and the group stays usable."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ring_runtime as ring
from ring_runtime.errors import GroupClosed, UsageError
from ring_runtime.group import Group, make_world
from ring_runtime.ring import Ring
from tests.local_rings import results_of, run_ranks

ONES = np.ones((4, 3), np.float32)
READ_ONLY = np.ones((4, 3), np.float32)
READ_ONLY.flags.writeable = False


def alone() -> Group:
    return make_world(Ring(0, 1, None, None))


REFUSED: list[tuple[str, Callable[[Group], Any], str]] = [
    ("a dtype that can not travel", lambda g: ring.all_sum(np.zeros(2, "M8[s]"), group=g), "dtype"),
    ("long double", lambda g: ring.all_sum(np.zeros(2, np.longdouble), group=g), "dtype"),
    ("objects", lambda g: ring.all_sum(np.array([None]), group=g), "dtype object"),
    ("text", lambda g: ring.all_sum("ones", group=g), "builtins.str is not an array"),
    ("a list", lambda g: ring.all_sum([1, 2], group=g), "builtins.list is not an array"),
    ("a huge number", lambda g: ring.all_sum(2**70, group=g), "does not fit into 64 bits"),
    ("max of complex", lambda g: ring.all_max(ONES * 1j, group=g), "no order"),
    ("min of complex", lambda g: ring.all_min(ONES * 1j, group=g), "no order"),
    ("rows that do not divide", lambda g: ring.sum_scatter(ONES[:3], group=g), "multiple of 4"),
    ("a 0-d sum_scatter", lambda g: ring.sum_scatter(1.0, group=g), "sum_scatter of shape ()"),
    ("no such root", lambda g: ring.broadcast(ONES, 4, group=g), "root=4"),
    ("a negative root", lambda g: ring.broadcast(ONES, -1, group=g), "root=-1"),
    ("a root that is no number", lambda g: ring.broadcast(ONES, "0", group=g), "root='0'"),
    ("send to nobody", lambda g: ring.send(ONES, 4, group=g), "dst=4"),
    ("send to oneself", lambda g: ring.send(ONES, g.rank(), group=g), "is this rank itself"),
    ("send to a far rank", lambda g: ring.send(ONES, (g.rank() + 2) % 4, group=g), "mpi"),
    ("recv from a far rank", lambda g: ring.recv_like(ONES, (g.rank() + 2) % 4, group=g), "mpi"),
    ("a negative shape", lambda g: ring.recv((-1,), "int8", 1, group=g), "is not a shape"),
    ("no dtype", lambda g: ring.recv((1,), "number", (g.rank() + 1) % 4, group=g), "not a dtype"),
    ("out of another shape", lambda g: ring.all_sum(ONES, group=g, out=ONES[:2]), "out does not"),
    ("out of another dtype", lambda g: ring.all_sum(ONES, group=g, out=ONES * 1j), "out does not"),
    ("out not writable", lambda g: ring.all_sum(ONES, group=g, out=READ_ONLY), "out does not"),
    (
        "out in other order",
        lambda g: ring.all_sum(ONES, group=g, out=np.asfortranarray(ONES)),
        "out",
    ),
    ("a color that is no number", lambda g: g.split("red"), "color='red'"),  # type: ignore[arg-type]
    ("a color too large", lambda g: g.split(2**63), "64-bit"),
    ("three of four ranks", lambda g: g.split(int(g.rank() == 0)), "two neighbours"),
    ("two that are not neighbours", lambda g: g.split(g.rank() % 2), "two neighbours"),
]


@pytest.mark.parametrize(("call", "words"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_it_is_refused_and_the_group_stays_usable(call: Callable[[Group], Any], words: str) -> None:
    def body(world: Group) -> tuple[str, Any]:
        with pytest.raises(UsageError) as refusal:
            call(world)
        assert isinstance(refusal.value, ValueError)
        return str(refusal.value), ring.all_sum(ONES, group=world)

    for message, total in results_of(run_ranks(4, body)):
        assert words in message
        assert np.array_equal(total, 4 * ONES)


def test_out_must_not_overlap_unless_it_is_the_input() -> None:
    memory = np.zeros(20, np.float32)
    for call, out in (
        (ring.all_sum, memory[1:11]),
        (ring.sum_scatter, memory[:10]),
        (ring.all_gather, memory[:10]),
    ):
        with pytest.raises(UsageError, match="overlaps"):
            call(memory[:10], group=alone(), out=out)
    assert ring.all_sum(memory, group=alone(), out=memory) is memory
    assert ring.broadcast(memory, 0, group=alone(), out=memory) is memory


def test_alone_everything_but_messages_returns_a_copy() -> None:
    for call in (ring.all_sum, ring.all_max, ring.all_min, ring.all_gather, ring.sum_scatter):
        result = call(ONES, group=alone())
        assert np.array_equal(result, ONES)
        assert not np.shares_memory(result, ONES)
    assert np.array_equal(ring.broadcast(ONES, 0, group=alone()), ONES)
    assert ring.all_gather(np.float32(3), group=alone()).shape == (1,)
    assert alone().split(5).size() == 1
    ring.barrier(group=alone())
    with pytest.raises(UsageError, match="this rank itself"):
        ring.send(ONES, 0, group=alone())
    with pytest.raises(UsageError, match="has 1 rank"):
        ring.recv_like(ONES, 1, group=alone())


def test_numbers_come_back_as_numbers() -> None:
    def body(world: Group) -> list[Any]:
        rank = world.rank()
        numbers = [rank + 1, rank + 0.5, rank == 1, rank * 1j, np.float32(rank), np.array(rank)]
        return [ring.all_sum(number, group=world) for number in numbers]

    for results in results_of(run_ranks(2, body)):
        assert results == [3, 2.0, True, 1j, 1.0, 1]
        assert list(map(type, results)) == [int, float, bool, complex, np.float32, np.ndarray]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("count", [4, 10_000, 300_000])
def test_no_array_is_kept_after_a_call(size: int, count: int) -> None:
    """What is set up once to be run again must not keep the memory of its last run."""

    def body(world: Group) -> list[bool]:
        gone = []
        for call in (ring.all_sum, ring.all_gather, ring.broadcast, ring.all_sum):
            array = np.ones(count, np.float32)
            results = [call(array, group=world)]
            references = [weakref.ref(array), weakref.ref(results.pop())]
            del array
            gone += [reference() is None for reference in references]
        return gone

    assert results_of(run_ranks(size, body)) == [[True] * 8] * size


def test_a_closed_group_says_so() -> None:
    world = alone()
    with world:
        ring.all_sum(ONES, group=world)
    world.close()
    with pytest.raises(GroupClosed):
        ring.all_sum(ONES, group=world)
    with pytest.raises(GroupClosed):
        world.barrier()


def test_a_second_thread_is_refused_and_does_no_harm() -> None:
    """Rank 1 calls only after rank 0's second thread was refused in the middle of the first."""
    refused = threading.Event()

    def body(world: Group) -> Any:
        if world.rank() == 1:
            assert refused.wait(80)
            return ring.all_sum(ONES, group=world)
        results: list[Any] = []
        first = threading.Thread(
            target=lambda: results.append(ring.all_sum(ONES, group=world)), daemon=True
        )
        first.start()
        while not refused.is_set():
            try:
                ring.barrier(group=world) if world.ring._lock.locked() else None
            except UsageError:
                refused.set()
        first.join(80)
        return results[0]

    for total in results_of(run_ranks(2, body)):
        assert np.array_equal(total, 2 * ONES)


def test_the_package_is_light_to_import(root: Path) -> None:
    script = (
        "import sys, ring_runtime, ring_runtime.hostfile, ring_runtime.errors\n"
        "print(sorted({'numpy', 'ml_dtypes', 'socket', 'mlx', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    assert set(ring.__all__) <= set(dir(ring))
    for name in ring.__all__:
        assert getattr(ring, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'all_product'"):
        ring.all_product  # noqa: B018
