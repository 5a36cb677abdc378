"""``networksetup -listallhardwareports``: what each network port is called, and its interface.

The three labels are English in every locale; the name of a port is translated.
Names come from ``SCNetworkInterface.c`` of Apple's configd.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["HardwarePort", "parse_networksetup_ports"]

_DEVICE = re.compile(r"[A-Za-z0-9._-]{1,32}")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")
_VLAN = re.compile(
    r"(VLAN Configurations|=+|VLAN User Defined Name: .*|Parent Device: .*|Tag: .*"
    r'|Device \("Hardware" Port\): .*)'
)


@dataclass(frozen=True)
class HardwarePort:
    """One network port.

    Args:
        name: Free text in the language of the account.
        device: Mostly an interface; a Bluetooth modem prints another word.
        mac: In lower case; empty where ``N/A`` was printed.
    """

    name: str
    device: str
    mac: str = ""


def _parse_block(block: list[str]) -> HardwarePort:
    labels = ("Hardware Port: ", "Device: ", "Ethernet Address: ")
    for line, label in zip(block, labels, strict=False):
        if not line.startswith(label):
            raise misunderstood(f"{label.strip()} was expected", line)
    if len(block) < len(labels):
        raise misunderstood(f"no {labels[len(block)].strip()} follows", block[-1])
    name, device, address = (
        line.removeprefix(label) for line, label in zip(block, labels, strict=True)
    )
    if not _DEVICE.fullmatch(device):
        raise misunderstood(f"{device[:40]!r} is not a device", block[1])
    address = address.rstrip(" ")
    if address != "N/A" and not _MAC.fullmatch(address):
        raise misunderstood(f"{address[:40]!r} is not a MAC address", block[2])
    return HardwarePort(name, device, "" if address == "N/A" else address.lower())


def parse_networksetup_ports(stdout: bytes) -> Parsed[tuple[HardwarePort, ...]]:
    """Every hardware port, in printed order; the VLANs below them are passed over.

    Raises:
        UnexpectedOutput: A port lacks one of its lines, or one can not be read.

    Example:
        >>> text = b"Hardware Port: Thunderbolt 1\\nDevice: en2\\nEthernet Address: N/A\\n"
        >>> parse_networksetup_ports(text).value
        (HardwarePort(name='Thunderbolt 1', device='en2', mac=''),)
    """
    blocks: list[list[str]] = []
    notes = []
    is_open = False
    for line in split_lines(stdout):
        if line.startswith("Hardware Port: "):
            blocks.append([line])
            is_open = True
        elif is_open and line:
            blocks[-1].append(line)
            is_open = len(blocks[-1]) < 3
        elif line.startswith(("Device: ", "Ethernet Address: ")):
            raise misunderstood("no Hardware Port stands before", line)
        elif not line:
            is_open = False
        elif not _VLAN.fullmatch(line):
            notes.append(line)
    return Parsed(tuple(_parse_block(block) for block in blocks), tuple(notes))
