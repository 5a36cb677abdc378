"""Addresses and TCP ports that tests at the same time do not share."""

from __future__ import annotations

import contextlib
import secrets
import socket

__all__ = ["draw_loopback_block", "free_tcp_ports"]

#: Below those that Linux gives to whoever asks for any, which other tests do.
_LOWEST, _HIGHEST = 10_000, 30_000


def free_tcp_ports(count: int, host: str = "127.0.0.1") -> int:
    """The first of some consecutive TCP ports that are free now, drawn by lot."""
    while True:
        first = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST)
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind((host, port))
            return first


def draw_loopback_block() -> str:
    """The beginning of 254 addresses of this machine, such as ``127.41.7``."""
    return f"127.{1 + secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
