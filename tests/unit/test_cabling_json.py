"""The JSON of the cabling, whole, and against its published schema."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import jsonschema

from distconfig.cabling.topology import CableEnd, Stranger
from distconfig.views.cabling_json import render_cabling
from tests.unit.test_dot import AB, BC, BROKEN, CA, RING, SPARE, topology_of

UUID_1 = UUID("11111111-2222-3333-4444-555555555555")


def check_schema(text: str, root: Path) -> None:
    schema = json.loads((root / "docs" / "cabling.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def test_two_hosts_and_a_stranger_whole(root: Path) -> None:
    stranger = Stranger(CableEnd("a", "5", "en6"), UUID_1, "", ("Dock",))
    topology = topology_of(("a", "x"), (), unread={"x": "no answer"}, strangers=(stranger,))
    text = render_cabling(topology, None, "no ring: a has no usable cable")
    assert json.loads(text) == {
        "format": 1,
        "hosts": [
            {
                "host": "a",
                "answered": True,
                "computer_name": None,
                "model": "Mac15,14",
                "platform": "Darwin",
                "os_version": None,
                "hardware_uuid": None,
                "ports": [],
                "problems": [],
                "notes": [],
            },
            {"host": "x", "answered": False, "problem": "no answer"},
        ],
        "cables": [],
        "strangers": [
            {
                "seen_from": {"host": "a", "port": "5", "interface": "en6"},
                "domain_uuid": str(UUID_1),
                "model": None,
                "via": ["Dock"],
            }
        ],
        "problems": [],
        "ring": None,
        "no_ring": "no ring: a has no usable cable",
    }
    check_schema(text, root)


def test_the_ring_names_its_cables_by_index(root: Path) -> None:
    text = render_cabling(topology_of(("a", "b", "c"), (AB, BC, CA, SPARE, BROKEN)), RING, None)
    document = json.loads(text)
    assert document["ring"] == {
        "hosts": ["a", "b", "c"],
        "width": 1,
        "proved_best": True,
        "hops": [[0], [4], [2]],
    }
    assert document["cables"][4] == {
        "ends": [
            {"host": "b", "port": "2", "interface": "en3"},
            {"host": "c", "port": "1", "interface": "en2"},
        ],
        "confirmed": True,
        "usable": True,
        "via": ["CalDock"],
        "gbps": 40,
        "gbps_is_ceiling": False,
    }
    check_schema(text, root)
