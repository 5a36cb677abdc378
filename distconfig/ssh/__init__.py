"""Connecting to many hosts over ssh at once, each with the settings OpenSSH would use.

Nothing here imports paramiko before a host is reached over ssh.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from distconfig.errors import ProbeError, Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.fan_out import ask_all
from distconfig.hosts.local import LocalConnection
from distconfig.hosts.marked_script import REMOTE_SHELL, wrap_command
from distconfig.hosts.names import check_host_name, is_this_machine
from distconfig.hosts.run_script import new_nonce, run_script, skip_to_marker
from distconfig.hosts.shell import ByteChannel, Completed, Connection
from distconfig.ssh.host_keys import HostKeyBook
from distconfig.ssh.routes import UNFINISHED_PER_JUMP, Route, Routes
from distconfig.ssh.ssh_config import Jump

__all__ = ["Connection", "SshConnection", "connect_hosts"]

_OPEN_TIMEOUT_S = 20.0


class SshConnection:
    """A host reached over ssh, as a `Connection`."""

    is_local = False

    def __init__(self, host: str, route: Route) -> None:
        self.host = host
        self._route = route

    def run(self, script: str, *, timeout_s: float) -> Completed:
        """Run a POSIX script under ``/bin/sh`` and return what it printed."""
        deadline = Deadline(timeout_s)
        return run_script(self._shell(deadline), script, host=self.host, deadline=deadline)

    def open_shell(self) -> ByteChannel:
        """Start a ``/bin/sh`` that leads its own process group and runs what it is sent."""
        return self._shell(Deadline(_OPEN_TIMEOUT_S))

    def open_channel(self, command: tuple[str, ...]) -> ByteChannel:
        """Start a command whose bytes arrive exactly, whatever the login shell prints first."""
        deadline = Deadline(_OPEN_TIMEOUT_S)
        channel = self._shell(deadline)
        nonce = new_nonce()
        channel.send(wrap_command(command, nonce))
        return skip_to_marker(channel, nonce, host=self.host, deadline=deadline)

    def _shell(self, deadline: Deadline) -> ByteChannel:
        return self._route.session.open_exec(REMOTE_SHELL, deadline)

    def close(self) -> None:
        """End the connection and everything that runs on it."""
        self._route.close()


def connect_hosts(
    hosts: Sequence[str],
    *,
    accept_new_host_keys: bool = False,
    timeout_s: float = 20.0,
    on_note: Callable[[str], None] | None = None,
) -> dict[str, Connection | ProbeError]:
    """A connection, or the reason there is none, for each host in the order given.

    Args:
        hosts: As the user typed them. Exactly ``localhost``, ``127.0.0.1`` and ``::1``
            mean this machine without ssh.
        accept_new_host_keys: Write down the keys of hosts not known yet; a changed key is
            refused all the same.
        timeout_s: For each session, from its first byte to the login.
        on_note: Takes sentences a person should see; called by one thread at a time.

    Raises:
        UsageError: A name is not one that ssh could reach.
    """
    for host in hosts:
        check_host_name(host)
    note = _one_at_a_time(on_note)
    book = HostKeyBook(accept_new=accept_new_host_keys, on_note=note)
    routes = Routes(book, timeout_s=timeout_s, on_note=note)
    over_ssh = [host for host in hosts if not is_this_machine(host)]
    if over_ssh:
        import distconfig.ssh.login  # noqa: F401 - before the clocks start
    # Every step of a route has its own deadline; this one is for what none of them foresees.
    waves = 1 + len(over_ssh) // UNFINISHED_PER_JUMP
    reached = ask_all(
        {host: partial(_connect, host, routes) for host in over_ssh},
        timeout_s=4 * timeout_s * waves,
        give_up=lambda host: Unreachable("no connection came about in time", host=host),
    )
    return {host: reached[host] if host in reached else LocalConnection(host) for host in hosts}


def _connect(host: str, routes: Routes) -> Connection:
    return SshConnection(host, routes.reach(Jump(host)))


def _one_at_a_time(on_note: Callable[[str], None] | None) -> Callable[[str], None]:
    lock = threading.Lock()

    def note(text: str) -> None:
        if on_note is not None:
            with lock:
                on_note(text)

    return note
