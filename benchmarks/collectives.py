"""The collectives beside those of MLX, OpenMPI over TCP, gloo and bare sockets, in one run.

    python benchmarks/collectives.py --ranks 2 --rounds 5

All engines are started once. For every size they then take turns, A B C A B C ..., so
that whatever else happens on the machine happens to all of them; the table shows the
median time of each and the median of the ratios of neighbouring turns. Above 1 ours is
faster.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIZES = [4, 1024, 4096, 65536, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28]
MEBIBYTE = 1 << 20
WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


@dataclass
class Job:
    """The ranks of one engine, and the sockets over which they are told what to do."""

    engine: str
    streams: list[Any] = field(default_factory=list)

    def run(self, task: dict[str, Any]) -> list[dict[str, Any]] | None:
        """What every rank measured, or None if the engine can not do it."""
        for stream in self.streams:
            stream.write(json.dumps(task) + "\n")
            stream.flush()
        answers = [json.loads(stream.readline()) for stream in self.streams]
        return None if answers[0]["times"] is None else answers


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def commands(engine: str, size: int, folder: Path) -> list[tuple[list[str], dict[str, str]]]:
    """Command lines and environments that start all ranks of an engine."""
    worker = [sys.executable, str(HERE / "peers.py"), engine]
    if engine == "openmpi":
        mpirun = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        assert mpirun is not None
        words = [mpirun, "-n", str(size), "--oversubscribe", "--mca", "btl", "tcp,self"]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return [([*words, "--mca", "pml", "ob1", *worker], root)]
    addresses = folder / f"{engine}.json"
    addresses.write_text(json.dumps([[f"127.0.0.1:{free_port()}"] for _ in range(size)]))
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    shared |= {"GLOO_SOCKET_IFNAME": "lo", "MLX_HOSTFILE": str(addresses)}
    return [(worker, {**shared, "RANK": str(r), "MLX_RANK": str(r)}) for r in range(size)]


@contextlib.contextmanager
def jobs(engines: list[str], size: int) -> Iterator[list[Job]]:
    """All engines, started and joined."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "socket"
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(64)
        listener.settimeout(60)
        started = []
        for engine in engines:
            processes = []
            for words, environment in commands(engine, size, folder):
                environment |= {"BENCHMARK_SOCKET": str(path), "PYTHONPATH": str(HERE.parent)}
                processes.append(subprocess.Popen(words, env={**os.environ, **environment}))
            for process in processes:
                stack.callback(process.wait)
                stack.callback(process.terminate)
            ranks: dict[int, Any] = {}
            waiting = [listener.accept()[0].makefile("rw") for _ in range(size)]
            for stream in waiting:
                ranks[json.loads(stream.readline())["rank"]] = stream
                stack.callback(stream.close)
            started.append(Job(engine, [ranks[rank] for rank in range(size)]))
        yield started


@dataclass
class Turns:
    """All turns of one engine at one size.

    Args:
        medians: Seconds a call.
        cpu: Processor seconds a call, of all ranks together.
        switches: Context switches a call, of all ranks together.
        peak: Bytes of memory at most until now, of the rank that has most.
    """

    medians: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    switches: list[float] = field(default_factory=list)
    peak: int = 0


def compare(
    started: list[Job], task: dict[str, Any], rounds: int, seconds: float
) -> dict[str, Turns]:
    """So many turns of each engine, one after the other."""
    found: dict[str, Turns] = {}
    iterations: dict[str, int] = {}
    for number in range(rounds + 1):
        for job in started:
            count = iterations.get(job.engine, 3)
            answers = job.run({**task, "iterations": count})
            if answers is None:
                continue
            median = statistics.median(answers[0]["times"])
            if number == 0:
                iterations[job.engine] = max(3, min(1000, int(seconds / median)))
                continue
            turns = found.setdefault(job.engine, Turns())
            turns.medians.append(median)
            turns.cpu.append(sum(a["cpu"] for a in answers) / count)
            turns.switches.append(sum(a["switches"] for a in answers) / count)
            turns.peak = max(a["peak"] for a in answers)
    return found


def show(nbytes: int, found: dict[str, Turns], engines: list[str]) -> str:
    """One row of the table."""
    ours = found["ours"]
    cells = [f"{nbytes:>10}"]
    for engine in engines:
        turns = found.get(engine)
        cells.append(f"{statistics.median(turns.medians) * 1e6:>11.1f}" if turns else f"{'-':>11}")
    for engine in engines[1:]:
        turns = found.get(engine)
        if turns is None:
            cells.append(f"{'-':>8}")
            continue
        pairs = zip(turns.medians, ours.medians, strict=True)
        cells.append(f"{statistics.median(t / o for t, o in pairs):>7.2f}x")
    return " ".join(cells)


def show_costs(nbytes: int, found: dict[str, Turns], engines: list[str]) -> str:
    """One row of the second table: what each engine takes from the program besides time."""
    cells = [f"{nbytes:>10}"]
    for engine in engines:
        turns = found.get(engine)
        if turns is None:
            cells.append(f"{'-':>24}")
            continue
        per_gib = statistics.median(turns.cpu) / nbytes * 1024 * MEBIBYTE
        switches = statistics.median(turns.switches)
        cells.append(f"{per_gib:>9.3g} {switches:>7.1f} {turns.peak / MEBIBYTE:>6.0f}")
    return " ".join(cells)


def available() -> list[str]:
    """The engines whose packages are installed."""
    packages = {"mlx": "mlx", "openmpi": "mpi4py", "gloo": "torch"}
    return ["ours"] + [e for e, p in packages.items() if importlib.util.find_spec(p)]


def versions() -> dict[str, Any]:
    """What the numbers depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"cores": os.cpu_count(), "system": platform.platform(), "processor": processor()}
    for name in ("numpy", "ml_dtypes", "mlx", "mpi4py", "openmpi", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return {"python": platform.python_version(), **found}


def processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def plot(path: str, report: list[dict[str, Any]], size: int) -> None:
    """Bus bandwidth over size, a line per engine."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in report:
        if row["operation"] == "all_sum":
            for engine, turns in row["engines"].items():
                rate = row["nbytes"] * 2 * (size - 1) / size / statistics.median(turns["medians"])
                key = f"{engine}, {row['dtype']}"
                lines.setdefault(key, []).append((row["nbytes"], rate / 1e9))
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel("bus bandwidth, GB/s")
    axes.set_title(f"all_sum, {size} ranks on {os.cpu_count()} cores")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def measure(
    started: list[Job], operation: str, dtype: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Both tables of one operation and dtype, printed row by row, and the rows of the report."""
    engines = [job.engine for job in started]
    where = f"{operation} of {dtype}, {options.ranks} ranks on {os.cpu_count()} cores"
    print(f"\n{where}: microseconds; then ratios")
    titles = [*(f"{e:>11}" for e in engines), *(f"{'/' + e:>8}" for e in engines[1:])]
    print(f"{'bytes':>10} {' '.join(titles)}")
    report, costs = [], []
    for nbytes in map(int, options.sizes.split(",")):
        count = max(nbytes // WIDTHS[dtype], 1)
        if operation != "all_sum":
            count = -(-count // options.ranks) * options.ranks
        task = {"operation": operation, "dtype": dtype, "count": count, "fresh": options.fresh}
        found = compare(started, task, options.rounds, options.seconds)
        print(show(nbytes, found, engines), flush=True)
        costs.append(show_costs(nbytes, found, engines))
        rows = {engine: vars(turns) for engine, turns in found.items()}
        key = {"operation": operation, "dtype": dtype, "nbytes": nbytes}
        report.append({**key, "engines": rows})
    print(f"\n{where}: processor seconds per GiB, context switches a call, peak MiB")
    print(f"{'bytes':>10} {' '.join(f'{e:>24}' for e in engines)}")
    print("\n".join(costs))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--operation", default="all_sum", help="several with commas")
    parser.add_argument("--dtype", default="float32", help="several with commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes, with commas")
    parser.add_argument("--engines", default="", help="default: all that are installed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.25, help="of one turn")
    parser.add_argument("--fresh", action="store_true", help="a new result array for every call")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    engines = options.engines.split(",") if options.engines else available()
    if options.ranks == 2 and not options.engines:
        engines.append("limit")
    about = versions()
    print("# " + ", ".join(f"{key} {value}" for key, value in about.items()))
    report: list[dict[str, Any]] = []
    with jobs(engines, options.ranks) as started:
        for operation in options.operation.split(","):
            for dtype in options.dtype.split(","):
                report += measure(started, operation, dtype, options)
    if options.json:
        whole = {"format": 1, "ranks": options.ranks, **about, "rows": report}
        Path(options.json).write_text(json.dumps(whole, indent=1) + "\n")
    if options.plot:
        plot(options.plot, report, options.ranks)


if __name__ == "__main__":
    main()
