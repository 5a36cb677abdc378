"""The bytes between launcher and agent: frames of a kind, a rank and a payload.

This module is also run on the far side, so it needs nothing newer than Python 3.8.

A frame is a header of nine bytes (kind, rank or -1, payload length) and the payload.

From the launcher:

    CHECK     JSON: what to look at before the start (`agent_checks`)
    START     JSON: the ranks, their environment and files
    STDIN     bytes for the standard input of every rank; empty means its end
    CREDIT    JSON [kind, nbytes]: the launcher can take that much more of a rank's stream
    END       JSON {"grace_s"}: TERM to every rank now, KILL after the grace
    PAUSE     stop every rank, and expect no heartbeat until RESUME
    RESUME    let them continue
    BEAT      still here

From the agent:

    HELLO     JSON: interpreter, version, platform, process id
    CHECKED   JSON: what it found
    STDOUT    bytes a rank wrote
    STDERR    bytes a rank wrote
    TAKEN     JSON nbytes: how much of the standard input its fastest rank has read
    EXIT      JSON {"returncode", "unstartable"}: a rank has ended
    CLOSED    nothing of this rank is left: output passed on, process group gone
    BEAT      still here
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

__all__ = [
    "BEAT",
    "CHECK",
    "CHECKED",
    "CLOSED",
    "CREDIT",
    "END",
    "EXIT",
    "HELLO",
    "LARGEST_PAYLOAD",
    "NO_RANK",
    "PAUSE",
    "RESUME",
    "START",
    "STDERR",
    "STDIN",
    "STDOUT",
    "TAKEN",
    "Decoder",
    "Frame",
    "FrameError",
    "decode_json",
    "encode",
    "encode_json",
]

(CHECK, START, STDIN, CREDIT, END, PAUSE, RESUME, BEAT) = range(1, 9)
(HELLO, CHECKED, STDOUT, STDERR, TAKEN, EXIT, CLOSED) = range(9, 16)
_LAST_KIND = CLOSED

NO_RANK = -1
LARGEST_PAYLOAD = 1 << 24
_HEADER = struct.Struct("!BiI")


class FrameError(ValueError):
    """The bytes are no frames; the two sides can not go on."""


class Frame(NamedTuple):
    """One message."""

    kind: int
    rank: int
    payload: bytes


def encode(kind: int, rank: int = NO_RANK, payload: bytes = b"") -> bytes:
    """The bytes of one frame.

    Example:
        >>> encode(STDOUT, 2, b"hi").hex(" ")
        '0b 00 00 00 02 00 00 00 02 68 69'
    """
    return _HEADER.pack(kind, rank, len(payload)) + payload


def encode_json(kind: int, value: Any, rank: int = NO_RANK) -> bytes:
    """The bytes of a frame whose payload is this value as JSON."""
    return encode(kind, rank, json.dumps(value, separators=(",", ":")).encode())


def decode_json(frame: Frame) -> Any:
    """The value of a JSON payload.

    Raises:
        FrameError: It is not JSON.
    """
    try:
        return json.loads(frame.payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame of kind {frame.kind} holds no JSON") from error


class Decoder:
    """Turns bytes, split anywhere, into frames.

    Example:
        >>> decoder = Decoder()
        >>> wire = encode(STDOUT, 0, b"hello")
        >>> decoder.feed(wire[:10]), decoder.feed(wire[10:])
        ([], [Frame(kind=11, rank=0, payload=b'hello')])
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now.

        Raises:
            FrameError: The bytes are no frames.
        """
        buffer = self._buffer
        buffer += data
        frames = []
        start = 0
        while len(buffer) - start >= _HEADER.size:
            kind, rank, nbytes = _HEADER.unpack_from(buffer, start)
            if not 1 <= kind <= _LAST_KIND or rank < NO_RANK or nbytes > LARGEST_PAYLOAD:
                raise FrameError(f"no frame begins with {bytes(buffer[start : start + 9])!r}")
            end = start + _HEADER.size + nbytes
            if len(buffer) < end:
                break
            frames.append(Frame(kind, rank, bytes(buffer[start + _HEADER.size : end])))
            start = end
        del buffer[:start]
        return frames
