"""A farm of real sshd processes per test; nothing touches the ssh settings of whoever runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from distconfig.errors import ProbeError
from distconfig.hosts.shell import Connection
from distconfig.ssh import connect_hosts
from tests.sshd.farm import Farm, may_run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs an sshd."""
    here = Path(__file__).parent
    reason = may_run()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.sshd)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Farm]:
    """An empty farm whose configuration is what ``ssh`` on PATH reads."""
    made = Farm(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    yield made
    made.close()


class Connector:
    """Connects to hosts, keeps the notes, and closes everything at the end of the test."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._opened: list[Connection] = []

    def connect(
        self, *hosts: str, accept_new: bool = False, timeout_s: float = 60.0
    ) -> dict[str, Connection | ProbeError]:
        """What `connect_hosts` returns."""
        found = connect_hosts(
            hosts,
            accept_new_host_keys=accept_new,
            timeout_s=timeout_s,
            on_note=self.notes.append,
        )
        self._opened += [each for each in found.values() if not isinstance(each, ProbeError)]
        return found

    def reach(self, host: str, *, accept_new: bool = False) -> Connection:
        """The connection to a host that is expected to work."""
        connection = self.connect(host, accept_new=accept_new)[host]
        assert not isinstance(connection, ProbeError), str(connection)
        return connection

    def fail(self, host: str, *, accept_new: bool = False, timeout_s: float = 60.0) -> ProbeError:
        """The error for a host that is expected not to work."""
        error = self.connect(host, accept_new=accept_new, timeout_s=timeout_s)[host]
        assert isinstance(error, ProbeError)
        return error

    def close(self) -> None:
        """Close what was opened."""
        for connection in self._opened:
            connection.close()


@pytest.fixture
def connector() -> Iterator[Connector]:
    """Connects, and closes at the end."""
    made = Connector()
    yield made
    made.close()
