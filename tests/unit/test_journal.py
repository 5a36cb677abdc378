"""The journal: what it keeps, how it survives, who may hold it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path
from uuid import UUID

import pytest

from distconfig.errors import ApplyError
from distconfig.reports.report import InterfaceState
from distconfig.setup.journal import (
    Journal,
    JournalStep,
    journal_folder,
    open_journal,
    parse_journal,
    render_journal,
)
from distconfig.setup.setup_steps import SetupScript, SetupStep

MACHINE = UUID("4c4c4544-0000-4000-8000-000000000001")
LEAVE = ("/sbin/ifconfig", "bridge0", "deletem", "en2")
REJOIN = ("/sbin/ifconfig", "bridge0", "addm", "en2")
DOWN = ("/sbin/ifconfig", "en2", "down")
UP = ("/sbin/ifconfig", "en2", "up")

BRIDGED = InterfaceState("bridge0", True, 1500, members=("en2", "en3"))
PORT = InterfaceState("en2", False, 1500, addresses=(IPv4Interface("169.254.7.2/16"),))
SCRIPT = SetupScript(
    "studio1",
    (SetupStep(LEAVE, "leave", (REJOIN,)), SetupStep(UP, "up", (DOWN,))),
    before=(BRIDGED, PORT),
    hardware_uuid=MACHINE,
)

TEXT = """\
{
 "format": 1,
 "tool": "0.1.0",
 "host": "studio1",
 "hardware_uuid": "4c4c4544-0000-4000-8000-000000000001",
 "before": {
  "bridge0": {
   "up": true,
   "mtu": 1500,
   "addresses": [],
   "members": [
    "en2",
    "en3"
   ]
  }
 },
 "steps": [
  {
   "argv": [
    "/sbin/ifconfig",
    "bridge0",
    "deletem",
    "en2"
   ],
   "undo": [
    [
     "/sbin/ifconfig",
     "bridge0",
     "addm",
     "en2"
    ]
   ],
   "state": "done"
  }
 ]
}
"""
JOURNAL = Journal("studio1", MACHINE, (BRIDGED,), (JournalStep(LEAVE, (REJOIN,), "done"),), "0.1.0")
UNDONE = replace(JOURNAL, steps=(replace(JOURNAL.steps[0], state="undone"),))


def test_a_journal_as_text_and_back() -> None:
    assert render_journal(JOURNAL) == TEXT
    assert parse_journal(TEXT) == JOURNAL


def test_the_first_before_state_is_kept_and_later_steps_are_appended() -> None:
    first = Journal("studio1", MACHINE).with_planned(SCRIPT).with_unconfirmed("done")
    later_state = replace(PORT, is_up=True, addresses=())
    other_port = InterfaceState("en3", True, 1500)
    later = SetupScript(
        "by-another-name",
        (SetupStep(LEAVE, "leave", (REJOIN,)),),
        before=(later_state, other_port),
    )
    second = first.with_planned(later)
    assert second.before == (BRIDGED, PORT, other_port)
    assert second.host == "by-another-name"
    assert [(step.argv, step.state) for step in second.steps] == [
        (LEAVE, "done"),
        (UP, "done"),
        (LEAVE, "planned"),
    ]
    assert second.undo_of_unconfirmed == (REJOIN,)
    undone = second.with_unconfirmed("undone")
    assert [step.state for step in undone.steps] == ["done", "done", "undone"]
    assert not undone.is_settled


def test_steps_of_a_killed_setup_are_undone_with_those_of_the_next() -> None:
    killed = Journal("studio1", MACHINE).with_planned(SCRIPT)
    assert killed.undo_of_unconfirmed == (DOWN, REJOIN)
    twice = killed.with_planned(SCRIPT)
    assert twice.undo_of_unconfirmed == (DOWN, REJOIN, DOWN, REJOIN)
    assert twice.with_unconfirmed("undone").is_settled


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"format": 1', '"format": 2'),
        ('"format": 1,', ""),
        ('"deletem"', '"deletem; reboot"'),
        ('"/sbin/ifconfig",\n    "bridge0",\n    "deletem"', '"/bin/rm",\n    "-rf",\n    "/"'),
        ('"state": "done"', '"state": "maybe"'),
        ("4c4c4544", "4c4c"),
        ('"mtu": 1500', '"mtu": "much"'),
        ('"addresses": []', '"addresses": ["10.0.0.300/30"]'),
        ('"host": "studio1"', '"host": 7'),
        ('"steps": [', '"steps": [1, '),
        ("}\n", ""),
        (TEXT, "[" * 100_000),
        (TEXT, "null"),
    ],
)
def test_what_is_no_journal_is_refused_and_named(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(ApplyError) as caught:
        parse_journal(TEXT.replace(old, new), "/state/x.json")
    assert "/state/x.json" in caught.value.what


def test_the_folder_follows_xdg_and_is_never_relative() -> None:
    assert journal_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/distributed_config/hosts")
    home = Path.home() / ".local/state/distributed_config/hosts"
    assert journal_folder({}) == journal_folder({"XDG_STATE_HOME": "relative"}) == home


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    old = os.umask(0)
    yield tmp_path / "state" / "hosts"
    os.umask(old)


def test_a_journal_on_disk_is_private_and_comes_back(folder: Path) -> None:
    with open_journal(folder, "studio1", MACHINE) as file:
        assert file.journal == Journal("studio1", MACHINE)
        file.write(JOURNAL)
        path = folder / f"{MACHINE}.json"
        assert path.read_text() == TEXT
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with open_journal(folder, "studio1", MACHINE) as file:
        assert file.journal == JOURNAL
    assert [each.name for each in folder.iterdir()] == [f"{MACHINE}.json"]


def test_a_journal_with_nothing_to_undo_is_not_kept(folder: Path) -> None:
    with open_journal(folder, "studio1", MACHINE):
        pass
    assert list(folder.iterdir()) == []
    with open_journal(folder, "studio1", MACHINE) as file:
        file.write(UNDONE)
    assert list(folder.iterdir()) == []


def test_two_runs_do_not_hold_one_journal(folder: Path) -> None:
    with open_journal(folder, "studio1", MACHINE) as file:
        for journal in (JOURNAL, UNDONE):
            with pytest.raises(ApplyError, match="another run"):
                open_journal(folder, "studio1", MACHINE).__enter__()
            file.write(journal)
        with pytest.raises(ApplyError, match="another run"):
            open_journal(folder, "studio1", MACHINE).__enter__()
    with open_journal(folder, "studio1", MACHINE):
        pass


def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(ApplyError, match="can not be written"):
        open_journal(blocker / "hosts", "studio1", MACHINE).__enter__()


def test_a_broken_journal_is_refused_and_left_as_it_is(folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / f"{MACHINE}.json"
    path.write_text("{")
    for _ in range(2):  # the first attempt lets go of the lock
        with pytest.raises(ApplyError, match="can not be read"):
            open_journal(folder, "studio1", MACHINE).__enter__()
    assert path.read_text() == "{"


def test_a_killed_run_leaves_a_journal_and_no_lock(folder: Path) -> None:
    program = (
        "import sys, pathlib, uuid; sys.path.insert(0, sys.argv[3]);"
        "from distconfig.setup.journal import open_journal\n"
        "from tests.unit.test_journal import JOURNAL\n"
        "with open_journal(pathlib.Path(sys.argv[1]), 'studio1', uuid.UUID(sys.argv[2])) as file:\n"
        "    file.write(JOURNAL); print('held', flush=True); sys.stdin.read()\n"
    )
    top = Path(__file__).parents[2]
    words = [sys.executable, "-c", program, str(folder), str(MACHINE), str(top)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"held\n"
        with pytest.raises(ApplyError, match="another run"):
            open_journal(folder, "studio1", MACHINE).__enter__()
        run.send_signal(signal.SIGKILL)
    with open_journal(folder, "studio1", MACHINE) as file:
        assert file.journal == JOURNAL
