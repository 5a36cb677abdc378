"""``com.apple.nat.plist`` as XML: Internet Sharing, which makes a Mac a router.

The file is described in InternetSharing(8) and read by the CIS benchmarks for
macOS: a dictionary ``NAT`` with ``Enabled`` and the ``SharingDevices``. It does
not exist on a Mac that never shared.
"""

from __future__ import annotations

from dataclasses import dataclass

from distconfig.probes.parsed import Parsed, is_interface_name, misunderstood
from distconfig.probes.plist import parse_plist

__all__ = ["InternetSharing", "parse_internet_sharing"]


@dataclass(frozen=True)
class InternetSharing:
    """Whether a Mac shares its way to the internet, and through which interfaces."""

    is_enabled: bool
    devices: tuple[str, ...] = ()


def parse_internet_sharing(stdout: bytes) -> Parsed[InternetSharing]:
    """What the file says.

    Raises:
        UnexpectedOutput: It is no property list, or without a switch that can be read.
    """
    root = parse_plist(stdout)
    nat = root.get("NAT") if isinstance(root, dict) else None
    if not isinstance(nat, dict):
        raise misunderstood("there is no dictionary NAT")
    enabled = nat.get("Enabled", 0)
    if enabled not in (0, 1):
        raise misunderstood(f"{str(enabled)[:40]!r} is not 0 or 1", "NAT.Enabled")
    devices = nat.get("SharingDevices", [])
    if not isinstance(devices, list):
        raise misunderstood("not a list", "NAT.SharingDevices")
    names = tuple(each for each in devices if isinstance(each, str) and is_interface_name(each))
    return Parsed(InternetSharing(bool(enabled), names))
