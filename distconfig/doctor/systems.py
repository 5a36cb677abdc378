"""Checks on the machines themselves: macOS, Thunderbolt, and what was installed to change them."""

from __future__ import annotations

from collections.abc import Iterator

from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity
from distconfig.printable import escape_controls

__all__ = [
    "EXO_DAEMON",
    "EXO_LOCATION",
    "MACOS_DIFFERS",
    "NETWORK_DAEMON",
    "NOT_A_MAC",
    "NO_THUNDERBOLT",
    "find_foreign_agents",
    "find_macos_differences",
    "find_missing_thunderbolt",
]

MACOS_DIFFERS = Kind(
    "macos-differs",
    Severity.WARNING,
    "Macs with different versions of macOS have been seen not to find each other, and RDMA "
    "needs the same version at both ends of a cable.",
    "Update all Macs to one version.",
)
NO_THUNDERBOLT = Kind(
    "no-thunderbolt",
    Severity.PROBLEM,
    "No cable can join this host to the ring. Virtual machines have no Thunderbolt; on some "
    "models the front ports look alike but carry only USB.",
    "Leave the host out, or use --over ethernet.",
)
NOT_A_MAC = Kind(
    "not-a-mac",
    Severity.PROBLEM,
    "Only the ports of Macs can be read so far.",
    "Leave the host out, or use --over ethernet.",
)
EXO_DAEMON = Kind(
    "exo-daemon",
    Severity.PROBLEM,
    "exo's daemon takes the Thunderbolt bridge apart and puts every port back to DHCP at boot "
    "and every half hour, also long after the app was deleted (exo-explore/exo issues 2007 and "
    "2279), which ends the addresses of a ring.",
    "sudo launchctl bootout system /Library/LaunchDaemons/io.exo.networksetup.plist; "
    "sudo rm /Library/LaunchDaemons/io.exo.networksetup.plist",
)
EXO_LOCATION = Kind(
    "exo-location",
    Severity.WARNING,
    "In the network location that exo made, each Thunderbolt port has a service that asks for "
    "an address by DHCP and may replace the ring's; static addresses of the usual location "
    "are not in it (exo-explore/exo issue 1158).",
    'See the locations with "networksetup -listlocations", then go back to the usual one: '
    "sudo networksetup -switchtolocation Automatic",
)
NETWORK_DAEMON = Kind(
    "network-daemon",
    Severity.WARNING,
    "A job that runs as root and calls networksetup, ifconfig, ipconfig or route may undo the "
    "setup at boot or on a timer.",
    "Read what it does; see that it leaves the Thunderbolt ports alone.",
)

_EXO_DAEMON = "io.exo.networksetup"
_EXO_LOCATION = "exo"


def find_macos_differences(evidence: Evidence) -> Iterator[Finding]:
    """Macs that do not run the same version."""
    versions: dict[str, list[str]] = {}
    for report in evidence.macs:
        if report.os_version:
            versions.setdefault(report.os_version, []).append(report.host)
    if len(versions) > 1:
        shown = "; ".join(f"{version} on {', '.join(hosts)}" for version, hosts in versions.items())
        everyone = ", ".join(report.host for report in evidence.macs if report.os_version)
        yield MACOS_DIFFERS.at(everyone, f"The versions of macOS differ: {shown}.")


def find_missing_thunderbolt(evidence: Evidence) -> Iterator[Finding]:
    """Hosts that no cable can reach."""
    for report in evidence.topology.reports.values():
        if report.platform != "Darwin":
            text = f"{report.host} runs {escape_controls(report.platform)}."
            yield NOT_A_MAC.at(report.host, text)
        elif not report.receptacles:
            yield NO_THUNDERBOLT.at(report.host, f"{report.host} has no Thunderbolt port.")


def find_foreign_agents(evidence: Evidence) -> Iterator[Finding]:
    """Programs that will undo a setup."""
    for host, facts in evidence.facts.items():
        if _EXO_DAEMON in facts.daemons:
            text = f"{host}: exo's daemon {_EXO_DAEMON} is installed."
            yield EXO_DAEMON.at(host, text)
        if facts.location is not None and facts.location.lower() == _EXO_LOCATION:
            text = f"{host}: the network location in use is {escape_controls(facts.location)}."
            yield EXO_LOCATION.at(host, text)
        others = [label for label in facts.network_daemons if label != _EXO_DAEMON]
        if others:
            names = escape_controls(", ".join(others))
            text = f"{host}: {names} in /Library/LaunchDaemons changes the network."
            yield NETWORK_DAEMON.at(host, text)
