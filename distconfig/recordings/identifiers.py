"""What in a recording tells whose hosts these are: names, serial numbers, addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from distconfig.errors import UnexpectedOutput
from distconfig.hosts.names import is_this_machine
from distconfig.probes.netstat import parse_destination
from distconfig.recordings.recording import HostRecording, Recording

__all__ = ["Identifiers", "find_identifiers", "is_plain_word", "outputs_of"]

# Words that the commands themselves print. A host of such a name is renamed,
# the word where a command prints it is not.
_PLAIN_WORDS = frozenset({
    "active", "admin", "air", "all", "apple", "auto", "book", "bridge", "bus", "cable",
    "configured", "connected", "darwin", "default", "device", "disabled", "display", "dock",
    "enabled", "ethernet", "everyone", "false", "firewire", "group", "host", "hub", "imac",
    "inactive", "interface", "internet", "iphone", "lan", "linux", "local", "localhost",
    "location", "mac", "macbook", "mini", "modem", "name", "network", "none", "off", "other",
    "pan", "peer", "port", "ports", "power", "pro", "rdma", "receptacle", "ring", "root",
    "router", "service", "state", "status", "studio", "sudo", "switch", "system", "test",
    "thunderbolt", "true", "usb", "user", "users", "wheel", "wi-fi", "wifi", "wired",
    "wireless", "wlan", "yes",
})  # fmt: skip
_INTERFACE_LIKE = re.compile(
    r"(rdma_)?(en|lo|bridge|utun|awdl|llw|anpi|ap|gif|stf|vlan|bond|feth|ipsec|ppp|p2p|fw|eth|usb)\d*"
)
_USER_FOLDER = re.compile(r"\\?/(?:Users|home)\\?/([^/\\\s\"'<>:,]+)")
_SUDO_RIGHTS = re.compile(
    r"(?:User (\S+) may run the following commands"
    r"|Matching Defaults entries for (\S+)) on ([^\s:]+):"
)
_LOGIN = re.compile(r"the login as (\S+) was refused")
_NAMED_IN_ERRORS = re.compile(
    r"(\S+) port [0-9]+|the name '([^']+)'|jump host ([^\s:)]+)|-t [a-z0-9]+ (\S+) >>"
    r"|ssh (?:-\S+ \S+ )*([^\s`-][^\s`]*) true|ssh-copy-id ([^\s.]+)"
)
_SERIAL = re.compile(
    r"\"[^\"\n]*serial[^\"\n]*\"\s*:\s*\"([^\"\n]+)\""
    r"|<key>[^<]*serial[^<]*</key>\s*<string>([^<]+)</string>"
    r"|\bserial number:\s*(\S+)",
    re.IGNORECASE,
)
_VLAN = re.compile(r"^VLAN User Defined Name: (.+)$", re.MULTILINE)
_PORT = re.compile(r"^Hardware Port: (.+)\nDevice: (\S+)$", re.MULTILINE)
_SERVICE = re.compile(r"^\((?:\d+|\*)\) (.+)\n\(Hardware Port: (.*), Device: ?.*\)$", re.MULTILINE)
_MADE_BY_USERS = re.compile(r"bridge[1-9]\d*|bond\d+|vlan\d+")
_INET = re.compile(
    r"\binet (\d+\.\d+\.\d+\.\d+)(?: --> (\d+\.\d+\.\d+\.\d+))? netmask 0x([0-9a-f]{8})\b"
)
_CIDR = re.compile(r"(?<![\d.])(\d+\.\d+\.\d+\.\d+)/(\d{1,2})(?![\d.])")
_QUAD = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_HOST_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_APPLE = 0x0A27


@dataclass(frozen=True)
class Identifiers:
    """Everything to replace that can not be told by its shape alone.

    Args:
        names: Kind of pseudonym and name, in the order to number them.
        serials: Serial numbers.
        addresses: IPv4 addresses.
        interfaces: IPv4 addresses with their networks.
        routes: Destinations of routes.
    """

    names: tuple[tuple[str, str], ...]
    serials: tuple[str, ...]
    addresses: frozenset[IPv4Address]
    interfaces: frozenset[IPv4Interface]
    routes: frozenset[IPv4Network]


def is_plain_word(name: str) -> bool:
    """Whether a name is too short or too ordinary to be looked for in output.

    Example:
        >>> is_plain_word("Mac mini"), is_plain_word("en5"), is_plain_word("atlas")
        (True, True, False)
    """
    words = name.lower().split()
    return (
        len(name) < 3
        or name.isdigit()
        or all(word in _PLAIN_WORDS or _INTERFACE_LIKE.fullmatch(word) for word in words)
    )


def outputs_of(host: HostRecording) -> Iterator[tuple[str, str]]:
    """Probe and text of everything a host printed; bytes that are not UTF-8 are kept as such."""
    for name, done in host.probes.items():
        for output in (done.stdout, done.stderr):
            yield name, output.decode("utf-8", "surrogateescape")


def find_identifiers(recording: Recording) -> Identifiers:
    """What to replace in a recording."""
    printed = [pair for host in recording.hosts for pair in outputs_of(host)]
    errors = [str(host.error) for host in recording.hosts if host.error is not None]
    texts = [text for _, text in printed] + errors
    interfaces = {*recording.operator.addresses, *_interfaces(texts)}
    routes = {*recording.operator.routes, *_routes(printed)}
    return Identifiers(
        names=tuple(dict.fromkeys(_names(recording, printed, errors))),
        serials=tuple(dict.fromkeys(_groups(_SERIAL, texts))),
        addresses=frozenset({*_quads(texts), *(each.ip for each in interfaces)}),
        interfaces=frozenset(interfaces),
        routes=frozenset(routes),
    )


def _names(
    recording: Recording, printed: list[tuple[str, str]], errors: list[str]
) -> Iterator[tuple[str, str]]:
    for host in recording.hosts:
        yield from _names_in_target(host.host)
    for target in _groups(_NAMED_IN_ERRORS, errors):
        yield from _names_in_target(target)
    for user in _groups(_LOGIN, errors):
        yield "user", user
    texts = [text for _, text in printed]
    for user in _groups(_USER_FOLDER, texts + errors):
        if user not in ("Shared", "Guest"):
            yield "user", user
    for text in texts:
        for allowed, configured, host_name in _SUDO_RIGHTS.findall(text):
            yield "user", allowed or configured
            yield from _names_in_target(host_name)
    for probe, text in printed:
        name = text.strip()
        if probe == "computer_name" and name and "\n" not in name and not is_plain_word(name):
            yield "computer", name
        if probe.startswith("system_profiler"):
            yield from (("peer", name) for name in _foreign_peers(text) if name)
    yield from _names_of_ports(texts)


def _names_in_target(target: str) -> Iterator[tuple[str, str]]:
    """User, host and domain of what ssh takes; addresses and this machine have none."""
    user, _, host = target.rpartition("@")
    if user and user != "root":
        yield "user", user
    if is_this_machine(host) or _QUAD.fullmatch(host) or not _HOST_NAME.fullmatch(host):
        return
    label, _, domain = host.partition(".")
    yield "host", label
    if domain and domain != "local":
        yield "domain", domain


def _names_of_ports(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Names that users gave to bridges, VLANs and network services."""
    ports = [found for text in texts for found in _PORT.findall(text)]
    given = {name for name, _ in ports}
    for name, device in ports:
        if _MADE_BY_USERS.fullmatch(device) and not is_plain_word(name):
            yield "port", name
    for name in _groups(_VLAN, texts):
        yield "vlan", name
    for text in texts:
        for name, port in _SERVICE.findall(text):
            plain = re.sub(r" \d+$", "", name)
            if plain != port and not {name, plain} & given and not is_plain_word(name):
                yield "service", name


def _foreign_peers(text: str) -> Iterator[str]:
    """Names of peers that are no Macs: Linux hosts show their node name."""
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            vendor = str(value.get("vendor_id_key", ""))
            is_number = re.fullmatch("0x[0-9A-Fa-f]{1,8}", vendor)
            if "domain_uuid_key" in value and is_number and int(vendor, 16) != _APPLE:
                yield str(value.get("_name", ""))


def _interfaces(texts: Iterable[str]) -> Iterator[IPv4Interface]:
    for text in texts:
        for address, peer, mask in _INET.findall(text):
            length = int(mask, 16).bit_count()
            yield from _made(IPv4Interface, f"{address}/{length}")
            yield from _made(IPv4Interface, f"{peer}/32")
        for address, length in _CIDR.findall(text):
            yield from _made(IPv4Interface, f"{address}/{length}")


def _routes(printed: Iterable[tuple[str, str]]) -> Iterator[IPv4Network]:
    for probe, text in printed:
        if probe == "netstat":
            for word in re.findall(r"^(\d[\d./]*)\s", text, re.MULTILINE):
                try:
                    yield parse_destination(word, word)
                except UnexpectedOutput:
                    continue


def _quads(texts: Iterable[str]) -> Iterator[IPv4Address]:
    for text in texts:
        for word in _QUAD.findall(text):
            yield from _made(IPv4Address, word)


def _made(kind: type[Any], text: str) -> list[Any]:
    try:
        return [kind(text)]
    except ValueError:
        return []


def _groups(pattern: re.Pattern[str], texts: Iterable[str]) -> Iterator[str]:
    """Whichever group of the pattern matched, for each match."""
    for text in texts:
        for match in pattern.finditer(text):
            yield next(group for group in match.groups() if group is not None)
