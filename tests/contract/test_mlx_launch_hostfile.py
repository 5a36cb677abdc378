"""The installed ``mlx.launch`` runs two ranks from each kind of ring hostfile we write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ring_runtime.hostfile import Hostfile, HostfileEntry, render_hostfile
from tests.tcp_ports import free_tcp_ports

LAUNCH = Path(sys.executable).with_name("mlx.launch")
PROGRAM = """
import os
import mlx.core as mx

world = mx.distributed.init(backend="ring", strict=True)
total = mx.distributed.all_sum(mx.array([world.rank() + 1.0]), stream=mx.cpu)
print("rank", world.rank(), "sum", total.item(), "color", os.environ.get("COLOR"), flush=True)
"""
PAIR = (HostfileEntry("127.0.0.1", ("127.0.0.1",)), HostfileEntry("127.0.0.1", ("127.0.0.1",)))
WIDE = tuple(HostfileEntry("127.0.0.1", ("127.0.0.1", "127.0.0.1")) for _ in range(2))


@pytest.mark.parametrize(
    ("hostfile", "color"),
    [
        (Hostfile(PAIR), "None"),
        (Hostfile(PAIR, "ring"), "None"),
        (Hostfile(PAIR, envs=("COLOR=blue",)), "blue"),
        (Hostfile(WIDE), "None"),
    ],
    ids=["list", "backend", "env", "width two"],
)
def test_two_ranks_run(tmp_path: Path, hostfile: Hostfile, color: str) -> None:
    path, program = tmp_path / "hostfile.json", tmp_path / "program.py"
    path.write_text(render_hostfile(hostfile))
    program.write_text(PROGRAM)
    command = [LAUNCH, "--backend", "ring", "--hostfile", path]
    command += ["--starting-port", str(free_tcp_ports(4)), "--", sys.executable, program]
    ran = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    lines = sorted(line for line in ran.stdout.splitlines() if line.startswith("rank"))
    assert lines == [
        f"rank 0 sum 3.0 color {color}",
        f"rank 1 sum 3.0 color {color}",
    ], ran.stdout + ran.stderr
