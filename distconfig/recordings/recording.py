"""What hosts printed, kept: the value `Recording` and its folder on disk.

``recording.json`` lists the hosts; each has a folder with ``probes.json`` and
one file per output: ``<probe>.out`` and ``<probe>.err``, absent when empty.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from distconfig import __version__
from distconfig.errors import ProbeError, UsageError
from distconfig.hosts.shell import Completed
from distconfig.recordings.recording_json import (
    Index,
    IndexEntry,
    ProbeEntry,
    folder_name,
    parse_index,
    parse_probes,
    render_index,
    render_probes,
)

__all__ = [
    "HostRecording",
    "OperatorNetwork",
    "Recording",
    "load_recording",
    "save_recording",
    "select_hosts",
]

_INDEX = "recording.json"
_PROBES = "probes.json"


@dataclass(frozen=True)
class OperatorNetwork:
    """Addresses and routes of the machine the tool runs on; addresses must avoid them."""

    addresses: tuple[IPv4Interface, ...] = ()
    routes: tuple[IPv4Network, ...] = ()


@dataclass(frozen=True)
class HostRecording:
    """The raw answers of one host, or the error that kept it from answering."""

    host: str
    probes: Mapping[str, Completed] = field(default_factory=dict)
    error: ProbeError | None = None


@dataclass(frozen=True)
class Recording:
    """One probe round over all hosts, in the order the user gave them."""

    recorded_at: datetime
    operator: OperatorNetwork
    hosts: tuple[HostRecording, ...]


def select_hosts(recording: Recording, names: Sequence[str]) -> Recording:
    """The same recording with only these hosts, in this order.

    Raises:
        UsageError: A name was not recorded.
    """
    by_name = {each.host: each for each in recording.hosts}
    for name in names:
        if name not in by_name:
            raise UsageError(
                f"host {name!r} is not in the recording",
                hint=f"It holds {', '.join(by_name) or 'no host'}.",
            )
    return replace(recording, hosts=tuple(by_name[name] for name in names))


def save_recording(recording: Recording, path: Path) -> None:
    """Write a recording to a folder, which appears whole or not at all.

    A recording that is there already is replaced.

    Raises:
        UsageError: Something else is there, or the folder can not be written.
    """
    path = Path(path).resolve()
    try:
        _refuse_to_replace(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as aside:
            written = Path(aside) / "new"
            _write(recording, written)
            _exchange(path, written, Path(aside) / "old")
    except OSError as error:
        raise UsageError(
            f"the recording can not be written to {path}: {error.strerror}",
            hint="Name a folder that you may write.",
        ) from error


def _refuse_to_replace(path: Path) -> None:
    """Raise if anything but a recording or an empty folder is there."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} is a file", hint="Name an empty or new folder.")
    if any(path.iterdir()) and not (path / _INDEX).is_file():
        raise UsageError(
            f"{path} holds something that is not a recording", hint="Name an empty or new folder."
        )


def _exchange(path: Path, new: Path, old: Path) -> None:
    """Put a new folder in the place of what is there, or leave that as it was."""
    if not path.exists():
        new.rename(path)
        return
    path.rename(old)
    try:
        new.rename(path)
    except OSError:
        old.rename(path)
        raise


def _write(recording: Recording, folder: Path) -> None:
    folder.mkdir()
    entries = []
    for position, each in enumerate(recording.hosts, 1):
        name = folder_name(position, each.host)
        entries.append(IndexEntry(each.host, name, each.error))
        _write_host(each, folder / name)
    index = Index(
        recording.recorded_at,
        recording.operator.addresses,
        recording.operator.routes,
        tuple(entries),
    )
    (folder / _INDEX).write_text(render_index(index, f"distributed-config {__version__}"))


def _write_host(host: HostRecording, folder: Path) -> None:
    folder.mkdir()
    probes = {}
    for name, done in host.probes.items():
        probes[name] = ProbeEntry(done.argv, done.returncode, done.seconds)
        for suffix, output in ((".out", done.stdout), (".err", done.stderr)):
            if output:
                (folder / f"{name}{suffix}").write_bytes(output)
    (folder / _PROBES).write_text(render_probes(probes))


def load_recording(path: Path) -> Recording:
    """The recording in a folder.

    Raises:
        UsageError: The folder is missing, empty, half written, or not a recording.
    """
    path = Path(path)
    if not path.is_dir():
        raise UsageError(
            f"there is no folder {path}", hint="Name a folder that was made with --save."
        )
    index = parse_index(_read(path / _INDEX).decode("utf-8", "replace"), str(path / _INDEX))
    return Recording(
        index.recorded_at,
        OperatorNetwork(index.addresses, index.routes),
        tuple(_load_host(entry, path / entry.folder) for entry in index.hosts),
    )


def _load_host(entry: IndexEntry, folder: Path) -> HostRecording:
    if entry.error is not None and not folder.exists():
        return HostRecording(entry.host, {}, entry.error)
    text = _read(folder / _PROBES).decode("utf-8", "replace")
    probes = {
        name: Completed(
            probe.argv,
            probe.returncode,
            _read(folder / f"{name}.out", b""),
            _read(folder / f"{name}.err", b""),
            probe.seconds,
        )
        for name, probe in parse_probes(text, str(folder / _PROBES)).items()
    }
    return HostRecording(entry.host, probes, entry.error)


def _read(path: Path, missing: bytes | None = None) -> bytes:
    """The bytes of a file that is really there, not a link to one elsewhere."""
    try:
        if path.is_symlink() or path.parent.is_symlink():
            raise UsageError(
                f"{path} is a link out of the recording", hint="Copy the file in its place."
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        if missing is not None:
            return missing
        raise UsageError(
            f"{path} is missing", hint="The recording is half written; make it again with --save."
        ) from error
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}") from error
