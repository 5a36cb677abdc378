"""Where a command's facts come from: hosts asked now, or a recording of earlier answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from distconfig.errors import ProbeError, UsageError
from distconfig.hosts.names import check_host_name, parse_host_list
from distconfig.hosts.shell import Connection, Shell
from distconfig.recordings.recording import Recording, load_recording, select_hosts
from ring_runtime.hostfile import load_hostfile

__all__ = ["Answers", "HostSource", "ask_hosts", "connect_source"]


@dataclass(frozen=True)
class HostSource:
    """The words that say which hosts a command is about.

    Args:
        hosts: Names separated by commas.
        hostfile: A hostfile whose hosts are meant.
        recording: A folder to replay instead of asking.
    """

    hosts: str | None = None
    hostfile: Path | None = None
    recording: Path | None = None
    accept_new_host_keys: bool = False

    def names(self) -> tuple[str, ...] | None:
        """The hosts named, in order; None for all of a recording.

        Raises:
            UsageError: None named and no recording, or named in two ways.
            HostfileError: The hostfile is not one.
        """
        if self.hosts is not None and self.hostfile is not None:
            raise UsageError("both --hosts and --hostfile are given", hint="Give one of them.")
        if self.hosts is not None:
            return parse_host_list(self.hosts)
        if self.hostfile is not None:
            entries = load_hostfile(self.hostfile).hosts
            return parse_host_list(",".join(check_host_name(each.ssh) for each in entries))
        if self.recording is None:
            raise UsageError(
                "no host is named", hint="Name them as ssh knows them: --hosts studio1,studio2."
            )
        return None


@dataclass(frozen=True)
class Answers:
    """What hosts said, and the open connections to those that were asked now.

    Args:
        connections: Empty when a recording was replayed.
    """

    recording: Recording
    connections: Mapping[str, Connection | ProbeError]

    @property
    def shells(self) -> dict[str, Shell]:
        """The hosts that can be asked more."""
        return {
            host: each
            for host, each in self.connections.items()
            if not isinstance(each, ProbeError)
        }

    def close(self) -> None:
        """Close every connection."""
        for connection in self.connections.values():
            if not isinstance(connection, ProbeError):
                connection.close()


def ask_hosts(source: HostSource, on_note: Callable[[str], None]) -> Answers:
    """Replay the recording, or connect to every host at once and run one probe round.

    Raises:
        UsageError: The source names no hosts, or the recording can not be read.
    """
    names = source.names()
    if source.recording is not None:
        recording = load_recording(source.recording)
        return Answers(select_hosts(recording, names) if names else recording, {})
    from distconfig.recordings.probe import record_hosts

    connections = connect_source(source, on_note)
    return Answers(record_hosts(connections), connections)


def connect_source(
    source: HostSource, on_note: Callable[[str], None]
) -> dict[str, Connection | ProbeError]:
    """Connect to every host at once; a host that can not be reached keeps its error.

    Raises:
        UsageError: The source names no hosts.
    """
    from distconfig.ssh import connect_hosts

    return connect_hosts(
        source.names() or (), accept_new_host_keys=source.accept_new_host_keys, on_note=on_note
    )
