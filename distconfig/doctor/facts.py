"""What one host said to the doctor's own probes, as a value: `HostFacts`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from distconfig.errors import UnexpectedOutput
from distconfig.probes.firewall import (
    parse_firewall_block_all,
    parse_firewall_state,
    parse_firewall_stealth,
)
from distconfig.probes.groups import parse_groups
from distconfig.probes.internet_sharing import InternetSharing, parse_internet_sharing
from distconfig.probes.launch_daemons import parse_launch_daemons
from distconfig.probes.network_location import parse_network_location
from distconfig.probes.parsed import Parsed
from distconfig.probes.python import Python, parse_python
from distconfig.probes.reach import Reach, parse_reach
from distconfig.recordings.recording import HostRecording

__all__ = ["HostFacts", "assemble_facts"]

_Value = TypeVar("_Value")

_NO_PYTHON = 127


@dataclass(frozen=True)
class HostFacts:
    """Facts about one host beyond its `HostReport`; None stands for not known.

    Args:
        firewall: 0 off, 1 on, 2 on and blocking everything.
        blocks_all: Everything incoming is blocked, once the firewall is on.
        is_stealthy: Pings are not answered, once the firewall is on.
        daemons: Labels of what others have installed to run as root.
        network_daemons: Those of them whose text changes the network.
        login_groups: Groups of this machine.
        own_groups: Groups of the user we are there.
        python: None also where there is none; then ``lacks_python``.
        reach: How this host's Python reached its neighbours; empty if not tried.
        unknown: Sentences about probes that were not understood.
    """

    firewall: int | None = None
    blocks_all: bool | None = None
    is_stealthy: bool | None = None
    daemons: tuple[str, ...] = ()
    network_daemons: tuple[str, ...] = ()
    location: str | None = None
    sharing: InternetSharing | None = None
    login_groups: frozenset[str] | None = None
    own_groups: frozenset[str] | None = None
    python: Python | None = None
    lacks_python: bool = False
    reach: tuple[Reach, ...] = ()
    unknown: tuple[str, ...] = ()


def assemble_facts(recording: HostRecording) -> HostFacts:
    """The facts in a host's answers; a probe missing or not understood costs only its own."""
    unknown: list[str] = []

    def read(name: str, parse: Callable[[bytes], Parsed[_Value]]) -> _Value | None:
        answer = recording.probes.get(name)
        if answer is None or answer.returncode != 0:
            return None
        try:
            return parse(answer.stdout).value
        except UnexpectedOutput as error:
            error.host, error.probe = recording.host, name
            unknown.append(str(error))
            return None

    python = recording.probes.get("python")
    return HostFacts(
        read("firewall_state", parse_firewall_state),
        read("firewall_block_all", parse_firewall_block_all),
        read("firewall_stealth", parse_firewall_stealth),
        read("launch_daemons", parse_launch_daemons) or (),
        read("network_daemons", parse_launch_daemons) or (),
        read("network_location", parse_network_location),
        read("internet_sharing", parse_internet_sharing),
        read("groups", parse_groups),
        read("own_groups", parse_groups),
        read("python", parse_python),
        python is not None and python.returncode == _NO_PYTHON,
        read("reach", parse_reach) or (),
        tuple(unknown),
    )
