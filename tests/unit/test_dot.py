"""The picture: what each cable and host looks like, and that no text can leave its label."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from distconfig.cabling.topology import Cable, CableEnd, Stranger, Topology
from distconfig.errors import UsageError
from distconfig.reports.report import HostReport
from distconfig.rings.ring import RingPlan
from distconfig.views.dot import render_dot
from distconfig.views.graphviz import draw

AB = Cable(CableEnd("a", "2", "en3"), CableEnd("b", "1", "en2"), gbps=80)
BC = Cable(CableEnd("b", "2", "en3"), CableEnd("c", "1", "en2"), gbps=40, via=("CalDock",))
CA = Cable(CableEnd("a", "1", "en2"), CableEnd("c", "2", "en3"), gbps=120, is_ceiling=True)
SPARE = Cable(CableEnd("a", "3", "en4"), CableEnd("b", "3", "en4"), confirmed=False)
BROKEN = Cable(CableEnd("a", "4", ""), CableEnd("c", "4", "en5"), gbps=80)
RING = RingPlan(("a", "b", "c"), ((AB,), (BC,), (CA,)))


def topology_of(
    hosts: tuple[str, ...],
    cables: tuple[Cable, ...],
    *,
    unread: dict[str, str] | None = None,
    strangers: tuple[Stranger, ...] = (),
) -> Topology:
    reports = {
        host: HostReport(host, model="Mac15,14") for host in hosts if host not in (unread or {})
    }
    return Topology(hosts, cables, reports, unread or {}, strangers=strangers)


def drawn(dot_text: str) -> tuple[dict[str, dict[str, str]], list[dict[str, str]]]:
    """What Graphviz itself makes of the text: nodes by name, and edges with their ends."""
    program = shutil.which("dot")
    assert program, "the tests need graphviz"
    answer = subprocess.run(
        [program, "-Tdot_json"], input=dot_text.encode(), capture_output=True, check=True
    )
    assert answer.stderr == b""
    graph = json.loads(answer.stdout)
    names = {each["_gvid"]: each["name"] for each in graph["objects"]}
    edges = [
        each | {"ends": (names[each["tail"]], names[each["head"]])}
        for each in graph.get("edges", [])
    ]
    return {each["name"]: each for each in graph["objects"]}, edges


def test_every_kind_of_cable_has_its_own_look() -> None:
    topology = topology_of(("a", "b", "c"), (AB, BC, CA, SPARE, BROKEN))
    _, edges = drawn(render_dot(topology, RING))
    looks = {
        (edge["ends"], edge["style"], float(edge["penwidth"]), edge["color"]) for edge in edges
    }
    assert looks == {
        (("a", "b"), "solid", 3.0, "#1f5fbf"),
        (("b", "c"), "dashed", 3.0, "#1f5fbf"),
        (("a", "c"), "solid", 3.0, "#1f5fbf"),
        (("a", "b"), "dotted", 1.0, "#8a8a8a"),
        (("a", "c"), "solid", 1.0, "#c0392b"),
    }
    assert len(edges) == 5


@pytest.mark.parametrize(
    ("cable", "words"),
    [
        (AB, "80 Gb/s"),
        (BC, "40 Gb/s<BR/>via CalDock"),
        (CA, "up to 120 Gb/s"),
        (SPARE, "speed unknown<BR/>seen from one side"),
        (BROKEN, "80 Gb/s<BR/>not usable"),
    ],
)
def test_a_cable_says_its_speed_and_what_is_odd_about_it(cable: Cable, words: str) -> None:
    _, edges = drawn(render_dot(topology_of(("a", "b", "c"), (cable,))))
    assert f">{words}<" in edges[0]["label"]


def test_each_end_carries_its_interface_and_port() -> None:
    _, edges = drawn(render_dot(topology_of(("a", "b", "c"), (BROKEN,))))
    assert ">no interface (port 4)<" in edges[0]["taillabel"]
    assert ">en5 (port 4)<" in edges[0]["headlabel"]


def test_hosts_carry_their_rank_or_why_they_are_grey() -> None:
    topology = topology_of(("a", "b", "x"), (AB,), unread={"x": "Connection refused"})
    nodes, _ = drawn(render_dot(topology, RingPlan(("a", "b"), ((AB,), (AB,)))))
    assert {name: (node["label"], node["fillcolor"]) for name, node in nodes.items()} == {
        "a": ("a\\nMac15,14\\nrank 0", "#e8f0fb"),
        "b": ("b\\nMac15,14\\nrank 1", "#e8f0fb"),
        "x": ("x\\nConnection refused", "#ececec"),
    }


def test_a_stranger_is_a_grey_box_of_its_own() -> None:
    uuid = UUID("11111111-2222-3333-4444-555555555555")
    stranger = Stranger(CableEnd("a", "5", "en6"), uuid, "Mac16,9", ("Dock",))
    nodes, edges = drawn(render_dot(topology_of(("a", "b"), (AB,), strangers=(stranger,))))
    name = f"stranger a en6 {uuid}"
    assert nodes[name]["label"] == f"not in --hosts\\nMac16,9\\n{uuid}"
    assert {edge["ends"]: edge["style"] for edge in edges} == {
        ("a", name): "dashed",
        ("a", "b"): "solid",
    }


def test_advice_colours_what_changes_and_draws_what_is_not_there_yet() -> None:
    marks = {SPARE: "unplug", CA: "plug here"}
    _, edges = drawn(render_dot(topology_of(("a", "b", "c"), (AB, SPARE)), marks=marks))
    colours = {(edge["ends"], edge["color"], edge["penwidth"]) for edge in edges}
    assert colours == {
        (("a", "b"), "#8a8a8a", "1.0"),
        (("a", "b"), "#c0392b", "1.5"),
        (("a", "c"), "#1e8449", "3.0"),
    }


@pytest.mark.parametrize(
    "nasty",
    ['"]; x [label="', "\\", '\\"', "a\nb", "</TD>", "<b>&amp;", "\x1b[2J", "{|}", "\\N"],
)
def test_no_text_leaves_its_label(nasty: str) -> None:
    cable = Cable(CableEnd("a", "1", "en2"), CableEnd(nasty, nasty, nasty), via=(nasty,))
    topology = topology_of(("a", nasty), (cable,), unread={nasty: nasty})
    nodes, edges = drawn(render_dot(topology, notes={cable: nasty}))
    assert len(nodes) == 2
    assert len(edges) == 1
    assert "\x1b" not in json.dumps([nodes, edges], ensure_ascii=False)


def test_the_same_cabling_gives_the_same_text() -> None:
    topology = topology_of(("a", "b", "c"), (AB, BC, CA))
    assert render_dot(topology, RING) == render_dot(topology, RING)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<?xml")])
def test_a_picture_is_drawn(tmp_path: Path, kind: str, start: bytes) -> None:
    target = tmp_path / f"ring.{kind}"
    draw(render_dot(topology_of(("a", "b", "c"), (AB, BC, CA)), RING), target, kind)
    assert target.read_bytes().startswith(start)
    assert [each.name for each in tmp_path.iterdir()] == [target.name]


def test_without_graphviz_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"dot was not found.*brew install graphviz"):
        draw("graph {}", tmp_path / "ring.png", "png")


@pytest.mark.parametrize("target", ["missing/ring.png", "."])
def test_a_picture_that_can_not_be_written_is_an_error(tmp_path: Path, target: str) -> None:
    with pytest.raises(UsageError, match="can not be written"):
        draw("graph {}", tmp_path / target, "png")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_text_leaves_the_old_picture(tmp_path: Path) -> None:
    target = tmp_path / "ring.png"
    target.write_bytes(b"old")
    with pytest.raises(UsageError, match="syntax error"):
        draw("graph {", target, "png")
    assert target.read_bytes() == b"old"
