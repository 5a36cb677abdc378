"""The further commands that only the doctor asks a host to run; none changes anything there."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address

from distconfig.launch.bootstrap import PYTHONS, remote_command
from distconfig.probes import Probe
from distconfig.probes.python import REPORT_PROGRAM
from distconfig.probes.reach import render_reach_program

__all__ = ["DOCTOR_PROBES", "reach_probe"]

_FIREWALL = "/usr/libexec/ApplicationFirewall/socketfilterfw"
_DAEMONS = "/Library/LaunchDaemons"
_SHARING = "/Library/Preferences/SystemConfiguration/com.apple.nat.plist"
_CHANGES_NETWORK = "networksetup|ifconfig|ipconfig set|/sbin/route"

DOCTOR_PROBES: tuple[Probe, ...] = (
    Probe("firewall_state", (_FIREWALL, "--getglobalstate")),
    Probe("firewall_block_all", (_FIREWALL, "--getblockall")),
    Probe("firewall_stealth", (_FIREWALL, "--getstealthmode")),
    Probe("launch_daemons", ("/bin/ls", _DAEMONS)),
    Probe("network_daemons", ("/usr/bin/grep", "-rlE", _CHANGES_NETWORK, _DAEMONS)),
    Probe("network_location", ("/usr/sbin/networksetup", "-getcurrentlocation")),
    Probe("internet_sharing", ("/usr/bin/plutil", "-convert", "xml1", "-o", "-", _SHARING)),
    Probe("groups", ("/usr/bin/dscl", ".", "-list", "/Groups")),
    Probe("own_groups", ("/usr/bin/id", "-Gn")),
    Probe("python", remote_command(PYTHONS, REPORT_PROGRAM), ("Darwin", "Linux")),
)


def reach_probe(addresses: Sequence[IPv4Address]) -> Probe:
    """The probe that tries to reach these neighbours of a host from its own Python."""
    argv = remote_command(PYTHONS, render_reach_program(addresses))
    return Probe("reach", argv, ("Darwin", "Linux"))
