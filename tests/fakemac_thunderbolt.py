"""Docks, displays and peers on an imagined Mac's receptacles, as its tools list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakemac import LinuxHost, Mac

__all__ = [
    "Device",
    "PeerAt",
    "bus_list",
    "display",
    "dock",
    "drive",
    "ioreg_ports",
    "peers_behind",
]


@dataclass
class Device:
    """A dock, display or drive, and what hangs on it.

    Args:
        speed: Of its upstream link, as printed.
        firmware: The key and value of its receptacles' firmware version.
        downstream: Speed of each downstream receptacle, as printed; the first is number 2.
        has_downstream_firmware: Downstream receptacles print the firmware too.
        route: Empty for a device that is plugged into the Mac itself.
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
    route: str = ""
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
    link_status: str = "0x2"

    @property
    def speed(self) -> str:
        """The speed of the link, as printed."""
        return f"{self.gbps} Gb/s"


def _receptacle_tag(mac: Mac, receptacle: int) -> dict[str, str]:
    attached = mac.attached.get(receptacle)
    tag = {"receptacle_id_key": str(receptacle)}
    ceiling = {5: "Up to 120 Gb/s", 4: "Up to 40 Gb/s", 3: "Up to 40 Gb/s x1"}
    tag["current_speed_key"] = ceiling[mac.generation]
    tag["link_status_key"] = "0x7" if mac.is_intel else "0x100"
    tag["receptacle_status_key"] = "receptacle_no_devices_connected"
    if attached is not None:
        tag["receptacle_status_key"] = "receptacle_connected"
        tag["link_status_key"] = attached.link_status
        if not mac.is_intel:
            tag["current_speed_key"] = attached.speed
    if mac.is_intel:
        tag["current_link_width_key"] = "0x1" if attached is None else "0x2"
        tag["lc_version_key"] = "1.44.0"
    elif attached is not None or receptacle in mac.used_before:
        tag["micro_version_key"] = "0.0.0"
    return tag


def _peer_item(mac: Mac, receptacle: int, peer: PeerAt) -> dict[str, Any]:
    services: list[dict[str, Any]] = [
        {
            "_name": "service_ip",
            "protocol_id_key": 1,
            "protocol_revision_key": 1,
            "protocol_version_key": 1,
            "service_uuid_key": mac.uuid("service_ip", receptacle),
        }
    ]
    if peer.host.rdma == "enabled":
        services.append(
            {
                "_name": "unknown_xd_service",
                "protocol_id_key": 64087,
                "protocol_revision_key": 0,
                "protocol_version_key": 1,
                "service_key_key": "ˇˇˇˇˇˇAD",
                "service_uuid_key": mac.uuid("service_rdma", receptacle),
            }
        )
    return {**peer.host.as_peer(peer.receptacle), "services_title": services}


def _first_hop(mac: Mac, receptacle: int) -> str:
    # Intel's two receptacles are ports 1 and 3 of one switch; the odd one is port 3.
    return "3" if mac.is_intel and receptacle % 2 else "1"


def _device_item(mac: Mac, receptacle: int, device: Device) -> dict[str, Any]:
    made = f"0x{mac.digest('device', device.name)[:8].hex().upper()}"
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
        "route_string_key": device.route or _first_hop(mac, receptacle),
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
        item["_items"] = [_item(mac, receptacle, each) for each in device.items]
    return item


def _item(mac: Mac, receptacle: int, attached: Device | PeerAt) -> dict[str, Any]:
    if isinstance(attached, Device):
        return _device_item(mac, receptacle, attached)
    return _peer_item(mac, receptacle, attached)


def bus_list(mac: Mac) -> list[dict[str, Any]]:
    """The buses of system_profiler, last one first."""
    if not mac.has_thunderbolt:
        return [{"Thunderbolt": "no_hardware"}]
    buses = []
    for bus in sorted({mac.bus_of(each) for each in mac.receptacles}, reverse=True):
        on_bus = [each for each in mac.receptacles if mac.bus_of(each) == bus]
        prefix = "thunderbolt_bus" if mac.is_intel else "thunderboltusb4_bus"
        entry: dict[str, Any] = {
            "_name": f"{prefix}_{bus}",
            "device_name_key": mac.family,
            "domain_uuid_key": mac.uuid("domain", bus),
            "route_string_key": "0",
            "switch_uid_key": f"0x{mac.switch_uid(bus):016X}",
            "vendor_name_key": "Apple Inc.",
        }
        if mac.is_intel:
            entry["switch_version_key"] = "55.2"
        # Intel prints its receptacles in descending order: tag 1 is the higher number.
        for number, receptacle in enumerate(sorted(on_bus, reverse=True), 1):
            entry[f"receptacle_{number}_tag"] = _receptacle_tag(mac, receptacle)
        items = [_item(mac, each, mac.attached[each]) for each in on_bus if each in mac.attached]
        if items:
            entry["_items"] = items
        buses.append(entry)
    return buses


def ioreg_ports(mac: Mac) -> list[dict[str, Any]]:
    """The ports of ``ioreg -c AppleThunderboltIPPort``, reduced to what matters."""
    return [_ioreg_port(mac, receptacle, name) for receptacle, name in mac.interfaces.items()]


def _ioreg_port(mac: Mac, receptacle: int, name: str) -> dict[str, Any]:
    has_peer = mac.has_active_peer(receptacle)
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
    if mac.rdma == "enabled":
        rdma = "AppleThunderboltRDMAInterface"
        ethernet["IORegistryEntryChildren"] = [{"IOObjectClass": rdma, "IORegistryEntryName": rdma}]
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
        "IOLinkSpeed": 80_000_000_000 if mac.generation == 5 else 40_000_000_000,
        "IOLinkStatus": 3 if has_peer else 1,
        "IOLocation": str(receptacle),
        "IOMACAddress": bytes.fromhex(mac.port_mac(receptacle).replace(":", "")),
        "IOObjectClass": "AppleThunderboltIPPort",
        "IORegistryEntryChildren": children,
        "IORegistryEntryName": "AppleThunderboltIPPort",
    }


def peers_behind(attached: Device | PeerAt | None) -> Iterable[PeerAt]:
    """Every peer host reached through what is in a receptacle."""
    if isinstance(attached, PeerAt):
        yield attached
    elif attached is not None:
        for item in attached.items:
            yield from peers_behind(item)
