"""What a person is told who pulls and plugs cables."""

from __future__ import annotations

import pytest

from distconfig.cabling.port_changes import find_port_changes
from tests.graphs import wire


def place(host: str, port: int) -> str:
    return f"{host} port {port} (System Information: Receptacle {port}), en{port + 1}"


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        ("a1-b1", "a1-b1", []),
        (
            "a1-b1, b2-c1",
            "a1-b1, c2-c3",
            [
                f"{place('b', 2)}: pulled (it led to {place('c', 1)})",
                f"{place('c', 1)}: pulled (it led to {place('b', 2)})",
                f"{place('c', 2)}: plugged, and leads to {place('c', 3)}",
                f"{place('c', 3)}: plugged, and leads to {place('c', 2)}",
            ],
        ),
        (
            "a1-b1, b2-c1",
            "a1-b3, b2-c1",
            [
                f"{place('a', 1)}: leads to {place('b', 3)} (it led to {place('b', 1)})",
                f"{place('b', 1)}: pulled (it led to {place('a', 1)})",
                f"{place('b', 3)}: plugged, and leads to {place('a', 1)}",
            ],
        ),
    ],
    ids=["nothing", "pulled and looped", "moved"],
)
def test_each_port_that_changed_is_a_sentence(
    before: str, after: str, sentences: list[str]
) -> None:
    hosts = ("a", "b", "c")
    changes = find_port_changes(wire(before, hosts=hosts), wire(after, hosts=hosts))
    assert list(changes) == sentences
