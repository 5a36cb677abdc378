"""`benchmarks/cli.py` on simulated Macs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.test_benchmark_cli import measure


@pytest.mark.slow
def test_probing_and_launching_over_ssh(tmp_path: Path) -> None:
    words = ("--only", "probing,launching", "--hosts", "2", "--ranks", "", "--over-ssh", "2")
    rows = measure(tmp_path, *words)
    assert {what: set(seconds) for what, seconds in rows.items()} == {
        "--dot of 2 hosts": {"ours", "mlx", "floor"},
        "2 hosts over ssh": {"ours", "mlx"},
    }
    for seconds in rows.values():
        assert all(len(turns) == 1 and 0 < turns[0] < 110 for turns in seconds.values())
