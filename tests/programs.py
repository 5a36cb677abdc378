"""Programs run to their end, whatever becomes of them: a launcher with its ranks, or one script."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PROGRAMS = Path(sys.executable).parent
DEADLINE_S = 110.0
_CHOOSING = ("MLX_", "RING_", "OMPI_", "PMIX_", "PMI_", "PRTE_")


@dataclass(frozen=True)
class Ended:
    """How a program ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The JSON objects its ranks printed, one a line, in order of their "rank"."""
        lines = [json.loads(line) for line in self.stdout.splitlines()]
        return sorted(lines, key=lambda line: int(line["rank"]))


def environment(**changes: str) -> dict[str, str]:
    """Ours without what chooses a backend; mpirun may run as root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_CHOOSING)}
    return {
        **kept,
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **changes,
    }


def run(
    argv: Sequence[str],
    *,
    env: dict[str, str] | None = None,
    cwd: Path = ROOT,
    within: float = DEADLINE_S,
) -> Ended:
    """Run a program to its end; nothing of its session is left, also if it takes too long."""
    process = subprocess.Popen(
        argv,
        env=environment() if env is None else env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=within)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return Ended(process.returncode, stdout, stderr)
