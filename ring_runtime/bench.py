"""How fast the collectives are here: ``python -m ring_runtime.bench`` on every rank.

Columns as in nccl-tests: the *algorithm bandwidth* is bytes over time; the *bus
bandwidth* multiplies it by what the best algorithm has to send per rank, so that it
compares with the speed of a cable for any operation and any number of ranks. Every
result is checked; the time is that of the slowest rank.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ring_runtime import collectives as ring
from ring_runtime.arrays import Array, find_dtype
from ring_runtime.errors import RingError, UsageError
from ring_runtime.group import Group
from ring_runtime.worlds import init

__all__ = ["Measurement", "main", "measure"]

_OPERATIONS = ("all_sum", "all_gather", "sum_scatter", "broadcast", "send")
_LEAST_SECONDS = 0.2
_MOST_ITERATIONS = 200
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}


@dataclass(frozen=True)
class Measurement:
    """One row of the table.

    Args:
        nbytes: Of the whole array: of all_gather the result, of sum_scatter the input.
        seconds: For one call, the median of some, on the slowest rank.
        algorithm_gb_s: ``nbytes`` over time, in units of 10**9 bytes per second.
        bus_gb_s: The same times what a rank has to send per byte.
        wrong: How many values of all ranks were not as expected.
    """

    operation: str
    dtype: str
    nbytes: int
    seconds: float
    algorithm_gb_s: float
    bus_gb_s: float
    wrong: int


def _pattern(count: int, rank: int, dtype: np.dtype[Any]) -> Array:
    """Values whose sums are exact in every dtype, different on every rank and place."""
    modulus = 2 if dtype.kind == "b" else 5
    return ((np.arange(count) + rank) % modulus).astype(dtype)


def _sent_per_byte(operation: str, size: int) -> float:
    share = (size - 1) / size
    return {"all_sum": 2 * share, "all_gather": share, "sum_scatter": share}.get(operation, 1.0)


def _bounce(world: Group, x: Array, out: Array) -> None:
    """Rank 0 sends to rank 1 and gets it back; the others look on."""
    if world.rank() == 0:
        ring.send(x, 1, group=world)
        ring.recv(x.shape, x.dtype, 1, group=world, out=out)
    elif world.rank() == 1:
        ring.recv(x.shape, x.dtype, 0, group=world, out=out)
        ring.send(out, 0, group=world)


def _prepare(
    operation: str, count: int, dtype: np.dtype[Any], world: Group
) -> tuple[Callable[[], object], Array, Array]:
    """The call to time, where its result is, and what it has to be."""
    rank, size = world.rank(), world.size()
    x = _pattern(count, rank, dtype)
    out = np.zeros(count, dtype)
    if operation == "all_sum":
        expected = sum(_pattern(count, other, dtype) for other in range(size))
        if dtype.kind == "b":
            expected = np.ones(count, dtype) if size > 1 else x
        return lambda: ring.all_sum(x, group=world, out=out), out, np.asarray(expected, dtype)
    if operation == "all_gather":
        part = x[: count // size]
        parts = [_pattern(count, other, dtype)[: count // size] for other in range(size)]
        return lambda: ring.all_gather(part, group=world, out=out), out, np.concatenate(parts)
    if operation == "sum_scatter":
        _, _, expected = _prepare("all_sum", count, dtype, world)
        low, high = rank * (count // size), (rank + 1) * (count // size)
        mine = out[low:high]
        return lambda: ring.sum_scatter(x, group=world, out=mine), mine, expected[low:high]
    first = _pattern(count, 0, dtype)
    if operation == "broadcast":
        return lambda: ring.broadcast(x, 0, group=world, out=out), out, first
    if world.rank() > 1:
        out = first
    return lambda: _bounce(world, x, out), out, first


def measure(operation: str, nbytes: int, dtype: str, world: Group) -> Measurement:
    """One row: a checked call, then enough timed ones.

    Args:
        nbytes: Rounded down to a whole number of elements for every rank.

    Raises:
        RingError: The dtype does not exist, or the group broke.
    """
    kind, _ = find_dtype(dtype)
    size = world.size()
    count = max(nbytes // kind.itemsize // size, 1) * size
    call, result, expected = _prepare(operation, count, kind, world)
    call()
    wrong = int(ring.all_sum(int(np.count_nonzero(result != expected)), group=world))
    once = _time(call, 3, world)
    iterations = int(min(_MOST_ITERATIONS, max(5, _LEAST_SECONDS / once)))
    seconds = _time(call, iterations, world) / (2 if operation == "send" else 1)
    rate = count * kind.itemsize / seconds / 1e9
    bus = rate * _sent_per_byte(operation, size)
    return Measurement(operation, dtype, count * kind.itemsize, seconds, rate, bus, wrong)


def _time(call: Callable[[], object], iterations: int, world: Group) -> float:
    """The median of so many calls, on the slowest rank."""
    times = []
    ring.barrier(group=world)
    for _ in range(iterations):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(ring.all_max(float(np.median(times)), group=world))


def _parse_size(text: str) -> int:
    number, unit = text.lower().removesuffix("ib").removesuffix("b"), 1
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], _UNITS[number[-1]]
    if not number.isascii() or not number.isdigit() or not int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4, 64K or 16M")
    return int(number) * unit


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ring_runtime.bench",
        description="Time the collectives of this job and check their results.",
    )
    parser.add_argument("--operation", default="all_sum", help=f"of {', '.join(_OPERATIONS)}; "
                        "several with commas, or all (default: all_sum)")  # fmt: skip
    parser.add_argument("--dtype", default="float32", help="several with commas")
    parser.add_argument("--begin", type=_parse_size, default=4, help="smallest size (4)")
    parser.add_argument("--end", type=_parse_size, default=64 * 1024**2, help="largest size (64M)")
    parser.add_argument("--factor", type=int, default=4, help="from size to size (4)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def _sizes(begin: int, end: int, factor: int) -> Iterator[int]:
    while begin <= end:
        yield begin
        begin *= max(factor, 2)


def _chosen(text: str, possible: Sequence[str]) -> list[str]:
    names = list(possible) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in possible]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not one of {', '.join(possible)}")
    return names


def _row(row: Measurement) -> str:
    return (
        f"{row.operation:>11} {row.dtype:>9} {row.nbytes:>12} {row.seconds * 1e6:>12.1f} "
        f"{row.algorithm_gb_s:>9.3f} {row.bus_gb_s:>9.3f} {row.wrong:>6}"
    )


_TITLE = (
    f"{'operation':>11} {'dtype':>9} {'bytes':>12} {'time us':>12} "
    f"{'alg GB/s':>9} {'bus GB/s':>9} {'wrong':>6}"
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; rank 0 prints, and every rank fails if a value was wrong."""
    options = _parser().parse_args(words)
    try:
        with init() as world:
            rows = _run(options, world)
    except RingError as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if any(row.wrong for row in rows) else 0


def _run(options: argparse.Namespace, world: Group) -> list[Measurement]:
    operations = _chosen(options.operation, _OPERATIONS)
    if world.size() == 1:
        operations = [name for name in operations if name != "send"]
    speaks = world.rank() == 0
    about = {
        "ranks": world.size(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    if speaks and not options.json:
        print("# " + ", ".join(f"{key} {value}" for key, value in about.items()))
        print(_TITLE, flush=True)
    rows = []
    for operation in operations:
        for dtype in options.dtype.split(","):
            for nbytes in _sizes(options.begin, options.end, options.factor):
                _show_progress(f"{operation} of {dtype}, {nbytes} bytes", speaks)
                row = measure(operation, nbytes, dtype, world)
                _show_progress("", speaks)
                rows.append(row)
                if speaks and not options.json:
                    print(_row(row), flush=True)
    if speaks and options.json:
        print(json.dumps({"format": 1, **about, "rows": [asdict(row) for row in rows]}))
    return rows


def _show_progress(text: str, speaks: bool) -> None:
    """What is being measured, on a terminal, to be wiped when it is done."""
    if speaks and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
