"""Ranks as real processes on this machine, each running a few lines of Python."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

DEADLINE_S = 90.0
_PRELUDE = """
import faulthandler, json, os, signal, sys, time
faulthandler.enable()
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell starts behind
import numpy as np
import ring_runtime as ring
from ring_runtime.errors import *

open(os.environ["JOB_START"] + ".ready", "w").close()
while os.path.exists(os.environ["JOB_START"] + ".held"):
    time.sleep(0.002)

def say(**facts):
    print(json.dumps(facts), flush=True)

def attempt(call):
    began = time.monotonic()
    try:
        result = call()
    except RingError as error:
        at = time.monotonic()
        say(error=type(error).__name__, text=str(error), began=began, at=at)
        return None
    say(error=None, began=began, at=time.monotonic())
    return result

"""


def free_addresses(size: int, *, width: int = 1) -> list[list[str]]:
    """Addresses of this machine nobody listens on: on Linux of a block of loopback drawn by lot."""
    host = "127.0.0.1"
    if sys.platform == "linux":
        host = f"127.{random.randint(1, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}"
    with contextlib.ExitStack() as held:
        rows = []
        for _ in range(size):
            row = []
            for _ in range(width):
                sock = held.enter_context(socket.socket())
                sock.bind((host, 0))
                row.append(f"{host}:{sock.getsockname()[1]}")
            rows.append(row)
        return rows


@dataclass(frozen=True)
class Finished:
    """How one rank ended."""

    rank: int
    returncode: int
    stdout: str
    stderr: str

    @property
    def facts(self) -> list[dict[str, Any]]:
        """What it said, line by line."""
        return [json.loads(line) for line in self.stdout.splitlines()]


class Job:
    """Some ranks of one ring, started and ended together.

    They begin when the interpreter of each is up, so that on a busy machine none is
    seconds ahead of the others.

    Args:
        body: Python of each rank, after a prelude with ``np``, ``ring``, ``say`` and ``attempt``.
        ranks: Which ranks to start; default all.
        prefix_of: Words before the command line of a rank, such as ``ip netns exec NAME``.
    """

    def __init__(
        self,
        size: int,
        body: str,
        *,
        addresses: Sequence[Sequence[str]] | None = None,
        width: int = 1,
        ranks: Sequence[int] | None = None,
        env: Mapping[str, str] | None = None,
        env_of: Callable[[int], Mapping[str, str]] | None = None,
        prefix_of: Callable[[int], Sequence[str]] | None = None,
    ) -> None:
        self.size = size
        self.addresses = addresses or free_addresses(size, width=width)
        self.body = body
        self.ranks = range(size) if ranks is None else ranks
        self.env = dict(env or {})
        self.env_of = env_of or (lambda rank: {})
        self.prefix_of = prefix_of or (lambda rank: [])
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self._folder = tempfile.TemporaryDirectory()
        self._outputs: dict[int, tuple[Path, Path]] = {}

    def __enter__(self) -> Job:
        folder = Path(self._folder.name)
        (folder / "body.py").write_text(_PRELUDE + self.body)
        (folder / "addresses.json").write_text(json.dumps(self.addresses))
        for rank in self.ranks:
            self.start(rank, is_held=True)
        try:
            self.wait_until_up(*self.ranks)
        except BaseException:
            self.__exit__()
            raise
        self.release(*self.ranks)
        return self

    def start(self, rank: int, *, is_held: bool = False) -> None:
        """Start one rank.

        Args:
            is_held: It begins only when it is released.
        """
        folder = Path(self._folder.name)
        (folder / f"{rank}.ready").unlink(missing_ok=True)
        if is_held:
            (folder / f"{rank}.held").touch()
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("MLX_", "RING_", "OMPI_"))},
            "PYTHONPATH": str(ROOT),
            "JOB_START": str(folder / str(rank)),
            "MLX_RANK": str(rank),
            "MLX_HOSTFILE": str(folder / "addresses.json"),
            "RING_INIT_TIMEOUT": "60",
            "RING_TIMEOUT": "60",
            **self.env,
            **self.env_of(rank),
        }
        out, err = folder / f"{rank}.out", folder / f"{rank}.err"
        self._outputs[rank] = out, err
        with out.open("w") as stdout, err.open("w") as stderr:
            self.processes[rank] = subprocess.Popen(
                [*self.prefix_of(rank), sys.executable, str(folder / "body.py")],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    def wait_until_up(self, *ranks: int) -> None:
        """Wait until the interpreters of ranks that are held are up.

        Raises:
            TimeoutError: One does not come up.
        """
        folder = Path(self._folder.name)
        until = time.monotonic() + DEADLINE_S
        for rank in ranks:
            while not (folder / f"{rank}.ready").exists():
                if time.monotonic() > until or self.processes[rank].poll() is not None:
                    raise TimeoutError(f"rank {rank} does not come up: {self.stderr(rank)}")
                self._doze(rank)

    def release(self, *ranks: int) -> None:
        """Let ranks that are held begin."""
        for rank in ranks:
            (Path(self._folder.name) / f"{rank}.held").unlink()

    def said(self, rank: int) -> list[dict[str, Any]]:
        """What a rank has said so far."""
        lines = self._outputs[rank][0].read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_until_said(self, rank: int, key: str, *, within: float = DEADLINE_S) -> Any:
        """The first value a rank says under this key.

        Raises:
            TimeoutError: It does not.
        """
        until = time.monotonic() + within
        while True:
            for fact in self.said(rank):
                if key in fact:
                    return fact[key]
            if time.monotonic() > until or self.processes[rank].poll() is not None:
                raise TimeoutError(f"rank {rank} does not say {key}: {self.stderr(rank)}")
            self._doze(rank)

    def wait_until(self, condition: Callable[[], object], *, within: float = DEADLINE_S) -> None:
        """Return once a condition holds.

        Raises:
            TimeoutError: It does not.
        """
        until = time.monotonic() + within
        rank = next(iter(self.processes))
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"it did not come true; rank {rank}: {self.stderr(rank)}")
            self._doze(rank)

    def _doze(self, rank: int) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.processes[rank].wait(0.02)

    def stderr(self, rank: int) -> str:
        """What a rank has written to stderr so far."""
        return self._outputs[rank][1].read_text()

    def signal(self, rank: int, number: signal.Signals) -> None:
        """Send a signal to one rank."""
        self.processes[rank].send_signal(number)

    def wait(self, rank: int, *, within: float = DEADLINE_S) -> Finished:
        """How a rank ended.

        Raises:
            TimeoutError: It did not.
        """
        try:
            returncode = self.processes[rank].wait(within)
        except subprocess.TimeoutExpired as error:
            self.processes[rank].send_signal(signal.SIGABRT)
            self.processes[rank].wait(10)
            raise TimeoutError(f"rank {rank} still runs: {self.stderr(rank)}") from error
        out, err = self._outputs[rank]
        return Finished(rank, returncode, out.read_text(), err.read_text())

    def finish(self, *, within: float = DEADLINE_S) -> list[Finished]:
        """How all started ranks ended, in rank order."""
        until = time.monotonic() + within
        return [
            self.wait(rank, within=max(0.1, until - time.monotonic()))
            for rank in sorted(self.processes)
        ]

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._folder.cleanup()


def run_job(size: int, body: str, **settings: Any) -> list[Finished]:
    """How all ranks ended, each with status 0.

    Raises:
        AssertionError: One did not.
    """
    within = settings.pop("within", DEADLINE_S)
    with Job(size, body, **settings) as job:
        finished = job.finish(within=within)
    for rank in finished:
        assert rank.returncode == 0, f"rank {rank.rank}: {rank.returncode}\n{rank.stderr}"
    return finished


@contextlib.contextmanager
def raw_connection(address: str) -> Iterator[socket.socket]:
    """A TCP connection of an intruder, once somebody listens."""
    host, _, port = address.rpartition(":")
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            sock = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
    with sock:
        yield sock
