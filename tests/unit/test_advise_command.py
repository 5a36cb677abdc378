"""``distributed_config advise`` on recorded hosts: the sentences, the picture, the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.unit.test_cli import FIXTURES
from tests.unit.test_dot import drawn

CHAIN = """\
There is no ring: mini1 is cabled only to mini2; mini4 is cabled only to mini3.
  1. Add a Thunderbolt 5 cable from mini1 port 2 (System Information: Receptacle 2), en3 to \
mini4 port 2 (System Information: Receptacle 2), en3.
Then the ring is mini1 - mini2 - mini3 - mini4 - mini1 (1 cable per hop, slowest at most 80 Gb/s).
1 new cable is needed.
"""
FLEET = """\
There is no ring: dune is cabled only to birch.
  1. Leave the cable in cedar port 3 (System Information: Receptacle 3), en2 where it is; unplug \
its other end from birch port 1 (System Information: Receptacle 1), en2 and plug that into \
dune port 2 (System Information: Receptacle 2), en3.
Then the ring is atlas - birch - dune - cedar - atlas (1 cable per hop, slowest at most 40 Gb/s).
"""
TWO_IN_ONE = """\
  1. cedar port 1 (System Information: Receptacle 1), en1 -- dune port 2 \
(System Information: Receptacle 2), en3 (40 Gb/s at most, no RDMA)
"""


@pytest.mark.parametrize(
    ("scenario", "sentences"), [("chain_of_four", CHAIN), ("fleet_of_four", FLEET)]
)
def test_the_sentences_whole(run, scenario: str, sentences: str) -> None:
    outcome = run("advise", "--from", FIXTURES / scenario)
    assert (outcome.code, outcome.out) == (0, sentences)


def test_a_dock_in_the_way_is_named(run) -> None:
    outcome = run("advise", "--from", FIXTURES / "pair_with_dock")
    assert outcome.code == 0
    assert "passes through HarborDock 5 between delta en3 and ember en3" in outcome.out


def test_nothing_to_move_shows_the_ring(run) -> None:
    outcome = run("advise", "--from", FIXTURES / "four_studios")
    assert (outcome.code, outcome.out) == (0, "")
    assert "Nothing to move: studio1 en3 -- en5 studio3" in outcome.err


def test_the_picture_colours_what_changes(run) -> None:
    outcome = run("advise", "--from", FIXTURES / "star_of_five", "--dot")
    _, edges = drawn(outcome.out)
    assert sorted((edge["ends"], edge["color"]) for edge in edges) == [
        (("core", "leaf1"), "#1f5fbf"),
        (("core", "leaf2"), "#c0392b"),
        (("core", "leaf3"), "#c0392b"),
        (("core", "leaf4"), "#1f5fbf"),
        (("leaf1", "leaf2"), "#1e8449"),
        (("leaf2", "leaf3"), "#1e8449"),
        (("leaf3", "leaf4"), "#1e8449"),
    ]


def test_before_any_cable_is_in_the_ports_decide(run) -> None:
    words = ("advise", "--from", FIXTURES / "fleet_of_four", "--hosts", "cedar,dune")
    outcome = run(*words, "--cable", "ring")
    assert outcome.code == 0
    assert outcome.out.startswith(TWO_IN_ONE)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--cable", "star"), 2, "Use one of: ring, double-ring, mesh."),
        (("--cable", "mesh"), 5, "too few Thunderbolt ports for a mesh"),
        (("--dot", "--json"), 2, "both print to stdout"),
    ],
)
def test_what_can_not_be_is_one_message(run, words, code: int, message: str) -> None:
    outcome = run("advise", "--from", FIXTURES / "fleet_of_four", *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


@pytest.mark.parametrize(
    ("scenario", "words", "counts"),
    [
        ("fleet_of_four", (), (1, 0)),
        ("four_studios", (), (0, 0)),
        ("mesh_of_four", (), (1, 0)),
        ("four_studios", ("--cable", "ring"), (0, 4)),
    ],
)
def test_the_json_keeps_its_schema(
    run, root: Path, scenario: str, words: tuple[str, ...], counts: tuple[int, int]
) -> None:
    outcome = run("advise", "--from", FIXTURES / scenario, "--json", *words)
    schema = json.loads((root / "docs" / "advice.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(outcome.out)
    jsonschema.Draft202012Validator(schema).validate(document)
    laid = document["proposal"]["cables"] if document["proposal"] else []
    assert (len(document["advices"]), len(laid)) == counts
