"""The user's known_hosts files: keys to ask a host for, and whether to trust the one it shows."""

from __future__ import annotations

import os
import secrets
import shlex
import threading
from collections.abc import Callable
from pathlib import Path

from distconfig.errors import AuthenticationFailed
from distconfig.ssh.known_hosts import (
    HostKey,
    KnownHost,
    Verdict,
    find_known_keys,
    judge_host_key,
    parse_known_hosts,
    render_known_host,
)
from distconfig.ssh.ssh_config import SshSettings

__all__ = ["HostKeyBook"]


class HostKeyBook:
    """What known_hosts files say; each file is read once, each note given once.

    Args:
        accept_new: Write down the key of a host that is not known yet, instead of refusing it.
    """

    def __init__(self, *, accept_new: bool, on_note: Callable[[str], None]) -> None:
        self._accept_new = accept_new
        self._on_note = on_note
        self._lock = threading.RLock()
        self._files: dict[Path, tuple[KnownHost, ...]] = {}

    def known_types(self, settings: SshSettings) -> tuple[str, ...]:
        """The types of key known for a host, as written, each once."""
        lines = [*self._lines(settings), *self._lines(settings, without_port=True)]
        return tuple(dict.fromkeys(line.key.type for line in lines if not line.is_revoked))

    def check(self, settings: SshSettings, key: HostKey) -> None:
        """Accept the key a host showed, writing it down if that was asked for.

        Raises:
            AuthenticationFailed: It is unknown, changed or revoked; the hint says what to run.
        """
        verdict, line = self._judge(settings, key)
        place = line.place if line else ""
        if verdict is Verdict.REVOKED:
            raise AuthenticationFailed(
                f"its host key {key.fingerprint} is revoked by {place}",
                host=settings.host,
                hint="Somebody may hold a stolen key; ask whoever runs the host for a new one.",
            )
        if verdict is Verdict.CHANGED:
            raise _changed(settings, key, place)
        if verdict is Verdict.UNKNOWN:
            if not (self._accept_new or settings.accepts_new_keys):
                raise _unknown(settings, key)
            self._write_down(settings, key)

    def _judge(self, settings: SshSettings, key: HostKey) -> tuple[Verdict, KnownHost | None]:
        """What is known of a key under the host's name, else under its name without a port.

        A key known for the host's standard port counts, as for OpenSSH; another
        one there says nothing, since this port may be another machine's.
        """
        found = judge_host_key(self._lines(settings), key)
        if found[0] is Verdict.UNKNOWN:
            on_standard_port = judge_host_key(self._lines(settings, without_port=True), key)
            if on_standard_port[0] is not Verdict.CHANGED:
                return on_standard_port
        return found

    def _lines(self, settings: SshSettings, *, without_port: bool = False) -> tuple[KnownHost, ...]:
        if without_port and (settings.host_key_alias or settings.port == 22):
            return ()
        name = settings.hostname.lower() if without_port else settings.known_hosts_name
        files = (*settings.user_known_hosts, *settings.global_known_hosts)
        return find_known_keys([line for file in files for line in self._read(Path(file))], name)

    def _read(self, path: Path) -> tuple[KnownHost, ...]:
        with self._lock:
            if path not in self._files:
                try:
                    content = path.read_bytes()
                except FileNotFoundError:
                    content = b""
                except OSError as error:
                    content = b""
                    self._on_note(f"{path} can not be read: {error.strerror}")
                self._files[path], notes = parse_known_hosts(content, str(path))
                for note in notes:
                    self._on_note(note)
            return self._files[path]

    def _write_down(self, settings: SshSettings, key: HostKey) -> None:
        name, host = settings.known_hosts_name, settings.host
        if not settings.user_known_hosts:
            self._on_note(f"{host}: its key is kept nowhere, UserKnownHostsFile is none")
            return
        path = Path(settings.user_known_hosts[0])
        salt = secrets.token_bytes(20) if settings.hashes_known_hosts else b""
        with self._lock:
            if self._judge(settings, key)[0] is Verdict.KNOWN:
                return  # written down meanwhile, under another alias
            try:
                _append_line(path, render_known_host(name, key, salt=salt))
            except OSError as error:
                self._on_note(f"{host}: its key could not be kept: {path}: {error.strerror}")
                return
            self._files[path] += (KnownHost((name,), key, place=str(path)),)
        self._on_note(
            f"{host}: accepted its new {key.short_type} host key {key.fingerprint}"
            f" and added it to {path}"
        )


def _append_line(path: Path, line: str) -> None:
    """Add a line in one write; a file that is made is readable by its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        is_cut = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        file.write(f"{chr(10) if is_cut else ''}{line}\n".encode())


def _unknown(settings: SshSettings, key: HostKey) -> AuthenticationFailed:
    return AuthenticationFailed(
        f"its host key is not known: {key.short_type} {key.fingerprint}",
        host=settings.host,
        hint="If the host itself shows this fingerprint, accept it with: "
        f"{_command_to_accept(settings, key)} -- or use --accept-new-host-keys.",
    )


def _changed(settings: SshSettings, key: HostKey, place: str) -> AuthenticationFailed:
    file = place.rpartition(":")[0]
    forget = shlex.join(("ssh-keygen", "-R", settings.known_hosts_name, "-f", file))
    return AuthenticationFailed(
        f"its host key is not the one in {place}: it shows {key.short_type} {key.fingerprint}",
        host=settings.host,
        hint="Somebody may be answering in its place. If the host was reinstalled, accept the"
        f" new key with: {forget} && {_command_to_accept(settings, key)}",
    )


def _command_to_accept(settings: SshSettings, key: HostKey) -> str:
    """A command for a POSIX shell after which the key is known."""
    is_plain = not (settings.jumps or settings.proxy_command or settings.host_key_alias)
    if not (is_plain and settings.user_known_hosts):
        return shlex.join(("ssh", "-o", "StrictHostKeyChecking=accept-new", settings.host, "true"))
    port = () if settings.port == 22 else ("-p", str(settings.port))
    scan = shlex.join(("ssh-keyscan", *port, "-t", key.short_type, settings.hostname))
    return f"{scan} >> {shlex.quote(settings.user_known_hosts[0])}"
