"""``networksetup``: hardware ports and network services."""

from __future__ import annotations

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.networksetup_ports import HardwarePort, parse_networksetup_ports
from distconfig.probes.networksetup_services import NetworkService, parse_networksetup_services
from distconfig.probes.parsed import Parsed

PORTS = """
Hardware Port: Ethernet
Device: en0
Ethernet Address: 02:00:5e:10:00:01

Hardware Port: Thunderbolt Ethernet Slot 1, Port 1
Device: en11
Ethernet Address: 02:00:5E:10:00:03

Hardware Port: Bluetooth DUN
Device: Bluetooth-Modem
Ethernet Address: N/A

Hardware Port: 雷雳 1
Device: en2
Ethernet Address: 36:00:5e:10:00:00\x20

VLAN Configurations
===================

VLAN User Defined Name: Lab
Parent Device: en0
Device ("Hardware" Port): vlan0
Tag: 42
"""

SERVICES = """\
An asterisk (*) denotes that a network service is disabled.
(1) Ethernet
(Hardware Port: Ethernet, Device: en0)

(*) Thunderbolt Bridge
(Hardware Port: Thunderbolt Bridge, Device: bridge0)

(3) Dock (left)
(Hardware Port: Thunderbolt Ethernet Slot 1, Port 1, Device: en11)

(4) Office VPN
(Hardware Port: com.example.vpn, Device: )

"""


def test_every_port_is_read_and_vlans_are_passed_over() -> None:
    assert parse_networksetup_ports(PORTS.encode()) == Parsed(
        (
            HardwarePort("Ethernet", "en0", "02:00:5e:10:00:01"),
            HardwarePort("Thunderbolt Ethernet Slot 1, Port 1", "en11", "02:00:5e:10:00:03"),
            HardwarePort("Bluetooth DUN", "Bluetooth-Modem"),
            HardwarePort("雷雳 1", "en2", "36:00:5e:10:00:00"),
        )
    )


def test_the_vlan_trailer_may_be_missing() -> None:
    text = PORTS[: PORTS.index("VLAN Conf")]
    assert len(parse_networksetup_ports(text.encode()).value) == 4


@pytest.mark.parametrize("gone", ["Hardware Port: Ethernet\n", "Device: en0\n"])
def test_a_port_without_one_of_its_lines_is_refused(gone: str) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_networksetup_ports(PORTS.replace(gone, "", 1).encode())


def test_a_port_without_its_address_line_is_refused() -> None:
    text = "Hardware Port: Thunderbolt 1\nDevice: en2\n\n"
    with pytest.raises(UnexpectedOutput, match="no Ethernet Address: follows"):
        parse_networksetup_ports(text.encode())


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("Device: en0", "Device: en0; reboot"),
        ("Device: en0", "Device: "),
        ("Ethernet Address: 02:00:5e:10:00:01", "Ethernet Address: 02:00:5e:10:00"),
        ("Ethernet Address: 02:00:5e:10:00:01", "Ethernet Address: $(reboot)"),
    ],
)
def test_a_line_that_can_not_be_read_is_shown(line: str, instead: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse_networksetup_ports(PORTS.replace(line, instead, 1).encode())
    assert caught.value.at == instead


def test_an_unknown_line_is_noted() -> None:
    text = f"** Warning: something.\n{PORTS}"
    assert parse_networksetup_ports(text.encode()).notes == ("** Warning: something.",)


def test_every_service_is_read() -> None:
    assert parse_networksetup_services(SERVICES.encode()) == Parsed(
        (
            NetworkService("Ethernet", "Ethernet", "en0", True),
            NetworkService("Thunderbolt Bridge", "Thunderbolt Bridge", "bridge0", False),
            NetworkService("Dock (left)", "Thunderbolt Ethernet Slot 1, Port 1", "en11", True),
            NetworkService("Office VPN", "com.example.vpn", "", True),
        )
    )


@pytest.mark.parametrize(
    ("gone", "what"),
    [
        ("(1) Ethernet\n", "no service stands before"),
        ("(Hardware Port: Ethernet, Device: en0)\n", "not a network service"),
    ],
)
def test_half_a_service_is_refused(gone: str, what: str) -> None:
    with pytest.raises(UnexpectedOutput, match=what):
        parse_networksetup_services(SERVICES.replace(gone, "", 1).encode())


def test_a_last_service_without_its_port_is_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="no hardware port follows"):
        parse_networksetup_services(b"(1) Ethernet\n")


def test_a_line_about_no_service_is_noted() -> None:
    assert parse_networksetup_services(b"Hello.\n").notes == ("Hello.",)
