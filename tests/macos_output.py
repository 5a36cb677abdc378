"""The text that macOS commands print, rendered from explicit state.

Every function here is pure: state in, bytes-for-bytes text out. `tests.fakemac`
builds the state of an imagined Mac; the network simulator passes the state of
real interfaces instead.

Formats: ``ifconfig.c``, ``ifmedia.c``, ``ifbridge.c``, ``netstat/route.c`` and
``route.c`` of Apple's network_cmds; ``SCNetworkInterface.c`` of Apple's configd;
recordings people published in issues of exo, mlx and glpi-agent.
"""

from __future__ import annotations

import datetime
import json
import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

__all__ = [
    "HardwarePort",
    "Inet",
    "Inet6",
    "Interface",
    "NetRoute",
    "Service",
    "Vlan",
    "abbreviate_network",
    "render_ibv_devices",
    "render_ifconfig",
    "render_netstat",
    "render_netstat_interfaces",
    "render_networksetup_ports",
    "render_networksetup_services",
    "render_plist",
    "render_route_get",
    "render_system_profiler_json",
    "render_system_profiler_xml",
]

UP, BROADCAST, LOOPBACK, POINTOPOINT = 0x1, 0x2, 0x8, 0x10
SMART, RUNNING, PROMISC, SIMPLEX, MULTICAST = 0x20, 0x40, 0x100, 0x800, 0x8000

# net/if.h of xnu; options are the IFCAP_ bits.
_FLAGS = {
    UP: "UP", BROADCAST: "BROADCAST", 0x4: "DEBUG", LOOPBACK: "LOOPBACK",
    POINTOPOINT: "POINTOPOINT", SMART: "SMART", RUNNING: "RUNNING", 0x80: "NOARP",
    PROMISC: "PROMISC", 0x200: "ALLMULTI", 0x400: "OACTIVE", SIMPLEX: "SIMPLEX",
    0x1000: "LINK0", 0x2000: "LINK1", 0x4000: "LINK2", MULTICAST: "MULTICAST",
}  # fmt: skip
_OPTIONS = {
    0x1: "RXCSUM", 0x2: "TXCSUM", 0x4: "VLAN_MTU", 0x8: "VLAN_HWTAGGING", 0x10: "JUMBO_MTU",
    0x20: "TSO4", 0x40: "TSO6", 0x80: "LRO", 0x100: "AV", 0x200: "TXSTATUS",
    0x400: "CHANNEL_IO", 0x1000: "SW_TIMESTAMP", 0x2000: "PARTIAL_CSUM",
    0x4000: "ZEROINVERT_CSUM",
}  # fmt: skip


def _names(bits: int, table: Mapping[int, str]) -> str:
    return ",".join(name for bit, name in table.items() if bits & bit)


@dataclass(frozen=True)
class Inet:
    """An IPv4 address of an interface; ``peer`` if it is point-to-point."""

    address: IPv4Interface
    peer: IPv4Address | None = None


@dataclass(frozen=True)
class Inet6:
    """An IPv6 address; a link-local one is printed with its interface and scope id."""

    address: str
    prefix_length: int = 64
    secured: bool = True


@dataclass(frozen=True)
class Interface:
    """One interface as the kernel knows it.

    Args:
        options: Capability bits; 0 prints no ``options=`` line.
        addresses: In the order printed.
        members: Not None makes it a bridge.
        has_nd6: IPv6 is configured here, so the ``nd6`` line is printed.
        media: What follows ``media: ``; empty prints no such line.
        is_active: None prints no ``status:`` line.
        index: The kernel's number; 0 means its place in the list.
    """

    name: str
    flags: int = UP | BROADCAST | SMART | RUNNING | SIMPLEX | MULTICAST
    mtu: int = 1500
    options: int = 0
    mac: str = ""
    addresses: tuple[Inet | Inet6, ...] = ()
    members: tuple[str, ...] | None = None
    has_nd6: bool = True
    media: str = ""
    is_active: bool | None = None
    index: int = 0


def _inet_line(entry: Inet, flags: int, trailing_blank: bool) -> str:
    line = f"\tinet {entry.address.ip}"
    if entry.peer is not None:
        line += f" --> {entry.peer}"
    line += f" netmask 0x{int(entry.address.netmask):08x}"
    if flags & BROADCAST:
        return f"{line} broadcast {entry.address.network.broadcast_address}"
    return line + (" " if trailing_blank else "")


def _inet6_line(entry: Inet6, name: str, index: int) -> str:
    is_link_local = entry.address.startswith("fe80:")
    zone = f"%{name}" if is_link_local else ""
    line = f"\tinet6 {entry.address}{zone} prefixlen {entry.prefix_length}"
    if entry.secured:
        line += " secured"
    if is_link_local:
        line += f" scopeid 0x{index:x}"
    return line + " "


def _bridge_lines(
    members: Sequence[str], indices: Mapping[str, int], filter_flags: int
) -> list[str]:
    lines = [
        "\tConfiguration:",
        "\t\tid 0:0:0:0:0:0 priority 0 hellotime 0 fwddelay 0",
        "\t\tmaxage 0 holdcnt 0 proto stp maxaddr 100 timeout 1200",
        "\t\troot id 0:0:0:0:0:0 priority 0 ifcost 0 port 0",
        f"\t\tipfilter disabled flags 0x{filter_flags:x}",
    ]
    for member in members:
        lines.append(f"\tmember: {member} flags=3<LEARNING,DISCOVER>")
        lines.append(f"\t        ifmaxaddr 0 port {indices[member]} priority 0 path cost 0")
    return lines


def render_ifconfig(
    interfaces: Sequence[Interface],
    *,
    is_old: bool = False,
    only: Sequence[str] | None = None,
) -> str:
    """What ``ifconfig -a`` prints, or ``ifconfig NAME`` with ``only=[NAME]``.

    Args:
        is_old: macOS 13 or older, which prints a blank behind ``ether`` and ``netmask``.
        only: Print these; numbers still come from the whole list.
    """
    indices = {each.name: each.index or place for place, each in enumerate(interfaces, 1)}
    lines: list[str] = []
    for each in interfaces:
        if only is not None and each.name not in only:
            continue
        lines.append(
            f"{each.name}: flags={each.flags:x}<{_names(each.flags, _FLAGS)}> mtu {each.mtu}"
        )
        if each.options:
            lines.append(f"\toptions={each.options:x}<{_names(each.options, _OPTIONS)}>")
        if each.mac:
            lines.append(f"\tether {each.mac}" + (" " if is_old else ""))
        for entry in each.addresses:
            if isinstance(entry, Inet):
                lines.append(_inet_line(entry, each.flags, is_old))
            else:
                lines.append(_inet6_line(entry, each.name, indices[each.name]))
        if each.members is not None:
            lines += _bridge_lines(each.members, indices, 2 if is_old else 0)
        if each.has_nd6:
            lines.append("\tnd6 options=201<PERFORMNUD,DAD>")
        if each.media:
            lines.append(f"\tmedia: {each.media}")
        if each.is_active is not None:
            lines.append(f"\tstatus: {'active' if each.is_active else 'inactive'}")
    return "".join(line + "\n" for line in lines)


@dataclass(frozen=True)
class NetRoute:
    """One IPv4 route of the kernel.

    Args:
        gateway: As printed: an address, ``link#4`` or a MAC.
        flags: As printed; ``H`` makes it a host route.
        expire: Seconds, ``!`` or empty.
    """

    destination: IPv4Network
    gateway: str
    flags: str
    interface: str
    expire: str = ""


def abbreviate_network(network: IPv4Network) -> str:
    """A network as BSD's netstat writes it: trailing zero octets and a class's own mask left out.

    Example:
        >>> [abbreviate_network(IPv4Network(n)) for n in ("10.231.0.0/20", "192.168.1.0/24")]
        ['10.231/20', '192.168.1']
    """
    if network == IPv4Network("0.0.0.0/0"):
        return "default"
    octets = str(network.network_address).split(".")
    first = int(octets[0])
    own_octets = 1 if first < 128 else 2 if first < 192 else 3
    kept = next(n for n in (1, 2, 3, 4) if n >= own_octets and set(octets[n:]) <= {"0"})
    suffix = "" if network.prefixlen == 8 * own_octets else f"/{network.prefixlen}"
    return ".".join(octets[:kept]) + suffix


def _route_line(destination: str, gateway: str, flags: str, interface: str, expire: str) -> str:
    return f"{destination:<18} {gateway:<18} {flags}{interface:>{25 - len(flags)}} {expire:>6}"


def render_netstat(routes: Sequence[NetRoute], *, lines6: Sequence[str] = ()) -> str:
    """What ``netstat -rn`` prints.

    Args:
        lines6: Rows of the Internet6 table, as they are.
    """
    lines = ["Routing tables", "", "Internet:"]
    lines.append(_route_line("Destination", "Gateway", "Flags", "Netif", "Expire"))
    for route in routes:
        is_host = "H" in route.flags
        name = str(route.destination.network_address)
        destination = name if is_host else abbreviate_network(route.destination)
        lines.append(
            _route_line(destination, route.gateway, route.flags, route.interface, route.expire)
        )
    lines += ["", "Internet6:"]
    lines.append(f"{'Destination':<39} {'Gateway':<39} Flags               Netif Expire")
    lines += lines6
    return "".join(line + "\n" for line in lines)


def render_netstat_interfaces(
    interfaces: Sequence[Interface], counted: Mapping[str, tuple[int, int, int, int]]
) -> str:
    """What ``netstat -ibn`` prints, the lines for addresses left out.

    Args:
        counted: Interface to packets and bytes in, packets and bytes out.
    """
    heading = (
        "Name       Mtu   Network       Address            Ipkts Ierrs     Ibytes    Opkts Oerrs"
    )
    lines = [f"{heading}     Obytes  Coll"]
    for number, each in enumerate(interfaces, 1):
        name = each.name if each.flags & UP else f"{each.name}*"
        packets_in, bytes_in, packets_out, bytes_out = counted.get(each.name, (0, 0, 0, 0))
        link = f"<Link#{number}>"
        lines.append(
            f"{name:<10} {each.mtu:<5} {link:<11} {each.mac:<17} {packets_in:>8}     0"
            f" {bytes_in:>10} {packets_out:>8}     0 {bytes_out:>10}     0"
        )
    return "".join(line + "\n" for line in lines)


def render_route_get(
    queried: IPv4Address, route: NetRoute, *, mtu: int = 1500, flags: str = "UP,DONE,CLONING"
) -> str:
    """What ``route -n get ADDRESS`` prints when a route was found."""
    lines = [f"   route to: {queried}"]
    is_default = route.destination.prefixlen == 0
    is_host = "H" in route.flags
    name = "default" if is_default else str(route.destination.network_address)
    lines.append(f"destination: {name}")
    if not is_host:
        mask = "default" if is_default else str(route.destination.netmask)
        lines.append(f"       mask: {mask}")
    if "G" in route.flags:
        lines.append(f"    gateway: {route.gateway}")
    lines.append(f"  interface: {route.interface}")
    lines.append(f"      flags: <{flags}>")
    lines.append(" recvpipe  sendpipe  ssthresh  rtt,msec    rttvar  hopcount      mtu     expire")
    lines.append(f"{0:>8} {0:>9} {0:>9} {0:>9} {0:>9} {0:>9} {mtu:>9} {0:>9} ")
    return "".join(line + "\n" for line in lines)


@dataclass(frozen=True)
class HardwarePort:
    """One block of ``networksetup -listallhardwareports``; the name is translated."""

    name: str
    device: str
    mac: str = "N/A"


@dataclass(frozen=True)
class Vlan:
    """One VLAN in the trailer of ``networksetup -listallhardwareports``."""

    name: str
    parent: str
    device: str
    tag: int


def render_networksetup_ports(ports: Sequence[HardwarePort], vlans: Sequence[Vlan] = ()) -> str:
    """What ``networksetup -listallhardwareports`` prints."""
    text = "".join(
        f"\nHardware Port: {port.name}\nDevice: {port.device}\nEthernet Address: {port.mac}\n"
        for port in ports
    )
    text += "\nVLAN Configurations\n===================\n"
    for vlan in vlans:
        text += f"\nVLAN User Defined Name: {vlan.name}\nParent Device: {vlan.parent}\n"
        text += f'Device ("Hardware" Port): {vlan.device}\nTag: {vlan.tag}\n'
    return text


@dataclass(frozen=True)
class Service:
    """One network service, whose name the user may edit."""

    name: str
    port: str
    device: str
    is_enabled: bool = True


def render_networksetup_services(services: Sequence[Service]) -> str:
    """What ``networksetup -listnetworkserviceorder`` prints."""
    text = "An asterisk (*) denotes that a network service is disabled.\n"
    for place, service in enumerate(services, 1):
        mark = str(place) if service.is_enabled else "*"
        text += f"({mark}) {service.name}\n"
        text += f"(Hardware Port: {service.port}, Device: {service.device})\n\n"
    return text


def render_ibv_devices(devices: Sequence[tuple[str, str]]) -> str:
    """What ``ibv_devices`` prints for (name, node GUID) pairs; its header even without any."""
    rows = [("device", "   node GUID"), ("------", "----------------"), *devices]
    return "".join(f"    {name:<16}\t{guid}\n" for name, guid in rows)


def render_system_profiler_json(buses: Sequence[Mapping[str, Any]]) -> str:
    """What ``system_profiler SPThunderboltDataType -json`` prints for this list of buses."""
    if not buses:  # NSJSONSerialization's idea of an empty list
        return '{\n  "SPThunderboltDataType" : [\n\n  ]\n}\n'
    listing = {"SPThunderboltDataType": list(buses)}
    text = json.dumps(
        listing, indent=2, separators=(",", " : "), sort_keys=True, ensure_ascii=False
    )
    return text + "\n"


_PROPERTIES: dict[str, dict[str, str]] = {
    "_name": {"_isColumn": "YES", "_isOutlineColumn": "YES", "_order": "0"},
    "device_name_key": {"_order": "20"},
    "domain_uuid_key": {"_order": "55"},
    "receptacle_1_tag": {"_order": "60"},
    "receptacle_id_key": {"_order": "64"},
    "receptacle_status_key": {"_order": "61"},
    "route_string_key": {"_order": "50"},
    "switch_uid_key": {"_order": "40"},
    "vendor_name_key": {"_order": "10"},
    "volumes": {"_detailLevel": "0"},
}


def render_plist(value: object) -> str:
    """A value as Apple's tools write property lists."""
    return plistlib.dumps(value).decode()


def render_system_profiler_xml(buses: Sequence[Mapping[str, Any]]) -> str:
    """What ``system_profiler SPThunderboltDataType -xml`` prints for this list of buses."""
    arguments = ["/usr/sbin/system_profiler", "-nospawn", "-xml", "SPThunderboltDataType"]
    listing = {
        "_SPCommandLineArguments": [*arguments, "-detailLevel", "full"],
        "_SPCompletionInterval": 0.0312,
        "_SPResponseTime": 0.0587,
        "_dataType": "SPThunderboltDataType",
        "_detailLevel": -1,
        "_items": list(buses),
        "_parentDataType": "SPHardwareDataType",
        "_properties": _PROPERTIES,
        "_timeStamp": datetime.datetime(2026, 9, 1, 10, 0),
        "_versionInfo": {"com.apple.SystemProfiler.SPThunderboltReporter": "1"},
    }
    return render_plist([listing])
