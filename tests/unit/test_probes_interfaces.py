"""The sources that name the interface of a receptacle: ioreg, configd's store, RDMA devices."""

from __future__ import annotations

import plistlib
from typing import Any

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.ibv_devices import RdmaDevice, parse_ibv_devices, reverse_guid
from distconfig.probes.ioreg_ports import IoregPort, parse_ioreg_ports
from distconfig.probes.network_interfaces import StoredInterface, parse_network_interfaces
from distconfig.probes.parsed import Parsed

IBV_HEADING = b"    device          \t   node GUID\n    ------          \t----------------\n"


def ioreg_port(label: Any, name: Any, status: Any = 1) -> dict[str, Any]:
    ethernet = {"BSD Name": name, "IOObjectClass": "IOEthernetInterface"}
    return {
        "IOLinkStatus": status,
        "IOLocation": label,
        "IORegistryEntryChildren": [{"IOObjectClass": "Other", "BSD Name": "en9"}, ethernet],
    }


def parse_ioreg(*ports: Any) -> Parsed[tuple[IoregPort, ...]]:
    return parse_ioreg_ports(plistlib.dumps(list(ports)))


def test_ports_of_ioreg() -> None:
    without_status = ioreg_port("3", "en4")
    del without_status["IOLinkStatus"]
    assert parse_ioreg(ioreg_port("1", "en2"), ioreg_port("2", "en3", 3), without_status) == Parsed(
        (IoregPort("1", "en2", False), IoregPort("2", "en3", True), IoregPort("3", "en4", None))
    )


def test_a_port_without_an_interface_is_passed_over() -> None:
    assert parse_ioreg({"IOLocation": "1"}, ioreg_port("", "en2")).value == (
        IoregPort("", "en2", False),
    )


@pytest.mark.parametrize("stdout", [b"", b"\n"])
def test_nothing_is_printed_when_nothing_matches(stdout: bytes) -> None:
    assert parse_ioreg_ports(stdout) == Parsed(())


@pytest.mark.parametrize(
    ("port", "at"),
    [
        (ioreg_port("1", "en2; reboot"), "[0].BSD Name"),
        (ioreg_port("1", 7), "[0].IORegistryEntryChildren"),
        (ioreg_port("1", ["en2"]), "[0].IORegistryEntryChildren"),
        (ioreg_port('1"', "en2"), "[0].IOLocation"),
        (ioreg_port(1, "en2"), "[0].IOLocation"),
        ("a port", "the root"),
    ],
)
def test_a_port_of_ioreg_that_can_not_be_read_is_named(port: Any, at: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse_ioreg(port)
    assert caught.value.at == at


def test_a_port_with_two_interfaces_is_refused() -> None:
    port = ioreg_port("1", "en2")
    port["IORegistryEntryChildren"] *= 2
    with pytest.raises(UnexpectedOutput, match="a port with one interface was expected"):
        parse_ioreg(port)


def stored(name: Any, user_name: Any, **keys: Any) -> dict[str, Any]:
    return {
        "Active": True,
        "BSD Name": name,
        "IOPathMatch": f"IOService:/acio0/AppleThunderboltIPPort/{name}",
        "SCNetworkInterfaceInfo": {"UserDefinedName": user_name},
        **keys,
    }


def parse_store(*entries: Any) -> Parsed[tuple[StoredInterface, ...]]:
    return parse_network_interfaces(plistlib.dumps({"Interfaces": list(entries)}))


def test_stored_ports_count_while_they_are_active() -> None:
    assert parse_store(
        stored("en2", "Thunderbolt 1"),
        stored("en5", "Thunderbolt 4", Active=False),
        stored("en0", "Ethernet", IOPathMatch="IOService:/apcie/en0"),
        stored("en6", "Thunderbolt Ethernet Slot 0"),
        stored("en7", 7),
        stored(7, "Thunderbolt 2"),
        stored("en8", "Thunderbolt 3", SCNetworkInterfaceInfo="none"),
        "an entry",
    ) == Parsed((StoredInterface("1", "en2"),))


def test_a_stored_name_that_is_no_interface_is_refused() -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse_store(stored("en2 reboot", "Thunderbolt 1"))
    assert caught.value.at == "Interfaces[0].BSD Name"


@pytest.mark.parametrize("root", [[], {}, {"Interfaces": "none"}, {"Interfaces": {}}])
def test_what_is_no_store_is_refused(root: Any) -> None:
    with pytest.raises(UnexpectedOutput, match="a list of interfaces was expected"):
        parse_network_interfaces(plistlib.dumps(root))


def test_rdma_devices() -> None:
    rows = b"    rdma_en2        \t80e404c31131ac05\n    rdma_en6        \t84e404c31131ac05\n"
    assert parse_ibv_devices(IBV_HEADING + rows) == Parsed(
        (
            RdmaDevice("rdma_en2", "en2", "80e404c31131ac05"),
            RdmaDevice("rdma_en6", "en6", "84e404c31131ac05"),
        )
    )


def test_with_rdma_off_there_is_a_heading_only() -> None:
    assert parse_ibv_devices(IBV_HEADING) == Parsed(())


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"rdma_en2 80e404c31131ac05\n",
        IBV_HEADING + b"    mlx5_0          \t80e404c31131ac05\n",
        IBV_HEADING + b"    rdma_en2;x      \t80e404c31131ac05\n",
        IBV_HEADING + b"    rdma_en2        \t80e404c31131ac0\n",
        IBV_HEADING + b"    rdma_en2        \t80e404c31131ac05",
        IBV_HEADING + b"    rdma_en2\n",
    ],
)
def test_rdma_devices_that_can_not_be_read(stdout: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_ibv_devices(stdout)


def test_a_guid_is_the_switch_uid_backwards() -> None:
    assert reverse_guid("82e404c31131ac05") == "0x05AC3111C304E482"
