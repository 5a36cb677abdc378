"""What hosts printed, kept: the value `Recording` and its folder on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Interface, IPv4Network

from distconfig.errors import ProbeError
from distconfig.shell import Completed

__all__ = ["HostRecording", "OperatorNetwork", "Recording"]


@dataclass(frozen=True)
class OperatorNetwork:
    """Addresses and routes of the machine the tool runs on; addresses must avoid them."""

    addresses: tuple[IPv4Interface, ...] = ()
    routes: tuple[IPv4Network, ...] = ()


@dataclass(frozen=True)
class HostRecording:
    """The raw answers of one host, or the error that kept it from answering."""

    host: str
    probes: Mapping[str, Completed] = field(default_factory=dict)
    error: ProbeError | None = None


@dataclass(frozen=True)
class Recording:
    """One probe round over all hosts, in the order the user gave them."""

    recorded_at: datetime
    operator: OperatorNetwork
    hosts: tuple[HostRecording, ...]
