"""When an agent may start before the command line is read: only for what is surely local."""

from __future__ import annotations

import pytest

from distconfig.launch.local_agent import is_surely_local


@pytest.mark.parametrize(
    ("line", "is_local"),
    [
        ("-n 4 train.py", True),
        ("-m mlx_lm chat", True),
        ("--hosts localhost train.py", False),
        ("--hosts=a,b train.py", False),
        ("--hostfile h.json train.py", False),
        ("--help", False),
        ("-h", False),
        ("--print-python", False),
        ("", False),
        ("train.py --host me", False),
    ],
)
def test_a_command_line(line: str, is_local: bool) -> None:
    assert is_surely_local(line.split()) is is_local
