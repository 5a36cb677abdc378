"""The MPI backend under the installed mpirun: results, splits, messages, endings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.programs import PROGRAMS, Ended, environment, run
from tests.rank_processes import run_job

PRELUDE = """
import json, os, sys, time
import ml_dtypes
import numpy as np
import ring_runtime as ring
from ring_runtime.errors import *

def say(**facts):
    # One write, so that mpirun does not mix the lines of two ranks.
    sys.stdout.write(json.dumps(facts) + "\\n")
    sys.stdout.flush()

"""


def mpirun(size: int, script: Path, **changes: str) -> Ended:
    """The job of so many ranks on this machine, however few cores it has."""
    argv = [str(PROGRAMS / "mpirun"), "--oversubscribe", "--bind-to", "none", "-n", str(size)]
    return run([*argv, sys.executable, str(script)], env=environment(**changes))


def write(folder: Path, body: str) -> Path:
    script = folder / "body.py"
    script.write_text(PRELUDE + body)
    return script


EVERYTHING = """
from ring_runtime import mpi_algorithms
mpi_algorithms.PIECE_NBYTES = int(os.environ.get("PIECE_NBYTES", mpi_algorithms.PIECE_NBYTES))
mpi_algorithms.MESSAGE_NBYTES = int(os.environ.get("PIECE_NBYTES", mpi_algorithms.MESSAGE_NBYTES))
world = ring.init()
rank, size = world.rank(), world.size()
dtypes = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128"]
for dtype in map(np.dtype, dtypes):
    for shape in [(), (0,), (1,), (size, 3), (size * 50, 7)]:
        inputs = [np.random.default_rng(r).integers(0, 9, shape) for r in range(size)]
        inputs = [np.asarray(array).astype(dtype) for array in inputs]
        mine = inputs[rank].copy()
        wide = np.float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
        total = np.sum([array.astype(wide) for array in inputs], axis=0).astype(dtype)
        def check(result, expected):
            assert (result.dtype, result.shape) == (dtype, expected.shape), (dtype, shape)
            assert np.array_equal(result, expected), (dtype, shape, result, expected)
        check(ring.all_sum(mine), total)
        out = mine.copy()
        assert ring.all_sum(out, out=out) is out
        check(out, total)
        check(ring.all_gather(mine), np.concatenate([np.atleast_1d(array) for array in inputs]))
        for root in range(size):
            check(ring.broadcast(mine, root), inputs[root])
        if len(shape) == 2:
            check(ring.sum_scatter(mine), np.split(total, size)[rank])
            check(ring.all_sum(mine.T), total.T)
        if dtype.kind != "c":
            check(ring.all_max(mine), np.asarray(np.max(inputs, axis=0), dtype))
            check(ring.all_min(mine), np.asarray(np.min(inputs, axis=0), dtype))
        for distance in range(1, size):
            if rank == 0:
                assert ring.send(mine, distance) is mine
            elif rank == distance:
                check(ring.recv(shape, dtype, 0), inputs[0])
                ring.send(mine, (rank + 1) % size)
            if rank == (distance + 1) % size:
                check(ring.recv_like(mine, distance), inputs[distance])
        check(mine, inputs[rank])
world.barrier()
say(rank=rank, size=size)
"""


@pytest.mark.parametrize(("size", "piece"), [(2, ""), (4, ""), (3, "100")])
def test_everything_over_mpi(size: int, piece: str, tmp_path: Path) -> None:
    """With pieces of 100 bytes every array of some length travels in many."""
    changes = {"PIECE_NBYTES": piece} if piece else {}
    ended = mpirun(size, write(tmp_path, EVERYTHING), **changes)
    assert ended.returncode == 0, ended.stderr
    assert ended.facts == [{"rank": rank, "size": size} for rank in range(size)]


def test_nan_half_precision_and_the_same_bits_everywhere(tmp_path: Path) -> None:
    body = """
import zlib
world = ring.init()
rank, size = world.rank(), world.size()
nan, tiny = float("nan"), 2.0**-8
for dtype in ("float16", ml_dtypes.bfloat16, "float32", "float64"):
    mine = np.array([nan if rank == 1 else 1, rank, 1 if rank == 0 else nan], dtype)
    assert np.array_equal(ring.all_max(mine), np.array([nan, size - 1, nan], dtype), equal_nan=True)
    assert np.array_equal(ring.all_min(mine), np.array([nan, 0, nan], dtype), equal_nan=True)
# In 16 bits every tiny would be lost.
halves = np.full(9, 1.0 if rank == 0 else tiny, ml_dtypes.bfloat16)
assert np.array_equal(ring.all_sum(halves), np.full(9, 1 + 3 * tiny).astype(ml_dtypes.bfloat16))
values = np.random.default_rng(rank).normal(size=100_003).astype(np.float32)
say(rank=rank, crc=zlib.crc32(ring.all_sum(values).tobytes()))
"""
    ended = mpirun(4, write(tmp_path, body))
    assert ended.returncode == 0, ended.stderr
    assert len({fact["crc"] for fact in ended.facts}) == 1


def test_any_split_and_what_splits_of_splits_are(tmp_path: Path) -> None:
    body = """
world = ring.init()
rank = world.rank()
odd = world.split(rank % 2 - 2**60, key=-rank if rank == 9 else 10 - rank)
pair = odd.split(0)
alone = world.split(rank)
everybody = world.split(-5)
say(rank=rank, odd=[odd.rank(), odd.size(), ring.all_gather(rank, group=odd).tolist()],
    pair=ring.all_sum(rank, group=pair), alone=[alone.size(), ring.all_sum(rank, group=alone)],
    everybody=ring.all_gather(rank, group=everybody).tolist())
"""
    ended = mpirun(5, write(tmp_path, body))
    assert ended.returncode == 0, ended.stderr
    evens, odds = [4, 2, 0], [3, 1]
    assert ended.facts == [
        {
            "rank": rank,
            "odd": [members.index(rank), len(members), members],
            "pair": sum(members),
            "alone": [1, rank],
            "everybody": [0, 1, 2, 3, 4],
        }
        for rank, members in [(0, evens), (1, odds), (2, evens), (3, odds), (4, evens)]
    ]


def test_mistakes_are_refused_and_leave_the_group_usable(tmp_path: Path) -> None:
    body = """
world = ring.init()
def refuse(call):
    try:
        call()
    except UsageError as error:
        return str(error)
texts = [refuse(call) for call in (
    lambda: ring.send(np.ones(3), world.rank()),
    lambda: ring.recv((3,), "float32", 7),
    lambda: ring.all_max(1j),
    lambda: ring.sum_scatter(np.ones(3)),
    lambda: ring.broadcast(1, 2),
    lambda: world.split(2**63),
    lambda: ring.all_sum(np.array(["text"])),
)]
assert ring.init() is world and ring.init(backend="mpi") is world
total = ring.all_sum(1)
world.close()
world.close()
try:
    world.barrier()
except GroupClosed as error:
    say(rank=world.rank(), total=total, texts=texts, closed=str(error))
"""
    ended = mpirun(2, write(tmp_path, body))
    assert ended.returncode == 0, ended.stderr
    for fact in ended.facts:
        for text, words in zip(
            fact["texts"],
            [
                f"dst={fact['rank']} is this rank itself",
                "src=7 is not a rank of this group",
                "complex numbers have no order",
                "sum_scatter of shape (3,) over 2 ranks is not possible",
                "root=2 is not a rank of this group",
                "is not a 64-bit integer",
                "of dtype <U4 is not possible",
            ],
            strict=True,
        ):
            assert words in text
        assert fact["total"] == 2
        assert "this group was closed" in fact["closed"]


@pytest.mark.parametrize(
    ("receives", "words"),
    [
        ("(3,), 'float32'", "rank 0 sent 12 bytes of int32"),
        ("(2,), 'int32'", "rank 1 expects 8 bytes of int32; rank 0 sent 12 bytes of int32"),
        ("(4,), 'int32'", "rank 1 expects 16 bytes of int32; rank 0 sent 12 bytes of int32"),
    ],
)
def test_a_message_of_another_kind_breaks_the_group(
    receives: str, words: str, tmp_path: Path
) -> None:
    body = f"""
world = ring.init()
if world.rank() == 0:
    ring.send(np.arange(3, dtype=np.int32), 1)
    say(rank=0)
else:
    errors = []
    for _ in range(2):
        try:
            ring.recv({receives}, 0)
        except CollectiveMismatch as error:
            errors.append(str(error))
    say(rank=1, errors=errors)
os._exit(0)
"""
    facts = mpirun(2, write(tmp_path, body)).facts
    first, again = facts[1]["errors"]
    assert words in first
    assert again == first


def test_an_exception_nobody_catches_ends_all_ranks(tmp_path: Path) -> None:
    body = """
world = ring.init()
if world.rank() == 1:
    raise RuntimeError("the data set is missing")
ring.all_sum(np.ones(3))
say(rank=0)
"""
    ended = mpirun(2, write(tmp_path, body))
    assert ended.returncode != 0
    assert ended.facts == []
    assert "RuntimeError: the data set is missing" in ended.stderr


def test_under_mpi4py_an_exit_code_ends_all_ranks(tmp_path: Path) -> None:
    body = """
world = ring.init()
if world.rank() == 1:
    sys.exit(3)
ring.all_sum(np.ones(3))
say(rank=0)
"""
    script = str(write(tmp_path, body))
    mpi = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    ended = run([*mpi, sys.executable, "-m", "mpi4py", script])
    assert ended.returncode == 3
    assert ended.facts == []


def test_what_chooses_mpi(tmp_path: Path) -> None:
    """Its launcher's variables do, unless a ring is configured; by name it comes up beside it."""
    (tmp_path / "blank.json").write_text("")
    body = """
first = ring.init()
kind = type(first).__name__
second = ring.init(backend="mpi")
say(rank=second.rank(), first=[kind, first.size()], second=[type(second).__name__, second.size()],
    any=ring.init() is first, mpi=ring.init(backend="mpi") is second)
"""
    script = write(tmp_path, body)
    ended = mpirun(2, script)
    assert ended.facts == [
        {"rank": r, "first": ["MpiGroup", 2], "second": ["MpiGroup", 2], "any": True, "mpi": True}
        for r in range(2)
    ]
    ended = mpirun(2, script, MLX_HOSTFILE=str(tmp_path / "blank.json"), MLX_RANK="0")
    assert ended.facts == [
        {"rank": r, "first": ["Group", 1], "second": ["MpiGroup", 2], "any": True, "mpi": True}
        for r in range(2)
    ]


def test_alone_without_a_launcher(tmp_path: Path) -> None:
    body = """
world = ring.init(backend="mpi")
try:
    ring.init(strict=True, backend="mpi")
except UsageError as error:
    say(rank=0, size=world.size(), text=str(error), total=ring.all_sum(3))
"""
    ended = run([sys.executable, str(write(tmp_path, body))], env=environment())
    assert ended.returncode == 0, ended.stderr
    (fact,) = ended.facts
    assert (fact["size"], fact["total"]) == (1, 3)
    assert "no distributed job is configured for backend 'mpi'" in fact["text"]


def test_a_library_that_is_not_the_launchers_is_refused(tmp_path: Path) -> None:
    """Such ranks would each be a group of one, and never hear of each other."""
    body = """
try:
    ring.init()
except UsageError as error:
    say(rank=0, text=str(error))
"""
    ended = run(
        [sys.executable, str(write(tmp_path, body))], env=environment(PMI_SIZE="4", PMI_RANK="0")
    )
    assert ended.returncode == 0, ended.stderr
    (fact,) = ended.facts
    assert "PMI_SIZE says 4 ranks, and the library of mpi4py knows of 1" in fact["text"]
    assert "Open MPI" in fact["text"]


def test_without_mpi4py_the_error_says_what_to_install(tmp_path: Path) -> None:
    body = """
sys.modules["mpi4py"] = None
try:
    ring.init()
except UsageError as error:
    say(rank=0, text=str(error))
"""
    script = write(tmp_path, body)
    ended = run([sys.executable, str(script)], env=environment(OMPI_COMM_WORLD_SIZE="2"))
    (fact,) = ended.facts
    assert "pip install 'distributed-config[mpi]'" in fact["text"]


SCRIPT = """
import json, sys
import numpy as np
import ring_runtime as ring

world = ring.init(strict=True)
mine = np.arange(6, dtype=np.float32) * (world.rank() + 1)
facts = {
    "rank": world.rank(),
    "size": world.size(),
    "sum": ring.all_sum(mine).tolist(),
    "max": ring.all_max(mine).tolist(),
    "gathered": ring.all_gather(world.rank()).tolist(),
    "part": ring.sum_scatter(mine).tolist(),
    "root": ring.broadcast(mine, 1).tolist(),
}
sys.stdout.write(json.dumps(facts) + "\\n")
"""


def test_one_script_gives_the_same_under_every_launcher(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    over_mpi = mpirun(2, script)
    over_ours = run(["distributed_launch", "-n", "2", str(script)])
    over_both = run(["distributed_launch", "--backend", "mpi", "-n", "2", str(script)])
    over_mlx = run(["mlx.launch", "-n", "2", sys.executable, str(script)])
    expected = [
        {
            "rank": rank,
            "size": 2,
            "sum": [0, 3, 6, 9, 12, 15],
            "max": [0, 2, 4, 6, 8, 10],
            "gathered": [0, 1],
            "part": [[0, 3, 6], [9, 12, 15]][rank],
            "root": [0, 2, 4, 6, 8, 10],
        }
        for rank in range(2)
    ]
    assert over_mpi.facts == expected, over_mpi.stderr
    assert over_ours.facts == expected, over_ours.stderr
    assert over_both.facts == expected, over_both.stderr
    assert over_mlx.facts == expected, over_mlx.stderr


def test_the_ring_and_mpi_agree(tmp_path: Path) -> None:
    """The same bits for two ranks, where every sum is rounded once or wraps around."""
    body = """
import zlib
world = ring.init()
generator = np.random.default_rng(world.rank())
crc = 0
def check(x):
    global crc
    crc = zlib.crc32(ring.all_sum(x).tobytes(), crc)
    crc = zlib.crc32(ring.all_gather(x).tobytes(), crc)
for dtype in ("float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "bool"):
    check((generator.normal(size=1001) * 50).astype(dtype))
for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    check(generator.integers(0, 256, (1001, 8), np.uint8).view(dtype))  # sums wrap around
say(rank=world.rank(), crc=crc)
"""
    over_mpi = mpirun(2, write(tmp_path, body))
    over_ring = run_job(2, "import ml_dtypes" + body)
    assert over_mpi.facts == [rank.facts[0] for rank in over_ring]
