"""What ports are called."""

from __future__ import annotations

from uuid import UUID

import pytest

from distconfig.reports.ports import is_known_without_rdma, name_end, name_port
from distconfig.reports.report import HostReport, Receptacle


def port(label: str = "1", place: str = "") -> Receptacle:
    return Receptacle(label, UUID(int=1), "en2", place=place)


@pytest.mark.parametrize(
    ("receptacle", "model", "name"),
    [
        (port("3"), "Mac15,14", "port 3 (System Information: Receptacle 3)"),
        (port("1"), "Mac15,14", "port 1 (back, beside Ethernet)"),
        (port("1"), "Mac16,11", "port 1 (System Information: Receptacle 1)"),
        (port("1", "front, left"), "Mac15,14", "port 1 (front, left)"),
        (port("1", "back\x1b[2J"), "", "port 1 (back\\x1b[2J)"),
    ],
)
def test_a_port_is_named_by_its_place_or_as_system_information_shows_it(
    receptacle: Receptacle, model: str, name: str
) -> None:
    assert name_port(receptacle, model) == name


def test_an_end_is_named_with_host_and_interface() -> None:
    mute = Receptacle("2", UUID(int=2), interface_problem="unknown")
    report = HostReport("studio1", model="Mac16,9", receptacles=(port(), mute))

    assert name_end(report, "1") == "studio1 port 1 (back, beside Ethernet), en2"
    assert name_end(report, "2") == (
        "studio1 port 2 (System Information: Receptacle 2), no interface"
    )


def test_only_the_port_beside_ethernet_of_a_mac_studio_is_known_to_lack_rdma() -> None:
    assert is_known_without_rdma("Mac16,9", port("1"))
    assert not is_known_without_rdma("Mac16,9", port("2"))
    assert not is_known_without_rdma("Mac16,11", port("1"))
