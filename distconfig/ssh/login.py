"""Logging in over ssh with the agent's keys and key files, as OpenSSH would, and never asking."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from distconfig.errors import AuthenticationFailed
from distconfig.hosts.deadline import Deadline
from distconfig.ssh.agent import AgentIdentity, SshAgent
from distconfig.ssh.session import PARAMIKO_ERRORS, SshSession, words_of
from distconfig.ssh.ssh_config import SshSettings

__all__ = ["login"]


_KEY_KINDS = {
    ed25519.Ed25519PrivateKey: paramiko.Ed25519Key,
    rsa.RSAPrivateKey: paramiko.RSAKey,
    ec.EllipticCurvePrivateKey: paramiko.ECDSAKey,
}
_NO_KEY = (OSError, ValueError, UnsupportedAlgorithm, paramiko.SSHException)


def login(session: SshSession, settings: SshSettings, deadline: Deadline) -> None:
    """Log in with the agent's keys and the key files, in OpenSSH's order.

    Raises:
        AuthenticationFailed: The host took none of them, or ended the connection.
    """
    agent = _open_agent(settings, deadline)
    attempt = _Login(session.transport, settings, deadline)
    try:
        if not attempt.succeeds(agent):
            raise attempt.refusal("")
    finally:
        if agent is not None:
            agent.close()


class _Login:
    """One login, and what was tried, for the person who has to find out why it failed."""

    def __init__(
        self, transport: paramiko.Transport, settings: SshSettings, deadline: Deadline
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._deadline = deadline
        self._tried: list[str] = []
        self._locked: list[str] = []
        self._allowed: tuple[str, ...] = ()

    def succeeds(self, agent: SshAgent | None) -> bool:
        """Whether the host lets us in, without a key or with one of those there are."""
        user = self._settings.user
        if self._takes(lambda: self._transport.auth_none(user)):
            return True
        for label, key in self._keys(agent):
            if self._allowed and "publickey" not in self._allowed:
                return False
            self._tried.append(label)
            if self._takes(partial(self._transport.auth_publickey, user, key)):
                return True
        return False

    def _takes(self, authenticate: Callable[[], list[str]]) -> bool:
        """Whether that was enough; keeps what else the host would take."""
        self._transport.auth_timeout = self._deadline.left()
        try:
            self._allowed = tuple(authenticate())
        except paramiko.BadAuthenticationType as error:
            self._allowed = tuple(error.allowed_types)
            return False
        except PARAMIKO_ERRORS as error:
            if self._deadline.has_passed:
                late = f"; no answer within {self._deadline.timeout_s:g} s"
                raise self.refusal(late) from error
            if not self._transport.is_active():
                raise self.refusal("; then the host ended the connection") from error
            return False
        return not self._allowed

    def _keys(self, agent: SshAgent | None) -> Iterator[tuple[str, Any]]:
        """Keys, a label each: agent keys that the configuration names, other ones, then files."""
        held = _held_by(agent)
        files = [Path(name) for name in self._settings.identity_files]
        public = {path: _read_public_half(path) for path in files}
        named = [blob for path in files if (blob := public[path]) in held and blob is not None]
        others = [blob for blob in held if blob not in named]
        for blob in named + ([] if self._settings.identities_only else others):
            yield held[blob]
        for path in files:
            if public[path] not in held and (key := self._load(path)) is not None:
                yield str(path), key

    def _load(self, path: Path) -> paramiko.PKey | None:
        """The key in a file; None if there is none that can be used without asking."""
        try:
            return _read_key(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except TypeError:  # cryptography's way to say that a passphrase is missing
            self._locked.append(str(path))
        except _NO_KEY as error:
            self._tried.append(f"{path} (not read: {words_of(error)})")
        return None

    def refusal(self, ending: str) -> AuthenticationFailed:
        """The error that says what was tried and what to do."""
        host = self._settings.host
        tried = ", ".join(self._tried) or "no key: none in the agent and no key file"
        hints = [f"Try: ssh -o BatchMode=yes {host} true"]
        hints += [
            f"{path} has a passphrase; put it in the agent with: ssh-add {path}"
            for path in self._locked
        ]
        if self._allowed and "publickey" not in self._allowed:
            hints.append(f"It offers only {', '.join(self._allowed)}; allow keys there")
        elif ending and len(self._tried) > 1:
            hints.append(
                "If these are too many, name the right one with IdentityFile and"
                f" IdentitiesOnly yes for {host} in ~/.ssh/config"
            )
        elif not self._locked:
            hints.append(f"Put a key on it with: ssh-copy-id {host}")
        hints.append("A Mac lets in only users listed under Sharing > Remote Login")
        return AuthenticationFailed(
            f"the login as {self._settings.user} was refused (tried {tried}{ending})",
            host=host,
            hint=". ".join(hints) + ".",
        )


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
        return SshAgent(path, deadline.left())
    except OSError:
        return None


def _held_by(agent: SshAgent | None) -> dict[bytes, tuple[str, _AgentKey]]:
    """The agent's keys by their public half."""
    if agent is None:
        return {}
    try:
        identities = agent.identities()
    except OSError:
        return {}
    return {
        each.blob: (f"agent key {each.comment or each.type}", _AgentKey(agent, each))
        for each in identities
    }


def _read_public_half(path: Path) -> bytes | None:
    try:
        blob: bytes = paramiko.pkey.PublicBlob.from_file(f"{path}.pub").key_blob
        return blob
    except _NO_KEY:
        return None


def _read_key(path: Path) -> paramiko.PKey:
    """The private key in any format OpenSSH writes, with its certificate if there is one."""
    content = path.read_bytes()
    private: Any
    try:
        private = serialization.load_ssh_private_key(content, None)
    except ValueError:
        private = serialization.load_pem_private_key(content, None)
    text = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    ).decode()
    kind = next((kind for kind, made in _KEY_KINDS.items() if isinstance(private, kind)), None)
    if kind is None:
        raise ValueError(f"{type(private).__name__} is not supported")
    key = _KEY_KINDS[kind].from_private_key(io.StringIO(text))
    certificate = Path(f"{path}-cert.pub")
    if certificate.exists():
        key.load_certificate(str(certificate))
    return key
