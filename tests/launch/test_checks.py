"""What stands in the way is told before any rank runs, all of it together, with exit code 125."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from distconfig.launch.agent_checks import find_listener
from tests.launch.jobs import Ended
from tests.tcp_ports import free_tcp_ports

Run = Callable[..., Ended]
Script = Callable[..., str]

REFUSED = "distributed_launch: nothing was started because of"


@pytest.fixture
def taken() -> Iterator[int]:
    """A TCP port of 127.0.0.1 on which this process listens, between two that are free."""
    port = free_tcp_ports(3) + 1
    with socket.create_server(("127.0.0.1", port)):
        yield port


def test_a_tcp_port_that_is_taken_and_by_whom(taken: int, run: Run) -> None:
    ended = run("-n", "2", "-p", str(taken), "touch", "ran")
    command = Path("/proc/self/comm").read_text().strip()
    assert ended.code == 125
    assert ended.text == (
        f"{REFUSED} a problem:\n"
        f"  127.0.0.1: TCP port {taken} of 127.0.0.1 is taken by "
        f"{command} (pid {os.getpid()}, {getpass.getuser()})\n"
        "      End it, or give another --starting-port.\n"
    )


def test_a_job_without_a_starting_port_finds_free_ones(taken: int, run: Run) -> None:
    assert run("-n", "8", "true").code == 0


def test_without_checks_it_starts_all_the_same(taken: int, run: Run) -> None:
    assert run("--no-check", "-n", "2", "-p", str(taken), "true").code == 0


def test_a_script_that_is_missing(run: Run, tmp_path: Path) -> None:
    ended = run("-n", "2", "nothing.py")
    assert ended.code == 125
    assert ended.text == (
        f"{REFUSED} a problem:\n"
        f"  127.0.0.1: there is no script {tmp_path}/nothing.py\n"
        "      Check its path.\n"
    )


def test_all_problems_together(taken: int, run: Run, tmp_path: Path) -> None:
    hosts = [
        {"ssh": "localhost", "ips": ["203.0.113.1", "127.0.0.1"], "cwd": "/nowhere"},
        {"ssh": "127.0.0.1", "ips": ["127.0.0.1"], "python": "/nowhere/python3"},
    ]
    (tmp_path / "h.json").write_text(json.dumps(hosts))
    ended = run("--hostfile", "h.json", "-p", str(taken - 1), "x.py")
    assert ended.code == 125
    assert [line for line in ended.text.splitlines() if not line.startswith("      ")] == [
        f"{REFUSED} 6 problems:",
        "  localhost: there is no folder /nowhere",
        "  localhost: there is no script /nowhere/x.py",
        "  localhost: 203.0.113.1 is not an address of this host",
        f"  localhost: TCP port {taken} of 127.0.0.1 is taken by "
        f"{Path('/proc/self/comm').read_text().strip()} (pid {os.getpid()}, {getpass.getuser()})",
        "  127.0.0.1: there is no Python at /nowhere/python3",
        f"  127.0.0.1: there is no script {tmp_path}/x.py",
    ]


ENTRY = {"ssh": "localhost", "ips": ["127.0.0.1"]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "h.json"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "h.json"),
        (b"[" * 100_000, "h.json"),
        (b"3", "$"),
        (b"[]", "no host is listed"),
        (b"{}", '"hosts" is missing'),
        ([3], "$[0]"),
        ([{}], '"ssh" is missing'),
        ([{**ENTRY, "ssh": 3}], "$[0].ssh"),
        ([{**ENTRY, "ssh": "-oProxyCommand=touch ran"}], "$[0].ssh"),
        ([{**ENTRY, "ssh": "a; touch ran"}], "$[0].ssh"),
        ([{**ENTRY, "ips": "127.0.0.1"}], "$[0].ips"),
        ([{**ENTRY, "ips": ["127.0.0.1; touch ran"]}], "$[0].ips[0]"),
        ([{**ENTRY, "port": 3}], "$[0].port"),
        ([{**ENTRY, "python": 3}], "$[0].python"),
        ([{**ENTRY, "cwd": ["/"]}], "$[0].cwd"),
        ([{**ENTRY, "env": "A=1"}], "$[0].env"),
        ([{**ENTRY, "env": ["A-B=1"]}], "$[0].env[0]"),
        ([{**ENTRY, "rdma": [None, None]}], "$[0].rdma"),
        ({"hosts": [ENTRY], "backend": "gloo"}, "$.backend"),
        ({"hosts": [ENTRY], "envs": {"A": "1"}}, "$.envs"),
        ({"hosts": [ENTRY], "other": 1}, "$.other"),
        ([{"ssh": "localhost"}, ENTRY], "has no address to listen on"),
        ([ENTRY, {"ssh": "other", "ips": ["10.0.0.1"]}], "which no other host can reach"),
    ],
)
def test_a_hostfile_that_is_none(content: object, said: str, run: Run, tmp_path: Path) -> None:
    if isinstance(content, bytes):
        (tmp_path / "h.json").write_bytes(content)
    elif content is not None:
        (tmp_path / "h.json").write_text(json.dumps(content))
    ended = run("--hostfile", "h.json", "touch", "ran")
    assert ended.code == 125
    assert ended.text.startswith("distributed_launch: ")
    assert said in ended.text
    assert len(ended.text.splitlines()) == 1
    assert not (tmp_path / "ran").exists()


def test_a_log_folder_that_can_not_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = run("--log-dir", "file/logs", "true")
    assert ended.code == 125
    assert ended.text.startswith("distributed_launch: no logs can be written: ")


def test_a_working_folder_that_is_gone(run: Run, tmp_path: Path) -> None:
    vanish = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    root = Path(__file__).resolve().parents[2]
    ended = run("true", wrapper=("sh", "-c", vanish, "sh"), env={"PYTHONPATH": str(root)})
    assert ended.code == 125
    assert "the working folder is gone" in ended.text


def test_who_has_a_port_is_asked_of_lsof_where_proc_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lsof of macOS prints with -F: a field a line, named by its first letter."""
    (tmp_path / "lsof").write_text(
        "#!/bin/sh\necho \"$@\" >asked; printf 'p612\\ncControlCe\\nLada\\nf9\\n'\n"
    )
    (tmp_path / "lsof").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert find_listener(free) == "ControlCe (pid 612, ada)"
    assert (tmp_path / "asked").read_text() == f"-nP -iTCP:{free} -sTCP:LISTEN -FpcL\n"
    (tmp_path / "lsof").write_text("#!/bin/sh\nexit 1\n")
    assert find_listener(free) == ""


@pytest.mark.parametrize("words", [[], ["-n", "0", "true"], ["--frob", "true"], ["-n", "2"]])
def test_words_that_make_no_command(words: list[str], run: Run) -> None:
    ended = run(*words)
    assert (ended.code, ended.out) == (125, b"")
    assert ended.text.startswith("distributed_launch: ")
    assert "Traceback" not in ended.text
