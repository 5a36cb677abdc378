"""`benchmarks/collectives.py` runs, on little, and reports every engine that is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.programs import run

ROOT = Path(__file__).resolve().parents[2]


def test_the_engines_take_turns(tmp_path: Path) -> None:
    report, picture = tmp_path / "report.json", tmp_path / "plot.png"
    script = str(ROOT / "benchmarks" / "collectives.py")
    argv = [sys.executable, script, "--sizes", "4,65536", "--rounds", "1", "--seconds", "0.01"]
    argv += ["--operation", "all_sum,send", "--json", str(report), "--plot", str(picture)]
    ended = run(argv, within=250)
    assert ended.returncode == 0, ended.stderr
    assert "all_sum of float32, 2 ranks on" in ended.stdout
    found = json.loads(report.read_text())
    assert [(row["operation"], row["nbytes"], sorted(row["engines"])) for row in found["rows"]] == [
        ("all_sum", 4, ["gloo", "limit", "mlx", "openmpi", "ours"]),
        ("all_sum", 65536, ["gloo", "limit", "mlx", "openmpi", "ours"]),
        ("send", 4, ["gloo", "mlx", "openmpi", "ours"]),
        ("send", 65536, ["gloo", "mlx", "openmpi", "ours"]),
    ]
    for row in found["rows"]:
        for turns in row["engines"].values():
            assert len(turns["medians"]) == len(turns["cpu"]) == len(turns["switches"]) == 1
            assert 0 < turns["medians"][0] < 10
            assert turns["peak"] > 1024**2
    assert picture.read_bytes().startswith(b"\x89PNG")
