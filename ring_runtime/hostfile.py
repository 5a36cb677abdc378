"""The hostfile (who runs which rank) and the address list (where each rank listens).

Two JSON files, both those of MLX (``mlx/_distributed_utils/common.py`` and
``mlx/distributed/ring/ring.cpp`` in ml-explore/mlx 0.32):

* ``hostfile.json``, read by launchers: a list of hosts in rank order, or an
  object with ``backend``, ``envs`` and ``hosts``;
* the address list named by ``MLX_HOSTFILE``, read by ranks: for each rank the
  ``"ip:port"`` strings it listens on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ring_runtime.errors import HostfileError
from ring_runtime.json_reader import JsonReader, decode_json

__all__ = [
    "AddressList",
    "Endpoint",
    "Hostfile",
    "HostfileEntry",
    "assign_endpoints",
    "digest_address_list",
    "load_address_list",
    "load_hostfile",
    "parse_address_list",
    "parse_hostfile",
    "render_address_list",
    "render_hostfile",
    "save_bytes",
]

BACKENDS = ("", "any", "ring", "mpi", "jaccl", "jaccl-ring", "nccl")
STARTING_PORT = 32323
_HOST = re.compile(r"(?!-)[A-Za-z0-9_.:%@\[\]-]{1,255}")
_ADDRESS = re.compile(r"(?!-)[A-Za-z0-9_.:%-]{1,255}")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_RDMA_DEVICE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SHOW = "See the format in docs/hostfile.md, or let distributed_config write the file."

RdmaDevice = str | tuple[str, ...] | None


@dataclass(frozen=True)
class HostfileEntry:
    """One rank of a hostfile.

    Args:
        ssh: The whole ssh target, ``user@name`` or an alias.
        ips: Addresses it listens on: in a ring, those on the cables to rank - 1.
        rdma: ``rdma[j]`` is the device (or devices) towards rank j, None towards itself.
        python: Interpreter to use on that host; None to let the launcher find one.
        cwd: Working directory on that host; None for the launcher's own.
        env: "K=V" settings for that host only.
    """

    ssh: str
    ips: tuple[str, ...] = ()
    rdma: tuple[RdmaDevice, ...] = ()
    python: str | None = None
    cwd: str | None = None
    env: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hostfile:
    """Ranks in order, and the settings of the job.

    Args:
        backend: Empty when the file does not say.
        envs: "K=V" settings for every rank.
    """

    hosts: tuple[HostfileEntry, ...]
    backend: str = ""
    envs: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class Endpoint:
    """A TCP address: an IP (with ``%zone`` if link-local IPv6) or a name, and a TCP port."""

    host: str
    tcp_port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.tcp_port}"


AddressList = tuple[tuple[Endpoint, ...], ...]


def _optional_path(reader: JsonReader, value: Any, where: str) -> str | None:
    if value is None:
        return None
    return reader.text(value, where, re.compile(r"[^\0]+"), "a path")


def _rdma(reader: JsonReader, value: Any, where: str) -> tuple[RdmaDevice, ...]:
    devices: list[RdmaDevice] = []
    for index, item in enumerate(reader.sequence(value, where)):
        at = f"{where}[{index}]"
        if item is None:
            devices.append(None)
        elif isinstance(item, list):
            devices.append(reader.texts(item, at, _RDMA_DEVICE, "an RDMA device"))
        else:
            devices.append(reader.text(item, at, _RDMA_DEVICE, "an RDMA device"))
    return tuple(devices)


def _entry(reader: JsonReader, value: Any, where: str) -> HostfileEntry:
    if not isinstance(value, dict):
        raise reader.refuse(f"expected an object, found {type(value).__name__}", where)
    if "ssh" not in value:
        raise reader.refuse('the key "ssh" is missing', where)
    known = {"ssh", "ips", "rdma", "python", "cwd", "env"}
    unknown = sorted(set(value) - known)
    if unknown:
        raise reader.refuse(f"unknown key {unknown[0]!r}", f"{where}.{unknown[0]}")
    return HostfileEntry(
        ssh=reader.text(value["ssh"], f"{where}.ssh", _HOST, "a host name"),
        ips=reader.texts(value.get("ips", []), f"{where}.ips", _ADDRESS, "an address"),
        rdma=_rdma(reader, value.get("rdma", []), f"{where}.rdma"),
        python=_optional_path(reader, value.get("python"), f"{where}.python"),
        cwd=_optional_path(reader, value.get("cwd"), f"{where}.cwd"),
        env=reader.texts(value.get("env", []), f"{where}.env", _ENV, 'a "K=V" setting'),
    )


def parse_hostfile(text: str, *, path: str = "") -> Hostfile:
    """The hostfile in this JSON text, in either form.

    Args:
        path: Where it came from, for messages only.

    Raises:
        HostfileError: It is not a hostfile; ``where`` is the JSON path of the first fault.

    Example:
        >>> parse_hostfile('[{"ssh": "studio1", "ips": ["10.231.0.1"]}]').hosts[0].ips
        ('10.231.0.1',)
    """
    reader = JsonReader(path, _SHOW)
    data = decode_json(text, path, _SHOW)
    backend = ""
    envs: tuple[str, ...] = ()
    listed, where = data, "$"
    if isinstance(data, dict):
        unknown = sorted(set(data) - {"backend", "envs", "hosts"})
        if unknown:
            raise reader.refuse(f"unknown key {unknown[0]!r}", f"$.{unknown[0]}")
        if "hosts" not in data:
            raise reader.refuse('the key "hosts" is missing', "$")
        backend = data.get("backend", "")
        if backend not in BACKENDS:
            raise reader.refuse(f"unknown backend {backend!r}", "$.backend")
        envs = reader.texts(data.get("envs", []), "$.envs", _ENV, 'a "K=V" setting')
        listed, where = data["hosts"], "$.hosts"
    hosts = tuple(
        _entry(reader, item, f"{where}[{index}]")
        for index, item in enumerate(reader.sequence(listed, where))
    )
    if not hosts:
        raise reader.refuse("no host is listed", where)
    for index, host in enumerate(hosts):
        if host.rdma and len(host.rdma) != len(hosts):
            at = f"{where}[{index}].rdma"
            raise reader.refuse(f"{len(host.rdma)} entries for {len(hosts)} ranks", at)
    return Hostfile(hosts, backend, envs)


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HostfileError(
            f"can not be read: {error}", path=str(path), hint="Check the path."
        ) from error


def load_hostfile(path: str | os.PathLike[str]) -> Hostfile:
    """The hostfile at this path.

    Raises:
        HostfileError: It can not be read or is not a hostfile.
    """
    return parse_hostfile(_read(path), path=str(path))


def _rdma_json(device: RdmaDevice) -> Any:
    return list(device) if isinstance(device, tuple) else device


def render_hostfile(hostfile: Hostfile) -> str:
    """The JSON text of a hostfile, with keys MLX knows and no other.

    The list form, which every ``mlx.launch`` loads, whenever there is no
    backend, env or rdma to store; else the object form.

    Example:
        >>> print(render_hostfile(Hostfile((HostfileEntry("a", ("10.231.0.1",)),))), end="")
        [
          {"ssh": "a", "ips": ["10.231.0.1"]}
        ]
    """
    plain = not (hostfile.backend or hostfile.envs or any(host.rdma for host in hostfile.hosts))
    lines = []
    for host in hostfile.hosts:
        entry: dict[str, Any] = {"ssh": host.ssh, "ips": list(host.ips)}
        if not plain:
            entry["rdma"] = [_rdma_json(device) for device in host.rdma]
        lines.append(json.dumps(entry))
    if plain:
        return "[\n  " + ",\n  ".join(lines) + "\n]\n"
    return (
        "{\n"
        f'  "backend": {json.dumps(hostfile.backend or "ring")},\n'
        f'  "envs": {json.dumps(list(hostfile.envs))},\n'
        '  "hosts": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n"
    )


def save_bytes(data: bytes, path: str | os.PathLike[str], *, mode: int = 0o644) -> None:
    """Write a file whole or not at all: aside, flushed to disk, then renamed over the old one.

    Raises:
        OSError: Nothing was changed.
    """
    import tempfile  # a launcher only reads hostfiles, and starts the sooner for it

    target = Path(path)
    descriptor, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(mode)
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def assign_endpoints(
    ips: Iterable[Iterable[str]],
    *,
    starting_port: int = STARTING_PORT,
    connections_per_ip: int = 1,
) -> AddressList:
    """Where each rank listens: one TCP port counter over ranks, ips and connections.

    The order is that of ``mlx.launch``: ranks, within a rank its ips, within an
    ip its connections.

    Raises:
        HostfileError: The counter would pass 65535.

    Example:
        >>> [[str(e) for e in rank] for rank in assign_endpoints([["10.0.0.1"], ["10.0.0.2"]])]
        [['10.0.0.1:32323'], ['10.0.0.2:32324']]
    """
    tcp_port = starting_port
    ranks = []
    for addresses in ips:
        endpoints = []
        for address in addresses:
            for _ in range(connections_per_ip):
                endpoints.append(Endpoint(address, tcp_port))
                tcp_port += 1
        ranks.append(tuple(endpoints))
    if not 1 <= starting_port <= 65535 or tcp_port > 65536:
        raise HostfileError(
            f"TCP ports {starting_port} to {tcp_port - 1} are needed and 65535 is the last",
            hint="Choose a lower starting port.",
        )
    return tuple(ranks)


def _parse_endpoint(text: str, where: str, reader: JsonReader) -> Endpoint:
    host, colon, number = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not re.fullmatch(r"[0-9]{1,5}", number) or not 1 <= int(number) <= 65535:
        raise reader.refuse(f"{text[:80]!r} is not ip:port", where)
    return Endpoint(reader.text(host, where, _ADDRESS, "an address"), int(number))


def parse_address_list(text: str, *, path: str = "") -> AddressList:
    """Where each rank listens, from the JSON ``[["ip:port", ...], ...]``.

    A blank text is a ring of one rank, as in MLX.

    Raises:
        HostfileError: ``where`` is the JSON path of the first fault.

    Example:
        >>> parse_address_list('[["[fe80::1%en2]:5000"]]')
        ((Endpoint(host='fe80::1%en2', tcp_port=5000),),)
    """
    if not text.strip():
        return ((),)
    reader = JsonReader(path, _SHOW)
    ranks = []
    for rank, row in enumerate(reader.sequence(decode_json(text, path, _SHOW), "$")):
        at = f"$[{rank}]"
        endpoints = []
        for index, item in enumerate(reader.sequence(row, at)):
            if not isinstance(item, str):
                raise reader.refuse('expected "ip:port"', f"{at}[{index}]")
            endpoints.append(_parse_endpoint(item, f"{at}[{index}]", reader))
        ranks.append(tuple(endpoints))
    if not ranks:
        raise reader.refuse("no rank is listed", "$")
    return tuple(ranks)


def load_address_list(path: str | os.PathLike[str]) -> AddressList:
    """The address list at this path.

    Raises:
        HostfileError: It can not be read or is not an address list.
    """
    return parse_address_list(_read(path), path=str(path))


def render_address_list(addresses: AddressList) -> str:
    """The JSON text of an address list, compact and the same on every rank.

    Example:
        >>> render_address_list(((Endpoint("10.0.0.1", 5000),), (Endpoint("::1", 5001),)))
        '[["10.0.0.1:5000"],["[::1]:5001"]]'
    """
    rows = [[str(endpoint) for endpoint in rank] for rank in addresses]
    return json.dumps(rows, separators=(",", ":"))


def digest_address_list(addresses: AddressList) -> bytes:
    """The SHA-256 of an address list; ranks with different files do not join."""
    import hashlib  # likewise

    return hashlib.sha256(render_address_list(addresses).encode()).digest()
