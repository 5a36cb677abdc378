"""The agent by itself: what it says, and that it ends its ranks however the launcher leaves."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from distconfig.launch import frames
from distconfig.launch.bootstrap import agent_command, pack_agent
from tests.launch.conftest import Launch
from tests.launch.jobs import PATIENCE_S, marked_processes, wait_until
from tests.signals import signal_all

Script = Callable[..., str]
Until = Callable[[int], None]


class Agent:
    """An agent, and its launcher played by the test."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"LAUNCH_TEST_MARK={os.urandom(8).hex()}"
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            agent_command(sys.executable),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, name: value, "TMPDIR": str(folder)},
            bufsize=0,
        )
        self._decoder = frames.Decoder()
        self._frames: list[frames.Frame] = []
        self.say(pack_agent())

    def say(self, data: bytes) -> None:
        """Send bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def hear(self, kind: int, within_s: float = PATIENCE_S) -> frames.Frame:
        """The next frame of a kind; others before it are passed over."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + within_s
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame.kind == kind:
                    return frame
            left = deadline - time.monotonic()
            assert select.select([self.process.stdout], [], [], max(left, 0))[0], "it is silent"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "it has ended"
            self._frames += self._decoder.feed(data)

    def start(self, *argv: str, ranks: int = 1, **order: Any) -> None:
        """Have it start ranks."""
        whole = {
            "ranks": [{"rank": rank, "argv": argv, "env": {}} for rank in range(ranks)],
            "cwd": "/",
            "files": {"hostfile.json": "[]"},
            "file_env": {"MLX_HOSTFILE": "hostfile.json"},
            "default_env": {},
            "window": 1 << 16,
            "lost_after_s": 60.0,
        }
        self.say(frames.encode_json(frames.START, {**whole, **order}))

    def ranks(self) -> list[str]:
        """Command lines of what it has running."""
        running = marked_processes(self.mark)
        return [words for pid, words in running.items() if pid != self.process.pid]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent whose private folder would be in ``tmp_path``."""
    made = Agent(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()
    for stream in filter(None, (made.process.stdin, made.process.stdout, made.process.stderr)):
        stream.close()
    signal_all(marked_processes(made.mark), signal.SIGKILL)


def leaves_nothing(agent: Agent, folder: Path) -> None:
    wait_until(lambda: not marked_processes(agent.mark), 5.0)
    assert list(folder.iterdir()) == []


def test_it_introduces_itself_and_beats(agent: Agent) -> None:
    hello = frames.decode_json(agent.hear(frames.HELLO))
    assert hello == {
        "python": sys.executable,
        "version": list(sys.version_info[:3]),
        "platform": sys.platform,
        "pid": agent.process.pid,
    }
    agent.hear(frames.BEAT)
    agent.hear(frames.BEAT)


def test_it_answers_checks(agent: Agent, tmp_path: Path) -> None:
    request = {
        "cwd": str(tmp_path), "cwd_is_asked": True, "python": None, "path": None,
        "program": ["script", "x.py"], "binds": [], "reach": [], "mpirun": False, "ssh_to": [],
    }  # fmt: skip
    agent.say(frames.encode_json(frames.CHECK, request))
    assert frames.decode_json(agent.hear(frames.CHECKED)) == {
        "python": sys.executable,
        "cwd": str(tmp_path),
        "program": "x.py",
        "mpirun": None,
        "problems": [{"kind": "script", "path": f"{tmp_path}/x.py"}],
    }


def test_a_rank_is_told_of_from_first_to_last(agent: Agent) -> None:
    agent.start("sh", "-c", "printf out; printf err >&2; exit 3")
    assert agent.hear(frames.STDOUT) == frames.Frame(frames.STDOUT, 0, b"out")
    assert agent.hear(frames.STDERR) == frames.Frame(frames.STDERR, 0, b"err")
    exited = agent.hear(frames.EXIT)
    assert json.loads(exited.payload) == {"returncode": 3, "unstartable": ""}
    assert agent.hear(frames.CLOSED).rank == 0


def test_it_sends_no_more_than_it_has_credit_for(agent: Agent) -> None:
    agent.start("sh", "-c", "head -c 200000 /dev/zero; read line", window=50_000)
    got = 0
    while got < 50_000:
        got += len(agent.hear(frames.STDOUT).payload)
    assert got == 50_000
    agent.hear(frames.BEAT)
    agent.hear(frames.BEAT)
    agent.say(frames.encode_json(frames.CREDIT, [frames.STDOUT, 150_000], 0))
    while got < 200_000:
        got += len(agent.hear(frames.STDOUT).payload)
    agent.say(frames.encode(frames.STDIN, payload=b"\n"))
    assert frames.decode_json(agent.hear(frames.TAKEN)) == 1
    assert agent.hear(frames.EXIT).rank == 0


def test_ranks_share_the_files_of_the_job(agent: Agent) -> None:
    agent.start("sh", "-c", 'cat "$MLX_HOSTFILE"')
    assert agent.hear(frames.STDOUT).payload == b"[]"


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda agent: agent.process.stdin.close(), id="end of input"),
        pytest.param(lambda agent: agent.process.terminate(), id="SIGTERM"),
        pytest.param(lambda agent: agent.say(b"Connection closed by foreign host"), id="nonsense"),
        pytest.param(lambda agent: agent.say(frames.encode(frames.HELLO)), id="an agent's frame"),
        pytest.param(lambda agent: agent.process.stdout.close(), id="end of output"),
        pytest.param(lambda agent: None, id="silence"),
    ],
)
def test_ranks_end_with_the_launcher(
    leave: Callable[[Agent], object], agent: Agent, tmp_path: Path
) -> None:
    agent.start("sleep", "1000", ranks=2, lost_after_s=2.0)

    def has_started() -> bool:
        agent.say(frames.encode(frames.BEAT))
        return len(agent.ranks()) == 2

    wait_until(has_started)
    assert len(list(tmp_path.iterdir())) == 1
    leave(agent)
    wait_until(lambda: not agent.ranks(), 10.0)
    leaves_nothing(agent, tmp_path)


def test_while_it_hears_a_heartbeat_it_goes_on(agent: Agent) -> None:
    agent.start("sleep", "1000", lost_after_s=2.0)
    began = time.monotonic()

    def has_gone_on() -> bool:
        agent.say(frames.encode(frames.BEAT))
        return time.monotonic() - began > 4.5

    wait_until(has_gone_on)
    assert len(agent.ranks()) == 1


def test_a_launcher_that_stands_still_is_given_up(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    job = launch("-n", "2", "--lost-after", "3", script("ready(); signal.pause()"))
    until_ready(2)
    job.send(signal.SIGSTOP)
    wait_until(lambda: list(job.processes()) == [job.process.pid])
    job.send(signal.SIGCONT)
    ended = job.end()
    job.leaves_nothing()
    assert ended.code == 255
    assert "was lost" in ended.text


def test_an_agent_that_is_killed_is_noticed(
    launch: Launch, script: Script, until_ready: Until
) -> None:
    job = launch("-n", "1", script("ready(); sys.stdin.read()"), stdin=subprocess.PIPE)
    until_ready(1)
    launcher = job.process.pid
    [agent] = [
        pid for pid, words in job.processes().items() if "launch.cli" in words and pid != launcher
    ]
    os.kill(agent, signal.SIGKILL)
    ended = job.end()
    wait_until(lambda: not job.processes(), 5.0)
    assert ended.code == 255
    assert "rank 0 on 127.0.0.1 was lost: the connection to its agent ended" in ended.text
