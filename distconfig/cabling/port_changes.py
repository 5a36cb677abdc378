"""What changed at the ports between two looks, for a person who pulls and plugs cables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distconfig.cabling.topology import Topology
from distconfig.reports.ports import name_end
from distconfig.reports.report import HostReport, Receptacle

__all__ = ["find_port_changes"]


def _uses(topology: Topology, host: str, receptacle: Receptacle) -> str:
    """What is at the other end of a receptacle; empty if nothing is plugged in."""
    far_ends = [
        name_end(topology.reports[end.host], end.receptacle)
        if end.host in topology.reports
        else f"{end.host} port {end.receptacle}"
        for cable in (*topology.cables, *topology.loops)
        for here, end in (cable.ends, cable.ends[::-1])
        if (here.host, here.receptacle) == (host, receptacle.label)
    ]
    if far_ends:
        return f"to {' and '.join(far_ends)}"
    if receptacle.peers:
        return f"to a {receptacle.peers[0].model or 'peer'} that is not in the list"
    if receptacle.devices:
        return f"to {' and '.join(receptacle.devices)}"
    return "to something that says nothing" if receptacle.is_connected else ""


def _ports(topology: Topology) -> dict[tuple[str, str], tuple[HostReport, str]]:
    return {
        (host, receptacle.label): (report, _uses(topology, host, receptacle))
        for host, report in topology.reports.items()
        for receptacle in report.receptacles
    }


def find_port_changes(before: Topology, after: Topology) -> Iterator[str]:
    """A sentence for each port that was plugged, pulled, or now leads elsewhere.

    Hosts that are missing from either look change nothing.
    """
    earlier: Mapping[tuple[str, str], tuple[HostReport, str]] = _ports(before)
    for (host, label), (report, now) in _ports(after).items():
        if (host, label) not in earlier:
            continue
        then = earlier[host, label][1]
        if now == then:
            continue
        port = name_end(report, label)
        if not now:
            yield f"{port}: pulled (it led {then})"
        elif not then:
            yield f"{port}: plugged, and leads {now}"
        else:
            yield f"{port}: leads {now} (it led {then})"
