"""What a watcher sees of each cable at a moment: drift, and how much goes over it each way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table

from distconfig.cabling.topology import Topology
from distconfig.errors import UnexpectedOutput
from distconfig.probes.interface_counters import ByteCounters, parse_interface_counters
from distconfig.recordings.recording import Recording
from distconfig.upkeep.intended import IntendedCable
from distconfig.upkeep.status import Drift, find_cable, find_present_end
from distconfig.views.tables import new_table, text_row

__all__ = ["CableRate", "Counts", "find_rates", "read_counts", "render_moment", "watch_table"]

#: Host to its interfaces and what they have carried so far.
Counts = Mapping[str, Mapping[str, ByteCounters]]


@dataclass(frozen=True)
class CableRate:
    """What a cable carried in the last stretch of time, in Gb/s; None where it is not known."""

    cable: IntendedCable
    there: float | None
    back: float | None


def read_counts(recording: Recording) -> dict[str, Mapping[str, ByteCounters]]:
    """The counters in each host's answers; hosts whose counters can not be read are left out."""
    found: dict[str, Mapping[str, ByteCounters]] = {}
    for host in recording.hosts:
        answer = host.probes.get("interface_counters")
        if host.error is None and answer is not None:
            try:
                found[host.host] = parse_interface_counters(answer.stdout).value
            except UnexpectedOutput:
                continue
    return found


def find_rates(
    intended: Sequence[IntendedCable],
    topology: Topology,
    before: Counts,
    now: Counts,
    seconds: float,
) -> tuple[CableRate, ...]:
    """What each cable carried between two looks at the counters, by what its ends sent."""
    rates = []
    for cable in intended:
        seen = find_cable(cable, topology)
        ways = []
        for end in cable.ends:
            present = None
            if end.host in topology.reports:
                present = seen.end_at(end.host) if seen else find_present_end(end, topology)
            name = present.interface if present else ""
            then, later = before.get(end.host, {}).get(name), now.get(end.host, {}).get(name)
            ways.append(_gbps(then, later, seconds))
        rates.append(CableRate(cable, ways[0], ways[1]))
    return tuple(rates)


def _gbps(before: ByteCounters | None, now: ByteCounters | None, seconds: float) -> float | None:
    if before is None or now is None or seconds <= 0 or now.sent < before.sent:
        return None
    return (now.sent - before.sent) * 8 / seconds / 1e9


def _shown(gbps: float | None) -> str:
    return "-" if gbps is None else f"{gbps:.3f}"


def watch_table(rates: Sequence[CableRate], drifts: Sequence[Drift], at: datetime) -> Table:
    """One line for each cable, and below it what drifted."""
    table = new_table(f"{at:%H:%M:%S}", "cable", "Gb/s there", "back", "state")
    for rate in rates:
        texts = [drift.text for drift in drifts if drift.cable == rate.cable]
        state = "as set up" if not texts else " ".join(texts)
        cells = (str(rate.cable), _shown(rate.there), _shown(rate.back), state)
        table.add_row(*text_row(*cells, style="yellow" if texts else "green"))
    return table


def render_moment(rates: Sequence[CableRate], drifts: Sequence[Drift], at: datetime) -> str:
    """One line of JSON."""
    document = {
        "format": 1,
        "at": at.isoformat(timespec="seconds"),
        "cables": [
            {
                "ends": [{"host": end.host, "port": end.port or None} for end in rate.cable.ends],
                "gbps": [rate.there, rate.back],
                "drifts": [drift.text for drift in drifts if drift.cable == rate.cable],
            }
            for rate in rates
        ],
    }
    return json.dumps(document) + "\n"
