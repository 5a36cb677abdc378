"""The cabling as a picture: a `Topology`, and what became of it, in Graphviz's DOT language.

Ring cables are bold, surplus ones thin; a cable seen from one side only is dotted,
one through a dock dashed; strangers and hosts that did not answer are grey. Hosts
stand on a circle in rank order, so that a ring looks like one.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pydot

from distconfig.cabling.topology import Cable, CableEnd, Stranger, Topology
from distconfig.printable import escape_controls
from distconfig.rings.ring import RingPlan

__all__ = ["render_dot"]

_HOP_INCHES = 3.4
_FONT = "Helvetica"
_BLUE, _GREY, _RED, _GREEN = "#1f5fbf", "#8a8a8a", "#c0392b", "#1e8449"
_BAD_MARKS = frozenset({"unplug", "slow", "wrong way", "dead"})
_RANK_FILL, _HOST_FILL, _GREY_FILL = "#e8f0fb", "#f7f7f7", "#ececec"


def _quote(text: str) -> str:
    """A DOT string: nothing in it can end the string or start an escape of DOT's own."""
    lines = [escape_controls(line) for line in text.replace("\t", " ").split("\n")]
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


def _attributes(**values: Any) -> dict[str, Any]:
    return {
        key: _quote(value) if isinstance(value, str) else str(value)
        for key, value in values.items()
    }


def _on_the_line(lines: list[str], color: str = "#000000") -> str:
    """An HTML-like label with its own white ground, readable on top of an edge."""
    rows = "<BR/>".join(html.escape(escape_controls(line.replace("\n", " "))) for line in lines)
    return (
        '<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="1" BGCOLOR="white"><TR><TD>'
        f'<FONT COLOR="{color}">{rows}</FONT></TD></TR></TABLE>>'
    )


def _angles(hosts: Sequence[str]) -> dict[str, float]:
    """Where each host stands on the circle: the first on top, going clockwise."""
    top = math.pi if len(hosts) == 2 else math.pi / 2
    return {host: top - 2 * math.pi * index / len(hosts) for index, host in enumerate(hosts)}


def _place(angle: float, radius: float) -> str:
    return f"{radius * 1.25 * math.cos(angle):.2f},{radius * math.sin(angle):.2f}!"


def _host_label(host: str, topology: Topology, rank: int | None) -> str:
    lines = [host]
    report = topology.reports.get(host)
    if report is None:
        lines.append(topology.unread.get(host, "did not answer")[:60])
    elif report.model:
        lines.append(report.model)
    if rank is not None:
        lines.append(f"rank {rank}")
    return "\n".join(lines)


def _end_label(end: CableEnd) -> str:
    return f"{end.interface or 'no interface'} (port {end.receptacle})"


def _speed_label(cable: Cable) -> str:
    if cable.gbps is None:
        return "speed unknown"
    return f"up to {cable.gbps} Gb/s" if cable.is_ceiling else f"{cable.gbps} Gb/s"


def _cable_attributes(cable: Cable, in_ring: bool, note: str, mark: str) -> dict[str, Any]:
    words = [_speed_label(cable)]
    style, width, color = "solid", 1.0, _GREY
    if in_ring:
        width, color = 3.0, _BLUE
    if cable.via:
        style = "dashed"
        words.append("via " + ", ".join(cable.via))
    if not cable.confirmed:
        style = "dotted"
        words.append("seen from one side")
    if not cable.is_usable:
        color = _RED
        words.append("not usable")
    if mark:
        color, width = (_RED, 1.5) if mark in _BAD_MARKS else (_GREEN, 3.0)
        words.append(mark)
    if note:
        words.append(note)
    labels = {
        "label": _on_the_line(words, color),
        "taillabel": _on_the_line([_end_label(cable.a)]),
        "headlabel": _on_the_line([_end_label(cable.b)]),
    }
    return _attributes(style=style, penwidth=width, color=color) | labels


def _host_node(host: str, topology: Topology, rank: int | None, place: str) -> pydot.Node:
    answered = host in topology.reports
    fill = _GREY_FILL if not answered else _HOST_FILL if rank is None else _RANK_FILL
    attributes = _attributes(
        label=_host_label(host, topology, rank),
        pos=place,
        fillcolor=fill,
        color="#333333" if answered else _GREY,
        fontcolor="#000000" if answered else _GREY,
    )
    return pydot.Node(_quote(host), **attributes)


def _add_stranger(graph: pydot.Dot, stranger: Stranger, place: str) -> None:
    name = _quote(f"stranger {stranger.seen_from} {stranger.domain_uuid}")
    label = f"not in --hosts\n{stranger.model or 'a peer'}\n{stranger.domain_uuid}"
    node = _attributes(
        label=label, pos=place, color=_GREY, fontcolor=_GREY, fillcolor=_GREY_FILL, fontsize=9
    )
    graph.add_node(pydot.Node(name, **node))
    edge = _attributes(color=_GREY)
    edge["taillabel"] = _on_the_line([_end_label(stranger.seen_from)])
    if stranger.via:
        edge |= _attributes(style="dashed")
        edge["label"] = _on_the_line(["via " + ", ".join(stranger.via)], _GREY)
    graph.add_edge(pydot.Edge(_quote(stranger.seen_from.host), name, **edge))


def render_dot(
    topology: Topology,
    ring: RingPlan | None = None,
    *,
    notes: Mapping[Cable, str] | None = None,
    marks: Mapping[Cable, str] | None = None,
) -> str:
    """The DOT text of the cabling; ``dot -Tpng`` makes the picture.

    Args:
        ring: Its cables are drawn bold and its hosts carry their ranks.
        notes: A further line on a cable, such as a measured speed or a subnet.
        marks: Cables that advice would change or a test found bad, to the word drawn
            on them: ``unplug``, ``slow``, ``wrong way`` and ``dead`` turn red, any other
            mark turns green. Cables that are not in ``topology`` are drawn too.

    Cost:
        Linear in hosts and cables.
    """
    notes, marks = notes or {}, marks or {}
    graph = pydot.Dot("cabling", graph_type="graph", strict=False)
    layout = {"layout": "neato", "splines": "true", "overlap": "true"}
    graph.set_graph_defaults(**_attributes(**layout, pad=0.4, nodesep=1.1, fontname=_FONT))
    graph.set_node_defaults(
        **_attributes(shape="box", style="rounded,filled", fontname=_FONT, margin="0.18,0.1")
    )
    graph.set_edge_defaults(
        **_attributes(fontname=_FONT, fontsize=9, labeldistance=5, labelangle=0, labelfontsize=9)
    )
    rank_of = {host: rank for rank, host in enumerate(ring.hosts)} if ring else {}
    angles = _angles(sorted(topology.hosts, key=lambda host: rank_of.get(host, len(rank_of))))
    radius = _HOP_INCHES / 2 / math.sin(math.pi / max(len(angles), 2))
    for host, angle in angles.items():
        graph.add_node(_host_node(host, topology, rank_of.get(host), _place(angle, radius)))
    for index, stranger in enumerate(topology.strangers):
        angle = angles[stranger.seen_from.host] + 0.3 * (index % 3 - 1)
        _add_stranger(graph, stranger, _place(angle, radius + 2.4 + index // 3))
    used = ring.used_cables if ring else frozenset()
    drawn = [*topology.cables, *topology.loops]
    drawn += [cable for cable in marks if cable not in drawn]
    for cable in drawn:
        mark = marks.get(cable, "")
        attributes = _cable_attributes(cable, cable in used, notes.get(cable, ""), mark)
        graph.add_edge(pydot.Edge(_quote(cable.a.host), _quote(cable.b.host), **attributes))
    return str(graph.to_string())
