"""Thunderbolt buses as system_profiler lists them: receptacles, and what is attached to them.

Raw keys are not translated. What is relied on, seen in recordings that users of
mlx, exo, osaurus and others published:

* On Apple silicon a bus has one receptacle and a domain UUID of its own. On
  Intel a bus has two, which share its UUID; the number in ``receptacle_1_tag``
  is not that of the receptacle, ``receptacle_id_key`` is.
* An item with ``domain_uuid_key`` is a peer host, at any depth below docks and
  displays; any other item is a device (ml-explore/mlx issue 2538).
* Service 64087 means that the *peer* has RDMA switched on.
* The first hop of an item's route string is 1 below ``receptacle_1_tag`` and 3
  below ``receptacle_2_tag`` (Intel). Peers print no route.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from distconfig.probes.parsed import Parsed, misunderstood, parse_uuid

__all__ = [
    "AttachedDevice",
    "AttachedPeer",
    "Bus",
    "BusReceptacle",
    "Buses",
    "parse_buses",
    "parse_speed",
]

_RDMA_PROTOCOL = 64087
_LABEL = re.compile(r"[A-Za-z0-9._-]{1,16}")
_SPEED = re.compile(r"(?P<ceiling>Up to )?(?P<gbps>[0-9]{1,4}) Gb/s( x[0-9])?")
_SWITCH_UID = re.compile(r"0x[0-9A-Fa-f]{1,16}")
_ROUTE = re.compile(r"[0-9A-Fa-f]{1,16}")
_TAG = re.compile(r"receptacle_(?P<number>[0-9])_tag")
_TAG_OF_HOP = {1: 1, 3: 2}
_STATUSES = {"receptacle_connected": True, "receptacle_no_devices_connected": False}

# Keys seen in recordings; any other is noted.
_BUS_KEY = re.compile(
    r"_items|_name|current_link_width_key|device_name_key|domain_uuid_key|receptacle_[12]_tag"
    r"|route_string_key|switch_uid_key|switch_version_key|vendor_name_key"
)
_TAG_KEY = re.compile(
    r"current_link_width_key|current_speed_key|l[cr]_version_key|link_status_key"
    r"|micro_version_key|near_cm_version_key|pm_version_key|port_mode_key"
    r"|receptacle_(id|status)_key"
)


@dataclass(frozen=True)
class BusReceptacle:
    """One receptacle of a bus.

    Args:
        tag: 1 or 2, the number in the name of its key; not that of the receptacle.
        label: The number that macOS gives the receptacle; empty if it gives none.
        is_connected: Something is plugged in; None if the status is missing or unknown.
    """

    tag: int
    label: str
    is_connected: bool | None = None
    link_gbps: int | None = None
    ceiling_gbps: int | None = None


@dataclass(frozen=True)
class AttachedPeer:
    """A peer host on a bus.

    Args:
        via: Names of the devices passed on the way, nearest first.
        tag: The receptacle's tag, where a route string gives it away.
    """

    domain_uuid: UUID
    model: str = ""
    via: tuple[str, ...] = ()
    offers_rdma: bool = False
    tag: int | None = None


@dataclass(frozen=True)
class AttachedDevice:
    """A dock, display or drive on a bus, at any depth."""

    name: str
    depth: int = 0
    tag: int | None = None


@dataclass(frozen=True)
class Bus:
    """One Thunderbolt controller."""

    domain_uuid: UUID
    receptacles: tuple[BusReceptacle, ...]
    peers: tuple[AttachedPeer, ...] = ()
    devices: tuple[AttachedDevice, ...] = ()
    switch_uid: str = ""


@dataclass(frozen=True)
class Buses:
    """Every bus that could be used, and sentences about those that could not."""

    buses: tuple[Bus, ...]
    problems: tuple[str, ...] = ()


def parse_speed(text: str) -> tuple[int | None, int | None] | None:
    """Speed of the link and ceiling of the port, in Gb/s, either possibly not known.

    None for a text that is neither. "Up to" is a ceiling and says nothing about
    the link: macOS 13 and older, and Intel, print it while connected, too.

    Example:
        >>> parse_speed("80 Gb/s"), parse_speed("Up to 40 Gb/s x1"), parse_speed("fast")
        ((80, None), (None, 40), None)
    """
    found = _SPEED.fullmatch(text)
    if found is None:
        return None
    gbps = int(found["gbps"])
    return (None, gbps) if found["ceiling"] else (gbps, None)


class _Reader:
    """Reads buses, collecting notes and problems on the way."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.problems: list[str] = []

    def note_unknown_keys(self, value: dict[str, Any], known: re.Pattern[str], at: str) -> None:
        self.notes.extend(f"{at}.{key[:40]}" for key in value if not known.fullmatch(key))

    def receptacle(self, tag: dict[str, Any], number: int, at: str) -> BusReceptacle:
        self.note_unknown_keys(tag, _TAG_KEY, at)
        label = _text(tag, "receptacle_id_key", at)
        if "receptacle_id_key" not in tag:
            self.problems.append(f"{at} does not say which port it is; it was left out.")
        elif not _LABEL.fullmatch(label):
            raise misunderstood("not the number of a receptacle", f"{at}.receptacle_id_key")
        status = tag.get("receptacle_status_key")
        is_connected = _STATUSES.get(status) if isinstance(status, str) else None
        if is_connected is None and status is not None:
            self.notes.append(f"{at}.receptacle_status_key: {str(status)[:40]}")
        speed = tag.get("current_speed_key")
        parsed = parse_speed(speed) if isinstance(speed, str) else (None, None)
        if parsed is None:
            self.notes.append(f"{at}.current_speed_key: {str(speed)[:40]}")
            parsed = (None, None)
        return BusReceptacle(number, label, is_connected, *parsed)

    def bus(self, value: Any, at: str) -> Bus | None:
        entry = _dictionary(value, at)
        if "Thunderbolt" in entry and "domain_uuid_key" not in entry:
            return None  # {"Thunderbolt": "no_hardware"}
        self.note_unknown_keys(entry, _BUS_KEY, at)
        if "domain_uuid_key" not in entry:
            self.problems.append(f"{at} has no domain UUID; its ports were left out.")
            return None
        domain_uuid = parse_uuid(_text(entry, "domain_uuid_key", at), f"{at}.domain_uuid_key")
        receptacles = [
            self.receptacle(tag, number, f"{at}.{key}") for key, number, tag in _tags(entry, at)
        ]
        attached = list(_walk_items(entry, at))
        return Bus(
            domain_uuid,
            tuple(receptacles),
            tuple(each for each in attached if isinstance(each, AttachedPeer)),
            tuple(each for each in attached if isinstance(each, AttachedDevice)),
            self.switch_uid(entry, at),
        )

    def switch_uid(self, entry: dict[str, Any], at: str) -> str:
        word = entry.get("switch_uid_key", "")
        if isinstance(word, str) and (not word or _SWITCH_UID.fullmatch(word)):
            return word
        self.notes.append(f"{at}.switch_uid_key: {str(word)[:40]}")
        return ""


def _dictionary(value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise misunderstood(f"an object was expected, not {type(value).__name__}", at)
    return value


def _list(entry: dict[str, Any], key: str, at: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise misunderstood(f"a list was expected, not {type(value).__name__}", f"{at}.{key}")
    return value


def _text(entry: dict[str, Any], key: str, at: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise misunderstood(f"a text was expected, not {type(value).__name__}", f"{at}.{key}")
    return value.encode("utf-8", "replace").decode()  # JSON may hold half of a surrogate pair


def _tags(bus: dict[str, Any], at: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Key, number and value of each receptacle; one that is not named as such has number 0."""
    for key, value in bus.items():
        named = _TAG.fullmatch(key)
        if named is not None:
            yield key, int(named["number"]), _dictionary(value, f"{at}.{key}")
        elif isinstance(value, dict) and "receptacle_id_key" in value:
            yield key, 0, value


def _tag_of_route(item: dict[str, Any], at: str) -> int | None:
    route = _text(item, "route_string_key", at)
    if not _ROUTE.fullmatch(route):
        return None
    return _TAG_OF_HOP.get(int(route, 16) & 0xFF)


def _offers_rdma(item: dict[str, Any], at: str) -> bool:
    services = _list(item, "services_title", at)
    return any(
        _dictionary(service, f"{at}.services_title[{place}]").get("protocol_id_key")
        == _RDMA_PROTOCOL
        for place, service in enumerate(services)
    )


def _walk_items(bus: dict[str, Any], at: str) -> Iterator[AttachedPeer | AttachedDevice]:
    """Every item below a bus, without recursion, with the devices passed to get there."""
    waiting: deque[tuple[Any, str, tuple[str, ...], int | None]] = deque(
        (item, f"{at}._items[{place}]", (), None)
        for place, item in enumerate(_list(bus, "_items", at))
    )
    while waiting:
        value, where, via, tag = waiting.popleft()
        item = _dictionary(value, where)
        tag = tag or _tag_of_route(item, where)
        name = _text(item, "device_name_key", where)
        if "domain_uuid_key" in item:
            word = _text(item, "domain_uuid_key", where)
            domain_uuid = parse_uuid(word, f"{where}.domain_uuid_key")
            yield AttachedPeer(domain_uuid, name, via, _offers_rdma(item, where), tag)
            continue
        name = name or _text(item, "_name", where)
        yield AttachedDevice(name, len(via), tag)
        waiting.extend(
            (below, f"{where}._items[{place}]", (*via, name), tag)
            for place, below in enumerate(_list(item, "_items", where))
        )


def parse_buses(listed: Any, at: str) -> Parsed[Buses]:
    """The buses of a decoded listing; none on a machine without Thunderbolt.

    Args:
        at: Where the listing stands in the output, for messages.

    Raises:
        UnexpectedOutput: A value that carries a fact we use can not be read.
    """
    if not isinstance(listed, list):
        raise misunderstood("a list of buses was expected", at)
    reader = _Reader()
    found = [reader.bus(value, f"{at}[{place}]") for place, value in enumerate(listed)]
    buses = tuple(bus for bus in found if bus is not None)
    return Parsed(Buses(buses, tuple(reader.problems)), tuple(reader.notes))
