"""What neighbours tell each other on a control connection: abort, goodbye, and that they wait.

Pure: bytes in, values out. A notice is a type (one byte), a length (two bytes,
big-endian) and that many bytes. A decoder raises `PeerError` for bytes that can
not be a notice, and nothing else. docs/wire-format.md describes each field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from ring_runtime.errors import PeerError

__all__ = [
    "ABORT_KINDS",
    "NOTICE_LIMIT",
    "Abort",
    "Goodbye",
    "Notice",
    "Waiting",
    "decode_notices",
    "encode_notice",
]

ABORT_KINDS = ("lost", "mismatch", "garbled", "timeout", "handshake")
NOTICE_LIMIT = 2048

_NOTICE = struct.Struct("!BH")
_ABORT = struct.Struct("!BIi")
_GOODBYE = struct.Struct("!Q")
_TEXT = struct.Struct("!H")
_TEXT_LIMIT = 600
_WAITING = struct.Struct("!?")
_ABORT_TYPE, _GOODBYE_TYPE, _WAITING_TYPE = 1, 2, 3
_SHORTEST = {
    _ABORT_TYPE: _ABORT.size,
    _GOODBYE_TYPE: _GOODBYE.size,
    _WAITING_TYPE: _WAITING.size,
}


@dataclass(frozen=True)
class Abort:
    """The group is broken; travels both ways around and is forwarded once by each rank.

    Args:
        kind: One of `ABORT_KINDS`; decides the class every rank raises.
        origin: The rank that noticed.
        peer: The rank it is about, or None.
        what: What happened, for a person.
        ours: The origin's view of the call, or "".
        theirs: The other view, or "".
    """

    kind: str
    origin: int
    peer: int | None
    what: str
    ours: str = ""
    theirs: str = ""


@dataclass(frozen=True)
class Goodbye:
    """The speaker leaves in good order.

    Args:
        sequence: How many collectives it took part in.
        reason: Why it leaves, for a person.
    """

    sequence: int
    reason: str = ""


@dataclass(frozen=True)
class Waiting:
    """The speaker has been in a collective for long without a byte, or goes on after that.

    Who does not say so, and is silent, is the one the others wait for.
    """

    still: bool = True


Notice = Abort | Goodbye | Waiting


def _encode_text(text: str) -> bytes:
    data = text.encode("utf-8", "replace")[:_TEXT_LIMIT]
    return _TEXT.pack(len(data)) + data


def _printable(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _decode_texts(data: bytes, count: int) -> list[str]:
    texts = []
    at = 0
    for _ in range(count):
        if len(data) < at + _TEXT.size:
            raise PeerError("sent a notice that ends in the middle")
        (length,) = _TEXT.unpack_from(data, at)
        at += _TEXT.size
        if length > _TEXT_LIMIT or len(data) < at + length:
            raise PeerError("sent a notice whose text does not fit")
        texts.append(_printable(data[at : at + length]))
        at += length
    if at != len(data):
        raise PeerError("sent a notice with bytes left over")
    return texts


def encode_notice(notice: Notice) -> bytes:
    """The bytes of a notice; texts are cut at 600 bytes.

    Example:
        >>> decode_notices(encode_notice(Goodbye(3, "done")))
        ([Goodbye(sequence=3, reason='done')], b'')
    """
    if isinstance(notice, Abort):
        peer = -1 if notice.peer is None else notice.peer
        body = _ABORT.pack(ABORT_KINDS.index(notice.kind), notice.origin, peer)
        body += b"".join(map(_encode_text, (notice.what, notice.ours, notice.theirs)))
        return _NOTICE.pack(_ABORT_TYPE, len(body)) + body
    if isinstance(notice, Waiting):
        return _NOTICE.pack(_WAITING_TYPE, _WAITING.size) + _WAITING.pack(notice.still)
    body = _GOODBYE.pack(notice.sequence) + _encode_text(notice.reason)
    return _NOTICE.pack(_GOODBYE_TYPE, len(body)) + body


def _decode_abort(body: bytes) -> Abort:
    kind, origin, peer = _ABORT.unpack_from(body)
    if kind >= len(ABORT_KINDS) or peer < -1:
        raise PeerError("sent an abort with values out of range")
    what, ours, theirs = _decode_texts(body[_ABORT.size :], 3)
    return Abort(ABORT_KINDS[kind], origin, None if peer < 0 else peer, what, ours, theirs)


def _decode_goodbye(body: bytes) -> Goodbye:
    (sequence,) = _GOODBYE.unpack_from(body)
    (reason,) = _decode_texts(body[_GOODBYE.size :], 1)
    return Goodbye(sequence, reason)


def _decode_waiting(body: bytes) -> Waiting:
    if body not in (b"\0", b"\1"):
        raise PeerError("sent a notice of waiting that says neither yes nor no")
    return Waiting(body == b"\1")


_DECODERS: dict[int, Callable[[bytes], Notice]] = {
    _ABORT_TYPE: _decode_abort,
    _GOODBYE_TYPE: _decode_goodbye,
    _WAITING_TYPE: _decode_waiting,
}


def decode_notices(data: bytes) -> tuple[list[Notice], bytes]:
    """The whole notices at the start of a stream, and the bytes of one that is not yet whole.

    Raises:
        PeerError: The stream can not become a notice, whatever follows.
    """
    notices: list[Notice] = []
    while len(data) >= _NOTICE.size:
        kind, length = _NOTICE.unpack_from(data)
        shortest = _SHORTEST.get(kind)
        if shortest is None or not shortest <= length <= NOTICE_LIMIT:
            raise PeerError("sent bytes that are not a notice on a control connection")
        if len(data) < _NOTICE.size + length:
            break
        body, data = data[_NOTICE.size : _NOTICE.size + length], data[_NOTICE.size + length :]
        notices.append(_DECODERS[kind](body))
    return notices, data
