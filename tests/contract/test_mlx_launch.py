"""What ranks of `distributed_launch` see is what ranks of the installed `mlx.launch` see.

Each test runs both launchers on the same hostfile and program and compares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tcp_ports import free_tcp_ports

OURS = [sys.executable, "-m", "distconfig.launch.cli"]
THEIRS = [str(Path(sys.executable).parent / "mlx.launch")]
ROOT = Path(__file__).resolve().parents[2]

SHOW = """
import json, os
text = lambda name: open(os.environ[name]).read().strip() if name in os.environ else None
names = [n for n in os.environ if n.startswith(("MLX_", "NCCL_", "CUDA_"))]
env = {n: os.environ[n] for n in names if n not in ("MLX_HOSTFILE", "MLX_IBV_DEVICES")}
env["A"] = os.environ.get("A")
print(json.dumps([env, text("MLX_HOSTFILE"), text("MLX_IBV_DEVICES"), os.getcwd()]) + "\\n", end="")
"""


def run(launcher: list[str], *words: str, cwd: Path) -> list[str]:
    """The lines that a launcher's ranks print."""
    ended = subprocess.run(
        [*launcher, *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def ranks_of(launcher: list[str], *words: str, cwd: Path) -> list[Any]:
    """What each rank sees, by rank."""
    seen = [json.loads(line) for line in run(launcher, *words, cwd=cwd)]
    return sorted(seen, key=lambda each: int(each[0]["MLX_RANK"]))


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """A program that prints what it sees, in words that both launchers take."""
    (tmp_path / "show.py").write_text(SHOW)
    return ["--", sys.executable, "show.py"]


def parsed(seen: Any) -> Any:
    """The same with the files read as JSON: blanks in them mean nothing."""
    env, hostfile, devices, cwd = seen
    return env, json.loads(hostfile or "null"), json.loads(devices or "null"), cwd


LOCAL = {"ssh": "127.0.0.1", "ips": ["127.0.0.1"]}
RDMA = [[None, "rdma_en2", ["rdma_en3", "rdma_en4"]], ["rdma_en2", None, "rdma_en5"]]
RDMA.append(["rdma_en3", "rdma_en4", None])


@pytest.mark.parametrize(
    ("hostfile", "words"),
    [
        pytest.param(None, ["-n", "1"], id="alone"),
        pytest.param(None, ["-n", "3", "-p", "PORT"], id="three here"),
        pytest.param(None, ["-n", "2", "--env", "A=x=y z", "-p", "PORT"], id="a variable"),
        pytest.param(
            [LOCAL, {"ssh": "127.0.0.1", "ips": ["127.0.0.2", "127.0.0.3"]}],
            ["--connections-per-ip", "2", "--starting-port", "PORT"],
            id="list form",
        ),
        pytest.param(
            {"backend": "ring", "envs": ["A=1"], "hosts": [{**LOCAL, "rdma": []}] * 2},
            ["-p", "PORT"],
            id="object form",
        ),
        pytest.param(
            {"backend": "ring", "envs": ["A=1"], "hosts": [LOCAL] * 2},
            ["-p", "PORT", "--env", "A=2", "--cwd", "/"],
            id="a variable twice and a folder",
        ),
        pytest.param(
            [{**LOCAL, "rdma": row} for row in RDMA],
            ["--backend", "jaccl", "-p", "PORT"],
            id="jaccl",
        ),
        pytest.param(
            {"backend": "jaccl-ring", "hosts": [{**LOCAL, "rdma": row} for row in RDMA]},
            ["-p", "PORT"],
            id="jaccl-ring",
        ),
        pytest.param([LOCAL] * 4, ["--backend", "nccl", "-n", "2"], id="nccl"),
        pytest.param(None, ["--backend", "nccl", "-n", "2", "--nccl-port", "PORT"], id="nccl here"),
    ],
)
def test_ranks_see_the_same(
    hostfile: Any, words: list[str], program: list[str], tmp_path: Path
) -> None:
    if hostfile is not None:
        (tmp_path / "h.json").write_text(json.dumps(hostfile))
        words = ["--hostfile", "h.json", *words]
    port = str(free_tcp_ports(8))
    words = [port if word == "PORT" else word for word in words]
    if "--cwd" in words:
        program = [*program[:-1], str(tmp_path / "show.py")]
    theirs = ranks_of(THEIRS, *words, *program, cwd=tmp_path)
    ours = ranks_of(OURS, *words, *program, cwd=tmp_path)
    # We add the number of ranks everywhere; mlx.launch does so with nccl only.
    size = str(len(theirs))
    for seen in theirs:
        seen[0]["MLX_WORLD_SIZE"] = size
    assert [parsed(seen) for seen in ours] == [parsed(seen) for seen in theirs]


def test_an_explicit_python_runs_the_command(tmp_path: Path) -> None:
    (tmp_path / "show").write_text("import sys; print(sys.argv)\n")
    words = ["--python", sys.executable, "show", "a", "b"]
    assert run(OURS, *words, cwd=tmp_path) == run(THEIRS, *words, cwd=tmp_path)


@pytest.mark.parametrize("words", [["--print-python"], ["--print-python", "--python", "/p"]])
def test_print_python(words: list[str], tmp_path: Path) -> None:
    def base(lines: list[str]) -> list[Path]:
        return [Path(line).parent for line in lines]  # python and python3 are one

    assert base(run(OURS, *words, cwd=tmp_path)) == base(run(THEIRS, *words, cwd=tmp_path))


def test_every_option_of_theirs_is_one_of_ours(tmp_path: Path) -> None:
    def options(launcher: list[str]) -> set[str]:
        words = " ".join(run(launcher, "--help", cwd=tmp_path)).replace(",", " ").split()
        return {word for word in words if word.startswith("-") and len(word) > 1}

    theirs = options(THEIRS) - {"--"}
    assert {"--hosts", "--hostfile", "-n", "--starting-port"} <= theirs
    assert theirs - options(OURS) == set()


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("all_sum.py", "[4. 4. 4. 4. 4. 4. 4. 4. 4. 4.]"),
        ("mlx_all_sum.py", "array([4, 4, 4, ..., 4, 4, 4], dtype=float32)"),
    ],
)
@pytest.mark.parametrize("launcher", [OURS, THEIRS], ids=["ours", "theirs"])
def test_ring_programs_run_under_both(
    launcher: list[str], script: str, printed: str, tmp_path: Path
) -> None:
    port = free_tcp_ports(4)
    # MLX computes the sum in the middle of printing it; buffered, its line stays whole.
    words = ["-n", "4", "-p", str(port), "--env", "PYTHONUNBUFFERED=", "--", sys.executable]
    lines = run(launcher, *words, str(ROOT / "examples" / script), cwd=tmp_path)
    assert sorted(lines) == [f"{rank} {printed}" for rank in range(4)]
