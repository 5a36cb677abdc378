"""``distributed_config identify``: a cable is pulled and plugged, and a line says where."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.simulated_macs import pair, simulated

PORT = r"port (\d) \([^)]*\), (en\d+)"


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_each_touch_of_a_cable_is_a_line_at_both_ends(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        watching = macs.popen(
            [sys.executable, "-m", "distconfig.cli", "identify", "--hosts", "studio1,studio2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert watching.stderr is not None
            while "Pull or plug a cable" not in (line := watching.stderr.readline()):
                assert line, "identify ended before it was ready"
            macs["studio1"].cut("en2")
            pulled = {next_line(watching), next_line(watching)}
            macs["studio1"].plug("en3", "studio2", "en4")
            plugged = {next_line(watching), next_line(watching)}
        finally:
            watching.kill()
            watching.wait()
    shapes = [re.sub(PORT, r"\1/\2", line) for line in sorted(pulled) + sorted(plugged)]
    assert shapes == [
        "studio1 1/en2: pulled (it led to studio2 1/en2)",
        "studio2 1/en2: pulled (it led to studio1 1/en2)",
        "studio1 2/en3: plugged, and leads to studio2 3/en4",
        "studio2 3/en4: plugged, and leads to studio1 2/en3",
    ]
