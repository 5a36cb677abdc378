"""Logged-in ssh sessions, directly, through jump hosts, or over a ``ProxyCommand``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distconfig.errors import AuthenticationFailed, ProbeError, Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.ssh.dial import Stream, dial_command, dial_tcp
from distconfig.ssh.host_keys import HostKeyBook
from distconfig.ssh.settings import proxy_argv, read_settings
from distconfig.ssh.ssh_config import Jump, SshSettings

if TYPE_CHECKING:
    from distconfig.ssh.session import SshSession

__all__ = ["UNFINISHED_PER_JUMP", "Route", "Routes"]

#: sshd begins to refuse connections with ten of them not logged in (MaxStartups).
UNFINISHED_PER_JUMP = 8


@dataclass
class Route:
    """A logged-in session and what has to be closed with it, last first."""

    session: SshSession
    closing: ExitStack

    def close(self) -> None:
        """End the session, and the jump hosts' if nobody else uses them."""
        self.closing.close()


@dataclass
class _JumpHost:
    """A session that others pass through, made once and closed with its last user."""

    gate: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(UNFINISHED_PER_JUMP)
    )
    lock: threading.Lock = field(default_factory=threading.Lock)
    route: Route | None = None
    error: ProbeError | None = None
    users: int = 0


class Routes:
    """Makes sessions; hosts behind the same jump host share one session to it.

    Args:
        book: Judges host keys.
        timeout_s: For each session, from its first byte to the login.
    """

    def __init__(
        self, book: HostKeyBook, *, timeout_s: float, on_note: Callable[[str], None]
    ) -> None:
        self._book = book
        self._timeout_s = timeout_s
        self._on_note = on_note
        self._lock = threading.Lock()
        self._jump_hosts: dict[tuple[Jump, ...], _JumpHost] = {}

    def reach(self, target: Jump, via: tuple[Jump, ...] | None = None) -> Route:
        """A logged-in session with a host.

        Args:
            via: Jump hosts, nearest first; None for those of the ssh configuration.

        Raises:
            ProbeError: It can not be reached, trusted or logged in to.
        """
        settings = read_settings(target, Deadline(self._timeout_s))
        jumps = settings.jumps if via is None else via
        with ExitStack() as closing:
            if jumps:
                session = self._pass_through(jumps, settings, closing)
            else:
                session = self._go_straight(settings, closing)
            return Route(session, closing.pop_all())

    def _go_straight(self, settings: SshSettings, closing: ExitStack) -> SshSession:
        deadline = Deadline(self._timeout_s)
        stream = self._dial(settings, deadline)
        closing.callback(stream.close)
        try:
            return self._log_in(stream.socket, settings, deadline, closing)
        except Unreachable as error:
            raise _with_last_words(error, stream) from error

    def _pass_through(
        self, jumps: tuple[Jump, ...], settings: SshSettings, closing: ExitStack
    ) -> SshSession:
        with self._lock:
            jump_host = self._jump_hosts.setdefault(jumps, _JumpHost())
        gateway = self._enter(jump_host, jumps, settings)
        closing.callback(self._leave, jump_host)
        with jump_host.gate, ExitStack() as opened:  # who fails closes before the next may try
            deadline = Deadline(self._timeout_s)
            tunnel = _open_tunnel(gateway, settings, deadline)
            opened.callback(tunnel.close)
            session = self._log_in(tunnel, settings, deadline, opened)
            closing.push(opened.pop_all())
            return session

    def _dial(self, settings: SshSettings, deadline: Deadline) -> Stream:
        if settings.proxy_command:
            argv = proxy_argv(settings)
            try:
                return dial_command(argv)
            except OSError as error:
                raise Unreachable(
                    f"its ProxyCommand could not be started: {error.strerror}", host=settings.host
                ) from error
        return dial_tcp(
            settings.hostname,
            settings.port,
            deadline.at_most(settings.connect_timeout_s),
            host=settings.host,
            family=settings.address_family,
            bind_address=settings.bind_address,
            on_note=self._on_note,
        )

    def _log_in(
        self, stream: Any, settings: SshSettings, deadline: Deadline, closing: ExitStack
    ) -> SshSession:
        from distconfig.ssh.login import login
        from distconfig.ssh.session import start_session

        session = start_session(
            stream,
            settings,
            self._book.known_types(settings),
            deadline.at_most(settings.connect_timeout_s),
        )
        closing.callback(session.close)
        self._book.check(settings, session.host_key)
        login(session, settings, deadline)
        return session

    def _enter(
        self, jump_host: _JumpHost, jumps: tuple[Jump, ...], settings: SshSettings
    ) -> SshSession:
        """The session to a jump host, made by the first who needs it."""
        name = jumps[-1].host
        if not jump_host.lock.acquire(timeout=2 * self._timeout_s):
            raise Unreachable(
                f"its jump host {name} did not answer in time, or ProxyJump goes in a circle",
                host=settings.host,
                hint=f"Try: ssh {settings.host} true",
            )
        try:
            if jump_host.route is None and jump_host.error is None:
                try:
                    jump_host.route = self.reach(jumps[-1], jumps[:-1] or None)
                except ProbeError as error:
                    jump_host.error = error
            if jump_host.route is None:
                assert jump_host.error is not None
                raise _because_of_jump(jump_host.error, name, settings)
            jump_host.users += 1
            return jump_host.route.session
        finally:
            jump_host.lock.release()

    def _leave(self, jump_host: _JumpHost) -> None:
        with jump_host.lock:
            jump_host.users -= 1
            if jump_host.users == 0 and jump_host.route is not None:
                jump_host.route.close()
                jump_host.route = None


def _open_tunnel(gateway: SshSession, settings: SshSettings, deadline: Deadline) -> Any:
    try:
        return gateway.open_tunnel(settings.hostname, settings.port, deadline)
    except OSError as error:
        raise Unreachable(
            f"{settings.hostname} port {settings.port} can not be reached from the jump host"
            f" {gateway.host} ({error})",
            host=settings.host,
            hint=f"Try: ssh {settings.host} true",
        ) from error


def _because_of_jump(error: ProbeError, name: str, settings: SshSettings) -> ProbeError:
    kind = AuthenticationFailed if isinstance(error, AuthenticationFailed) else Unreachable
    return kind(f"its jump host {name}: {error.what}", host=settings.host, hint=error.hint)


def _with_last_words(error: Unreachable, stream: Stream) -> Unreachable:
    words = stream.last_words()
    what = f"{error.what}; the command that should reach it said: {words}" if words else error.what
    return Unreachable(what, host=error.host, hint=error.hint)
