"""What setups did to a host, kept on the operator's machine until a teardown took it back."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any
from uuid import UUID

from distconfig import __version__
from distconfig.errors import ApplyError
from distconfig.reports.report import InterfaceState
from distconfig.setup.mac_commands import Argv, is_known
from distconfig.setup.setup_steps import SetupScript

__all__ = [
    "Journal",
    "JournalFile",
    "JournalStep",
    "journal_folder",
    "open_journal",
    "parse_journal",
    "render_journal",
]

FORMAT = 1
_STATES = ("planned", "done", "undone")


@dataclass(frozen=True)
class JournalStep:
    """A command that was about to run, what takes it back, and how far it came.

    Args:
        state: ``planned`` (it may have run), ``done`` or ``undone``.
    """

    argv: Argv
    undo: tuple[Argv, ...]
    state: str = "planned"


@dataclass(frozen=True)
class Journal:
    """All setups of one host since its last complete teardown.

    Args:
        host: The name it was last reached by.
        before: Every interface touched, as it was before it was touched first.
        steps: In the order they were run, over all setups.
    """

    host: str
    hardware_uuid: UUID
    before: tuple[InterfaceState, ...] = ()
    steps: tuple[JournalStep, ...] = ()
    tool: str = __version__

    @property
    def is_settled(self) -> bool:
        """Nothing is left to undo."""
        return all(step.state == "undone" for step in self.steps)

    @property
    def undo_of_unconfirmed(self) -> tuple[Argv, ...]:
        """What takes back every step since the last confirmed setup, last step first."""
        unconfirmed = [step for step in self.steps if step.state == "planned"]
        return tuple(argv for step in reversed(unconfirmed) for argv in step.undo)

    def with_planned(self, script: SetupScript) -> Journal:
        """The journal with the steps of one more setup, about to run."""
        known = {state.name for state in self.before}
        first = tuple(state for state in script.before if state.name not in known)
        steps = tuple(JournalStep(step.argv, step.undo) for step in script.steps)
        return replace(
            self, host=script.host, before=(*self.before, *first), steps=(*self.steps, *steps)
        )

    def with_unconfirmed(self, state: str) -> Journal:
        """The journal with all its unconfirmed steps in this state."""
        steps = (
            replace(step, state=state) if step.state == "planned" else step for step in self.steps
        )
        return replace(self, steps=tuple(steps))


def render_journal(journal: Journal) -> str:
    """The JSON text of a journal."""
    data = {
        "format": FORMAT,
        "tool": journal.tool,
        "host": journal.host,
        "hardware_uuid": str(journal.hardware_uuid),
        "before": {
            state.name: {
                "up": state.is_up,
                "mtu": state.mtu,
                "addresses": [str(address) for address in state.addresses],
                "members": list(state.members),
            }
            for state in journal.before
        },
        "steps": [
            {"argv": step.argv, "undo": step.undo, "state": step.state} for step in journal.steps
        ],
    }
    return json.dumps(data, indent=1) + "\n"


def parse_journal(text: str, path: str = "") -> Journal:
    """The journal in this JSON text; every command in it is one that a setup runs.

    Args:
        path: Where it came from, for the message.

    Raises:
        ApplyError: It is not a journal of this format.
    """
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}")
        return Journal(
            _text(data["host"]),
            UUID(data["hardware_uuid"]),
            tuple(_state(name, each) for name, each in data["before"].items()),
            tuple(_step(each) for each in data["steps"]),
            _text(data["tool"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ApplyError(
            f"the journal {path} can not be read: {error}",
            hint="Move it away, then `teardown` removes what can be told without it.",
        ) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _state(name: str, value: Mapping[str, Any]) -> InterfaceState:
    return InterfaceState(
        name,
        bool(value["up"]),
        int(value["mtu"]),
        addresses=tuple(IPv4Interface(_text(each)) for each in value["addresses"]),
        members=tuple(_text(each) for each in value["members"]),
    )


def _argv(value: Sequence[Any]) -> Argv:
    argv = tuple(_text(word) for word in value)
    if not is_known(argv):
        raise ValueError(f"{argv!r} is no command of a setup")
    return argv


def _step(value: Mapping[str, Any]) -> JournalStep:
    if value["state"] not in _STATES:
        raise ValueError(f"state {value['state']!r}")
    return JournalStep(
        _argv(value["argv"]), tuple(_argv(each) for each in value["undo"]), value["state"]
    )


def journal_folder(environ: Mapping[str, str]) -> Path:
    """Where journals are kept: under ``$XDG_STATE_HOME``, else ``~/.local/state``.

    Example:
        >>> journal_folder({"XDG_STATE_HOME": "/state"})
        PosixPath('/state/distributed_config/hosts')
    """
    stated = environ.get("XDG_STATE_HOME", "")
    root = Path(stated) if stated.startswith("/") else Path.home() / ".local" / "state"
    return root / "distributed_config" / "hosts"


class JournalFile:
    """The journal of one host, locked until its context is left."""

    def __init__(self, path: Path, descriptor: int, journal: Journal) -> None:
        self.journal = journal
        self._path = path
        self._descriptor = descriptor

    def write(self, journal: Journal) -> None:
        """Replace the journal on disk, whole and flushed, or leave it as it was.

        Raises:
            ApplyError: It could not be written.
        """
        aside = self._path.with_suffix(".new")
        try:
            descriptor = _open_locked(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            with os.fdopen(descriptor, "w", encoding="utf-8", closefd=False) as file:
                file.write(render_journal(journal))
                file.flush()
                os.fsync(descriptor)
            aside.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _not_writable(self._path, error) from error
        os.close(self._descriptor)
        self._descriptor = descriptor
        self.journal = journal

    def close(self) -> None:
        """Let go of the lock; a journal with nothing left to undo is not kept."""
        with contextlib.suppress(OSError):  # it says itself that nothing is left to undo
            if self.journal.is_settled:
                self._path.unlink()
        os.close(self._descriptor)


@contextlib.contextmanager
def open_journal(folder: Path, host: str, hardware_uuid: UUID) -> Iterator[JournalFile]:
    """The journal of a machine, empty if there is none, locked for the time of the context.

    Raises:
        ApplyError: Another run holds it, it can not be read, or the folder is not writable.
    """
    path = folder / f"{hardware_uuid}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        descriptor = _lock_current(path)
    except BlockingIOError as error:
        raise ApplyError(
            "another run is changing this host now",
            host=host,
            hint="Wait for it to end; nothing was changed by this one.",
        ) from error
    except OSError as error:
        raise _not_writable(path, error) from error
    try:
        text = path.read_text(encoding="utf-8")
        journal = parse_journal(text, str(path)) if text else Journal(host, hardware_uuid)
    except (OSError, UnicodeDecodeError, ApplyError):
        os.close(descriptor)
        raise
    file = JournalFile(path, descriptor, journal)
    try:
        yield file
    finally:
        file.close()


def _lock_current(path: Path) -> int:
    """A lock on the file that has this name now, which a writer may have replaced meanwhile."""
    while True:
        descriptor = _open_locked(path, os.O_RDWR | os.O_CREAT)
        try:
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _open_locked(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_writable(path: Path, error: OSError) -> ApplyError:
    return ApplyError(
        f"the journal {path} can not be written: {error.strerror or error}",
        hint="Setup and teardown need it; check the folder, or set XDG_STATE_HOME.",
    )
