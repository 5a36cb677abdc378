"""The command lines beside those of MLX, in one run: start-up, probing hosts, launching ranks.

    python benchmarks/cli.py [--only startup,probing,launching] [--rounds N] [--json FILE]

All tools take turns, A B C A B C ..., so that whatever else happens on the machine
happens to all of them. The table shows the median of each in milliseconds and the median
of the ratios of neighbouring turns: above 1 ours is faster. Probing and launching over
ssh need root on Linux for the simulated Macs they are done on, see `cli_hosts.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDING = HERE.parent / "fixtures" / "four_studios"
RANK = HERE / "cli_rank.py"
BIN = Path(sys.executable).parent
ENGINES = ("ours", "mlx", "floor")

Run = Callable[[], float]
"""Does the thing once; seconds it took. Raises RuntimeError if it went wrong."""

Popen = Callable[..., "subprocess.Popen[str]"]


@dataclass(frozen=True)
class Case:
    """One row of the table: the same thing done by each tool that can.

    Args:
        runs: Engine to what is timed; ``ours`` is always there.
    """

    section: str
    what: str
    runs: Mapping[str, Run]


def time_command(argv: Sequence[str | Path]) -> float:
    """Seconds that a command takes; what it prints goes nowhere."""
    start = time.perf_counter()
    done = subprocess.run(
        list(map(str, argv)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr.decode()}")
    return seconds


def startup_cases() -> Iterator[Case]:
    """How long a person waits before anything happens."""
    helps = {"distributed_config": "mlx.distributed_config", "distributed_launch": "mlx.launch"}
    for ours, theirs in helps.items():
        runs = {
            "ours": lambda ours=ours: time_command([BIN / ours, "--help"]),
            "mlx": lambda theirs=theirs: time_command([BIN / theirs, "--help"]),
        }
        yield Case("startup", f"{ours} --help", runs)
    for words, more in (("--from, 4 hosts", ()), ("--from --dot, 4 hosts", ("--dot",))):
        argv = [BIN / "distributed_config", "--from", RECORDING, *more]
        runs = {"ours": lambda argv=argv: time_command(argv), "floor": lambda: _time_python()}
        yield Case("startup", f"distributed_config {words}", runs)


def _time_python() -> float:
    return time_command([sys.executable, "-c", "pass"])


def probing_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """From the names of hosts to a picture of their cabling, over ssh."""
    from cli_hosts import hosts_in_a_ring

    for size in sizes:
        with hosts_in_a_ring(size) as hosts:
            runs = {
                "ours": lambda hosts=hosts: hosts.draw(BIN / "distributed_config"),
                "mlx": lambda hosts=hosts: hosts.draw(BIN / "mlx.distributed_config"),
                "floor": hosts.ask_once,
            }
            yield Case("probing", f"--dot of {size} hosts", runs)


def launching_cases(here: Sequence[int], over_ssh: Sequence[int]) -> Iterator[Case]:
    """From the command line to the exit code, for ranks that end at once."""
    for size in here:
        words = ["-n", str(size)]
        runs = {
            "ours": _launcher("distributed_launch", words, size),
            "mlx": _launcher("mlx.launch", words, size),
            "floor": lambda size=size: _time_bare_ranks(size),
        }
        yield Case("launching", f"{size} ranks here", runs)
    if not over_ssh:
        return
    from cli_hosts import hosts_in_a_ring

    for size in over_ssh:
        with hosts_in_a_ring(size) as hosts:
            words = ["--hostfile", str(hosts.hostfile)]
            runs = {
                "ours": _launcher("distributed_launch", words, size, hosts.popen),
                "mlx": _launcher("mlx.launch", words, size, hosts.popen),
            }
            yield Case("launching", f"{size} hosts over ssh", runs)


def _launcher(
    program: str, words: Sequence[str], size: int, popen: Popen = subprocess.Popen
) -> Run:
    argv = [str(BIN / program), *words, sys.executable, str(RANK)]
    return lambda: time_launch(popen, argv, size)


def time_launch(popen: Popen, argv: Sequence[str], size: int) -> float:
    """Seconds from the start of a launcher to its end, with all that its ranks printed.

    Its standard input is what a terminal is at which nobody types: open and silent.
    """
    start = time.perf_counter()
    launcher = popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert launcher.stdin
    assert launcher.stdout
    assert launcher.stderr
    printed = launcher.stdout.read()
    code = launcher.wait()
    seconds = time.perf_counter() - start
    complaint = launcher.stderr.read()
    for stream in (launcher.stdin, launcher.stdout, launcher.stderr):
        stream.close()
    if code or sorted(map(int, printed.split())) != list(range(size)):
        raise RuntimeError(f"{argv[0]} ended with {code}: {printed!r} {complaint}")
    return seconds


def _time_bare_ranks(size: int) -> float:
    """Seconds for the same processes without anybody who looks after them."""
    start = time.perf_counter()
    ranks = [
        subprocess.Popen(
            [sys.executable, RANK],
            env={**os.environ, "MLX_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for rank in range(size)
    ]
    for rank in ranks:
        rank.wait()
    return time.perf_counter() - start


def take_turns(case: Case, rounds: int) -> dict[str, list[float]]:
    """Seconds of each engine, turn by turn; a first round that warms up does not count."""
    found: dict[str, list[float]] = {engine: [] for engine in case.runs}
    for number in range(rounds + 1):
        for engine, run in case.runs.items():
            seconds = run()
            if number:
                found[engine].append(seconds)
    return found


def ratio(found: Mapping[str, Sequence[float]], engine: str) -> float:
    """How many times longer an engine takes than ours, turn by turn."""
    pairs = zip(found[engine], found["ours"], strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)


def show(case: Case, found: Mapping[str, Sequence[float]]) -> str:
    """One row of the table."""
    cells = [f"{case.what:<36}"]
    for engine in ENGINES:
        times = found.get(engine)
        cells.append(f"{statistics.median(times) * 1000:>8.0f}" if times else f"{'-':>8}")
    for engine in ENGINES[1:]:
        cells.append(f"{ratio(found, engine):>7.2f}x" if engine in found else f"{'-':>8}")
    return " ".join(cells)


def versions() -> dict[str, Any]:
    """What the numbers depend on."""
    about: dict[str, Any] = {"cores": os.cpu_count(), "system": platform.platform()}
    about["python"] = platform.python_version()
    for name in ("mlx", "paramiko", "typer", "networkx", "rich"):
        with suppress(PackageNotFoundError):
            about[name] = version(name)
    ssh = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False)
    return {**about, "ssh": ssh.stderr.split(",")[0]}


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them; none in an empty text."""
    return [int(word) for word in text.split(",") if word]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--only", default="startup,probing,launching", help="with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=numbers, default=[4, 16, 32], help="to probe")
    parser.add_argument("--ranks", type=numbers, default=[2, 4, 8, 16, 32, 64], help="here")
    parser.add_argument("--over-ssh", type=numbers, default=[2, 4, 8], help="hosts, a rank on each")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def main() -> None:
    """Print the table, and write the JSON if asked to."""
    options = parse_options()
    sections = {
        "startup": startup_cases,
        "probing": lambda: probing_cases(options.hosts),
        "launching": lambda: launching_cases(options.ranks, options.over_ssh),
    }
    about = versions()
    print("# " + ", ".join(f"{key} {value}" for key, value in about.items()))
    rows = []
    for section in options.only.split(","):
        columns = [*(f"{engine:>8}" for engine in ENGINES), *(f"{'/' + e:>8}" for e in ENGINES[1:])]
        print("\n" + " ".join([f"{section + ', milliseconds':<36}", *columns]))
        for case in sections[section]():
            found = take_turns(case, options.rounds)
            print(show(case, found), flush=True)
            rows.append({"section": section, "what": case.what, "seconds": found})
    if options.json:
        whole = {"format": 1, **about, "rows": rows}
        Path(options.json).write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
