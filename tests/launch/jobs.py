"""Running the launcher as a user would, and finding whatever it leaves behind.

Everything a job starts on this machine inherits a mark in its environment, so
that no process escapes notice, whatever its parent, group or session.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.signals import signal_all

__all__ = ["Ended", "Job", "marked_processes", "wait_until"]

#: For anything that takes a second or two on an idle machine.
PATIENCE_S = 90.0

#: What a test runner may have set about its own terminal, which a job must not believe.
_TERMINAL = frozenset({"COLUMNS", "LINES"})


def wait_until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Return once a condition holds; fail if it does not within the time."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition did not hold within {timeout_s:g} s")
        pause.wait(0.01)


def marked_processes(mark: str) -> dict[int, str]:
    """The living processes that carry a mark, with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().split(b"\0")
                found[int(folder.name)] = b" ".join(words).decode(errors="replace")[:200]
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Ended:
    """A job that has ended."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def text(self) -> str:
        """What it wrote to standard error."""
        return self.err.decode(errors="replace")


class Job:
    """One run of the launcher.

    Args:
        words: Its command line.
        folder: Where it runs.
        stdin: As for `subprocess.Popen`; by default nothing comes.
        wrapper: Words of a program that becomes the launcher.
        env: Variables to add to ours; None removes one.
    """

    def __init__(
        self,
        words: Iterable[str],
        folder: Path,
        *,
        stdin: int | None = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        wrapper: Iterable[str] = (),
        env: dict[str, str | None] | None = None,
    ) -> None:
        self.mark = f"LAUNCH_TEST_MARK={secrets.token_hex(8)}"
        self.temporary = folder / f"tmp-{self.mark[-8:]}"
        self.temporary.mkdir()
        name, _, value = self.mark.partition("=")
        inherited = {key: each for key, each in os.environ.items() if key not in _TERMINAL}
        wanted = {**inherited, name: value, "TMPDIR": str(self.temporary), **(env or {})}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, "-m", "distconfig.launch.cli", *words],
            cwd=folder,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={key: value for key, value in wanted.items() if value is not None},
        )

    def end(self, stdin: bytes | None = None, timeout_s: float = PATIENCE_S) -> Ended:
        """Wait for its end."""
        out, err = self.process.communicate(stdin, timeout=timeout_s)
        return Ended(self.process.returncode, out or b"", err or b"", time.monotonic() - self.began)

    def send(self, number: signal.Signals) -> float:
        """Send the launcher a signal; returns when."""
        self.process.send_signal(number)
        return time.monotonic()

    def processes(self) -> dict[int, str]:
        """What the job has running, the launcher and its agent included."""
        return marked_processes(self.mark)

    def leaves_nothing(self, within_s: float = 5.0) -> None:
        """Fail unless, within the time, no process and no file of the job is left."""
        try:
            wait_until(lambda: not self.processes(), within_s)
        except TimeoutError:
            raise AssertionError(f"still running: {self.processes()}") from None
        left = [str(path) for path in self.temporary.rglob("*")]
        assert left == [], f"left on disk: {left}"

    def destroy(self) -> None:
        """Kill whatever is left, for a test that failed."""
        while found := self.processes():
            signal_all(found, signal.SIGKILL)
            if self.process.poll() is None and self.process.pid not in found:
                self.process.kill()
            self.process.poll()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
        self.process.wait()
