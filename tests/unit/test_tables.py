"""The tables on stderr and the ring in one line."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from rich.console import Console
from rich.table import Table

from distconfig.cabling.topology import Cable, CableEnd
from distconfig.rings.ring import RingPlan
from distconfig.setup.addressing import AddressPlan
from distconfig.views.tables import cable_table, host_table, ring_line
from tests.unit.test_dot import AB, BC, BROKEN, CA, RING, SPARE, topology_of


def cells(table: Table) -> list[list[str]]:
    """Each row's cells as plain text."""
    columns = [column.cells for column in table.columns]
    return [[str(cell) for cell in row] for row in zip(*columns, strict=True)]


def test_each_cable_is_a_line() -> None:
    topology = topology_of(("a", "b", "c"), (AB, BC, CA, SPARE, BROKEN))
    addresses = AddressPlan({AB: IPv4Network("10.231.0.0/30")}, {})
    assert cells(cable_table(topology, RING, addresses)) == [
        ["a en3 (port 2)", "b en2 (port 1)", "80 Gb/s", "ring, rank 0 to 1", "10.231.0.0/30", ""],
        ["b en3 (port 2)", "c en2 (port 1)", "40 Gb/s", "ring, rank 1 to 2", "", "through CalDock"],
        ["a en2 (port 1)", "c en3 (port 2)", "up to 120 Gb/s", "ring, rank 2 to 0", "", ""],
        ["a en4 (port 3)", "b en4 (port 3)", "unknown", "spare", "", "seen from one side only"],
        ["a ? (port 4)", "c en5 (port 4)", "80 Gb/s", "not usable", "", ""],
    ]


def test_each_host_is_a_line() -> None:
    topology = topology_of(("a", "x", "b"), (AB,), unread={"x": "Connection refused"})
    assert cells(host_table(topology, RingPlan(("a", "b"), ((AB,), (AB,))))) == [
        ["0", "a", "Mac15,14", "macOS", "0 of 0", ""],
        ["1", "b", "Mac15,14", "macOS", "0 of 0", ""],
        ["", "x", "", "", "", "Connection refused"],
    ]


def test_markup_and_terminal_escapes_are_shown_not_obeyed() -> None:
    cable = Cable(AB.a, AB.b, via=("[bold red]Dock[/]\x1b[2J",))
    console = Console(record=True, width=200, force_terminal=False)
    with console.capture() as captured:
        console.print(cable_table(topology_of(("a", "b"), (cable,)), None))
    assert "through [bold red]Dock[/]\\x1b[2J" in captured.get()
    assert "\x1b[2J" not in captured.get()


@pytest.mark.parametrize(
    ("ring", "line"),
    [
        (RING, "a en3 -- en2 b en3 -- en2 c en3 -- en2 a"),
        (RingPlan(("a", "b"), ((AB,), (AB,))), "a en3 -- en2 b"),
        (
            RingPlan(
                ("a", "b"),
                (
                    (AB, Cable(CableEnd("a", "3", "en4"), CableEnd("b", "4", "en5"))),
                    (AB, Cable(CableEnd("a", "3", "en4"), CableEnd("b", "4", "en5"))),
                ),
            ),
            "a en3,en4 -- en2,en5 b",
        ),
    ],
    ids=["three", "two", "two cables"],
)
def test_the_ring_in_one_line(ring: RingPlan, line: str) -> None:
    assert ring_line(ring) == line
