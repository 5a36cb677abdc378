"""An ssh agent: the keys it holds, and its signatures (draft-miller-ssh-agent)."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass

__all__ = ["AgentError", "AgentIdentity", "SshAgent"]

_REQUEST_IDENTITIES = 11
_IDENTITIES_ANSWER = 12
_SIGN_REQUEST = 13
_SIGN_RESPONSE = 14
_RSA_FLAGS = {"rsa-sha2-256": 2, "rsa-sha2-512": 4}
_LONGEST_ANSWER = 1 << 20


class AgentError(OSError):
    """The agent can not be reached, refused, or answered something else."""


@dataclass(frozen=True)
class AgentIdentity:
    """A key the agent can sign with; ``blob`` is its public half or its certificate."""

    blob: bytes
    comment: str

    @property
    def type(self) -> str:
        """The key type, such as ``ssh-ed25519``."""
        return _take_string(self.blob)[0].decode("ascii", "replace")


class SshAgent:
    """A connection to an agent.

    Raises:
        OSError: No agent answers at this path.
    """

    def __init__(self, path: str, timeout_s: float) -> None:
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(max(timeout_s, 0.001))
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def identities(self) -> tuple[AgentIdentity, ...]:
        """The keys it holds, in its order.

        Raises:
            OSError: It did not answer in time, or not with a list of keys.
        """
        rest = self._ask(bytes([_REQUEST_IDENTITIES]), _IDENTITIES_ANSWER)
        count = int.from_bytes(rest[:4], "big")
        rest = rest[4:]
        found = []
        for _ in range(count):
            blob, rest = _take_string(rest)
            comment, rest = _take_string(rest)
            found.append(AgentIdentity(blob, comment.decode("utf-8", "replace")))
        return tuple(found)

    def sign(self, blob: bytes, data: bytes, algorithm: str) -> bytes:
        """The signature of data by the key with this public half.

        Args:
            algorithm: Chooses the hash for RSA keys, such as ``rsa-sha2-512``.

        Raises:
            OSError: The agent refused, or did not answer in time.
        """
        flags = _RSA_FLAGS.get(algorithm.removesuffix("-cert-v01@openssh.com"), 0)
        request = bytes([_SIGN_REQUEST]) + _string(blob) + _string(data) + struct.pack(">I", flags)
        return _take_string(self._ask(request, _SIGN_RESPONSE))[0]

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _ask(self, request: bytes, expected: int) -> bytes:
        with self._lock:
            self._socket.sendall(_string(request))
            length = int.from_bytes(self._read(4), "big")
            if not 0 < length <= _LONGEST_ANSWER:
                raise AgentError(f"the agent answered {length} bytes")
            answer = self._read(length)
        if answer[0] != expected:
            raise AgentError("the agent refused")
        return answer[1:]

    def _read(self, nbytes: int) -> bytes:
        data = b""
        while len(data) < nbytes:
            piece = self._socket.recv(nbytes - len(data))
            if not piece:
                raise AgentError("the agent closed the connection")
            data += piece
        return data


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take_string(data: bytes) -> tuple[bytes, bytes]:
    """The string that data begins with, and what follows it."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < end:
        raise AgentError("the agent sent a broken answer")
    return data[4:end], data[end:]
