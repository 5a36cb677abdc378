"""``system_profiler`` is read key by key; only what could mislead is refused."""

from __future__ import annotations

import json
import plistlib
from typing import Any
from uuid import UUID

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.parsed import Parsed
from distconfig.probes.system_profiler import parse_system_profiler, parse_system_profiler_xml
from distconfig.probes.thunderbolt_buses import (
    AttachedDevice,
    AttachedPeer,
    Bus,
    Buses,
    BusReceptacle,
    parse_speed,
)

OWN = "EEB0A9F3-7609-4490-A61F-B42905C6F4E7"
PEER = "1BB47BBD-3E29-400A-A695-55CED78B4E3F"
AT = "$.SPThunderboltDataType[0]"


def tag(label: str = "3", **keys: Any) -> dict[str, Any]:
    return {
        "current_speed_key": "80 Gb/s",
        "link_status_key": "0x2",
        "receptacle_id_key": label,
        "receptacle_status_key": "receptacle_connected",
        **keys,
    }


def bus(**keys: Any) -> dict[str, Any]:
    return {
        "_name": "thunderboltusb4_bus_2",
        "device_name_key": "Mac Studio",
        "domain_uuid_key": OWN,
        "receptacle_1_tag": tag(),
        "route_string_key": "0",
        "switch_uid_key": "0x05AC3111C304E482",
        "vendor_name_key": "Apple Inc.",
        **keys,
    }


def peer(*protocols: int) -> dict[str, Any]:
    services = [{"_name": "service", "protocol_id_key": number} for number in protocols]
    return {
        "_name": "Mac mini",
        "device_name_key": "Mac16,11",
        "domain_uuid_key": PEER,
        "services_title": services,
    }


def device(name: str, route: str, *items: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"_name": name, "device_name_key": name, "route_string_key": route}
    return {**found, "_items": list(items)} if items else found


def parse(*buses: Any) -> Parsed[Buses]:
    return parse_system_profiler(json.dumps({"SPThunderboltDataType": list(buses)}).encode())


def one_bus(*buses: Any) -> Bus:
    (found,) = parse(*buses).value.buses
    return found


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != key}


def test_a_bus_with_a_peer() -> None:
    assert parse(bus(_items=[peer(1, 64087)])) == Parsed(
        Buses(
            (
                Bus(
                    UUID(OWN),
                    (BusReceptacle(1, "3", True, 80, None),),
                    (AttachedPeer(UUID(PEER), "Mac16,11", offers_rdma=True),),
                    (),
                    "0x05AC3111C304E482",
                ),
            )
        )
    )


def test_rdma_is_told_by_the_number_of_the_service() -> None:
    assert not one_bus(bus(_items=[peer(1)])).peers[0].offers_rdma


def test_peers_are_found_at_any_depth_with_the_way_to_them() -> None:
    nested = device("Panel 32", "1", device("Dock", "301", peer(1)), device("SSD", "501"))
    found = one_bus(bus(_items=[nested]))
    assert found.peers == (AttachedPeer(UUID(PEER), "Mac16,11", ("Panel 32", "Dock"), tag=1),)
    assert found.devices == (
        AttachedDevice("Panel 32", 0, 1),
        AttachedDevice("Dock", 1, 1),
        AttachedDevice("SSD", 1, 1),
    )


def test_the_receptacle_is_named_by_its_own_key_and_not_by_its_tag() -> None:
    found = one_bus(
        bus(
            receptacle_1_tag=tag("2", receptacle_status_key="receptacle_no_devices_connected"),
            receptacle_2_tag=tag("1", current_speed_key="Up to 40 Gb/s x1"),
        )
    )
    assert found.receptacles == (
        BusReceptacle(1, "2", False, 80, None),
        BusReceptacle(2, "1", True, None, 40),
    )


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("Up to 120 Gb/s", (None, 120)),
        ("Up to 40 Gb/s x1", (None, 40)),
        ("80 Gb/s", (80, None)),
        ("20 Gb/s x2", (20, None)),
        ("80Gb/s", None),
        ("80 Gb/s or so", None),
        ("-1 Gb/s", None),
        ("123456 Gb/s", None),
    ],
)
def test_speeds(text: str, speed: tuple[int | None, int | None] | None) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("listed", [[], [{"Thunderbolt": "no_hardware"}]])
def test_no_thunderbolt_is_normal(listed: list[Any]) -> None:
    assert parse(*listed) == Parsed(Buses(()))


def test_a_bus_without_a_domain_uuid_is_left_out_and_said_so() -> None:
    found = parse(without(bus(), "domain_uuid_key"), bus())
    assert len(found.value.buses) == 1
    assert found.value.problems == (f"{AT} has no domain UUID; its ports were left out.",)


def test_a_receptacle_without_a_number_is_kept_nameless_and_said_so() -> None:
    found = parse(bus(receptacle_1_tag=without(tag(), "receptacle_id_key")))
    assert found.value.buses[0].receptacles == (BusReceptacle(1, "", True, 80, None),)
    assert found.value.problems == (
        f"{AT}.receptacle_1_tag does not say which port it is; it was left out.",
    )


def test_a_receptacle_under_an_unknown_key_counts() -> None:
    found = parse(bus(receptacle_nine=tag("9")))
    assert [each.label for each in found.value.buses[0].receptacles] == ["3", "9"]
    assert found.notes == (f"{AT}.receptacle_nine",)


def test_what_is_unknown_and_not_used_is_noted() -> None:
    strange = tag(current_speed_key="fast", receptacle_status_key="half_in", colour="blue")
    found = parse(bus(receptacle_1_tag=strange, switch_uid_key="0xZZ", mood="good"))
    assert found.notes == (
        f"{AT}.mood",
        f"{AT}.receptacle_1_tag.colour",
        f"{AT}.receptacle_1_tag.receptacle_status_key: half_in",
        f"{AT}.receptacle_1_tag.current_speed_key: fast",
        f"{AT}.switch_uid_key: 0xZZ",
    )
    assert found.value.buses[0].receptacles == (BusReceptacle(1, "3"),)
    assert found.value.buses[0].switch_uid == ""


@pytest.mark.parametrize(
    ("listed", "at"),
    [
        ([3], AT),
        ([bus(domain_uuid_key='"]; x [label="')], f"{AT}.domain_uuid_key"),
        ([bus(domain_uuid_key=7)], f"{AT}.domain_uuid_key"),
        ([bus(receptacle_1_tag="3")], f"{AT}.receptacle_1_tag"),
        ([bus(receptacle_1_tag=tag("3; reboot"))], f"{AT}.receptacle_1_tag.receptacle_id_key"),
        ([bus(receptacle_1_tag=tag(""))], f"{AT}.receptacle_1_tag.receptacle_id_key"),
        ([bus(_items={})], f"{AT}._items"),
        ([bus(_items=[[]])], f"{AT}._items[0]"),
        ([bus(_items=[{"domain_uuid_key": "x"}])], f"{AT}._items[0].domain_uuid_key"),
        ([bus(_items=[device("D", "1", {"domain_uuid_key": None})])],
         f"{AT}._items[0]._items[0].domain_uuid_key"),
        ([bus(_items=[peer() | {"services_title": 1}])], f"{AT}._items[0].services_title"),
        ([bus(_items=[peer() | {"services_title": [1]}])], f"{AT}._items[0].services_title[0]"),
    ],
)  # fmt: skip
def test_a_value_we_use_and_can_not_read_is_named_by_its_path(listed: list[Any], at: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse(*listed)
    assert caught.value.at == at


@pytest.mark.parametrize(
    ("stdout", "what"),
    [
        (b"", "not JSON"),
        (b"Thunderbolt/USB4:\n\n    Thunderbolt/USB4 Bus 1:\n", "not JSON"),
        (b'{"SPThunderboltDataType" : [', "not JSON"),
        (b'{"SPThunderboltDataType": [], "SPThunderboltDataType": []}', "a key is repeated"),
        (b"[" * 100_000, "not JSON"),
        (b'{"SPThunderboltDataType": ' + b"9" * 5_000 + b"}", "not JSON|a list of buses"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "an object with SPThunderboltDataType"),
        (b'{"SPUSBDataType": []}', "an object with SPThunderboltDataType"),
        (b'{"SPThunderboltDataType": {}}', "a list of buses"),
    ],
)
def test_what_is_no_listing_is_refused(stdout: bytes, what: str) -> None:
    with pytest.raises(UnexpectedOutput, match=what):
        parse_system_profiler(stdout)


def test_free_text_is_kept_and_half_a_surrogate_pair_is_not() -> None:
    listing = {"SPThunderboltDataType": [bus(_items=[device("[red]\x1b[2J\ud800Dock", "1")])]}
    found = parse_system_profiler(json.dumps(listing).encode()).value.buses[0]
    assert found.devices == (AttachedDevice("[red]\x1b[2J?Dock", 0, 1),)


def test_deep_nesting_is_walked_without_recursion() -> None:
    inner = peer(1)
    for depth in range(300):
        inner = device(f"D{depth}", "1", inner)
    assert len(one_bus(bus(_items=[inner])).peers[0].via) == 300


def xml(*entries: Any) -> bytes:
    return plistlib.dumps(list(entries))


def test_the_property_list_says_the_same_one_level_deeper() -> None:
    listed = [bus(_items=[peer(1)])]
    hints = {"receptacle_1_tag": {"_order": "60"}}
    entry = {"_dataType": "SPThunderboltDataType", "_items": listed, "_properties": hints}
    assert parse_system_profiler_xml(xml(entry)) == parse(*listed)


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"usage: system_profiler",
        xml(),
        xml({"_dataType": "SPUSBDataType", "_items": []}),
        xml({"_dataType": "SPThunderboltDataType", "_items": "none"}),
        plistlib.dumps({"_dataType": "SPThunderboltDataType"}),
    ],
)
def test_what_is_no_such_property_list_is_refused(stdout: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_system_profiler_xml(stdout)
