"""Which interface each Thunderbolt receptacle has; no single command always says it.

The interface is found in the first of these that names it:

* ``ioreg``, which is not translated;
* ``networksetup``: ``Thunderbolt N``, or a translated name ending in N;
* what configd stored, which may be stale;
* ``ibv_devices``: a node GUID is the switch UID with its bytes reversed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from distconfig.probes.ibv_devices import RdmaDevice, reverse_guid
from distconfig.probes.ioreg_ports import IoregPort
from distconfig.probes.network_interfaces import StoredInterface
from distconfig.probes.networksetup_ports import HardwarePort
from distconfig.probes.thunderbolt_buses import Bus

__all__ = ["InterfaceSources", "NamedInterfaces", "name_interfaces"]

_INTERFACE = re.compile(r"en[0-9]{1,4}")
_PORT_NAME = re.compile(r"Thunderbolt (?P<label>[0-9]{1,3})")
_TRANSLATED_PORT_NAME = re.compile(r".*[^0-9](?P<label>[0-9]{1,3})")
_PORT_MAC_PREFIXES = ("36:", "82:")  # Apple silicon and Intel, of Thunderbolt ports only


@dataclass(frozen=True)
class InterfaceSources:
    """Everything that may name the interface of a receptacle.

    Args:
        known_interfaces: What ``ifconfig`` lists; None if that is not known.
    """

    ioreg: Sequence[IoregPort] = ()
    hardware_ports: Sequence[HardwarePort] = ()
    stored: Sequence[StoredInterface] = ()
    rdma_devices: Sequence[RdmaDevice] = ()
    known_interfaces: frozenset[str] | None = None


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Label to interface, without the labels that are given two interfaces."""
    found: dict[str, set[str]] = {}
    for label, interface in pairs:
        if _INTERFACE.fullmatch(interface):
            found.setdefault(label, set()).add(interface)
    return {label: names.pop() for label, names in found.items() if len(names) == 1}


def _named_ports(ports: Sequence[HardwarePort]) -> dict[str, str]:
    """Label to interface by the names of network ports, translated ones if there are no others.

    A name ending in a number is taken for a translation only if the MAC address
    is of the kind that Thunderbolt ports have: a dock's network card may be
    called "Thunderbolt Ethernet Slot 1, Port 1".
    """
    named = [(_PORT_NAME.fullmatch(port.name), port) for port in ports]
    if not any(found for found, _ in named):
        named = [
            (_TRANSLATED_PORT_NAME.fullmatch(port.name), port)
            for port in ports
            if port.mac.startswith(_PORT_MAC_PREFIXES)
        ]
    return _unambiguous((found["label"], port.device) for found, port in named if found)


def _guid_ports(buses: Sequence[Bus], devices: Sequence[RdmaDevice]) -> dict[str, str]:
    by_uid = {int(reverse_guid(each.node_guid), 16): each.interface for each in devices}
    return _unambiguous(
        (bus.receptacles[0].label, by_uid[int(bus.switch_uid, 16)])
        for bus in buses
        if len(bus.receptacles) == 1 and bus.switch_uid and int(bus.switch_uid, 16) in by_uid
    )


@dataclass(frozen=True)
class NamedInterfaces:
    """What became of each receptacle, by label.

    Args:
        names: The interface, where there is one.
        reasons: Why there is none, for all the others.
        problems: Sentences about sources that contradict each other.
    """

    names: Mapping[str, str]
    reasons: Mapping[str, str]
    problems: tuple[str, ...] = ()


def name_interfaces(buses: Sequence[Bus], sources: InterfaceSources) -> NamedInterfaces:
    """The interface of each receptacle, else the reason why it has none."""
    by_ioreg = _unambiguous((port.label, port.interface) for port in sources.ioreg)
    by_name = _named_ports(sources.hardware_ports)
    by_store = _unambiguous((each.label, each.interface) for each in sources.stored)
    by_guid = _guid_ports(buses, sources.rdma_devices)
    names: dict[str, str] = {}
    reasons: dict[str, str] = {}
    problems = []
    labels = [each.label for bus in buses for each in bus.receptacles if each.label]
    for label in labels:
        found = [table[label] for table in (by_ioreg, by_name, by_store, by_guid) if label in table]
        if label in by_ioreg and by_name.get(label, by_ioreg[label]) != by_ioreg[label]:
            problems.append(
                f"networksetup says that port {label} is {by_name[label]}, ioreg that it is"
                f" {by_ioreg[label]}; ioreg is believed."
            )
        if not found:
            reasons[label] = "neither ioreg nor networksetup names an interface for it"
        elif sources.known_interfaces is not None and found[0] not in sources.known_interfaces:
            reasons[label] = f"it should be {found[0]}, which ifconfig does not list"
        else:
            names[label] = found[0]
    for interface, claims in Counter(names.values()).items():
        if claims > 1:
            rivals = [label for label, name in names.items() if name == interface]
            for label in rivals:
                del names[label]
                reasons[label] = (
                    f"ports {' and '.join(rivals)} claim the same interface, {interface}"
                )
    return NamedInterfaces(names, reasons, tuple(problems))
