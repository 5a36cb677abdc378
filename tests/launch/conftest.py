"""Jobs of the launcher, each in a folder of its own, none outliving its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.launch.jobs import Ended, Job, wait_until


class Launch(Protocol):
    """Starts a job."""

    def __call__(self, *words: str, **how: Any) -> Job: ...


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts jobs in ``tmp_path``; what they leave is killed when the test is over."""
    jobs: list[Job] = []

    def start(*words: str, **how: Any) -> Job:
        jobs.append(Job(words, tmp_path, **how))
        return jobs[-1]

    yield start
    for job in jobs:
        job.destroy()


@pytest.fixture
def run(launch: Launch) -> Callable[..., Ended]:
    """Runs a job to its end, with everything of it gone afterwards."""

    def run_to_end(*words: str, **how: Any) -> Ended:
        job = launch(*words, **how)
        ended = job.end()
        job.leaves_nothing()
        return ended

    return run_to_end


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a Python script of these lines, with what every rank needs imported."""

    def write(text: str, name: str = "program.py") -> str:
        head = (
            "import os, pathlib, signal, subprocess, sys, time\n"
            'rank = int(os.environ["MLX_RANK"])\n'
            "def say(*words): print(*words, flush=True)\n"
            'def ready(): pathlib.Path(f"ready-{rank}").touch()\n'
        )
        (tmp_path / name).write_text(head + text)
        return name

    return write


@pytest.fixture
def until_ready(tmp_path: Path) -> Callable[[int], None]:
    """Waits until that many ranks have called ``ready()``."""

    def wait(count: int) -> None:
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == count)

    return wait
