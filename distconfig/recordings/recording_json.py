"""The JSON files of a recording: text to plain values and back, everything checked."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from ipaddress import IPv4Interface, IPv4Network
from typing import Any, NoReturn

from distconfig import errors
from distconfig.errors import ProbeError, UsageError
from distconfig.hosts.names import check_host_name

__all__ = [
    "FORMAT",
    "Index",
    "IndexEntry",
    "ProbeEntry",
    "folder_name",
    "parse_index",
    "parse_probes",
    "render_index",
    "render_probes",
]

FORMAT = 1
_FOLDER = re.compile(r"[0-9]{2,4}-[A-Za-z0-9._-]{1,200}")
_PROBE = re.compile(r"[A-Za-z0-9_]{1,64}")
_ERRORS: Mapping[str, type[ProbeError]] = {
    kind.__name__: kind
    for kind in (errors.Unreachable, errors.AuthenticationFailed, errors.CommandFailed)
}


@dataclass(frozen=True)
class IndexEntry:
    """One host of ``recording.json``."""

    host: str
    folder: str
    error: ProbeError | None


@dataclass(frozen=True)
class Index:
    """All of ``recording.json``."""

    recorded_at: datetime
    addresses: tuple[IPv4Interface, ...]
    routes: tuple[IPv4Network, ...]
    hosts: tuple[IndexEntry, ...]


@dataclass(frozen=True)
class ProbeEntry:
    """One probe of ``probes.json``: all but what it printed."""

    argv: tuple[str, ...]
    returncode: int
    seconds: float


def folder_name(position: int, host: str) -> str:
    """The folder of the host at a position, counted from 1.

    Example:
        >>> folder_name(3, "ada@studio3")
        '03-ada_studio3'
    """
    return f"{position:02d}-{re.sub('[^A-Za-z0-9._-]', '_', host)}"


def render_index(index: Index, tool: str) -> str:
    """The text of ``recording.json``."""
    hosts = [
        {
            "host": entry.host,
            "folder": entry.folder,
            "error": None
            if entry.error is None
            else {"class": type(entry.error).__name__, "fields": entry.error.fields},
        }
        for entry in index.hosts
    ]
    document = {
        "format": FORMAT,
        "tool": tool,
        "recorded_at": index.recorded_at.astimezone(timezone.utc).isoformat(),
        "operator": {
            "addresses": [str(address) for address in index.addresses],
            "routes": [str(route) for route in index.routes],
        },
        "hosts": hosts,
    }
    return json.dumps(document, indent=2) + "\n"


def parse_index(text: str, path: str) -> Index:
    """The value of ``recording.json``.

    Args:
        path: For errors.

    Raises:
        UsageError: It is no such file; names the JSON path.
    """
    document = _Reader(_loads(text, path), path, "")
    number = document.at("format").integer()
    if number > FORMAT:
        raise UsageError(
            f"{path} has format {number}, this version reads up to {FORMAT}",
            hint="Update the tool.",
        )
    if number < 1:
        document.at("format").refuse("a format number")
    operator = document.at("operator")
    hosts = tuple(_parse_entry(each) for each in document.at("hosts").items())
    names = [entry.host for entry in hosts]
    folders = [entry.folder for entry in hosts]
    if len(set(names)) < len(names) or len(set(folders)) < len(folders):
        document.at("hosts").refuse("each host and folder once")
    return Index(
        document.at("recorded_at").time(),
        tuple(each.made_by(IPv4Interface) for each in operator.at("addresses").items()),
        tuple(each.made_by(IPv4Network) for each in operator.at("routes").items()),
        hosts,
    )


def _parse_entry(reader: _Reader) -> IndexEntry:
    host = reader.at("host").text()
    try:
        check_host_name(host)
    except UsageError:
        reader.at("host").refuse("a host name")
    folder = reader.at("folder").text()
    if not _FOLDER.fullmatch(folder):
        reader.at("folder").refuse("a folder beside this file, such as '01-studio1'")
    error = reader.at("error")
    return IndexEntry(host, folder, None if error.value is None else _parse_error(error))


def _parse_error(reader: _Reader) -> ProbeError:
    """An error of a listed class from fields of the right types; nothing else is ever made."""
    kind = _ERRORS.get(reader.at("class").text())
    if kind is None:
        reader.at("class").refuse(f"one of {', '.join(_ERRORS)}")
    given = reader.at("fields")
    known = {each.name for each in dataclasses.fields(kind)}
    if not isinstance(given.value, dict) or not set(given.value) <= known:
        given.refuse(f"an object with no other keys than {', '.join(sorted(known))}")
    fields: dict[str, Any] = {}
    for name in given.value:
        field = given.at(name)
        if name == "argv":
            fields[name] = tuple(word.text() for word in field.items())
        elif name == "returncode":
            fields[name] = None if field.value is None else field.integer()
        else:
            fields[name] = field.text()
    given.at("what")
    return kind(**fields)


def render_probes(probes: Mapping[str, ProbeEntry]) -> str:
    """The text of ``probes.json``."""
    document = {name: dataclasses.asdict(entry) for name, entry in probes.items()}
    return json.dumps(document, indent=2) + "\n"


def parse_probes(text: str, path: str) -> dict[str, ProbeEntry]:
    """The value of ``probes.json``, in the order written.

    Raises:
        UsageError: It is no such file; names the JSON path.
    """
    document = _Reader(_loads(text, path), path, "")
    if not isinstance(document.value, dict):
        document.refuse("an object")
    probes = {}
    for name in document.value:
        if not _PROBE.fullmatch(name):
            document.refuse(f"names of probes as keys, not {name!r}")
        probe = document.at(name)
        argv = tuple(word.text() for word in probe.at("argv").items())
        if not argv:
            probe.at("argv").refuse("at least one word")
        probes[name] = ProbeEntry(
            argv, probe.at("returncode").integer(), probe.at("seconds").seconds()
        )
    return probes


def _loads(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON: {error}",
            hint="The recording is damaged or half written; make it again with --save.",
        ) from error


@dataclass(frozen=True)
class _Reader:
    """A JSON value, where it is, and what it has to be."""

    value: Any
    path: str
    where: str

    def refuse(self, expected: str) -> NoReturn:
        raise UsageError(
            f"{self.path}: {self.where or 'the whole file'} is {_brief(self.value)},"
            f" expected {expected}",
            hint="The recording is damaged; make it again with --save.",
        )

    def at(self, key: str) -> _Reader:
        if not isinstance(self.value, dict) or key not in self.value:
            self.refuse(f"an object with {key!r}")
        return _Reader(self.value[key], self.path, f"{self.where}.{key}".lstrip("."))

    def items(self) -> list[_Reader]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        return [
            _Reader(value, self.path, f"{self.where}[{index}]")
            for index, value in enumerate(self.value)
        ]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("text")
        return self.value

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse("a whole number")
        return self.value

    def seconds(self) -> float:
        if (
            not isinstance(self.value, (int, float))
            or isinstance(self.value, bool)
            or not 0 <= self.value < math.inf
        ):
            self.refuse("a number of seconds")
        return float(self.value)

    def time(self) -> datetime:
        try:
            time = datetime.fromisoformat(re.sub("Z$", "+00:00", self.text()))
        except ValueError:
            self.refuse("a time such as '2026-09-30T12:00:00+00:00'")
        return time if time.tzinfo else time.replace(tzinfo=timezone.utc)

    def made_by(self, kind: type[Any]) -> Any:
        try:
            return kind(self.text())
        except ValueError:
            self.refuse("an IPv4 address with its prefix")


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
