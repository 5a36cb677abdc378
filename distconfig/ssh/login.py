"""Logging in over ssh with the agent's keys and key files, as OpenSSH would, and never asking."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from distconfig.deadline import Deadline
from distconfig.errors import AuthenticationFailed
from distconfig.ssh.agent import AgentIdentity, SshAgent
from distconfig.ssh.session import SshSession, words_of
from distconfig.ssh_config import SshSettings

__all__ = ["login"]


_NO_KEY = (
    OSError,
    ValueError,
    UnsupportedAlgorithm,
    paramiko.SSHException,
    paramiko.pkey.UnknownKeyType,
)


@dataclass
class _Attempts:
    """What was tried to log in, for the person who has to find out why it failed."""

    tried: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()


class _AgentKey:
    """A key in the agent, in the shape paramiko asks of a key."""

    public_blob = None

    def __init__(self, agent: SshAgent, identity: AgentIdentity) -> None:
        self._agent = agent
        self._identity = identity

    def get_name(self) -> str:
        return self._identity.type

    def asbytes(self) -> bytes:
        return self._identity.blob

    def sign_ssh_data(self, data: bytes, algorithm: str | None = None) -> bytes:
        """A signature, or an empty one, which the host refuses, where the agent does."""
        try:
            return self._agent.sign(self._identity.blob, data, algorithm or "")
        except OSError:
            return b""


def login(session: SshSession, settings: SshSettings, deadline: Deadline) -> None:
    """Log in with the agent's keys and the key files, in OpenSSH's order; never ask anybody.

    Raises:
        AuthenticationFailed: The host took none of them.
        Unreachable: The connection ended, or the deadline passed.
    """
    attempts = _Attempts()
    transport = session.transport
    agent = _open_agent(settings, deadline)
    try:
        if _try_without_key(transport, settings, deadline, attempts):
            return
        for label, key in _keys(settings, agent, attempts):
            attempts.tried.append(label)
            if _try_key(transport, settings, key, deadline, attempts):
                return
    except (EOFError, OSError, paramiko.SSHException) as error:
        raise _refused(settings, attempts, f"; {words_of(error)}") from error
    finally:
        if agent is not None:
            agent.close()
    raise _refused(settings, attempts, "")


def _try_without_key(
    transport: paramiko.Transport, settings: SshSettings, deadline: Deadline, attempts: _Attempts
) -> bool:
    transport.auth_timeout = deadline.left()
    try:
        return not transport.auth_none(settings.user)
    except paramiko.BadAuthenticationType as error:
        attempts.allowed = tuple(error.allowed_types)
        return False


def _try_key(
    transport: paramiko.Transport,
    settings: SshSettings,
    key: Any,
    deadline: Deadline,
    attempts: _Attempts,
) -> bool:
    transport.auth_timeout = deadline.left()
    try:
        more = transport.auth_publickey(settings.user, key)
    except paramiko.BadAuthenticationType as error:
        attempts.allowed = tuple(error.allowed_types)
        return False
    except paramiko.AuthenticationException:
        if not transport.is_active() or deadline.has_passed:
            raise
        return False
    attempts.allowed = tuple(more)
    return not more


def _open_agent(settings: SshSettings, deadline: Deadline) -> SshAgent | None:
    path = settings.identity_agent
    if path == "none":
        return None
    if path == "SSH_AUTH_SOCK":
        path = os.environ.get("SSH_AUTH_SOCK", "")
    elif path.startswith("$"):
        path = os.environ.get(path.strip("${}"), "")
    if not path:
        return None
    try:
        return SshAgent(str(Path(path).expanduser()), deadline.left())
    except OSError:
        return None


def _keys(
    settings: SshSettings, agent: SshAgent | None, attempts: _Attempts
) -> Iterator[tuple[str, Any]]:
    """Keys with a label each: agent keys named by the configuration, other agent keys, files."""
    held: dict[bytes, tuple[str, _AgentKey]] = {}
    if agent is not None:
        with contextlib.suppress(OSError):
            for each in agent.identities():
                label = f"agent key {each.comment or each.type}"
                held[each.blob] = (label, _AgentKey(agent, each))
    files = [Path(name).expanduser() for name in settings.identity_files]
    public = {path: _read_public_half(path) for path in files}
    named = [blob for path in files if (blob := public[path]) in held and blob is not None]
    others = [blob for blob in held if blob not in named]
    for blob in named + ([] if settings.identities_only else others):
        yield held[blob]
    for path in files:
        if public[path] not in held and (key := _load_key(path, attempts)) is not None:
            yield str(path), key


def _read_public_half(path: Path) -> bytes | None:
    try:
        blob: bytes = paramiko.pkey.PublicBlob.from_file(f"{path}.pub").key_blob
        return blob
    except _NO_KEY:
        return None


def _load_key(path: Path, attempts: _Attempts) -> Any:
    """The key in a file; None if there is none that can be used without asking."""
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError:
        return None
    except (paramiko.PasswordRequiredException, TypeError):
        attempts.locked.append(str(path))
    except _NO_KEY as error:
        attempts.tried.append(f"{path} (not read: {words_of(error)})")
    return None


def _refused(settings: SshSettings, attempts: _Attempts, reason: str) -> AuthenticationFailed:
    user = settings.user or "you"
    tried = ", ".join(attempts.tried) or "no key: none in the agent and no key file"
    hints = [f"Try: ssh -o BatchMode=yes {settings.host} true"]
    for path in attempts.locked:
        hints.append(f"{path} has a passphrase; put it in the agent with: ssh-add {path}")
    if attempts.allowed and "publickey" not in attempts.allowed:
        hints.append(f"It offers only {', '.join(attempts.allowed)}; allow keys there.")
    elif not attempts.locked:
        hints.append(f"Put a key on it with: ssh-copy-id {settings.host}")
    hints.append("A Mac lets in only users listed under Sharing > Remote Login.")
    return AuthenticationFailed(
        f"the login as {user} was refused (tried {tried}{reason})",
        host=settings.host,
        hint=". ".join(hint.rstrip(".") for hint in hints) + ".",
    )
