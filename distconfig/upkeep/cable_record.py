"""The record of what was set up, kept on the operator's machine: ``STATE/cables.json``."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any
from uuid import UUID

from distconfig import __version__
from distconfig.cabling.topology import Topology
from distconfig.errors import ApplyError, UsageError
from distconfig.hosts.names import check_host_name
from distconfig.probes.parsed import is_interface_name
from distconfig.setup.setup_steps import SetupScript
from distconfig.upkeep.intended import (
    IntendedCable,
    IntendedEnd,
    intended_of_setup,
    replace_intended,
)
from ring_runtime.hostfile import save_bytes

__all__ = [
    "change_record",
    "forget_machines",
    "load_record",
    "parse_record",
    "record_path",
    "record_setup",
    "render_record",
]

FORMAT = 1


def record_path(journals: Path) -> Path:
    """Where the record is: beside the folder of the journals."""
    return journals.parent / "cables.json"


def load_record(path: Path) -> tuple[IntendedCable, ...]:
    """The cables of the record; none if nothing was set up from here.

    Raises:
        UsageError: It is there and can not be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the record of cables {path} can not be read: {error}") from error
    return parse_record(text, str(path))


def change_record(
    path: Path, change: Callable[[tuple[IntendedCable, ...]], Iterable[IntendedCable]]
) -> None:
    """Replace the record by what a function makes of it; no other run changes it meanwhile.

    Raises:
        ApplyError: It can not be written.
        UsageError: It is there and can not be read.
    """
    try:
        with _locked(path.with_suffix(".lock")):
            text = render_record(change(load_record(path)))
            save_bytes(text.encode(), path, mode=0o600)
    except OSError as error:
        raise ApplyError(
            f"the record of cables {path} can not be written: {error.strerror or error}",
            hint="`status` and `reapply` need it; check the folder, or set XDG_STATE_HOME.",
        ) from error


def record_setup(path: Path, scripts: Mapping[str, SetupScript], topology: Topology) -> None:
    """Remember every cable that these scripts set up, or found set up.

    Raises:
        ApplyError: The record can not be written.
        UsageError: The record is there and can not be read.
    """
    change_record(path, lambda old: replace_intended(old, intended_of_setup(scripts, topology)))


def forget_machines(path: Path, machines: Iterable[UUID]) -> None:
    """Forget every cable of machines that were torn down.

    Raises:
        ApplyError: The record can not be written.
        UsageError: The record is there and can not be read.
    """
    gone = tuple(machines)
    if gone and path.exists():
        change_record(path, lambda old: replace_intended(old, (), gone))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def render_record(cables: Iterable[IntendedCable]) -> str:
    """The JSON text of the record."""
    document = {
        "format": FORMAT,
        "tool": f"distributed-config {__version__}",
        "cables": [
            {
                "a": _render_end(cable.a),
                "b": _render_end(cable.b),
                "mtu": cable.mtu,
                "carries_ring": cable.carries_ring,
            }
            for cable in cables
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _render_end(end: IntendedEnd) -> dict[str, Any]:
    return {
        "host": end.host,
        "hardware_uuid": str(end.machine) if end.machine else None,
        "port": end.port,
        "interface": end.interface,
        "address": str(end.address),
    }


def parse_record(text: str, path: str) -> tuple[IntendedCable, ...]:
    """The cables in a record.

    Args:
        path: Where it came from, for the message.

    Raises:
        UsageError: It is not a record of this format.
    """
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']!r}")
        return tuple(_parse_cable(each) for each in document["cables"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, UsageError) as error:
        raise UsageError(
            f"the record of cables {path} can not be read: {error}",
            hint="Move it away; the next setup writes it anew.",
        ) from error


def _parse_cable(value: Mapping[str, Any]) -> IntendedCable:
    mtu = value["mtu"]
    if mtu is not None and (type(mtu) is not int or not 0 < mtu < 1 << 16):
        raise ValueError(f"mtu {mtu!r}")
    return IntendedCable(
        _parse_end(value["a"]), _parse_end(value["b"]), mtu, value["carries_ring"] is True
    )


def _parse_end(value: Mapping[str, Any]) -> IntendedEnd:
    machine = value["hardware_uuid"]
    port, interface = value["port"], value["interface"]
    if not isinstance(port, str) or not (port == "" or port.isalnum()):
        raise ValueError(f"port {port!r}")
    if not isinstance(interface, str) or not (interface == "" or is_interface_name(interface)):
        raise ValueError(f"interface {interface!r}")
    return IntendedEnd(
        check_host_name(value["host"]),
        UUID(machine) if machine is not None else None,
        port,
        interface,
        IPv4Interface(value["address"]),
    )
