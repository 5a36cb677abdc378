"""``ping`` with the options and the output of Apple's, over a raw socket of this namespace."""

from __future__ import annotations

import os
import socket
import statistics
import struct
import time
from dataclasses import dataclass, field

from tests.simulated_macs.commands.answers import Answer

__all__ = ["ping"]

_ECHO_REPLY, _ECHO_REQUEST = 0, 8
_SO_BINDTODEVICE = 25
_MAX_SECONDS = 30.0


@dataclass
class _Request:
    target: str = ""
    source: str = ""
    interface: str = ""
    count: int = 0
    size: int = 56
    interval_s: float = 1.0
    wait_s: float = 10.0
    timeout_s: float = _MAX_SECONDS
    is_quiet: bool = False
    stops_at_first: bool = False
    times_ms: list[float] = field(default_factory=list)


def ping(args: list[str]) -> Answer:
    """``ping [-c N] [-t SECONDS] [-W MILLISECONDS] [-S SOURCE] [-b NAME] ... TARGET``."""
    request = _parse(args)
    if request is None:
        return Answer(64, "", "usage: ping [-AaDdfnoQqRrv] [-c count] ... host\n")
    lines = [_heading(request)]
    sent = 0
    identity = int.from_bytes(os.urandom(2), "big")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        try:
            if request.interface:
                raw.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, request.interface.encode())
            if request.source:
                raw.bind((request.source, 0))
        except OSError:
            return Answer(68, "", "ping: bind: Can't assign requested address\n")
        deadline = time.monotonic() + request.timeout_s
        while (not request.count or sent < request.count) and time.monotonic() < deadline:
            lines += _echo(raw, request, identity, sent, deadline)
            sent += 1
            if request.stops_at_first and request.times_ms:
                break
    lines += _summary(request, sent)
    return Answer(0 if request.times_ms else 2, "".join(f"{line}\n" for line in lines))


def _parse(args: list[str]) -> _Request | None:
    request = _Request()
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word in ("-n", "-D", "-q", "-o"):
            request.is_quiet |= word == "-q"
            request.stops_at_first |= word == "-o"
        elif word in ("-c", "-t", "-W", "-S", "-b", "-i", "-s") and rest:
            _set_option(request, word, rest.pop(0))
        elif word.startswith("-") or request.target:
            return None
        else:
            request.target = word
    return request if request.target else None


def _set_option(request: _Request, word: str, value: str) -> None:
    if word == "-c":
        request.count = int(value)
    elif word == "-t":
        request.timeout_s = min(float(value), _MAX_SECONDS)
    elif word == "-W":
        request.wait_s = float(value) / 1000
    elif word == "-S":
        request.source = value
    elif word == "-b":
        request.interface = value
    elif word == "-i":
        request.interval_s = float(value)
    else:
        request.size = int(value)


def _echo(
    raw: socket.socket, request: _Request, identity: int, sequence: int, deadline: float
) -> list[str]:
    """Send one echo request and wait for its reply; the lines that ping prints."""
    body = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, identity, sequence) + bytes(request.size)
    body = body[:2] + struct.pack("!H", _checksum(body)) + body[4:]
    began = time.monotonic()
    try:
        raw.sendto(body, (request.target, 0))
    except OSError as error:
        _wait(raw, min(began + request.interval_s, deadline), identity, -1)
        return [f"ping: sendto: {_bsd_text(error)}", f"Request timeout for icmp_seq {sequence}"]
    is_last = bool(request.count) and sequence + 1 == request.count
    patience = request.wait_s if is_last else request.interval_s
    reply = _wait(raw, min(began + patience, deadline), identity, sequence)
    if reply is None:
        return [] if request.is_quiet else [f"Request timeout for icmp_seq {sequence}"]
    time_ms = (time.monotonic() - began) * 1000
    request.times_ms.append(time_ms)
    if not is_last and not request.stops_at_first:
        _wait(raw, min(began + request.interval_s, deadline), identity, -1)
    if request.is_quiet:
        return []
    source, ttl = reply
    size = request.size + 8
    shown = f"{size} bytes from {source}: icmp_seq={sequence} ttl={ttl} time={time_ms:.3f} ms"
    return [shown]


def _wait(raw: socket.socket, until: float, identity: int, sequence: int) -> tuple[str, int] | None:
    """Wait for the reply with this sequence number; its sender and its time to live."""
    while (left := until - time.monotonic()) > 0:
        raw.settimeout(left)
        try:
            packet, (source, _) = raw.recvfrom(65535)
        except OSError:
            continue
        start = (packet[0] & 15) * 4
        kind, _, _, theirs, number = struct.unpack("!BBHHH", packet[start : start + 8])
        if (kind, theirs, number) == (_ECHO_REPLY, identity, sequence):
            return source, packet[8]
    return None


def _checksum(body: bytes) -> int:
    padded = body + bytes(len(body) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _bsd_text(error: OSError) -> str:
    return "Message too long" if error.errno == 90 else "No route to host"


def _heading(request: _Request) -> str:
    source = f" from {request.source}" if request.source else ""
    return f"PING {request.target} ({request.target}){source}: {request.size} data bytes"


def _summary(request: _Request, sent: int) -> list[str]:
    got = len(request.times_ms)
    loss = 100 * (1 - got / sent) if sent else 0.0
    lines = [
        "",
        f"--- {request.target} ping statistics ---",
        f"{sent} packets transmitted, {got} packets received, {loss:.1f}% packet loss",
    ]
    if got:
        times = request.times_ms
        spread = statistics.pstdev(times)
        numbers = (min(times), statistics.fmean(times), max(times), spread)
        shown = "/".join(f"{number:.3f}" for number in numbers)
        lines.append(f"round-trip min/avg/max/stddev = {shown} ms")
    return lines
