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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Any
from uuid import UUID

from distconfig.probes import Probe, is_wanted, probes_for
from distconfig.shell import Completed
from tests.macos_output import (
    BROADCAST,
    LOOPBACK,
    MULTICAST,
    POINTOPOINT,
    PROMISC,
    RUNNING,
    SIMPLEX,
    SMART,
    UP,
    HardwarePort,
    Inet,
    Inet6,
    Interface,
    NetRoute,
    Service,
    Vlan,
    render_ibv_devices,
    render_ifconfig,
    render_netstat,
    render_networksetup_ports,
    render_networksetup_services,
    render_plist,
    render_system_profiler_json,
    render_system_profiler_xml,
)

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


@dataclass(frozen=True)
class Model:
    """What a model identifier stands for.

    Args:
        generation: 5, 4, or 3 for Intel, which has two receptacles per bus.
        interfaces: BSD name of each receptacle, in order of receptacles.
        wifi: BSD name of Wi-Fi; a model whose Wi-Fi is en0 has no Ethernet.
    """

    family: str
    generation: int
    interfaces: tuple[str, ...]
    wifi: str = "en1"


MODELS: dict[str, Model] = {
    "Mac15,14": Model("Mac Studio", 5, ("en2", "en3", "en4", "en5", "en6", "en7")),
    "Mac16,9": Model("Mac Studio", 5, ("en2", "en3", "en4", "en5")),
    "Mac16,11": Model("Mac mini", 5, ("en2", "en3", "en4")),
    "Mac16,10": Model("Mac mini", 4, ("en2", "en3", "en4")),
    "Mac14,3": Model("Mac mini", 4, ("en2", "en3")),
    "Macmini9,1": Model("Mac mini", 4, ("en2", "en3")),
    "Mac17,6": Model("MacBook Pro", 5, ("en1", "en6", "en2"), wifi="en0"),
    "Mac16,5": Model("MacBook Pro", 5, ("en1", "en2", "en3"), wifi="en0"),
    "Mac15,7": Model("MacBook Pro", 4, ("en1", "en2", "en3"), wifi="en0"),
    "MacBookPro16,1": Model("MacBook Pro", 3, ("en1", "en2", "en3", "en4"), wifi="en0"),
}

_LAN = IPv4Interface("192.168.1.21/24")
_BUILDS = {"26.4": "25E246", "27.0": "26A340", "15.6": "24G84", "13.6.7": "22G720"}

# Port names as configd translates them. German and English agree except for the bridge
# and Wi-Fi; the Chinese names were seen in public threads.
_PORT = {"en": "Thunderbolt {}", "de": "Thunderbolt {}", "zh": "雷雳 {}"}
_BRIDGE = {"en": "Thunderbolt Bridge", "de": "Thunderbolt-Bridge", "zh": "雷雳网桥"}
_WIFI = {"en": "Wi-Fi", "de": "WLAN", "zh": "Wi-Fi"}
_ETHERNET = {"en": "Ethernet", "de": "Ethernet", "zh": "以太网"}

_HARDWARE_OPTIONS = 0x567  # a built-in 10 Gb/s Ethernet port
_ADAPTER_OPTIONS = 0x400
_PORT_OPTIONS = 0x460
_RADIO_OPTIONS = 0x6460
_BRIDGE_OPTIONS = 0x63
_ORDINARY = UP | BROADCAST | SMART | RUNNING | SIMPLEX | MULTICAST


@dataclass
class Bridge:
    """A bridge of the kernel; configd's automatic one is ``bridge0``.

    Args:
        members: None means every Thunderbolt port without a service.
    """

    name: str = "bridge0"
    is_up: bool = True
    members: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Nic:
    """A further network card: in a dock, on USB, or a tunnel when ``mac`` is empty."""

    port_name: str
    interface: str
    mac: str = ""
    addresses: tuple[Inet, ...] = ()
    is_active: bool = True


@dataclass
class Device:
    """A dock, display or drive, and what hangs on it.

    Args:
        speed: Of its upstream link, as printed.
        firmware: The key and value of its receptacles' firmware version.
        downstream: Speed of each downstream receptacle, as printed; the first is number 2.
        has_downstream_firmware: Downstream receptacles print the firmware too.
        link_status: What the Mac's own receptacle prints for the link to it.
        items: Peers and devices behind it.
    """

    name: str
    vendor: str
    vendor_id: str
    device_id: str
    mode: str = "usb_four_v2"
    speed: str = "80 Gb/s"
    firmware: tuple[str, str] = ("micro_version_key", "1.9.0")
    downstream: tuple[str, ...] = ()
    has_downstream_firmware: bool = True
    link_status: str = "0x2"
    route: str = "1"
    switch_version: str = "62.1"
    switch_uid: str = ""
    link_width: str = ""
    items: list[Device | PeerAt] = field(default_factory=list)


def dock(name: str = "HarborDock 5") -> Device:
    """A Thunderbolt 5 dock with three downstream receptacles."""
    idle = ("Up to 120 Gb/s", "Up to 120 Gb/s", "Up to 120 Gb/s")
    return Device(
        name, "Imaginary Peripherals", "0x7E58", "0x0501", downstream=idle, link_status="0x4"
    )


def display(name: str = "Panel 27") -> Device:
    """A Thunderbolt 3 display with one downstream receptacle."""
    return Device(
        name,
        "Invented Displays",
        "0x7E59",
        "0x1114",
        mode="thunderbolt_three",
        speed="40 Gb/s",
        firmware=("lc_version_key", "1.45.0"),
        switch_version="33.1",
    )


def drive(name: str = "Vault Nine") -> Device:
    """A Thunderbolt 5 drive."""
    return Device(
        name,
        "Fictional Storage Co",
        "0x7E57",
        "0xD15C",
        firmware=("micro_version_key", "1.3.0"),
        switch_version="56.5",
    )


@dataclass(frozen=True)
class PeerAt:
    """A peer host, at one of its receptacles, and the speed of the link to it."""

    host: Mac | LinuxHost
    receptacle: int
    gbps: int


@dataclass
class LinuxHost:
    """A Linux machine, of which only what a Mac sees of it and what it is are known."""

    name: str
    domain_uuid: str = ""
    kernel: str = "6.12.9-generic"
    has_linux_vendor: bool = False  # kernels from 6.17 on announce the Linux Foundation's id
    ssh_connection: str = "192.168.1.10 52144 192.168.1.90 22"

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
        services: Names of services made for single ports, by interface.
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
    has_thunderbolt: bool = True

    def __post_init__(self) -> None:
        names = MODELS[self.model].interfaces
        if not self.interfaces and self.has_thunderbolt:
            self.interfaces = dict(enumerate(names, 1))
        if self.rdma == "default":
            self.rdma = "enabled" if self.generation == 5 and self.version >= (26, 2) else None
        if self.ssh_connection == "" and self.lan is not None:
            self.ssh_connection = f"192.168.1.10 52144 {self.lan.ip} 22"

    @classmethod
    def vm(cls, name: str, **state: Any) -> Mac:
        """A virtual machine: no Thunderbolt at all, one Ethernet."""
        state = {"bridge": None, "rdma": None, "macos": "15.6", **state}
        return cls(name, "Macmini9,1", has_thunderbolt=False, **state)

    # Identity

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
        return range(1, len(MODELS[self.model].interfaces) + 1 if self.has_thunderbolt else 1)

    def _digest(self, *key: str | int) -> bytes:
        return hashlib.sha256(repr((self.name, *key)).encode()).digest()

    def _identifier(self, made: str, *key: str | int) -> str:
        return self.identifiers.get(key, made)

    def uuid(self, *key: str | int) -> str:
        """The UUID for a purpose, in upper case."""
        made = str(UUID(bytes=self._digest(*key)[:16], version=4)).upper()
        return self._identifier(made, *key)

    def mac_address(self, *key: str | int, prefix: str = "02", octets: int = 6) -> str:
        """The MAC address for a purpose, or its first octets."""
        digest = self._digest(*key)
        made = ":".join([prefix, *(f"{byte:02x}" for byte in digest[: octets - 1])])
        return self._identifier(made, *key)

    def link_local(self, interface: str) -> Inet6:
        """The IPv6 address an interface gives itself."""
        words = [self._digest("inet6", interface)[at : at + 2].hex() for at in (0, 2, 4, 6)]
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
            made = f"0x0001{self._digest('switch', bus)[:6].hex().upper()}"
            return int(self._identifier(made, "switch", bus), 16)
        made = f"0x05AC{self._digest('switch')[:5].hex().upper()}80"
        return int(self._identifier(made, "switch"), 16) + bus

    def port_mac(self, receptacle: int) -> str:
        """The MAC address of a receptacle's interface."""
        if self.is_intel:
            base = self.mac_address("port_mac", prefix="82", octets=5)
            return f"{base}:{(receptacle - 1) // 2 * 4 + receptacle % 2:02x}"
        base = self.mac_address("port_mac", prefix="36", octets=5)
        return f"{base}:{(receptacle - 1) * 4:02x}"

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
        return any(True for _ in _peers_of(self.attached.get(receptacle)))

    def _port_interface(self, receptacle: int, name: str) -> Interface:
        is_member = self.bridge is not None and name in self.members_of(self.bridge)
        is_active = self.has_active_peer(receptacle)
        addresses = self.addresses.get(name, ())
        if is_active and not is_member and name not in self.addresses:
            addresses = (self.link_local(name),)
        return Interface(
            name,
            flags=_ORDINARY | (PROMISC if is_member else 0),
            mtu=self.mtus.get(name, 1500),
            options=_PORT_OPTIONS,
            mac=self.port_mac(receptacle),
            addresses=addresses,
            has_nd6=not is_member or bool(addresses),
            media="autoselect <full-duplex>",
            is_active=is_active,
        )

    def _bridge_interface(self, bridge: Bridge) -> Interface:
        members = self.members_of(bridge)
        receptacle_of = {name: number for number, name in self.interfaces.items()}
        is_active = bridge.is_up and any(
            self.has_active_peer(receptacle_of[name]) for name in members if name in receptacle_of
        )
        first = receptacle_of.get(members[0]) if members else None
        return Interface(
            bridge.name,
            flags=_ORDINARY if bridge.is_up else BROADCAST | SMART | SIMPLEX | MULTICAST,
            options=_BRIDGE_OPTIONS,
            mac=self.port_mac(first) if first else self.mac_address(bridge.name, prefix="36"),
            addresses=self.addresses.get(bridge.name, ()),
            members=members,
            media="autoselect" if is_active else "<unknown type>",
            is_active=is_active,
        )

    def _lan_addresses(self) -> tuple[Inet | Inet6, ...]:
        if self.lan is None:
            return ()
        return (self.link_local("en0"), Inet(self.lan), *self.addresses.get("en0", ()))

    def _adapter_interfaces(self) -> list[Interface]:
        base = self.mac_address("adapter_mac", prefix="9e", octets=5)
        return [
            Interface(
                name,
                options=_ADAPTER_OPTIONS,
                mac=f"{base}:{0x70 + place:x}",
                media="none",
                is_active=False,
            )
            for place, name in enumerate(self.adapters)
        ]

    def _internal_interfaces(self) -> list[Interface]:
        base = self.mac_address("adapter_mac", prefix="9e", octets=5)
        return [
            Interface(
                f"anpi{place}",
                options=_ADAPTER_OPTIONS,
                mac=f"{base}:{0x50 + place:x}",
                has_nd6=False,
                media="none",
                is_active=False,
            )
            for place in reversed(range(len(self.adapters)))
        ]

    def _radio_interfaces(self) -> list[Interface]:
        is_lan = self.wifi == "en0" and self.lan is not None
        wifi = Interface(
            self.wifi,
            options=_RADIO_OPTIONS,
            mac=self.mac_address("mac", "wifi"),
            addresses=self._lan_addresses() if is_lan else (),
            media="autoselect" if is_lan else "autoselect (<unknown type>)",
            is_active=is_lan,
        )
        awdl = Interface(
            "awdl0",
            flags=UP | BROADCAST | RUNNING | SIMPLEX | MULTICAST,
            options=_RADIO_OPTIONS,
            mac=self.mac_address("mac", "awdl0"),
            addresses=(self.link_local("awdl0"),),
            media="autoselect",
            is_active=True,
        )
        return [wifi, awdl]

    def _nic_interface(self, nic: Nic) -> Interface:
        if not nic.mac:
            tunnel = UP | POINTOPOINT | RUNNING | MULTICAST
            return Interface(nic.interface, tunnel, 1380, addresses=nic.addresses, has_nd6=False)
        return Interface(
            nic.interface,
            options=_ADAPTER_OPTIONS,
            mac=nic.mac,
            addresses=nic.addresses,
            media="autoselect (1000baseT <full-duplex>)" if nic.is_active else "autoselect (none)",
            is_active=nic.is_active,
        )

    def interface_list(self) -> list[Interface]:
        """Every interface, in the order in which ``ifconfig -a`` lists them."""
        loopback = Interface(
            "lo0",
            flags=UP | LOOPBACK | RUNNING | MULTICAST,
            mtu=16384,
            options=0x1203,
            addresses=(
                Inet(IPv4Interface("127.0.0.1/8")),
                Inet6("::1", 128, secured=False),
                Inet6("fe80::1", secured=False),
            ),
        )
        listed = [
            loopback,
            Interface("gif0", POINTOPOINT | MULTICAST, 1280, has_nd6=False),
            Interface("stf0", 0, 1280, has_nd6=False),
            *self._internal_interfaces(),
        ]
        if self.wifi != "en0":
            listed.append(
                Interface(
                    "en0",
                    options=_HARDWARE_OPTIONS,
                    mac=self.mac_address("mac", "en0"),
                    addresses=self._lan_addresses(),
                    media="autoselect (10Gbase-T <full-duplex,flow-control>)",
                    is_active=True,
                )
            )
        listed += self._adapter_interfaces()
        listed += [self._port_interface(*each) for each in self.interfaces.items()]
        if self.bridge is not None:
            listed.append(self._bridge_interface(self.bridge))
        if self.wifi:
            listed += self._radio_interfaces()
        listed.append(
            Interface(
                "utun0",
                UP | POINTOPOINT | RUNNING | MULTICAST,
                addresses=(self.link_local("utun0"),),
            )
        )
        return listed + [self._nic_interface(nic) for nic in self.nics]

    def route_list(self, interfaces: Sequence[Interface] | None = None) -> list[NetRoute]:
        """The IPv4 routes that follow from the addresses, then the further ones."""
        listed = list(interfaces if interfaces is not None else self.interface_list())
        routes: list[NetRoute] = []
        if self.lan is not None:
            routes.append(NetRoute(IPv4Network("0.0.0.0/0"), self.gateway, "UGScg", "en0"))
        routes.append(NetRoute(IPv4Network("127.0.0.0/8"), "127.0.0.1", "UCS", "lo0"))
        routes.append(NetRoute(IPv4Network("127.0.0.1/32"), "127.0.0.1", "UH", "lo0"))
        for number, each in enumerate(listed, 1):
            for entry in each.addresses:
                if isinstance(entry, Inet) and each.name != "lo0":
                    routes += _routes_of_address(each, entry, f"link#{each.index or number}")
        if self.lan is not None:
            number = next(at for at, each in enumerate(listed, 1) if each.name == "en0")
            link = f"link#{number}"
            gateway = IPv4Network(f"{self.gateway}/32")
            routes.append(NetRoute(IPv4Network("169.254.0.0/16"), link, "UCS", "en0", "!"))
            routes.append(NetRoute(gateway, "0:11:32:5:c7:9f", "UHLWIir", "en0", "1167"))
            routes.append(NetRoute(IPv4Network("224.0.0.0/4"), link, "UmCS", "en0", "!"))
            everybody = IPv4Network("255.255.255.255/32")
            routes.append(NetRoute(everybody, link, "UCS", "en0", "!"))
        return routes + self.routes

    # Ports and services as networksetup shows them

    def hardware_ports(self) -> list[HardwarePort]:
        """The blocks of ``networksetup -listallhardwareports``."""
        ports = {
            number: HardwarePort(_PORT[self.language].format(number), name, self.port_mac(number))
            for number, name in self.interfaces.items()
        }
        bridges = []
        if self.bridge is not None and self.bridge.name == "bridge0":
            mac = self.port_mac(min(ports)) if ports else "N/A"
            bridges = [HardwarePort(_BRIDGE[self.language], "bridge0", mac)]
        wifi = [HardwarePort(_WIFI[self.language], self.wifi, self.mac_address("mac", "wifi"))]
        nics = [HardwarePort(nic.port_name, nic.interface, nic.mac) for nic in self.nics if nic.mac]
        if self.is_intel:
            bluetooth = HardwarePort("Bluetooth PAN", "en5", self.mac_address("mac", "bluetooth"))
            return [*wifi, bluetooth, *nics, *ports.values(), *bridges]
        ethernet = HardwarePort(_ETHERNET[self.language], "en0", self.mac_address("mac", "en0"))
        if not self.has_thunderbolt:
            return [ethernet, *nics]
        adapters = [
            HardwarePort(f"Ethernet Adapter ({each.name})", each.name, each.mac)
            for each in self._adapter_interfaces()
        ]
        wired = [ethernet] if self.wifi != "en0" else []
        return [*wired, *adapters, *nics, *bridges, *wifi, *ports.values()]

    def service_list(self) -> list[Service]:
        """The entries of ``networksetup -listnetworkserviceorder``."""
        by_device = {port.device: port for port in self.hardware_ports()}
        wired = [] if self.wifi == "en0" else ["en0"]
        devices = [*wired, "bridge0", self.wifi, *(nic.interface for nic in self.nics)]
        listed = [
            Service(by_device[name].name, by_device[name].name, name)
            for name in devices
            if name in by_device
        ]
        listed += [
            Service(name, by_device[interface].name, interface)
            for interface, name in self.port_services.items()
        ]
        return [
            replace(service, is_enabled=service.name not in self.disabled_services)
            for service in listed
        ]

    # Thunderbolt

    def _receptacle_tag(self, receptacle: int) -> dict[str, str]:
        attached = self.attached.get(receptacle)
        tag = {"receptacle_id_key": str(receptacle)}
        ceiling = {5: "Up to 120 Gb/s", 4: "Up to 40 Gb/s", 3: "Up to 40 Gb/s x1"}
        tag["current_speed_key"] = ceiling[self.generation]
        tag["link_status_key"] = "0x7" if self.is_intel else "0x100"
        tag["receptacle_status_key"] = "receptacle_no_devices_connected"
        if attached is not None:
            tag["receptacle_status_key"] = "receptacle_connected"
            tag["link_status_key"] = getattr(attached, "link_status", "0x2")
            if not self.is_intel:
                is_device = isinstance(attached, Device)
                tag["current_speed_key"] = (
                    attached.speed if is_device else f"{attached.gbps} Gb/s"  # type: ignore[union-attr]
                )
        if self.is_intel:
            tag["current_link_width_key"] = "0x1" if attached is None else "0x2"
            tag["lc_version_key"] = "1.44.0"
        elif attached is not None or receptacle in self.used_before:
            tag["micro_version_key"] = "0.0.0"
        return tag

    def _peer_item(self, receptacle: int, peer: PeerAt) -> dict[str, Any]:
        key = (receptacle,) if receptacle else ()
        services: list[dict[str, Any]] = [
            {
                "_name": "service_ip",
                "protocol_id_key": 1,
                "protocol_revision_key": 1,
                "protocol_version_key": 1,
                "service_uuid_key": self.uuid("service_ip", *key),
            }
        ]
        item: dict[str, Any] = {"services_title": services}
        if isinstance(peer.host, LinuxHost):
            newer = peer.host.has_linux_vendor
            item["_name"] = item["device_name_key"] = peer.host.name
            item["domain_uuid_key"] = peer.host.domain_uuid.upper()
            item["device_id_key"] = "0x4" if newer else "0x1"
            item["vendor_id_key"] = "0x1D6B" if newer else "0x8086"
            item["vendor_name_key"] = "Linux" if newer else "Intel Corp."
            return item
        item["_name"] = peer.host.family
        item["device_name_key"] = peer.host.model
        item["domain_uuid_key"] = peer.host.domain_uuid(peer.receptacle)
        item["device_id_key"] = "0xA"
        item["vendor_id_key"] = "0x0A27"
        item["vendor_name_key"] = "Apple Inc."
        if peer.host.rdma == "enabled":
            services.append(
                {
                    "_name": "unknown_xd_service",
                    "protocol_id_key": 64087,
                    "protocol_revision_key": 0,
                    "protocol_version_key": 1,
                    "service_key_key": "ˇˇˇˇˇˇAD",
                    "service_uuid_key": self.uuid("service_rdma", *key),
                }
            )
        return item

    def _device_item(self, receptacle: int, device: Device) -> dict[str, Any]:
        made = f"0x{self._digest('device', device.name)[:8].hex().upper()}"
        upstream = {
            "current_speed_key": device.speed,
            "link_status_key": "0x2",
            "receptacle_status_key": "receptacle_connected",
            device.firmware[0]: device.firmware[1],
        }
        if device.link_width:
            upstream["current_link_width_key"] = device.link_width
        item: dict[str, Any] = {
            "_name": device.name,
            "device_name_key": device.name,
            "device_id_key": device.device_id,
            "device_revision_key": "0x1",
            "mode_key": device.mode,
            "receptacle_upstream_ambiguous_tag": upstream,
            "route_string_key": device.route,
            "switch_uid_key": device.switch_uid or made,
            "switch_version_key": device.switch_version,
            "vendor_id_key": device.vendor_id,
            "vendor_name_key": device.vendor,
        }
        for number, speed in enumerate(device.downstream, 2):
            is_idle = speed.startswith("Up to")
            tag = {
                "current_speed_key": speed,
                "link_status_key": "0x7" if is_idle else "0x2",
                "receptacle_status_key": "receptacle_no_devices_connected"
                if is_idle
                else "receptacle_connected",
            }
            if device.has_downstream_firmware:
                tag[device.firmware[0]] = device.firmware[1]
            item[f"receptacle_{number}_tag"] = tag
        if device.items:
            item["_items"] = [self._item(receptacle, each) for each in device.items]
        return item

    def _item(self, receptacle: int, attached: Device | PeerAt) -> dict[str, Any]:
        if isinstance(attached, Device):
            return self._device_item(receptacle, attached)
        return self._peer_item(receptacle, attached)

    def bus_list(self) -> list[dict[str, Any]]:
        """The buses of system_profiler, last one first."""
        if not self.has_thunderbolt:
            return [{"Thunderbolt": "no_hardware"}]
        buses = []
        for bus in sorted({self.bus_of(each) for each in self.receptacles}, reverse=True):
            on_bus = [each for each in self.receptacles if self.bus_of(each) == bus]
            prefix = "thunderbolt_bus" if self.is_intel else "thunderboltusb4_bus"
            entry: dict[str, Any] = {
                "_name": f"{prefix}_{bus}",
                "device_name_key": self.family,
                "domain_uuid_key": self.uuid("domain", bus),
                "route_string_key": "0",
                "switch_uid_key": f"0x{self.switch_uid(bus):016X}",
                "vendor_name_key": "Apple Inc.",
            }
            if self.is_intel:
                entry["switch_version_key"] = "55.2"
            # Intel prints its receptacles in descending order: tag 1 is the higher number.
            for number, receptacle in enumerate(sorted(on_bus, reverse=True), 1):
                entry[f"receptacle_{number}_tag"] = self._receptacle_tag(receptacle)
            items = [
                self._item(each, self.attached[each]) for each in on_bus if each in self.attached
            ]
            if items:
                entry["_items"] = items
            buses.append(entry)
        return buses

    def ioreg_ports(self) -> list[dict[str, Any]]:
        """The ports of ``ioreg -c AppleThunderboltIPPort``, reduced to what matters."""
        return [self._ioreg_port(receptacle, name) for receptacle, name in self.interfaces.items()]

    def _ioreg_port(self, receptacle: int, name: str) -> dict[str, Any]:
        has_peer = self.has_active_peer(receptacle)
        ethernet: dict[str, Any] = {
            "BSD Name": name,
            "IOBuiltin": True,
            "IOInterfaceNamePrefix": "en",
            "IOInterfaceUnit": int(name.removeprefix("en")),
            "IOLinkActiveCount": int(has_peer),
            "IOLocation": str(receptacle),
            "IOObjectClass": "IOEthernetInterface",
            "IOPrimaryInterface": False,
            "IORegistryEntryName": name,
        }
        if self.rdma == "enabled":
            rdma = "AppleThunderboltRDMAInterface"
            ethernet["IORegistryEntryChildren"] = [
                {"IOObjectClass": rdma, "IORegistryEntryName": rdma}
            ]
        children: list[dict[str, Any]] = [ethernet]
        if has_peer:
            connection = "AppleThunderboltIPConnection"
            children.append(
                {
                    "IOObjectClass": connection,
                    "IORegistryEntryName": connection,
                    "Thunderbolt IP Connection State": 1,
                }
            )
        return {
            "IOBuiltin": True,
            "IOLinkSpeed": 80_000_000_000 if self.generation == 5 else 40_000_000_000,
            "IOLinkStatus": 3 if has_peer else 1,
            "IOLocation": str(receptacle),
            "IOMACAddress": bytes.fromhex(self.port_mac(receptacle).replace(":", "")),
            "IOObjectClass": "AppleThunderboltIPPort",
            "IORegistryEntryChildren": children,
            "IORegistryEntryName": "AppleThunderboltIPPort",
        }

    def stored_interfaces(self) -> dict[str, Any]:
        """The root of configd's NetworkInterfaces.plist; its names are not translated."""
        arm = "IOService:/AppleARMPE/arm-io"
        entries = []
        if self.wifi != "en0":
            path = f"{arm}/apcie/AppleEthernetAquantiaAqtion/en0"
            mac = self.mac_address("mac", "en0")
            entries.append(_stored("en0", mac, path, "Ethernet", "Ethernet"))
        if self.wifi:
            path = f"{arm}/AppleBCMWLANCore/AppleBCMWLANSkywalkInterface/{self.wifi}"
            mac = self.mac_address("mac", "wifi")
            entries.append(_stored(self.wifi, mac, path, "Wi-Fi", "IEEE80211"))
        for receptacle, name in self.interfaces.items():
            path = (
                f"{arm}/AppleT600xIO/acio{self.bus_of(receptacle)}/AppleThunderboltHAL"
                "/IOThunderboltController/IOThunderboltLocalNode/AppleThunderboltIPService"
                f"/AppleThunderboltIPPort/{name}"
            )
            mac = self.port_mac(receptacle)
            entries.append(_stored(name, mac, path, f"Thunderbolt {receptacle}", "Ethernet"))
        return {"Interfaces": entries, "Model": self.model}

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
        found = next(each for each in probes_for("Darwin") if each.name == probe)
        if probe in self.missing:
            return _not_found(found)
        if probe in ("sudo", "sudo_list"):
            return self._sudo_answer(found)
        if probe in ("ibv_devices", "rdma_ctl") and self.rdma is None:
            return _not_found(found)
        if probe == "ssh_connection" and self.ssh_connection is None:
            return Completed(found.argv, 1)
        text = self._text(probe, interfaces, routes)
        return Completed(found.argv, 0, text.encode())

    def _text(
        self,
        probe: str,
        interfaces: Sequence[Interface] | None,
        routes: Sequence[NetRoute] | None,
    ) -> str:
        listed = list(interfaces) if interfaces is not None else self.interface_list()
        machine = "x86_64" if self.is_intel else "arm64"
        platform_expert = {
            "IOObjectClass": "IOPlatformExpertDevice",
            "IOPlatformSerialNumber": self._digest("serial").hex()[:10].upper(),
            "IOPlatformUUID": self.uuid("hardware"),
            "IORegistryEntryName": "Root" if self.is_intel else "J375dAP",
            "model": self.model.encode() + b"\0",
        }
        ports = self.ioreg_ports()
        renderers = {
            "uname": lambda: f"Darwin {self._kernel()} {machine}\n",
            "system_profiler": lambda: render_system_profiler_json(self.bus_list()),
            "system_profiler_xml": lambda: render_system_profiler_xml(self.bus_list()),
            "networksetup_ports": lambda: render_networksetup_ports(
                self.hardware_ports(), self.vlans
            ),
            "networksetup_services": lambda: render_networksetup_services(self.service_list()),
            "ifconfig": lambda: render_ifconfig(listed, is_old=self.version < (14,)),
            "netstat": lambda: render_netstat(
                list(routes) if routes is not None else self.route_list(listed),
                lines6=_LINES6,
            ),
            "ioreg_ports": lambda: render_plist(ports) if ports else "",
            "network_interfaces": lambda: render_plist(self.stored_interfaces()),
            "ibv_devices": lambda: render_ibv_devices(self.rdma_devices()),
            "rdma_ctl": lambda: f"{self.rdma}\n",
            "hw_model": lambda: f"{self.model}\n",
            "sw_vers": lambda: (
                f"ProductName:\t\tmacOS\nProductVersion:\t\t{self.macos}\n"
                f"BuildVersion:\t\t{_BUILDS[self.macos]}\n"
            ),
            "hardware": lambda: render_plist([platform_expert]),
            "computer_name": lambda: f"{self.name}\n",
            "ssh_connection": lambda: f"{self.ssh_connection}\n",
        }
        return renderers[probe]()

    def _kernel(self) -> str:
        # macOS 11 to 15 are Darwin 20 to 24, and macOS 26 is Darwin 25.
        major, minor = self.version[0], self.version[1]
        return f"{major - 1 if major >= 26 else major + 9}.{minor}.0"

    def _sudo_answer(self, probe: Probe) -> Completed:
        if self.sudo == "absent":
            return _not_found(probe)
        refused = Completed(probe.argv, 1, b"", b"sudo: a password is required\n")
        if self.sudo == "password" or (self.sudo != "free" and probe.name == "sudo"):
            return refused
        if probe.name == "sudo":
            return Completed(probe.argv, 0)
        allowed = ("ALL",) if self.sudo == "free" else self.sudo
        text = (
            f"User {self.user} may run the following commands on {self.name}:\n"
            "    (ALL) ALL\n"
            f"    (root) NOPASSWD: {', '.join(allowed)}\n"
        )
        return Completed(probe.argv, 0, text.encode())

    def answers(self) -> dict[str, Completed]:
        """Every probe a round over this host would run, by name."""
        answers: dict[str, Completed] = {}
        for probe in probes_for("Darwin"):
            if is_wanted(probe, answers):
                answers[probe.name] = self.answer(probe.name)
        return answers


_LINES6 = (
    "::1                                     ::1                                     UHL"
    "                   lo0       ",
    "fe80::%lo0/64                           fe80::1%lo0                             UcI"
    "                   lo0       ",
)


def _not_found(probe: Probe) -> Completed:
    message = f"/bin/sh: line 1: {probe.argv[0]}: No such file or directory\n"
    return Completed(probe.argv, 127, b"", message.encode())


def _stored(name: str, mac: str, path: str, user_name: str, kind: str) -> dict[str, Any]:
    return {
        "Active": True,
        "BSD Name": name,
        "IOBuiltin": True,
        "IOInterfaceNamePrefix": "en",
        "IOInterfaceType": 6,
        "IOInterfaceUnit": int(name.removeprefix("en")),
        "IOMACAddress": bytes.fromhex(mac.replace(":", "")),
        "IOPathMatch": path,
        "SCNetworkInterfaceInfo": {"UserDefinedName": user_name},
        "SCNetworkInterfaceType": kind,
    }


def _routes_of_address(interface: Interface, entry: Inet, link: str) -> list[NetRoute]:
    if entry.peer is not None:
        host = IPv4Network(f"{entry.peer}/32")
        return [NetRoute(host, str(entry.address.ip), "UH", interface.name)]
    return [
        NetRoute(entry.address.network, link, "UCS", interface.name, "!"),
        NetRoute(IPv4Network(f"{entry.address.ip}/32"), link, "UCS", interface.name, "!"),
    ]


def _peers_of(attached: Device | PeerAt | None) -> Iterable[PeerAt]:
    if isinstance(attached, PeerAt):
        yield attached
    elif attached is not None:
        for item in attached.items:
            yield from _peers_of(item)


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
    for peer in _peers_of(attached):
        if isinstance(peer.host, Mac):
            peer.host.attached.pop(peer.receptacle, None)
