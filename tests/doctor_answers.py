"""What the doctor's own probes print on a healthy Mac, and on one where something is not so."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping
from datetime import datetime, timezone

from distconfig.doctor.probes import DOCTOR_PROBES
from distconfig.hosts.shell import Completed
from distconfig.recordings.recording import HostRecording, OperatorNetwork, Recording
from tests.fakemac import LinuxHost, Mac

__all__ = ["HEALTHY", "doctor_answers", "record"]

#: Probe to (exit status, standard output); formats as captured on macOS 26.
HEALTHY: Mapping[str, tuple[int, bytes]] = {
    "firewall_state": (0, b"Firewall is disabled. (State = 0)\n"),
    "firewall_block_all": (0, b"Firewall has block all state set to disabled.\n"),
    "firewall_stealth": (0, b"Firewall stealth mode is off\n"),
    "launch_daemons": (0, b"com.docker.socket.plist\norg.wireguard.helper.plist\n"),
    "network_daemons": (1, b""),
    "network_location": (0, b"Automatic\n"),
    "internet_sharing": (1, b""),
    "groups": (0, b"admin\ncom.apple.access_ssh-disabled\nstaff\nwheel\n"),
    "own_groups": (0, b"staff everyone localaccounts admin com.apple.access_ssh-disabled\n"),
    "python": (0, b"3.12.4 /opt/homebrew/bin/python3\n"),
}

SHARING_ON = plistlib.dumps({"NAT": {"Enabled": 1, "SharingDevices": ["en1", "en3"]}})


def doctor_answers(**changed: tuple[int, bytes]) -> dict[str, Completed]:
    """The answers of a healthy Mac, some of them changed; ``reach`` may be added."""
    argv = {probe.name: probe.argv for probe in DOCTOR_PROBES}
    return {
        name: Completed(argv.get(name, ("/bin/sh",)), status, text)
        for name, (status, text) in {**HEALTHY, **changed}.items()
    }


def record(
    *hosts: Mac | LinuxHost | HostRecording,
    changed: Mapping[str, Mapping[str, tuple[int, bytes]]] | None = None,
) -> Recording:
    """A recording of these hosts, the doctor's probes included.

    Args:
        changed: Host to the doctor's answers that differ from a healthy Mac's.
    """
    recorded = []
    for host in hosts:
        if isinstance(host, HostRecording):
            recorded.append(host)
            continue
        more = doctor_answers(**(changed or {}).get(host.name, {}))
        recorded.append(HostRecording(host.name, {**host.answers(), **more}))
    now = datetime(2026, 9, 30, tzinfo=timezone.utc)
    return Recording(now, OperatorNetwork(), tuple(recorded))
