"""Checks on what macOS forbids: the application firewall and Local Network privacy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity
from distconfig.printable import escape_controls

__all__ = [
    "FIREWALL_BLOCKS_ALL",
    "FIREWALL_ON",
    "FIREWALL_STEALTH",
    "LOCAL_NETWORK_PRIVACY",
    "find_firewalls",
    "find_privacy_refusals",
    "find_refusals_here",
]

# In the note of a connection that `dial_tcp` had to make through Apple's nc.
_PRIVACY = "Local Network privacy"
_SETTINGS = "System Settings > Network > Firewall"

FIREWALL_BLOCKS_ALL = Kind(
    "firewall-blocks-all",
    Severity.PROBLEM,
    "The firewall blocks every incoming connection, so no rank can be connected to.",
    f"{_SETTINGS} > Options: switch off 'Block all incoming connections'.",
)
FIREWALL_STEALTH = Kind(
    "firewall-stealth",
    Severity.WARNING,
    "Pings and connections to closed TCP ports are not answered, so a live neighbour looks "
    "dead; and programs the firewall does not know are not connected to.",
    f"{_SETTINGS} > Options: switch off stealth mode, and allow the Python that runs the ranks.",
)
FIREWALL_ON = Kind(
    "firewall-on",
    Severity.WARNING,
    "Programs it does not know are not connected to, or a window on that Mac asks first; a "
    "Python from Homebrew is such a program.",
    f"{_SETTINGS} > Options: allow the Python that runs the ranks, or switch it off.",
)
LOCAL_NETWORK_PRIVACY = Kind(
    "local-network-privacy",
    Severity.PROBLEM,
    "macOS refuses this Python local addresses with errno 65, 'No route to host', while the "
    "programs that come with macOS reach them: Local Network privacy (Apple technote TN3179). "
    "Terminal and ssh are exempt; other terminals, editors, agents and what outlives an ssh "
    "session are not.",
    "System Settings > Privacy & Security > Local Network: allow the app it was started from, "
    "or start it from Terminal or over ssh (--hosts with a name instead of localhost).",
)


def find_firewalls(evidence: Evidence) -> Iterator[Finding]:
    """Hosts whose application firewall is on, each once, by its strictest rule."""
    for host, facts in evidence.facts.items():
        if not facts.firewall:
            continue
        if facts.firewall == 2 or facts.blocks_all:
            text = f"{host}: the firewall blocks all incoming connections."
            yield FIREWALL_BLOCKS_ALL.at(host, text)
        elif facts.is_stealthy:
            yield FIREWALL_STEALTH.at(host, f"{host}: the firewall is on, in stealth mode.")
        else:
            yield FIREWALL_ON.at(host, f"{host}: the firewall is on.")


def find_privacy_refusals(evidence: Evidence) -> Iterator[Finding]:
    """Hosts on which Python is refused what Apple's own nc is granted."""
    for host, facts in evidence.facts.items():
        refused = [each for each in facts.reach if each.python == "EHOSTUNREACH" and each.nc]
        if refused:
            names = ", ".join(str(each.address) for each in refused)
            text = f"{host}: Python gets errno 65 for {names}, which /usr/bin/nc reaches."
            yield LOCAL_NETWORK_PRIVACY.at(host, text)


def find_refusals_here(notes: Iterable[str]) -> Iterator[Finding]:
    """The same of the machine the tool runs on, as told while the hosts were connected to.

    Args:
        notes: What was said on the way.
    """
    told = [note for note in notes if _PRIVACY in note]
    if told:
        yield LOCAL_NETWORK_PRIVACY.at("this machine", f"{escape_controls(told[0])}.")
