"""TCP ports on this machine that nobody uses."""

from __future__ import annotations

import contextlib
import os
import socket

from distconfig.errors import LaunchError

__all__ = ["find_free_ports"]

#: Below what Linux (32768) and macOS (49152) hand out to outgoing connections, which
#: might otherwise take the port of a rank that has not begun to listen.
_LOWEST, _HIGHEST = 10_000, 32_000
_ATTEMPTS = 200


def find_free_ports(addresses: list[str], ports_each: int) -> int:
    """The first of enough consecutive TCP ports, each free on the address that will use it.

    Args:
        addresses: One for each rank, in rank order.
        ports_each: How many TCP ports each of them needs.

    Raises:
        LaunchError: None were found.
    """
    needed = [address for address in addresses for _ in range(ports_each)]
    for _ in range(_ATTEMPTS):
        span = _HIGHEST - _LOWEST - len(needed)
        if span <= 0:
            break
        start = _LOWEST + int.from_bytes(os.urandom(4), "big") % span
        if _are_free(needed, start):
            return start
    raise LaunchError(
        f"no {len(needed)} consecutive free TCP ports were found on this machine",
        hint="Give a --starting-port.",
    )


def _are_free(addresses: list[str], start: int) -> bool:
    with contextlib.ExitStack() as stack:
        for offset, address in enumerate(addresses):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            probe = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, start + offset))
                probe.listen(1)
            except OSError:
                return False
    return True
