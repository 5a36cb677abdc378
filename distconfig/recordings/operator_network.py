"""Addresses and routes of the machine this runs on, which a plan has to keep clear of."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from distconfig.errors import UnexpectedOutput
from distconfig.probes.ifconfig import parse_ifconfig
from distconfig.probes.netstat import parse_netstat
from distconfig.recordings.recording import OperatorNetwork

__all__ = ["parse_ip_addresses", "parse_ip_routes", "read_operator_network"]

_TIMEOUT_S = 10.0


def read_operator_network() -> OperatorNetwork:
    """This machine's IPv4 addresses and routes, as far as its own tools tell them.

    A tool that is missing, fails or prints something else costs only its facts.
    """
    if sys.platform == "darwin":
        interfaces = _run("/sbin/ifconfig", "-a")
        routes = _run("/usr/sbin/netstat", "-rn")
        try:
            return OperatorNetwork(
                tuple(
                    address
                    for interface in parse_ifconfig(interfaces).value
                    for address in interface.addresses
                ),
                tuple(route.destination for route in parse_netstat(routes).value),
            )
        except UnexpectedOutput:
            return OperatorNetwork()
    ip = shutil.which("ip") or "/sbin/ip"
    return OperatorNetwork(
        parse_ip_addresses(_run(ip, "-j", "-4", "addr")),
        parse_ip_routes(_run(ip, "-j", "-4", "route")),
    )


def _run(*argv: str) -> bytes:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def parse_ip_addresses(stdout: bytes) -> tuple[IPv4Interface, ...]:
    """The IPv4 addresses that ``ip -j addr`` prints; what is not understood is left out.

    Example:
        >>> parse_ip_addresses(b'[{"addr_info": [{"local": "10.0.0.7", "prefixlen": 24}]}]')
        (IPv4Interface('10.0.0.7/24'),)
    """
    found = []
    for interface in _objects(stdout):
        infos = interface.get("addr_info")
        for info in infos if isinstance(infos, list) else ():
            if isinstance(info, dict):
                text = f"{info.get('local')}/{info.get('prefixlen')}"
                found.extend(_made_by(IPv4Interface, text))
    return tuple(found)


def parse_ip_routes(stdout: bytes) -> tuple[IPv4Network, ...]:
    """The destinations that ``ip -j route`` prints; what is not understood is left out.

    Example:
        >>> parse_ip_routes(b'[{"dst": "default"}, {"dst": "10.0.0.0/24"}, {"dst": "10.9.9.9"}]')
        (IPv4Network('0.0.0.0/0'), IPv4Network('10.0.0.0/24'), IPv4Network('10.9.9.9/32'))
    """
    found = []
    for route in _objects(stdout):
        destination = route.get("dst")
        text = "0.0.0.0/0" if destination == "default" else str(destination)
        found.extend(_made_by(IPv4Network, text))
    return tuple(found)


def _objects(stdout: bytes) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(stdout or b"[]")
    except (ValueError, RecursionError):
        return
    if isinstance(document, list):
        yield from (each for each in document if isinstance(each, dict))


def _made_by(kind: type[Any], text: str) -> list[Any]:
    try:
        return [kind(text)]
    except ValueError:
        return []
