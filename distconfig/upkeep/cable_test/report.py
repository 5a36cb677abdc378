"""Judgements as JSON, as a table, and as notes on the picture of the cabling."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from distconfig.cabling.topology import Cable
from distconfig.reports.report import HostReport
from distconfig.setup.addressed import AddressedEnd
from distconfig.upkeep.cable_test.results import DirectionResult
from distconfig.upkeep.cable_test.verdicts import Judgement, Verdict
from distconfig.views.tables import new_table, text_row

__all__ = ["judgement_table", "notes_on_cables", "render_judgements"]

_STYLES = {
    Verdict.GOOD: "green",
    Verdict.SLOW: "yellow",
    Verdict.WRONG_WAY: "bold red",
    Verdict.DEAD: "bold red",
}


def render_judgements(
    judgements: Sequence[Judgement],
    reports: Mapping[str, HostReport],
    events: Sequence[str] = (),
) -> str:
    """The JSON text; ``docs/day-after.md`` describes it."""
    document = {
        "format": 1,
        "cables": [_cable(each, reports) for each in judgements],
        "events": list(events),
    }
    return json.dumps(document, indent=2) + "\n"


def _cable(judgement: Judgement, reports: Mapping[str, HostReport]) -> dict[str, Any]:
    cable = judgement.result.cable
    return {
        "ends": [_end(each, reports) for each in cable.ends],
        "trained_gbps": cable.seen.gbps if cable.seen and not cable.seen.is_ceiling else None,
        "verdict": judgement.verdict.value,
        "causes": list(judgement.causes),
        "remarks": list(judgement.remarks),
        "directions": [_direction(each) for each in judgement.result.directions],
    }


def _end(end: AddressedEnd, reports: Mapping[str, HostReport]) -> dict[str, Any]:
    report = reports.get(end.host)
    state = report.interface(end.interface) if report else None
    return {
        "host": end.host,
        "port": end.end.receptacle or None,
        "interface": end.interface or None,
        "address": str(end.address) if end.address else None,
        "mtu": state.mtu if state else None,
    }


def _direction(direction: DirectionResult) -> dict[str, Any]:
    tried, load = direction.tried, direction.load
    return {
        "from": direction.source.host,
        "to": direction.target.host,
        "route": (tried.interface or None) if tried else None,
        "answered": tried.is_reached if tried else None,
        "rtt_ms": tried.rtt_ms if tried else None,
        "gbps": round(load.gbps, 6) if load else None,
        "bytes": load.nbytes if load else None,
        "carried_by": direction.carried_by() or None,
        "arrived_by": direction.arrived_by() or None,
        "not_measured_because": direction.no_load_because or direction.broke_because or None,
    }


def judgement_table(judgements: Sequence[Judgement]) -> Table:
    """One line for each cable."""
    columns = ("from", "to", "trained", "Gb/s there", "back", "ping ms", "verdict")
    table = new_table("Cables, as measured", *columns)
    for each in judgements:
        cable = each.result.cable
        trained = f"{cable.seen.gbps} Gb/s" if cable.seen and cable.seen.gbps else ""
        rates = [_rate(direction) for direction in each.result.directions]
        cells = (_name(cable.a), _name(cable.b), trained, *rates, _ping(each.result.there))
        table.add_row(*text_row(*cells, each.verdict.value, style=_STYLES[each.verdict]))
    return table


def _name(end: AddressedEnd) -> str:
    port = f" (port {end.end.receptacle})" if end.end.receptacle else ""
    return f"{end.host} {end.interface or end.address or ''}{port}"


def _rate(direction: DirectionResult) -> str:
    return f"{direction.load.gbps:.2f}" if direction.load else "-"


def _ping(direction: DirectionResult) -> str:
    tried = direction.tried
    return f"{tried.rtt_ms:.2f}" if tried and tried.rtt_ms is not None else "-"


def notes_on_cables(judgements: Sequence[Judgement]) -> tuple[dict[Cable, str], dict[Cable, str]]:
    """For the picture: the measured numbers on each cable, and a mark on those that are not good.

    A cable that is not seen any more is in the second only, as it was set up.
    """
    notes: dict[Cable, str] = {}
    marks: dict[Cable, str] = {}
    for each in judgements:
        cable = each.result.cable
        drawn = cable.seen
        if drawn is None and cable.a.end.receptacle and cable.b.end.receptacle:
            drawn = Cable(cable.a.end, cable.b.end)
        if drawn is None:
            continue
        notes[drawn] = " / ".join(_rate(direction) for direction in each.result.directions)
        notes[drawn] += " Gb/s measured"
        if each.verdict is not Verdict.GOOD:
            marks[drawn] = each.verdict.value
    return notes, marks
