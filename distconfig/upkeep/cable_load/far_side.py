"""The sender and receiver: one process on a host, told by lines of JSON what to do.

    {"id": 1, "do": "listen", "address": A, "token": T, "seconds": S}
        {"id": 1, "tcp_port": P}, and at the end {"id": 1, "bytes": N, "seconds": X}
    {"id": 2, "do": "send", "to": [A, P], "source": A, "token": T, "seconds": S}
        {"id": 2, "connected": true}, and at the end {"id": 2, "bytes": N, "seconds": X}
    {"id": 3, "do": "counters"}
        {"id": 3, "text": what netstat printed}

Any of them may end in {"id": N, "error": why}. With "every": S in a listen, what came so
far is told that often, as {"id": 1, "so_far": N, "seconds": X}. The process ends with its
standard input, and everything it does with it.

This module is run on the far side by its text alone, so it needs nothing newer than Python
3.8 and nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
import subprocess
import sys
import threading
import time

__all__ = ["main"]

CHUNK = 1 << 20
CONNECT_S = 5.0
STALL_S = 5.0
ACCEPT_S = 20.0
NETSTAT = "/usr/sbin/netstat"

_speaking = threading.Lock()


def _say(number: int, **words: object) -> None:
    line = (json.dumps({"id": number, **words}) + "\n").encode()
    with _speaking:
        while line:
            line = line[os.write(1, line) :]


def _listen(number: int, order: dict) -> None:  # type: ignore[type-arg]
    """Take one stream that begins with the token, and say how much came in what time."""
    token = order["token"].encode()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((order["address"], 0))
        listener.listen(4)
        _say(number, tcp_port=listener.getsockname()[1])
        deadline = time.monotonic() + ACCEPT_S
        while True:
            listener.settimeout(max(deadline - time.monotonic(), 0.001))
            stream, _ = listener.accept()
            with stream:
                stream.settimeout(STALL_S)
                if hmac.compare_digest(_take(stream, len(token)), token):
                    _count(number, stream, order.get("every", 0.0))
                    return


def _take(stream: socket.socket, nbytes: int) -> bytes:
    data = b""
    with contextlib.suppress(OSError):
        while len(data) < nbytes:
            more = stream.recv(nbytes - len(data))
            if not more:
                break
            data += more
    return data


def _count(number: int, stream: socket.socket, every: float) -> None:
    buffer = memoryview(bytearray(CHUNK))
    total = 0
    start = last = told = time.monotonic()
    try:
        while True:
            nbytes = stream.recv_into(buffer)
            if not nbytes:
                break
            last = time.monotonic()
            total += nbytes
            if every and last - told >= every:
                told = last
                _say(number, so_far=total, seconds=last - start)
    finally:
        _say(number, so_far=total, seconds=last - start)
    _say(number, bytes=total, seconds=last - start)


def _send(number: int, order: dict) -> None:  # type: ignore[type-arg]
    """Send as much as goes in the time, after the token."""
    address, tcp_port = order["to"]
    source = (order["source"], 0)
    with socket.create_connection((address, tcp_port), CONNECT_S, source) as stream:
        stream.settimeout(STALL_S)
        stream.sendall(order["token"].encode())
        _say(number, connected=True)
        chunk = memoryview(os.urandom(4096) * (CHUNK // 4096))
        total = 0
        start = time.monotonic()
        while time.monotonic() - start < order["seconds"]:
            total += stream.send(chunk)
        seconds = time.monotonic() - start
        stream.shutdown(socket.SHUT_WR)
        stream.settimeout(CONNECT_S + STALL_S)
        stream.recv(1)  # the receiver closes once it has taken everything
    _say(number, bytes=total, seconds=seconds)


def _read_counters(number: int, _order: dict) -> None:  # type: ignore[type-arg]
    """Say what netstat prints; nothing where it can not be run."""
    text = b""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        text = subprocess.run(
            [NETSTAT, "-ibn"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=10,
            check=False,
        ).stdout
    _say(number, text=text.decode("utf-8", "replace"))


_DEEDS = {"listen": _listen, "send": _send, "counters": _read_counters}


def _obey(order: dict) -> None:  # type: ignore[type-arg]
    try:
        _DEEDS[order["do"]](order["id"], order)
    except socket.timeout:  # noqa: UP041 -- not a TimeoutError before Python 3.10
        _say(order["id"], error="timed out")
    except OSError as error:
        _say(order["id"], error=error.strerror or str(error))


def main() -> None:
    """Obey the orders on standard input, each in a thread of its own, until it ends."""
    for line in sys.stdin:
        threading.Thread(target=_obey, args=(json.loads(line),), daemon=True).start()
    os._exit(0)  # whatever a thread is doing ends with the input


if __name__ == "__main__":
    main()
