"""What ranks find when they start: words, environment, folder, files."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended
from tests.tcp_ports import free_tcp_ports

Run = Callable[..., Ended]
Script = Callable[..., str]


def test_every_rank_finds_its_place_in_the_ring(run: Run, script: Script) -> None:
    name = script(
        """
path = pathlib.Path(os.environ["MLX_HOSTFILE"])
mode = lambda p: oct(p.stat().st_mode & 0o777)
say(rank, os.environ["MLX_WORLD_SIZE"], mode(path), mode(path.parent), path.read_text())
"""
    )
    ended = run("-n", "4", name)
    assert (ended.code, ended.err) == (0, b"")
    lines = sorted(ended.out.decode().splitlines())
    addresses = lines[0].split(maxsplit=4)[4]
    assert lines == [f"{rank} 4 0o600 0o700 {addresses}" for rank in range(4)]
    ports = [int(re.fullmatch(r"127\.0\.0\.1:(\d+)", e)[1]) for [e] in json.loads(addresses)]  # type: ignore[index]
    assert ports == list(range(ports[0], ports[0] + 4))


def test_ports_count_up_from_the_one_that_is_given(run: Run, script: Script) -> None:
    name = script('say(pathlib.Path(os.environ["MLX_HOSTFILE"]).read_text())')
    port = free_tcp_ports(4)
    ended = run("-n", "2", "-p", str(port), "--connections-per-ip", "2", name)
    one, two, three, four = (f'"127.0.0.1:{port + index}"' for index in range(4))
    line = f"[[{one},{two}],[{three},{four}]]"
    assert ended.out.decode().splitlines() == [line, line]


def test_a_rank_alone_gets_a_blank_file(run: Run, script: Script) -> None:
    ended = run(script('say(repr(open(os.environ["MLX_HOSTFILE"]).read()))'))
    assert ended.out == b"''\n"


def test_all_ranks_of_a_job_share_a_secret_that_no_command_line_shows(
    launch: Launch, run: Run, script: Script, until_ready: Callable[[int], None]
) -> None:
    name = script('ready(); say(os.environ["RING_SECRET"]); sys.stdin.read()')
    job = launch("-n", "2", "--verbose", name, stdin=-1)
    until_ready(2)
    command_lines = list(job.processes().values())
    ended = job.end(b"")
    first, second = ended.out.decode().split()
    assert first == second
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert len(command_lines) == 4
    assert first not in " ".join(command_lines) + ended.text
    other = run("-n", "1", script('say(os.environ["RING_SECRET"])'))
    assert other.out.decode().strip() != first


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        (["show.py", "-n", "3"], ["show.py", "-n", "3"]),
        (["--", "show.py", "--", "x"], ["show.py", "--", "x"]),
        (["python", "show.py", "a b", "*"], ["show.py", "a b", "*"]),
        (["--", sys.executable, "show.py"], ["show.py"]),
        (["-m", "pack.show", "--model", "m"], ["MODULE", "--model", "m"]),
        (["python", "-m", "pack.show", "chat"], ["MODULE", "chat"]),
        (["--python", sys.executable, "show", "a"], ["show", "a"]),
    ],
)
def test_forms_of_a_command(words: list[str], argv: list[str], run: Run, tmp_path: Path) -> None:
    text = "import sys; print(sys.executable, sys.argv)\n"
    (tmp_path / "show.py").write_text(text)
    (tmp_path / "show").write_text(text)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "show.py").write_text(
        text.replace("sys.argv", '["MODULE"] + sys.argv[1:]')
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = run(*words, env={"PATH": path})
    assert ended.text == ""
    assert ended.out.decode() == f"{sys.executable} {argv}\n"


def test_any_program_runs(run: Run) -> None:
    ended = run("-n", "2", "--", "sh", "-c", 'echo "$0 $MLX_RANK"', "a b")
    assert sorted(ended.out.splitlines()) == [b"a b 0", b"a b 1"]


def test_the_word_python_falls_back_on_ours_where_path_has_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text("import sys; print(sys.executable)")
    ended = run("python", "show.py", env={"PATH": "/nowhere"})
    assert ended.out.decode().strip() == sys.executable


def test_the_environment_of_a_rank(run: Run, script: Script) -> None:
    name = script("import json; say(json.dumps(dict(os.environ)))")
    ended = run("--env", "A=1=2", "--env", "MINE=new", "--env", "MLX_RANK=7", name,
                env={"MINE": "old", "KEPT": "yes", "COLUMNS": None, "LINES": None})  # fmt: skip
    env = json.loads(ended.out)
    assert {key: env.get(key) for key in ("A", "MINE", "KEPT", "MLX_RANK", "PYTHONUNBUFFERED")} == {
        "A": "1=2",
        "MINE": "new",
        "KEPT": "yes",
        "MLX_RANK": "0",
        "PYTHONUNBUFFERED": "1",
    }
    assert "COLUMNS" not in env  # there is no terminal
    assert not any(key.startswith("MLX_RING") for key in env)


def test_what_is_set_already_is_left_alone(run: Run, script: Script) -> None:
    name = script('say(os.environ["PYTHONUNBUFFERED"], os.environ["COLUMNS"])')
    assert run(name, env={"PYTHONUNBUFFERED": "x", "COLUMNS": "7"}).out == b"x 7\n"


def test_ranks_run_where_we_are_or_where_they_are_told(
    run: Run, script: Script, tmp_path: Path
) -> None:
    name = script("say(os.getcwd())")
    assert run(name).out.decode().strip() == str(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_text((tmp_path / name).read_text())
    assert run("--cwd", str(tmp_path / "sub"), name).out.decode().strip() == str(tmp_path / "sub")


def test_a_hostfile_gives_backend_environment_folder_and_python(
    run: Run, script: Script, tmp_path: Path
) -> None:
    name = script('say(os.getcwd(), os.environ["A"], os.environ["B"], os.environ["NCCL_PORT"])')
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / name).write_text((tmp_path / name).read_text())
    entry = {
        "ssh": "localhost",
        "ips": ["127.0.0.1"],
        "cwd": str(tmp_path / "w"),
        "env": ["B=2"],
        "python": sys.executable,
    }
    hostfile = {"backend": "nccl", "envs": ["A=1", "B=0"], "hosts": [entry]}
    (tmp_path / "h.json").write_text(json.dumps(hostfile))
    port = free_tcp_ports(1)
    ended = run("--hostfile", "h.json", "--nccl-port", str(port), name)
    assert (ended.text, ended.out.decode()) == ("", f"{tmp_path}/w 1 2 {port}\n")


def test_jaccl_devices_are_in_a_file(run: Run, script: Script, tmp_path: Path) -> None:
    rows = [[None, "rdma_en2"], ["rdma_en2", None]]
    hosts = [{"ssh": "localhost", "ips": ["127.0.0.1"], "rdma": row} for row in rows]
    (tmp_path / "h.json").write_text(json.dumps(hosts))
    name = script(
        """
names = "MLX_JACCL_COORDINATOR", "MLX_JACCL_RING", "MLX_HOSTFILE", "RING_SECRET"
say(open(os.environ["MLX_IBV_DEVICES"]).read(), [os.environ.get(name) for name in names])
"""
    )
    port = free_tcp_ports(2)
    words = ("--hostfile", "h.json", "--backend", "jaccl-ring", "-p", str(port), name)
    line = f"{json.dumps(rows)} ['127.0.0.1:{port}', '1', None, None]"
    assert run(*words).out.decode().splitlines() == [line, line]


def test_logs_hold_the_bytes_of_each_stream(run: Run, script: Script, tmp_path: Path) -> None:
    name = script('os.write(1, b"out%d\\xff" % rank); os.write(2, b"err%d\\n" % rank)')
    ended = run("-n", "2", "--log-dir", "logs/run1", "--tag-output", name)
    assert ended.code == 0
    logs = {path.name: path.read_bytes() for path in (tmp_path / "logs" / "run1").iterdir()}
    assert logs == {
        "rank-0.stdout": b"out0\xff",
        "rank-0.stderr": b"err0\n",
        "rank-1.stdout": b"out1\xff",
        "rank-1.stderr": b"err1\n",
    }


def test_the_python_in_use(run: Run) -> None:
    assert run("--print-python").out.decode() == f"{sys.executable}\n"
    assert run("--python", "/p", "--print-python").out == b"/p\n"


def test_help_is_the_product(run: Run) -> None:
    ended = run("--help")
    assert (ended.code, ended.err) == (0, b"")
    assert ended.out.startswith(b"usage: distributed_launch [options] [--] command [arguments]\n")


def test_verbose_says_what_runs_where(run: Run, script: Script, tmp_path: Path) -> None:
    name = script("say(os.environ['MLX_RING_VERBOSE'])")
    ended = run("-n", "2", "--verbose", name, "a b")
    assert ended.out == b"1\n1\n"
    assert ended.text.splitlines() == [
        f"distributed_launch: rank {rank} on 127.0.0.1 in {tmp_path}: {sys.executable} {name} 'a b'"
        for rank in (0, 1)
    ]


def test_nothing_of_a_local_job_is_loaded_in_vain(run: Run, script: Script) -> None:
    """A local launch loads neither ssh nor tables; `-X importtime` shows what is loaded."""
    ended = run(script(""), env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip() for line in ended.text.splitlines()}
    assert "distconfig.launch.supervise" in loaded
    assert not {name.split(".")[0] for name in loaded} & {
        "paramiko",
        "rich",
        "networkx",
        "typer",
        "numpy",
    }


def test_ranks_inherit_three_pipes_and_nothing_else(run: Run, script: Script) -> None:
    name = script('say(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])')
    assert run("-n", "2", name).out == b"[0, 1, 2]\n[0, 1, 2]\n"
