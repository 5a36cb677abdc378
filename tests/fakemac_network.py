"""Interfaces, routes, ports and services of an imagined Mac, as values to be rendered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Any

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
)

if TYPE_CHECKING:
    from tests.fakemac import Mac

__all__ = [
    "Bridge",
    "Nic",
    "hardware_ports",
    "interface_list",
    "route_list",
    "service_list",
    "stored_interfaces",
]

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


_TUNNEL = UP | POINTOPOINT | RUNNING | MULTICAST

_SOFTWARE = (
    Interface(
        "lo0",
        flags=UP | LOOPBACK | RUNNING | MULTICAST,
        mtu=16384,
        options=0x1203,
        addresses=(
            Inet(IPv4Interface("127.0.0.1/8")),
            Inet6("::1", 128, secured=False),
            Inet6("fe80::1", secured=False),
        ),
    ),
    Interface("gif0", POINTOPOINT | MULTICAST, 1280, has_nd6=False),
    Interface("stf0", 0, 1280, has_nd6=False),
)


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


def _port_interface(mac: Mac, receptacle: int, name: str) -> Interface:
    is_member = mac.bridge is not None and name in mac.members_of(mac.bridge)
    is_active = mac.has_active_peer(receptacle)
    addresses: tuple[Inet | Inet6, ...] = mac.addresses.get(name, ())
    if is_active and not is_member and name not in mac.addresses:
        addresses = (mac.link_local(name),)
    return Interface(
        name,
        flags=_ORDINARY | (PROMISC if is_member else 0),
        mtu=mac.mtus.get(name, 1500),
        options=_PORT_OPTIONS,
        mac=mac.port_mac(receptacle),
        addresses=addresses,
        has_nd6=not is_member or bool(addresses),
        media="autoselect <full-duplex>",
        is_active=is_active,
    )


def _bridge_interface(mac: Mac, bridge: Bridge) -> Interface:
    members = mac.members_of(bridge)
    receptacle_of = {name: number for number, name in mac.interfaces.items()}
    is_active = bridge.is_up and any(
        mac.has_active_peer(receptacle_of[name]) for name in members if name in receptacle_of
    )
    first = receptacle_of.get(members[0]) if members else None
    return Interface(
        bridge.name,
        flags=_ORDINARY if bridge.is_up else BROADCAST | SMART | SIMPLEX | MULTICAST,
        options=_BRIDGE_OPTIONS,
        mac=mac.port_mac(first) if first else mac.mac_address(bridge.name, prefix="36"),
        addresses=mac.addresses.get(bridge.name, ()),
        members=members,
        media="autoselect" if is_active else "<unknown type>",
        is_active=is_active,
    )


def _lan_addresses(mac: Mac) -> tuple[Inet | Inet6, ...]:
    if mac.lan is None:
        return ()
    return (mac.link_local("en0"), Inet(mac.lan), *mac.addresses.get("en0", ()))


def _ethernet_interface(mac: Mac) -> Interface:
    return Interface(
        "en0",
        options=_HARDWARE_OPTIONS,
        mac=mac.mac_address("mac", "en0"),
        addresses=_lan_addresses(mac),
        media="autoselect (10Gbase-T <full-duplex,flow-control>)",
        is_active=True,
    )


def _adapter_interfaces(mac: Mac) -> list[Interface]:
    base = mac.mac_address("adapter_mac", prefix="9e", octets=5)
    return [
        Interface(
            name,
            options=_ADAPTER_OPTIONS,
            mac=f"{base}:{0x70 + place:x}",
            media="none",
            is_active=False,
        )
        for place, name in enumerate(mac.adapters)
    ]


def _internal_interfaces(mac: Mac) -> list[Interface]:
    base = mac.mac_address("adapter_mac", prefix="9e", octets=5)
    return [
        Interface(
            f"anpi{place}",
            options=_ADAPTER_OPTIONS,
            mac=f"{base}:{0x50 + place:x}",
            has_nd6=False,
            media="none",
            is_active=False,
        )
        for place in reversed(range(len(mac.adapters)))
    ]


def _radio_interfaces(mac: Mac) -> list[Interface]:
    is_lan = mac.wifi == "en0" and mac.lan is not None
    wifi = Interface(
        mac.wifi,
        options=_RADIO_OPTIONS,
        mac=mac.mac_address("mac", "wifi"),
        addresses=_lan_addresses(mac) if is_lan else (),
        media="autoselect" if is_lan else "autoselect (<unknown type>)",
        is_active=is_lan,
    )
    awdl = Interface(
        "awdl0",
        flags=UP | BROADCAST | RUNNING | SIMPLEX | MULTICAST,
        options=_RADIO_OPTIONS,
        mac=mac.mac_address("mac", "awdl0"),
        addresses=(mac.link_local("awdl0"),),
        media="autoselect",
        is_active=True,
    )
    return [wifi, awdl]


def _nic_interface(nic: Nic) -> Interface:
    if not nic.mac:
        return Interface(nic.interface, _TUNNEL, 1380, addresses=nic.addresses)
    return Interface(
        nic.interface,
        options=_ADAPTER_OPTIONS,
        mac=nic.mac,
        addresses=nic.addresses,
        media="autoselect (1000baseT <full-duplex>)" if nic.is_active else "autoselect (none)",
        is_active=nic.is_active,
    )


def interface_list(mac: Mac) -> list[Interface]:
    """Every interface, in the order in which ``ifconfig -a`` lists them."""
    radios = _radio_interfaces(mac) if mac.wifi else []
    bridges = [_bridge_interface(mac, mac.bridge)] if mac.bridge is not None else []
    return [
        *_SOFTWARE,
        *_internal_interfaces(mac),
        *([_ethernet_interface(mac)] if mac.wifi != "en0" else []),
        *_adapter_interfaces(mac),
        *(radios[:1] if mac.is_intel else []),
        *(_port_interface(mac, *each) for each in mac.interfaces.items()),
        *bridges,
        *(radios[1:] if mac.is_intel else radios),
        Interface("utun0", _TUNNEL, addresses=(mac.link_local("utun0"),)),
        *(_nic_interface(nic) for nic in mac.nics),
    ]


def route_list(mac: Mac, interfaces: Sequence[Interface] | None = None) -> list[NetRoute]:
    """The IPv4 routes that follow from the addresses, then the further ones."""
    listed = list(interfaces if interfaces is not None else interface_list(mac))
    routes: list[NetRoute] = []
    if mac.lan is not None:
        routes.append(NetRoute(IPv4Network("0.0.0.0/0"), mac.gateway, "UGScg", "en0"))
    routes.append(NetRoute(IPv4Network("127.0.0.0/8"), "127.0.0.1", "UCS", "lo0"))
    routes.append(NetRoute(IPv4Network("127.0.0.1/32"), "127.0.0.1", "UH", "lo0"))
    for number, each in enumerate(listed, 1):
        for entry in each.addresses:
            if isinstance(entry, Inet) and each.name != "lo0":
                routes += _routes_of_address(each, entry, f"link#{each.index or number}")
    if mac.lan is not None:
        number = next(at for at, each in enumerate(listed, 1) if each.name == "en0")
        link = f"link#{number}"
        gateway = IPv4Network(f"{mac.gateway}/32")
        routes.append(NetRoute(IPv4Network("169.254.0.0/16"), link, "UCS", "en0", "!"))
        routes.append(NetRoute(gateway, "0:11:32:5:c7:9f", "UHLWIir", "en0", "1167"))
        routes.append(NetRoute(IPv4Network("224.0.0.0/4"), link, "UmCS", "en0", "!"))
        everybody = IPv4Network("255.255.255.255/32")
        routes.append(NetRoute(everybody, link, "UCS", "en0", "!"))
    return routes + mac.routes


def hardware_ports(mac: Mac) -> list[HardwarePort]:
    """The blocks of ``networksetup -listallhardwareports``."""
    ports = {
        number: HardwarePort(_PORT[mac.language].format(number), name, mac.port_mac(number))
        for number, name in mac.interfaces.items()
    }
    bridges = []
    if mac.bridge is not None and mac.bridge.name == "bridge0":
        address = mac.port_mac(min(ports)) if ports else "N/A"
        bridges = [HardwarePort(_BRIDGE[mac.language], "bridge0", address)]
    wifi = [HardwarePort(_WIFI[mac.language], mac.wifi, mac.mac_address("mac", "wifi"))]
    nics = [HardwarePort(nic.port_name, nic.interface, nic.mac) for nic in mac.nics if nic.mac]
    if mac.is_intel:
        bluetooth = HardwarePort("Bluetooth PAN", "en5", mac.mac_address("mac", "bluetooth"))
        return [*wifi, bluetooth, *nics, *ports.values(), *bridges]
    ethernet = HardwarePort(_ETHERNET[mac.language], "en0", mac.mac_address("mac", "en0"))
    if not mac.has_thunderbolt:
        return [ethernet, *nics]
    adapters = [
        HardwarePort(f"Ethernet Adapter ({each.name})", each.name, each.mac)
        for each in _adapter_interfaces(mac)
    ]
    wired = [ethernet] if mac.wifi != "en0" else []
    return [*wired, *adapters, *nics, *bridges, *wifi, *ports.values()]


def service_list(mac: Mac) -> list[Service]:
    """The entries of ``networksetup -listnetworkserviceorder``."""
    by_device = {port.device: port for port in hardware_ports(mac)}
    wired = [] if mac.wifi == "en0" else ["en0"]
    devices = [*wired, "bridge0", mac.wifi, *(nic.interface for nic in mac.nics)]
    listed = [
        Service(by_device[name].name, by_device[name].name, name)
        for name in devices
        if name in by_device
    ]
    listed += [
        Service(name, by_device[interface].name, interface)
        for interface, name in mac.port_services.items()
    ]
    return [
        replace(service, is_enabled=service.name not in mac.disabled_services) for service in listed
    ]


def stored_interfaces(mac: Mac) -> dict[str, Any]:
    """The root of configd's NetworkInterfaces.plist; its names are not translated."""
    arm = "IOService:/AppleARMPE/arm-io"
    entries = []
    if mac.wifi != "en0":
        path = f"{arm}/apcie/AppleEthernetAquantiaAqtion/en0"
        address = mac.mac_address("mac", "en0")
        entries.append(_stored("en0", address, path, "Ethernet", "Ethernet"))
    if mac.wifi:
        path = f"{arm}/AppleBCMWLANCore/AppleBCMWLANSkywalkInterface/{mac.wifi}"
        address = mac.mac_address("mac", "wifi")
        entries.append(_stored(mac.wifi, address, path, "Wi-Fi", "IEEE80211"))
    for receptacle, name in mac.interfaces.items():
        path = (
            f"{arm}/AppleT600xIO/acio{mac.bus_of(receptacle)}/AppleThunderboltHAL"
            "/IOThunderboltController/IOThunderboltLocalNode/AppleThunderboltIPService"
            f"/AppleThunderboltIPPort/{name}"
        )
        port_name = f"Thunderbolt {receptacle}"
        entries.append(_stored(name, mac.port_mac(receptacle), path, port_name, "Ethernet"))
    return {"Interfaces": entries, "Model": mac.model}


def _stored(name: str, address: str, path: str, user_name: str, kind: str) -> dict[str, Any]:
    return {
        "Active": True,
        "BSD Name": name,
        "IOBuiltin": True,
        "IOInterfaceNamePrefix": "en",
        "IOInterfaceType": 6,
        "IOInterfaceUnit": int(name.removeprefix("en")),
        "IOMACAddress": bytes.fromhex(address.replace(":", "")),
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
