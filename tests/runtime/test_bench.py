"""The bench command: a table a person reads, JSON a program reads, every value checked."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rank_processes import run_job

BODY = """
from ring_runtime.bench import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize("size", [2, 3])
def test_every_operation_is_measured_and_right(size: int) -> None:
    words = "--operation all --dtype float32,bfloat16,int8,bool --begin 12 --end 3M --factor 1000"
    finished = run_job(size, BODY.format(words=[*words.split(), "--json"]), within=100)
    report = json.loads(finished[0].stdout)
    assert all(rank.stdout == "" for rank in finished[1:])
    assert (report["format"], report["ranks"]) == (1, size)
    operations = ["all_sum", "all_gather", "sum_scatter", "broadcast", "send"]
    dtypes = ["float32", "bfloat16", "int8", "bool"]
    assert [(row["operation"], row["dtype"]) for row in report["rows"]] == [
        (operation, dtype) for operation in operations for dtype in dtypes for _ in range(2)
    ]
    assert {row["wrong"] for row in report["rows"]} == {0}
    factors = {"all_sum": 2 * (size - 1) / size, "broadcast": 1, "send": 1}
    for row in report["rows"]:
        assert row["algorithm_gb_s"] == pytest.approx(row["nbytes"] / row["seconds"] / 1e9)
        factor = factors.get(row["operation"], (size - 1) / size)
        assert row["bus_gb_s"] == pytest.approx(row["algorithm_gb_s"] * factor)


def test_the_table_of_one_rank(root: Path) -> None:
    words = ["-m", "ring_runtime.bench", "--operation", "all", "--end", "64"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLX_")}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, capture_output=True, text=True, env=environment
    )
    about, title, *rows = done.stdout.splitlines()
    assert done.returncode == 0
    assert done.stderr == ""
    assert about.startswith("# ranks 1, cores ")
    assert title.split() == [
        *("operation", "dtype", "bytes", "time", "us", "alg", "GB/s", "bus", "GB/s", "wrong")
    ]
    assert [row.split()[0] for row in rows] == [
        name for name in ("all_sum", "all_gather", "sum_scatter", "broadcast") for _ in range(3)
    ]
    assert [row.split()[2] for row in rows] == ["4", "16", "64"] * 4


def test_progress_is_shown_on_a_terminal_only(root: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["-m", "ring_runtime.bench", "--end", "4"]
    subprocess.run(
        [sys.executable, *words], cwd=root, stdout=subprocess.DEVNULL, stderr=theirs, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 4096)
    os.close(ours)
    assert shown == b"\r\x1b[Kall_sum of float32, 4 bytes\r\x1b[K"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--operation", "all_product"], "'all_product' is not one of all_sum"),
        (["--dtype", "float19"], "'float19' is not a dtype"),
        (["--end", "many"], "'many' is not a size such as 4, 64K or 16M"),
        (["--begin", "0"], "'0' is not a size"),
    ],
)
def test_what_can_not_be_measured_is_said(root: Path, words: list[str], complaint: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ring_runtime.bench", *words],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
