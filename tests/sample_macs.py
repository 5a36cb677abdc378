"""The Macs of the synthetic samples, rebuilt from their parameters.

The samples (raw text under ``fixtures/``) were written by hand from published
recordings, before `tests.fakemac` existed. Building the same Macs here and
comparing the text keeps the renderer honest: a parser and a renderer that
share a misreading would not agree with the sample.

Identifiers are arbitrary, so they are data: ``sample_identifiers.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from tests.fakemac import (
    Device,
    LinuxHost,
    Mac,
    connect,
    connect_through,
    display,
    dock,
    drive,
    see_peer,
)
from tests.macos_output import Inet

__all__ = [
    "display_mac",
    "dock_pair",
    "fleet",
    "idle_mac",
    "intel_and_german",
    "mac_beside_linux",
    "two_cable_pair",
]

_IDENTIFIERS = json.loads(Path(__file__).with_name("sample_identifiers.json").read_text())


def _identifiers(host: str) -> dict[tuple[str | int, ...], str]:
    stored: Mapping[str, Any] = _IDENTIFIERS[host]
    found: dict[tuple[str | int, ...], str] = {
        ("port_mac",): stored["ports"],
        ("adapter_mac",): stored.get("adapters", ""),
        ("switch",): stored["switches"][0],
    }
    found |= {("domain", bus): value for bus, value in enumerate(stored["domains"])}
    found |= {("switch", bus): value for bus, value in enumerate(stored["switches"])}
    found |= {("mac", name): value for name, value in stored["macs"].items()}
    found |= {("inet6", name): value for name, value in stored["inet6"].items()}
    for receptacle, values in stored["services"].items():
        for kind, value in zip(("service_ip", "service_rdma"), values, strict=False):
            found[kind, int(receptacle)] = value
    return found


def _mac(host: str, model: str, lan: str = "", **state: Any) -> Mac:
    address = IPv4Interface(f"{lan}/24") if lan else None
    gateway = "192.0.2.1"
    mac = Mac(host, model, lan=address, gateway=gateway, identifiers=_identifiers(host), **state)
    if mac.ssh_connection:
        mac.ssh_connection = f"192.0.2.200 52144 {lan} 22"
    return mac


def _with_uid(host: str, device: Device) -> Device:
    device.switch_uid = _IDENTIFIERS[host]["devices"][device.name]
    return device


def fleet() -> tuple[Mac, Mac, Mac, Mac]:
    """Atlas, birch and cedar in a triangle, and dune on one cable to birch."""
    atlas = _mac("atlas", "Mac15,14", "192.0.2.21")
    birch = _mac("birch", "Mac16,11", "192.0.2.189", bridge=None)
    cedar = _mac("cedar", "Mac17,6", "192.0.2.106", macos="27.0", rdma="disabled")
    dune = _mac("dune", "Macmini9,1", "192.0.2.99", macos="15.6")
    atlas.attached[6] = _with_uid("atlas", drive("Vault Nine"))
    birch.port_services = {f"en{n + 1}": f"EXO Thunderbolt {n}" for n in (1, 2, 3)}
    for name, address in (
        ("en2", "192.168.0.9/30"),
        ("en3", "192.168.0.2/30"),
        ("en4", "169.254.17.4/16"),
    ):
        birch.addresses[name] = (birch.link_local(name), Inet(IPv4Interface(address)))
    connect(atlas, 3, birch, 2)
    connect(atlas, 4, cedar, 2)
    connect(birch, 1, cedar, 3)
    connect(birch, 3, dune, 1)
    return atlas, birch, cedar, dune


def dock_pair() -> tuple[Mac, Mac]:
    """Delta and ember: one cable directly, one through a dock on delta's side."""
    delta = _mac("delta", "Mac16,9", "192.0.2.168")
    ember = _mac("ember", "Mac16,5", "192.0.2.33")
    panel = display("Panel 27")
    delta.attached[1] = _with_uid("delta", panel)
    connect_through(_with_uid("delta", dock("HarborDock 5")), delta, 2, ember, 3)
    connect(delta, 4, ember, 1)
    return delta, ember


def two_cable_pair() -> tuple[Mac, Mac]:
    """Gable and grove, joined twice."""
    gable = _mac("gable", "Mac15,14", "192.0.2.108")
    grove = _mac("grove", "Mac16,9", "192.0.2.116")
    connect(gable, 2, grove, 4)
    connect(gable, 5, grove, 1)
    return gable, grove


def intel_and_german() -> tuple[Mac, Mac]:
    """Heron, an Intel Mac with two receptacles per bus, and granit with German names."""
    heron = _mac("heron", "MacBookPro16,1", macos="13.6.7", ssh_connection=None)
    heron.addresses["bridge0"] = (Inet(IPv4Interface("169.254.88.7/16")),)
    granit = _mac("granit", "Mac14,3", "192.0.2.70", macos="15.6", language="de")
    old_dock = Device(
        "OldDock 3",
        "Imaginary Peripherals",
        "0x7E58",
        "0x0003",
        mode="thunderbolt_three",
        speed="Up to 40 Gb/s x1",
        firmware=("lc_version_key", "0.36.0"),
        downstream=("Up to 40 Gb/s x1",),
        has_downstream_firmware=False,
        switch_version="41.1",
        link_width="0x2",
    )
    heron.attached[4] = _with_uid("heron", old_dock)
    connect(heron, 1, granit, 1)
    return heron, granit


def display_mac() -> Mac:
    """Lumen, with two displays, a drive behind one of them, and no peer."""
    lumen = _mac("lumen", "Mac15,7", "192.0.2.162", macos="15.6")
    panel32, panel16 = display("Panel 32"), display("Panel 16")
    chained = drive("Chain SSD")
    panel32.device_id, panel32.downstream = "0x1115", ("40 Gb/s",)
    panel32.has_downstream_firmware = False
    panel32.items.append(_with_uid("lumen", chained))
    chained.device_id, chained.route, chained.switch_version = "0x0002", "301", "67.1"
    chained.mode, chained.speed = "thunderbolt_three", "40 Gb/s"
    chained.firmware = ("lc_version_key", "1.45.0")
    panel16.device_id, panel16.mode, panel16.speed = "0x1116", "usb_four", "20 Gb/s"
    panel16.firmware, panel16.switch_version = ("micro_version_key", "3.1.0"), "1.1"
    lumen.attached[1] = _with_uid("lumen", panel32)
    lumen.attached[3] = _with_uid("lumen", panel16)
    return lumen


def idle_mac() -> Mac:
    """Quarry: six receptacles, nothing in any; the third was used earlier."""
    return _mac("quarry", "Mac15,14", "192.0.2.10", used_before={3})


def mac_beside_linux() -> tuple[Mac, LinuxHost]:
    """Pebble, cabled to a Linux machine."""
    pebble = _mac("pebble", "Mac14,3", "192.0.2.81", macos="15.6")
    nuc = LinuxHost("nuc-lab", domain_uuid="f6951d51-510b-41ee-a136-755e536c6492")
    nuc.ssh_connection = "192.0.2.200 52144 192.0.2.90 22"
    see_peer(pebble, 2, nuc, 1)
    return pebble, nuc
