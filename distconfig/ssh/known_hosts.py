"""Host keys in ``known_hosts`` files, read line by line, and what they say about a key.

The format is that of sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT". A line that is
not understood is skipped with a note; it never hides the lines after it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "HostKey",
    "KnownHost",
    "Verdict",
    "find_known_keys",
    "judge_host_key",
    "parse_known_hosts",
    "render_known_host",
]


@dataclass(frozen=True)
class HostKey:
    """A public key: its type, such as ``ssh-ed25519``, and its bytes on the wire."""

    type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """The SHA256 fingerprint, as OpenSSH prints it.

        Example:
            >>> HostKey("ssh-ed25519", b"key").fingerprint
            'SHA256:LHDhK3oGRvkiefQnx7OOczTY5Tic/xZ6HcMOc/gmtoM'
        """
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def short_type(self) -> str:
        """The type as ``ssh-keyscan -t`` takes it: ``ed25519``, ``ecdsa`` or ``rsa``."""
        return self.type.removeprefix("ssh-").split("-")[0]


@dataclass(frozen=True)
class KnownHost:
    """One line: the names it is for, its key, and whether the key is revoked.

    Args:
        patterns: Names with ``*``, ``?`` and leading ``!``, or one hashed name.
        place: File and line number, for messages.
    """

    patterns: tuple[str, ...]
    key: HostKey
    is_revoked: bool = False
    place: str = ""


class Verdict(Enum):
    """What known_hosts says about the key a host showed."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


def parse_known_hosts(content: bytes, path: str) -> tuple[tuple[KnownHost, ...], tuple[str, ...]]:
    """The lines of a known_hosts file that say something, and a note for each one skipped.

    Args:
        content: The file as it is; bytes that are not UTF-8 cost only their line.
        path: For notes and places.
    """
    known: list[KnownHost] = []
    notes: list[str] = []
    for number, raw in enumerate(content.split(b"\n"), 1):
        line = raw.decode("utf-8", "replace").strip()
        if not line or line.startswith("#"):
            continue
        place = f"{path}:{number}"
        if line.startswith("@cert-authority"):
            notes.append(
                f"{place}: a @cert-authority line is skipped, only plain keys are compared"
            )
            continue
        entry = _parse_line(line, place)
        if entry is None:
            notes.append(f"{place}: a line that can not be read is skipped")
        else:
            known.append(entry)
    return tuple(known), tuple(notes)


def _parse_line(line: str, place: str) -> KnownHost | None:
    fields = line.split()
    is_revoked = fields[0] == "@revoked"
    if is_revoked:
        fields = fields[1:]
    if len(fields) < 3 or fields[0].startswith("@"):
        return None
    names, key_type, encoded = fields[:3]
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    name = key_type.encode()
    if blob[: 4 + len(name)] != len(name).to_bytes(4, "big") + name:
        return None
    return KnownHost(tuple(names.split(",")), HostKey(key_type, blob), is_revoked, place)


def find_known_keys(known: Iterable[KnownHost], name: str) -> tuple[KnownHost, ...]:
    """The lines that are for a host, in order; ``name`` is ``host`` or ``[host]:port``."""
    return tuple(entry for entry in known if _is_for(entry.patterns, name))


def _is_for(patterns: Sequence[str], name: str) -> bool:
    if patterns and patterns[0].startswith("|"):
        return _matches_hash(patterns[0], name)
    matched = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if _matches_wildcard(pattern[1:], name):
                return False
        elif _matches_wildcard(pattern, name):
            matched = True
    return matched


def _matches_wildcard(pattern: str, name: str) -> bool:
    parts = [".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern]
    return re.fullmatch("".join(parts), name, re.IGNORECASE | re.DOTALL) is not None


def _matches_hash(hashed: str, name: str) -> bool:
    parts = hashed.split("|")
    if len(parts) != 4 or parts[1] != "1":
        return False
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in parts[2:])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def judge_host_key(lines: Sequence[KnownHost], key: HostKey) -> tuple[Verdict, KnownHost | None]:
    """What the lines for a host say about the key it showed, and the line that decides.

    A host known by keys of other types only counts as changed: it was asked
    for those types first, so somebody else may be answering in its place.
    """
    for line in lines:
        if line.is_revoked and line.key == key:
            return Verdict.REVOKED, line
    plain = [line for line in lines if not line.is_revoked]
    for line in plain:
        if line.key == key:
            return Verdict.KNOWN, line
    for line in plain:
        if line.key.type == key.type:
            return Verdict.CHANGED, line
    return (Verdict.CHANGED, plain[0]) if plain else (Verdict.UNKNOWN, None)


def render_known_host(name: str, key: HostKey, *, salt: bytes = b"") -> str:
    """A known_hosts line for a host, without its line feed.

    Args:
        salt: 20 random bytes hash the name, as ``HashKnownHosts yes`` does.

    Example:
        >>> render_known_host("studio1", HostKey("ssh-ed25519", b"key"))
        'studio1 ssh-ed25519 a2V5'
    """
    if salt:
        digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
        name = f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
    return f"{name} {key.type} {base64.b64encode(key.blob).decode()}"
