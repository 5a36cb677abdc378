"""How an imagined Mac answers each probe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distconfig.hosts.shell import Completed
from distconfig.probes import Probe, probes_for
from tests.fakemac_models import BUILDS
from tests.fakemac_network import hardware_ports, route_list, service_list, stored_interfaces
from tests.fakemac_thunderbolt import bus_list, ioreg_ports
from tests.macos_output import (
    Interface,
    NetRoute,
    render_ibv_devices,
    render_ifconfig,
    render_netstat,
    render_networksetup_ports,
    render_networksetup_services,
    render_plist,
    render_system_profiler_json,
    render_system_profiler_xml,
)

if TYPE_CHECKING:
    from tests.fakemac import Mac

__all__ = ["answer_probe"]

_LINES6 = (
    "::1                                     ::1                                     UHL"
    "                   lo0       ",
    "fe80::%lo0/64                           fe80::1%lo0                             UcI"
    "                   lo0       ",
)


def _not_found(probe: Probe) -> Completed:
    message = f"/bin/sh: line 1: {probe.argv[0]}: No such file or directory\n"
    return Completed(probe.argv, 127, b"", message.encode())


def answer_probe(
    mac: Mac,
    probe: str,
    interfaces: Sequence[Interface] | None,
    routes: Sequence[NetRoute] | None,
) -> Completed:
    """What a probe prints on a Mac, and how it ends."""
    found = next(each for each in probes_for("Darwin") if each.name == probe)
    if probe in mac.missing:
        return _not_found(found)
    if probe in ("sudo", "sudo_list"):
        return _answer_sudo(mac, found)
    if probe in ("ibv_devices", "rdma_ctl") and mac.rdma is None:
        return _not_found(found)
    if probe == "system_profiler" and mac.version < (10, 15):
        # That it refuses is documented, in which words is a guess.
        return Completed(found.argv, 1, b"", b"system_profiler: unknown option -json\n")
    if probe == "ssh_connection" and mac.ssh_connection is None:
        return Completed(found.argv, 1)
    text = _text(mac, probe, interfaces, routes)
    return Completed(found.argv, 0, text.encode())


def _text(
    mac: Mac,
    probe: str,
    interfaces: Sequence[Interface] | None,
    routes: Sequence[NetRoute] | None,
) -> str:
    listed = list(interfaces) if interfaces is not None else mac.interface_list()
    machine = "x86_64" if mac.is_intel else "arm64"
    platform_expert = {
        "IOObjectClass": "IOPlatformExpertDevice",
        "IOPlatformSerialNumber": mac.digest("serial").hex()[:10].upper(),
        "IOPlatformUUID": mac.uuid("hardware"),
        "IORegistryEntryName": "Root" if mac.is_intel else "J375dAP",
        "model": mac.model.encode() + b"\0",
    }
    ports = ioreg_ports(mac)
    renderers = {
        "uname": lambda: f"Darwin {_kernel(mac)} {machine}\n",
        "system_profiler": lambda: render_system_profiler_json(bus_list(mac)),
        "system_profiler_xml": lambda: render_system_profiler_xml(bus_list(mac)),
        "networksetup_ports": lambda: render_networksetup_ports(hardware_ports(mac), mac.vlans),
        "networksetup_services": lambda: render_networksetup_services(service_list(mac)),
        "ifconfig": lambda: render_ifconfig(listed, is_old=mac.version < (14,)),
        "netstat": lambda: render_netstat(
            list(routes) if routes is not None else route_list(mac, listed),
            lines6=_LINES6,
        ),
        "ioreg_ports": lambda: render_plist(ports) if ports else "",
        "network_interfaces": lambda: render_plist(stored_interfaces(mac)),
        "ibv_devices": lambda: render_ibv_devices(mac.rdma_devices()),
        "rdma_ctl": lambda: f"{mac.rdma}\n",
        "hw_model": lambda: f"{mac.model}\n",
        "sw_vers": lambda: (
            f"ProductName:\t\tmacOS\nProductVersion:\t\t{mac.macos}\n"
            f"BuildVersion:\t\t{BUILDS[mac.macos]}\n"
        ),
        "hardware": lambda: render_plist([platform_expert]),
        "computer_name": lambda: f"{mac.name}\n",
        "ssh_connection": lambda: f"{mac.ssh_connection}\n",
    }
    return renderers[probe]()


def _kernel(mac: Mac) -> str:
    # macOS 10.14 is Darwin 18, 11 to 15 are Darwin 20 to 24, 26 is Darwin 25.
    major, minor = mac.version[0], mac.version[1]
    if major == 10:
        return f"{minor + 4}.{mac.version[2] + 1}.0"
    return f"{major - 1 if major >= 26 else major + 9}.{minor}.0"


def _answer_sudo(mac: Mac, probe: Probe) -> Completed:
    if mac.sudo == "absent":
        return _not_found(probe)
    refused = Completed(probe.argv, 1, b"", b"sudo: a password is required\n")
    if mac.sudo == "password" or (mac.sudo != "free" and probe.name == "sudo"):
        return refused
    if probe.name == "sudo":
        return Completed(probe.argv, 0)
    allowed = ("ALL",) if mac.sudo == "free" else mac.sudo
    text = (
        f"User {mac.user} may run the following commands on {mac.name}:\n"
        "    (ALL) ALL\n"
        f"    (root) NOPASSWD: {', '.join(allowed)}\n"
    )
    return Completed(probe.argv, 0, text.encode())
