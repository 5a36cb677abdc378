"""One rank of a job that is measured: the collectives of one engine, driven over a socket.

Started by `collectives.py`, one process per rank and engine. The process connects to
the Unix socket of the driver, joins its ring, and then does what it is told, line by
line. While it is not told anything it blocks in a read, so that engines which spin
while they wait take nothing from the others.
"""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

__all__ = ["ENGINES", "Engine"]

Call = Callable[[], object]
PIECES = [1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22]


class Engine(Protocol):
    """What each library is asked for."""

    rank: int
    size: int

    def barrier(self) -> None:
        """Return once all ranks are there."""

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        """One call of an operation on ``count`` elements, inputs already made."""


class Ours:
    """ring_runtime."""

    def __init__(self) -> None:
        import ring_runtime as ring

        self.ring = ring
        world = ring.init(strict=True)
        self.rank, self.size = world.rank(), world.size()

    def barrier(self) -> None:
        self.ring.barrier()

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        ring = self.ring
        kind: Any = dtype
        if dtype == "bfloat16":
            import ml_dtypes

            kind = ml_dtypes.bfloat16
        x = np.ones(count, kind)
        out = None if fresh else np.ones(count, kind)
        if operation == "all_sum":
            return lambda: ring.all_sum(x, out=out)
        if operation == "all_gather":
            part = x[: count // self.size]
            return lambda: ring.all_gather(part, out=out)
        if operation == "sum_scatter":
            part = None if out is None else out[: count // self.size]
            return lambda: ring.sum_scatter(x, out=part)
        buffer = np.ones(count, kind)
        if self.rank == 0:
            return lambda: (ring.send(x, 1), ring.recv(x.shape, kind, 1, out=buffer))
        return lambda: (ring.recv(x.shape, kind, 0, out=buffer), ring.send(x, 0))


class Mlx:
    """The ring of mlx.core.distributed."""

    def __init__(self) -> None:
        import mlx.core as mx

        self.mx = mx
        mx.set_default_device(mx.cpu)
        self.world = mx.distributed.init(strict=True, backend="ring")
        self.rank, self.size = self.world.rank(), self.world.size()

    def barrier(self) -> None:
        self.mx.eval(self.mx.distributed.all_sum(self.mx.zeros(1)))

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        mx = self.mx
        x = mx.ones(count, getattr(mx, dtype))
        part = mx.ones(count // self.size, getattr(mx, dtype))
        mx.eval(x, part)
        if operation == "all_sum":
            return lambda: mx.eval(mx.distributed.all_sum(x))
        if operation == "all_gather":
            return lambda: mx.eval(mx.distributed.all_gather(part))
        if operation == "sum_scatter":
            raise NotImplementedError
        other = 1 - self.rank

        def send() -> None:
            mx.eval(mx.distributed.send(x, other))

        def recv() -> None:
            mx.eval(mx.distributed.recv_like(x, other))

        return lambda: (send(), recv()) if self.rank == 0 else (recv(), send())


class OpenMpi:
    """OpenMPI over TCP through mpi4py."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.mpi = MPI
        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()

    def barrier(self) -> None:
        self.world.Barrier()

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        if dtype not in ("float32", "int8"):
            raise NotImplementedError
        world, mpi = self.world, self.mpi
        x = np.ones(count, dtype)
        out = np.ones(count, dtype)
        part = x[: count // self.size]

        def room() -> Any:
            return np.empty(count, dtype) if fresh else out

        if operation == "all_sum":
            return lambda: world.Allreduce(x, room(), mpi.SUM)
        if operation == "all_gather":
            return lambda: world.Allgather(part, room())
        if operation == "sum_scatter":
            return lambda: world.Reduce_scatter_block(x, out[: count // self.size], mpi.SUM)
        other = 1 - self.rank
        if self.rank == 0:
            return lambda: (world.Send(x, other), world.Recv(out, other))
        return lambda: (world.Recv(out, other), world.Send(x, other))


class Gloo:
    """gloo through torch.distributed."""

    def __init__(self) -> None:
        import torch
        import torch.distributed

        torch.set_num_threads(1)
        self.torch = torch
        torch.distributed.init_process_group("gloo")
        self.rank, self.size = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def barrier(self) -> None:
        self.torch.distributed.barrier()

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        torch = self.torch
        x = torch.ones(count, dtype=getattr(torch, dtype))
        if operation == "all_sum":
            if fresh:
                return lambda: torch.distributed.all_reduce(x.clone())
            return lambda: torch.distributed.all_reduce(x)
        if operation == "all_gather":
            part = x[: count // self.size].clone()
            parts = list(torch.ones_like(x).split(count // self.size))
            return lambda: torch.distributed.all_gather(parts, part)
        if operation == "sum_scatter":
            raise NotImplementedError
        other = 1 - self.rank
        send, recv = torch.distributed.send, torch.distributed.recv
        if self.rank == 0:
            return lambda: (send(x, other), recv(x, other))
        return lambda: (recv(x, other), send(x, other))


class Limit:
    """What sockets can move: the bytes of the best algorithm, without header or sum.

    Two ranks only: each sends and receives the same bytes at once over one connection,
    non-blocking, into memory that is there already.
    """

    def __init__(self) -> None:
        self.rank, self.size = int(os.environ["MLX_RANK"]), 2
        addresses = json.loads(Path(os.environ["MLX_HOSTFILE"]).read_text())
        host, _, port = addresses[0][0].rpartition(":")
        if self.rank == 0:
            with socket.create_server((host, int(port))) as listener:
                self.sock, _ = listener.accept()
        else:
            self.sock = _dial(host, int(port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)

    def barrier(self) -> None:
        self._exchange(memoryview(b"x"), memoryview(bytearray(1)), 1)

    def prepare(self, operation: str, dtype: str, count: int, fresh: bool) -> Call:
        if operation != "all_sum":
            raise NotImplementedError
        width = {"bfloat16": 2, "float16": 2, "int8": 1}.get(dtype, 4)
        source = memoryview(np.ones(count * width, np.uint8))  # type: ignore[arg-type]
        target = memoryview(np.ones(count * width, np.uint8))  # type: ignore[arg-type]
        best = min(PIECES, key=lambda piece: self._time(source, target, piece))
        return lambda: self._exchange(source, target, best)

    def _time(self, source: memoryview, target: memoryview, piece: int) -> float:
        """The best of a few exchanges; both ranks try the same pieces in the same order."""
        times = []
        for _ in range(4):
            began = time.perf_counter()
            self._exchange(source, target, piece)
            times.append(time.perf_counter() - began)
        return min(times)

    def _exchange(self, source: memoryview, target: memoryview, piece: int) -> None:
        sock, sent, received, total = self.sock, 0, 0, len(source)
        poller = select.poll()
        poller.register(sock, 0)
        while sent < total or received < total:
            moved = False
            if sent < total:
                try:
                    sent += sock.send(source[sent : sent + piece])
                    moved = True
                except BlockingIOError:
                    pass
            if received < total:
                try:
                    received += sock.recv_into(target[received : received + piece])
                    moved = True
                except BlockingIOError:
                    pass
            if not moved and total > 65536:
                mask = (select.POLLIN if received < total else 0) | (
                    select.POLLOUT if sent < total else 0
                )
                poller.modify(sock, mask)
                poller.poll()


def _dial(host: str, port: int) -> socket.socket:
    until = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            select.select([], [], [], 0.02)


ENGINES: dict[str, Callable[[], Engine]] = {
    "ours": Ours,
    "mlx": Mlx,
    "openmpi": OpenMpi,
    "gloo": Gloo,
    "limit": Limit,
}


def _usage() -> tuple[float, int]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw


def _run(engine: Engine, task: dict[str, Any]) -> dict[str, Any]:
    try:
        call = engine.prepare(task["operation"], task["dtype"], task["count"], task["fresh"])
    except NotImplementedError:
        return {"times": None}
    engine.barrier()
    for _ in range(2):
        call()
    engine.barrier()
    times = []
    cpu, switches = _usage()
    began = time.perf_counter()
    for _ in range(task["iterations"]):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    elapsed = time.perf_counter() - began
    cpu_after, switches_after = _usage()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "times": times,
        "elapsed": elapsed,
        "cpu": cpu_after - cpu,
        "switches": switches_after - switches,
        "peak": peak,
    }


def main() -> None:
    """Connect, join, obey."""
    name = sys.argv[1]
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(os.environ["BENCHMARK_SOCKET"])
        engine = ENGINES[name]()
        engine.barrier()
        with sock.makefile("rw") as stream:
            stream.write(json.dumps({"engine": name, "rank": engine.rank}) + "\n")
            stream.flush()
            for line in stream:
                stream.write(json.dumps(_run(engine, json.loads(line))) + "\n")
                stream.flush()
    os._exit(0)  # engines differ in how they like to end


if __name__ == "__main__":
    main()
