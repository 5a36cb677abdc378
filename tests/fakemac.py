"""Imagined Macs, and what every probe prints on them.

    studio1, studio2 = Mac("studio1"), Mac("studio2")
    connect(studio1, 1, studio2, 3)
    studio1.answer("system_profiler")      # a Completed with the real format in stdout

A `Mac` is a plain value to be changed at will (``bridge = None``, ``sudo =
"password"``, ``connect``, ``disconnect``); nothing is cached, so every answer
is rendered from the state of that moment. Identifiers come from a hash of the
name and are the same in every run; ``identifiers`` overrides them one by one.
State that lives elsewhere, such as a real kernel's addresses, is passed in:
``answer("ifconfig", interfaces=..., routes=...)``.

The layouts (which interfaces a model has, in which order) are those of
published recordings; the text itself is made in `tests.macos_output`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from typing import Any
from uuid import UUID

from distconfig.hosts.shell import Completed
from distconfig.probes import is_wanted, probes_for
from tests.fakemac_answers import answer_probe
from tests.fakemac_models import MODELS
from tests.fakemac_network import Bridge, Nic, interface_list, route_list
from tests.fakemac_thunderbolt import Device, PeerAt, display, dock, drive, peers_behind
from tests.macos_output import Inet, Inet6, Interface, NetRoute, Vlan

__all__ = [
    "MODELS",
    "Bridge",
    "Device",
    "LinuxHost",
    "Mac",
    "Nic",
    "PeerAt",
    "connect",
    "connect_through",
    "disconnect",
    "display",
    "dock",
    "drive",
    "loop",
    "see_peer",
]


_LAN = IPv4Interface("192.168.1.21/24")


@dataclass
class LinuxHost:
    """A Linux machine, of which only what a Mac sees of it and what it is are known."""

    name: str
    domain_uuid: str = ""
    kernel: str = "6.12.9-generic"
    has_linux_vendor: bool = False  # kernels from 6.17 on announce the Linux Foundation's id
    ssh_connection: str = "192.168.1.10 52144 192.168.1.90 22"
    rdma: None = None

    def as_peer(self, _receptacle: int) -> dict[str, str]:
        """What a Mac lists of this host, besides its services."""
        return {
            "_name": self.name,
            "device_name_key": self.name,
            "device_id_key": "0x4" if self.has_linux_vendor else "0x1",
            "domain_uuid_key": self.domain_uuid.upper(),
            "vendor_id_key": "0x1D6B" if self.has_linux_vendor else "0x8086",
            "vendor_name_key": "Linux" if self.has_linux_vendor else "Intel Corp.",
        }

    def answer(self, probe: str) -> Completed:
        """What a probe prints here."""
        outputs = {
            "uname": f"Linux {self.kernel} x86_64\n",
            "ssh_connection": f"{self.ssh_connection}\n",
        }
        argv = next(each.argv for each in probes_for("Linux") if each.name == probe)
        return Completed(argv, 0, outputs[probe].encode())

    def answers(self) -> dict[str, Completed]:
        """Every probe that runs here, by name."""
        return {probe.name: self.answer(probe.name) for probe in probes_for("Linux")}


@dataclass(eq=False)
class Mac:
    """One Mac, and all of its state that any probe shows.

    Args:
        name: Its host name; also the seed of every identifier.
        macos: Decides the kernel, the build and whether RDMA tools exist.
        interfaces: Receptacle to BSD name, to differ from the model's; a receptacle
            left out has no interface.
        language: Of the port names: ``en``, ``de`` or ``zh``.
        rdma: ``enabled``, ``disabled``, or None where the tools do not exist.
        bridge: None where the automatic bridge was removed.
        addresses: Interface to what was assigned to it, in printed order.
        port_services: Names of services made for single ports, by interface.
        sudo: ``free``, ``password``, ``absent`` (no sudo at all), or the commands
            that are allowed without a password.
        routes: Beyond those that follow from addresses.
        missing: Probes whose command does not exist or fails.
    """

    name: str
    model: str = "Mac16,9"
    macos: str = "26.4"
    interfaces: dict[int, str] = field(default_factory=dict)
    language: str = "en"
    rdma: str | None = "default"
    bridge: Bridge | None = field(default_factory=Bridge)
    lan: IPv4Interface | None = _LAN
    gateway: str = "192.168.1.1"
    addresses: dict[str, tuple[Inet | Inet6, ...]] = field(default_factory=dict)
    mtus: dict[str, int] = field(default_factory=dict)
    nics: list[Nic] = field(default_factory=list)
    vlans: list[Vlan] = field(default_factory=list)
    port_services: dict[str, str] = field(default_factory=dict)
    disabled_services: set[str] = field(default_factory=set)
    sudo: str | tuple[str, ...] = "free"
    user: str = "ada"
    routes: list[NetRoute] = field(default_factory=list)
    ssh_connection: str | None = ""
    used_before: set[int] = field(default_factory=set)
    attached: dict[int, Device | PeerAt] = field(default_factory=dict)
    identifiers: Mapping[tuple[str | int, ...], str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        names = MODELS[self.model].interfaces
        if not self.interfaces:
            self.interfaces = dict(enumerate(names, 1))
        if self.rdma == "default":
            self.rdma = "enabled" if self.generation == 5 and self.version >= (26, 2) else None
        if self.ssh_connection == "" and self.lan is not None:
            self.ssh_connection = f"192.168.1.10 52144 {self.lan.ip} 22"

    @classmethod
    def vm(cls, name: str, **state: Any) -> Mac:
        """A virtual machine: no Thunderbolt at all, one Ethernet."""
        state = {"bridge": None, "rdma": None, "macos": "15.6", **state}
        return cls(name, "VirtualMac2,1", **state)

    # Identity

    @property
    def has_thunderbolt(self) -> bool:
        """It has receptacles at all."""
        return bool(MODELS[self.model].interfaces)

    @property
    def version(self) -> tuple[int, ...]:
        """macOS version as numbers."""
        return tuple(int(part) for part in self.macos.split("."))

    @property
    def generation(self) -> int:
        """Thunderbolt generation."""
        return MODELS[self.model].generation

    @property
    def family(self) -> str:
        """Marketing name of the model."""
        return MODELS[self.model].family

    @property
    def is_intel(self) -> bool:
        """Two receptacles share a bus here."""
        return self.generation == 3

    @property
    def receptacles(self) -> range:
        """Numbers of the receptacles."""
        return range(1, len(MODELS[self.model].interfaces) + 1)

    def digest(self, *key: str | int) -> bytes:
        """32 bytes that depend on the host and the purpose alone."""
        return hashlib.sha256(repr((self.name, *key)).encode()).digest()

    def _identifier(self, made: str, *key: str | int) -> str:
        return self.identifiers.get(key, made)

    def uuid(self, *key: str | int) -> str:
        """The UUID for a purpose, in upper case."""
        made = str(UUID(bytes=self.digest(*key)[:16], version=4)).upper()
        return self._identifier(made, *key)

    def mac_address(self, *key: str | int, prefix: str = "02", octets: int = 6) -> str:
        """The MAC address for a purpose, or its first octets."""
        digest = self.digest(*key)
        made = ":".join([prefix, *(f"{byte:02x}" for byte in digest[: octets - 1])])
        return self._identifier(made, *key)

    def link_local(self, interface: str) -> Inet6:
        """The IPv6 address an interface gives itself."""
        words = [self.digest("inet6", interface)[at : at + 2].hex() for at in (0, 2, 4, 6)]
        made = "fe80::" + ":".join(word.lstrip("0") or "0" for word in words)
        return Inet6(
            self._identifier(made, "inet6", interface),
            secured=not interface.startswith(("lo", "awdl", "utun")),
        )

    def bus_of(self, receptacle: int) -> int:
        """Number of the bus behind a receptacle."""
        return (receptacle - 1) // 2 if self.is_intel else receptacle - 1

    def domain_uuid(self, receptacle: int) -> str:
        """The domain UUID of a receptacle, which an Intel Mac's two of a bus share."""
        return self.uuid("domain", self.bus_of(receptacle))

    def switch_uid(self, bus: int) -> int:
        """The switch UID of a bus; on Apple silicon its last digit counts the buses."""
        if self.is_intel:
            made = f"0x0001{self.digest('switch', bus)[:6].hex().upper()}"
            return int(self._identifier(made, "switch", bus), 16)
        made = f"0x05AC{self.digest('switch')[:5].hex().upper()}80"
        return int(self._identifier(made, "switch"), 16) + bus

    def port_mac(self, receptacle: int) -> str:
        """The MAC address of a receptacle's interface."""
        if self.is_intel:
            base = self.mac_address("port_mac", prefix="82", octets=5)
            return f"{base}:{(receptacle - 1) // 2 * 4 + receptacle % 2:02x}"
        base = self.mac_address("port_mac", prefix="36", octets=5)
        return f"{base}:{(receptacle - 1) * 4:02x}"

    def as_peer(self, receptacle: int) -> dict[str, str]:
        """What a Mac at the other end of a cable lists of this one, besides its services."""
        return {
            "_name": self.family,
            "device_name_key": self.model,
            "device_id_key": "0xA",
            "domain_uuid_key": self.domain_uuid(receptacle),
            "vendor_id_key": "0x0A27",
            "vendor_name_key": "Apple Inc.",
        }

    # Network

    @property
    def wifi(self) -> str:
        """BSD name of Wi-Fi; empty in a virtual machine."""
        return MODELS[self.model].wifi if self.has_thunderbolt else ""

    @property
    def adapters(self) -> tuple[str, ...]:
        """Names of the internal Ethernet functions of the Type-C ports (Apple silicon only)."""
        if self.is_intel or not self.has_thunderbolt:
            return ()
        taken = {"en0", self.wifi, *MODELS[self.model].interfaces}
        free = (f"en{number}" for number in range(64) if f"en{number}" not in taken)
        return tuple(next(free) for _ in self.receptacles)

    def members_of(self, bridge: Bridge) -> tuple[str, ...]:
        """Members of a bridge: those given, or every port without a service of its own."""
        if bridge.members is not None:
            return bridge.members
        return tuple(name for name in self.interfaces.values() if name not in self.port_services)

    def has_active_peer(self, receptacle: int) -> bool:
        """A peer host is at the other end, directly or behind docks."""
        return any(True for _ in peers_behind(self.attached.get(receptacle)))

    def interface_list(self) -> list[Interface]:
        """Every interface, in the order in which ``ifconfig -a`` lists them."""
        return interface_list(self)

    def route_list(self, interfaces: Sequence[Interface] | None = None) -> list[NetRoute]:
        """The IPv4 routes that follow from the addresses, then the further ones."""
        return route_list(self, interfaces)

    def rdma_devices(self) -> list[tuple[str, str]]:
        """(name, node GUID) of every RDMA device; none while RDMA is off."""
        if self.rdma != "enabled":
            return []
        return [
            (f"rdma_{name}", self.switch_uid(self.bus_of(number)).to_bytes(8, "little").hex())
            for number, name in self.interfaces.items()
        ]

    # Answers

    def answer(
        self,
        probe: str,
        *,
        interfaces: Sequence[Interface] | None = None,
        routes: Sequence[NetRoute] | None = None,
    ) -> Completed:
        """What a probe prints here.

        Args:
            interfaces: Live state for ``ifconfig`` and ``netstat`` instead of our own.
            routes: Live state for ``netstat``.
        """
        return answer_probe(self, probe, interfaces, routes)

    def answers(self) -> dict[str, Completed]:
        """Every probe a round over this host would run, by name."""
        answers: dict[str, Completed] = {}
        for probe in probes_for("Darwin"):
            if is_wanted(probe, answers):
                answers[probe.name] = self.answer(probe.name)
        return answers


# Cables


def _default_gbps(a: Mac | LinuxHost, b: Mac | LinuxHost) -> int:
    is_fast = all(isinstance(each, Mac) and each.generation == 5 for each in (a, b))
    return 80 if is_fast else 40


def see_peer(
    seer: Mac, receptacle: int, peer: Mac | LinuxHost, at: int, *, gbps: int | None = None
) -> None:
    """One side of a cable: ``seer`` reports ``peer``'s receptacle ``at``."""
    seer.attached[receptacle] = PeerAt(peer, at, gbps or _default_gbps(seer, peer))


def connect(
    a: Mac, a_receptacle: int, b: Mac, b_receptacle: int, *, gbps: int | None = None
) -> None:
    """A cable between two hosts, reported by both."""
    see_peer(a, a_receptacle, b, b_receptacle, gbps=gbps)
    see_peer(b, b_receptacle, a, a_receptacle, gbps=gbps)


def loop(mac: Mac, one: int, other: int) -> None:
    """A cable from a Mac to itself."""
    connect(mac, one, mac, other)


def connect_through(
    device: Device, a: Mac, a_receptacle: int, b: Mac, b_receptacle: int, *, gbps: int = 80
) -> None:
    """A cable through a dock: ``a`` reports the peer behind it, ``b`` a plain peer."""
    device.items.append(PeerAt(b, b_receptacle, gbps))
    if device.downstream:
        used = f"{gbps} Gb/s"
        device.downstream = (used, *device.downstream[1:])
    a.attached[a_receptacle] = device
    see_peer(b, b_receptacle, a, a_receptacle, gbps=gbps)


def disconnect(mac: Mac, receptacle: int) -> None:
    """Pull whatever is in a receptacle; a peer's own end is pulled too."""
    attached = mac.attached.pop(receptacle, None)
    for peer in peers_behind(attached):
        if isinstance(peer.host, Mac):
            peer.host.attached.pop(peer.receptacle, None)
