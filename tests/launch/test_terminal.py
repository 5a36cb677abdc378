"""The launcher in the foreground of a terminal: typed answers, Ctrl-C, Ctrl-D, hanging up."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Job, wait_until

Script = Callable[..., str]
Until = Callable[[int], None]


class Terminal:
    """A pseudo-terminal, and one job that has it as its controlling terminal."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.keyboard, self._screen = pty.openpty()
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 132, 0, 0))
        self.got = b""

    def run(self, *words: str) -> Job:
        """Start the launcher in the foreground."""
        screen = self._screen
        job = self._launch(
            *words, stdin=screen, stdout=screen, stderr=screen, wrapper=("setsid", "--ctty")
        )
        os.close(screen)
        return job

    def read_until(self, pattern: bytes) -> bytes:
        """Everything on the screen, once this appears in it."""
        while not re.search(pattern, self.got):
            self.got += os.read(self.keyboard, 4096)
        return self.got

    def type(self, keys: bytes) -> None:
        """Type."""
        os.write(self.keyboard, keys)

    def hang_up(self) -> None:
        """Close the window."""
        if self.keyboard >= 0:
            os.close(self.keyboard)
            self.keyboard = -1


@pytest.fixture
def terminal(launch: Launch) -> Iterator[Terminal]:
    """A terminal of 132 columns and 40 lines."""
    made = Terminal(launch)
    yield made
    made.hang_up()


def test_a_question_is_answered_and_ctrl_d_ends_the_input(
    terminal: Terminal, script: Script
) -> None:
    name = script(
        """
if rank == 0:
    sys.stdout.write("name? "); sys.stdout.flush()
    say("hello", sys.stdin.readline().strip())
    say("rest", repr(sys.stdin.read()))
"""
    )
    job = terminal.run("-n", "2", name)
    terminal.read_until(rb"name\? $")
    terminal.type(b"ada\n")
    terminal.read_until(rb"hello ada\r\n")
    terminal.type(b"\x04")
    assert terminal.read_until(rb"rest ''\r\n") == b"name? ada\r\nhello ada\r\nrest ''\r\n"
    assert job.end().code == 0
    job.leaves_nothing()


def test_ranks_know_its_size_and_tags_are_coloured(terminal: Terminal, script: Script) -> None:
    name = script('say(os.environ["COLUMNS"], os.environ["LINES"])')
    job = terminal.run("-n", "2", "--tag-output", name)
    shown = terminal.read_until(rb"(?s)132 40.*132 40\r\n")
    assert sorted(shown.splitlines()) == [
        b"\x1b[33m[1]\x1b[0m 132 40",
        b"\x1b[36m[0]\x1b[0m 132 40",
    ]
    assert job.end().code == 0


def test_ctrl_c_reaches_the_launcher_only(
    terminal: Terminal, script: Script, until_ready: Until
) -> None:
    name = script(
        """
signal.signal(signal.SIGINT, lambda *_: say("interrupted"))
signal.signal(signal.SIGTERM, lambda *_: (say("told to end"), sys.exit(0)))
ready()
while True: signal.pause()
"""
    )
    job = terminal.run("-n", "2", name)
    until_ready(2)
    terminal.type(b"\x03")
    shown = terminal.read_until(rb"(?s)end.*end\r\n")
    assert shown.replace(b"^C", b"") == b"told to end\r\n" * 2
    assert job.end().code == 130
    job.leaves_nothing()


def test_closing_the_window_ends_all(
    terminal: Terminal, script: Script, until_ready: Until
) -> None:
    job = terminal.run("-n", "2", script("ready()\nwhile True: say('y'); time.sleep(0.01)"))
    until_ready(2)
    terminal.hang_up()
    job.leaves_nothing()
    assert job.process.wait() == 128 + signal.SIGHUP


def test_in_the_background_it_runs_without_reading(
    launch: Launch, terminal: Terminal, script: Script, tmp_path: Path
) -> None:
    """With ``&`` in an interactive shell it is not stopped for want of a keyboard."""
    name = script('ready(); say("line", sys.stdin.readline().strip())')
    text = 'set -m; "$@" & echo started; wait $!; echo "code $?"; fg 2>/dev/null; echo over'
    screen = terminal._screen
    job = launch(
        "-n", "1", name, stdin=screen, stdout=screen, stderr=screen,
        wrapper=("setsid", "--ctty", "bash", "-c", text, "bash"),
    )  # fmt: skip
    os.close(screen)
    terminal.read_until(rb"started\r\n")
    wait_until((tmp_path / "ready-0").exists)
    # The shell, the launcher, its agent: the words of the first contain those of the others.
    launcher = min(pid for pid, words in job.processes().items() if " -m distconfig" in words[:80])
    stat = Path(f"/proc/{launcher}/stat")
    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")  # and not T
    os.kill(launcher, signal.SIGTERM)
    terminal.read_until(rb"code 143\r\n")
    job.end()
    job.leaves_nothing()
