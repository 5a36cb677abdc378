"""Which address stands for a host on its ordinary network."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network
from uuid import UUID

import pytest

from distconfig.errors import AddressError
from distconfig.hostfiles.ethernet import find_lan_address, find_lan_addresses, find_subnet_warning
from distconfig.reports.report import HostReport, InterfaceState, Receptacle, Route

DEFAULT = IPv4Network("0.0.0.0/0")


def interface(name: str, *addresses: str, active: bool = True) -> InterfaceState:
    return InterfaceState(
        name, True, 1500, is_active=active, addresses=tuple(map(IPv4Interface, addresses))
    )


def default(name: str, flags: str = "UGScg") -> Route:
    return Route(DEFAULT, None, name, flags)


WIFI_AND_DOCK = (
    interface("lo0", "127.0.0.1/8"),
    interface("en0", "192.168.1.20/24"),
    interface("en8", "10.4.0.7/16"),
    interface("utun3", "100.64.3.9/32"),
)
PORTS = (("Wi-Fi", "en0"), ("Thunderbolt Ethernet Slot 1", "en8"), ("Thunderbolt 1", "en2"))


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ((default("en0"), default("en8", "UGScIg")), "192.168.1.20/24"),
        ((default("en8"), default("en0", "UGScIg")), "10.4.0.7/16"),
        ((default("utun3", "UCSg"), default("en8", "UGScIg")), "10.4.0.7/16"),
        ((default("en8", "UGScIg"), default("en0")), "192.168.1.20/24"),
        ((default("en9"), default("en8")), "10.4.0.7/16"),
        ((), "192.168.1.20/24"),
    ],
    ids=["first", "dock first", "vpn took it", "bound comes second", "unlisted", "no router"],
)
def test_the_best_default_route_on_hardware_decides(
    routes: tuple[Route, ...], expected: str
) -> None:
    report = HostReport("a", interfaces=WIFI_AND_DOCK, routes=routes, hardware_ports=PORTS)
    assert find_lan_address(report) == IPv4Interface(expected)


def test_without_networksetup_the_interfaces_named_en_are_hardware() -> None:
    report = HostReport("a", interfaces=WIFI_AND_DOCK, routes=(default("utun3"), default("en8")))
    assert find_lan_address(report) == IPv4Interface("10.4.0.7/16")


def test_without_a_router_a_thunderbolt_port_is_not_the_lan() -> None:
    receptacle = Receptacle("1", UUID(int=1), "en2")
    states = (
        interface("en2", "10.231.0.1/30"),
        interface("en1", "10.0.0.9/24", active=False),
        interface("en0", "169.254.3.4/16", "172.16.0.2/24"),
    )
    report = HostReport("a", interfaces=states, receptacles=(receptacle,))
    assert find_lan_address(report) == IPv4Interface("172.16.0.2/24")


def test_a_host_without_an_address_is_named() -> None:
    reports = {
        "a": HostReport("a", interfaces=WIFI_AND_DOCK, routes=(default("en0"),)),
        "b": HostReport("b", interfaces=(interface("en0", "169.254.3.4/16"),)),
    }
    with pytest.raises(AddressError, match=r"b has no IPv4 address.*Connect it"):
        find_lan_addresses(reports)


def test_different_subnets_are_warned_of() -> None:
    near, far = IPv4Interface("192.168.1.20/24"), IPv4Interface("10.4.0.7/16")
    assert find_subnet_warning([("a", near), ("b", IPv4Interface("192.168.1.21/24"))]) is None
    assert find_subnet_warning([("a", near), ("b", far)]) == (
        "these hosts share no subnet, so ranks may not reach each other: "
        "a 192.168.1.20/24, b 10.4.0.7/16"
    )
