"""A recording that tells everything about the cabling and nothing about whose it is."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from distconfig.errors import ProbeError
from distconfig.hosts.shell import Completed
from distconfig.recordings.identifiers import Identifiers, find_identifiers
from distconfig.recordings.recording import HostRecording, OperatorNetwork, Recording
from distconfig.recordings.renaming import Renaming
from distconfig.recordings.scrambled_addresses import ScrambledAddresses
from distconfig.setup.addressing import CANDIDATE_BLOCKS

__all__ = ["anonymise", "rename_recording", "renaming_for"]

# Where every word is a name or an address, even an ordinary one.
_THOROUGH = frozenset({"computer_name", "sudo", "sudo_list"})
_ATTEMPTS = 32
_BINARY_PLIST = b"bplist00"


def anonymise(recording: Recording) -> Recording:
    """The same recording under pseudonyms, which gives the same plan under those pseudonyms.

    Names, UUIDs, MAC and IP addresses, serial numbers, switch UIDs and key
    fingerprints are replaced, each value by one pseudonym in all its forms.
    Addresses keep how their networks lie to each other and to the blocks that
    a plan draws from; those that a plan gave out stay.
    """
    return rename_recording(recording, renaming_for(recording, secrets.token_bytes(16)))


def renaming_for(recording: Recording, key: bytes) -> Renaming:
    """The pseudonyms for what is in a recording.

    Args:
        key: Secret; decides what addresses become.
    """
    found = find_identifiers(recording)
    for attempt in range(_ATTEMPTS):
        numbers = ScrambledAddresses(
            addresses=found.addresses,
            networks=[*(each.network for each in found.interfaces), *found.routes],
            blocks=CANDIDATE_BLOCKS,
            unchanged=_given_out(found),
            key=hashlib.blake2b(bytes([attempt]), key=key).digest(),
        )
        changed = {each: numbers.scramble(each) for each in found.addresses}
        moved = {new for old, new in changed.items() if new != old}
        if not moved & found.addresses:  # no pseudonym is the address of somebody else
            break
    return Renaming(found, numbers)


def _given_out(found: Identifiers) -> list[IPv4Network]:
    """The /30s that a plan took from the candidate blocks."""
    networks = {each.network for each in found.interfaces if each.network.prefixlen == 30}
    return [
        network
        for network in sorted(networks)
        if any(network.subnet_of(block) for block in CANDIDATE_BLOCKS)
    ]


def rename_recording(recording: Recording, renaming: Renaming) -> Recording:
    """The recording with each identifier replaced."""
    operator = recording.operator
    return Recording(
        recording.recorded_at,
        OperatorNetwork(
            tuple(IPv4Interface(renaming.text(str(each))) for each in operator.addresses),
            tuple(renaming.network(each) for each in operator.routes),
        ),
        tuple(_rename_host(host, renaming) for host in recording.hosts),
    )


def _rename_host(host: HostRecording, renaming: Renaming) -> HostRecording:
    return HostRecording(
        renaming.text(host.host, thorough=True),
        {name: _rename_answer(name, done, renaming) for name, done in host.probes.items()},
        None if host.error is None else _rename_error(host.error, renaming),
    )


def _rename_error(error: ProbeError, renaming: Renaming) -> ProbeError:
    def rename(value: Any) -> Any:
        if isinstance(value, str):
            return renaming.text(value, thorough=True)
        return tuple(map(rename, value)) if isinstance(value, tuple) else value

    return type(error)(**{name: rename(value) for name, value in error.fields.items()})


def _rename_answer(name: str, done: Completed, renaming: Renaming) -> Completed:
    return replace(
        done,
        stdout=_rename_output(name, done.stdout, renaming),
        stderr=_rename_output(name, done.stderr, renaming),
    )


def _rename_output(name: str, output: bytes, renaming: Renaming) -> bytes:
    if output.startswith(_BINARY_PLIST):
        return _BINARY_PLIST  # can not be read here, and not by the probe's reader either
    text = output.decode("utf-8", "surrogateescape")
    if name == "netstat":
        renamed = "\n".join(_rename_route(line, renaming) for line in text.split("\n"))
    else:
        renamed = renaming.text(text, thorough=name in _THOROUGH)
    return renamed.encode("utf-8", "surrogateescape")


def _rename_route(line: str, renaming: Renaming) -> str:
    """A line of ``netstat``, whose first word may be an address cut short."""
    word = re.match(r"\d[\d./]*(?=\s)", line)
    if word is None:
        return renaming.text(line)
    return renaming.destination(word[0]) + renaming.text(line[word.end() :])
