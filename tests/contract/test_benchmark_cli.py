"""`benchmarks/cli.py` runs, on little, and reports what it says it measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cli.py"


def measure(folder: Path, *words: str) -> dict[str, dict[str, list[float]]]:
    """The seconds of each engine, by what was measured."""
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--rounds", "1", "--json", report, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole: dict[str, Any] = json.loads(report.read_text())
    assert whole["format"] == 1
    for row in whole["rows"]:
        assert f"\n{row['what']} " in done.stdout
    return {row["what"]: row["seconds"] for row in whole["rows"]}


def test_start_up_and_launching_here(tmp_path: Path) -> None:
    words = ("--only", "startup,launching", "--ranks", "2,3", "--over-ssh", "")
    rows = measure(tmp_path, *words)
    assert {what: set(seconds) for what, seconds in rows.items()} == {
        "distributed_config --help": {"ours", "mlx"},
        "distributed_launch --help": {"ours", "mlx"},
        "distributed_config --from, 4 hosts": {"ours", "floor"},
        "distributed_config --from --dot, 4 hosts": {"ours", "floor"},
        "2 ranks here": {"ours", "mlx", "floor"},
        "3 ranks here": {"ours", "mlx", "floor"},
    }
    for seconds in rows.values():
        assert all(len(turns) == 1 and 0 < turns[0] < 110 for turns in seconds.values())
