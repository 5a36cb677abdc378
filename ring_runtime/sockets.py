"""Sockets as ranks need them: where to listen, what to set, when to call a peer dead."""

from __future__ import annotations

import contextlib
import select
import socket
import sys

from ring_runtime.causes import explain_connect
from ring_runtime.errors import RendezvousError
from ring_runtime.hostfile import Endpoint

__all__ = ["configure", "is_dead", "listen", "resolve"]

_CONGESTION = b"reno"
_KEEPALIVE_IDLE_S = 3
_KEEPALIVE_INTERVAL_S = 1
_KEEPALIVE_PROBES = 4
_DEAD_AFTER_S = 7
_TCP_KEEPALIVE_MACOS = 0x10
_HUNG_UP = getattr(select, "POLLRDHUP", 0)
_TCP_RXT_CONNDROPTIME_MACOS = 0x80


def resolve(endpoint: Endpoint) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """The socket address of an endpoint.

    Raises:
        OSError: The name is unknown.
    """
    found = socket.getaddrinfo(endpoint.host, endpoint.tcp_port, type=socket.SOCK_STREAM)
    family, _, _, _, address = found[0]
    return family, address


def listen(endpoint: Endpoint, rank: int) -> socket.socket:
    """A listener on this address and no other.

    Raises:
        RendezvousError: It can not be had; says why.
    """
    try:
        family, address = resolve(endpoint)
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                with contextlib.suppress(OSError):
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(128)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
    except socket.gaierror as error:
        what = f"the name {endpoint.host} is unknown here: {error.strerror}"
        raise RendezvousError(what, rank=rank, address=str(endpoint)) from error
    except OSError as error:
        raise RendezvousError(
            f"can not listen: {explain_connect(error.errno or 0, platform=sys.platform)}",
            rank=rank,
            address=str(endpoint),
            hint="Check MLX_RANK and the hostfile, and that no old job is running.",
        ) from error
    return listener


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", None)
    if idle is None and sys.platform == "darwin":
        idle = _TCP_KEEPALIVE_MACOS
    for option, value in (
        (idle, _KEEPALIVE_IDLE_S),
        (getattr(socket, "TCP_KEEPINTVL", None), _KEEPALIVE_INTERVAL_S),
        (getattr(socket, "TCP_KEEPCNT", None), _KEEPALIVE_PROBES),
    ):
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
    if sys.platform == "darwin":
        sock.setsockopt(socket.IPPROTO_TCP, _TCP_RXT_CONNDROPTIME_MACOS, _DEAD_AFTER_S)


def configure(sock: socket.socket, kind: str) -> None:
    """Send at once, and notice a dead peer within ten seconds.

    Buffers are left to the system, which fits them to the cable; what a program asks for is
    a limit (Linux: net.core.wmem_max). Where the system lets a program choose, data
    connections use Reno: a cable of one's own has nobody to be fair to, and algorithms that
    pace what they send (BBR) take processor time to do it.

    On Linux only control connections get TCP_USER_TIMEOUT: it also counts the time a
    live peer takes to open a closed window (``tcp_probe_timer`` in net/ipv4/tcp_timer.c),
    so on a data connection it would take a rank that is busy in user code for dead. The
    control connection over the same cable, which carries next to nothing, stands in for it.

    Args:
        kind: "data" or "control".
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _keep_alive(sock)
    if kind == "data":
        congestion = getattr(socket, "TCP_CONGESTION", None)
        if congestion is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, congestion, _CONGESTION)
    user_timeout = getattr(socket, "TCP_USER_TIMEOUT", None)
    if kind == "control" and user_timeout is not None:
        sock.setsockopt(socket.IPPROTO_TCP, user_timeout, _DEAD_AFTER_S * 1000)


def is_dead(sock: socket.socket) -> bool:
    """Whether the other end has hung up; where the system can not tell, only once all is read."""
    poller = select.poll()
    poller.register(sock, _HUNG_UP)
    if any(mask & (_HUNG_UP | select.POLLERR | select.POLLHUP) for _, mask in poller.poll(0)):
        return True
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
