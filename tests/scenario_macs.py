"""The hosts of every scenario under ``fixtures/``, and how they are cabled.

`tests.make_fixtures` writes what they print. What is true of them stands in
each scenario's ``expected.py``, which a person types and nothing writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from distconfig.recordings.recording import OperatorNetwork
from tests.fakemac import (
    LinuxHost,
    Mac,
    Nic,
    connect,
    connect_through,
    display,
    dock,
    drive,
    loop,
    see_peer,
)
from tests.macos_output import Inet, NetRoute, Vlan
from tests.sample_macs import (
    display_mac,
    dock_pair,
    fleet,
    idle_mac,
    intel_and_german,
    mac_beside_linux,
    two_cable_pair,
)

__all__ = ["OPERATOR", "SCENARIOS", "Scenario"]

OPERATOR = OperatorNetwork(
    addresses=(IPv4Interface("192.168.1.10/24"),),
    routes=(IPv4Network("0.0.0.0/0"), IPv4Network("192.168.1.0/24")),
)

Hosts = tuple[Mac | LinuxHost, ...]

_SAMPLE_PROBES = ("system_profiler", "networksetup_ports", "ifconfig", "hw_model", "sw_vers")
_SAMPLE = (*_SAMPLE_PROBES, "networksetup_services", "ioreg_ports")
_RDMA_SAMPLE = (*_SAMPLE, "ibv_devices", "rdma_ctl")


@dataclass(frozen=True)
class Scenario:
    """One folder of ``fixtures/``.

    Args:
        hosts: Builds them anew; each call gives equal ones.
        from_sample: Host to the probes whose text is the sample's own, not rendered.
        absent: Host to probes that were not recorded at all.
    """

    hosts: Callable[[], Hosts]
    from_sample: Mapping[str, tuple[str, ...]]
    absent: Mapping[str, tuple[str, ...]]


def _macs(names: str, model: str, **state: object) -> list[Mac]:
    """Macs of one model with LAN addresses from 192.168.1.21 on, in this order."""
    return [
        Mac(name, model, lan=IPv4Interface(f"192.168.1.{place}/24"), **state)  # type: ignore[arg-type]
        for place, name in enumerate(names.split(), 21)
    ]


def _two_hosts_one_cable() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    connect(one, 1, two, 3)
    return one, two


def _two_hosts_two_cables() -> Hosts:
    one, two = _macs("mini1 mini2", "Mac16,11")
    connect(one, 1, two, 2)
    connect(one, 3, two, 1)
    return one, two


def _triangle() -> Hosts:
    one, two, three = _macs("mini1 mini2 mini3", "Mac16,11")
    connect(one, 1, two, 2)
    connect(two, 1, three, 2)
    connect(three, 1, one, 2)
    return one, two, three


def _four_studios() -> Hosts:
    one, two, three, four = _macs("studio1 studio2 studio3 studio4", "Mac16,9")
    connect(one, 2, three, 4)
    connect(three, 1, two, 3)
    connect(two, 2, four, 1)
    connect(four, 3, one, 4)
    return one, two, three, four


def _mesh_of_four() -> Hosts:
    one, two, three, four = _macs("studio1 studio2 studio3 studio4", "Mac16,9")
    connect(one, 1, two, 1)
    connect(one, 2, three, 1)
    connect(one, 3, four, 1)
    connect(two, 2, three, 2)
    connect(two, 3, four, 2)
    connect(three, 3, four, 3)
    return one, two, three, four


def _six_with_chords() -> Hosts:
    macs = _macs("ultra1 ultra2 ultra3 ultra4 ultra5 ultra6", "Mac15,14")
    one, two, three, four, five, six = macs
    connect(one, 3, four, 1)
    connect(four, 2, two, 5)
    connect(two, 1, six, 6)
    connect(six, 3, three, 2)
    connect(three, 4, five, 1)
    connect(five, 6, one, 4)
    connect(one, 6, two, 6)
    connect(four, 5, three, 5)
    return tuple(macs)


def _chain_of_four() -> Hosts:
    one, two, three, four = _macs("mini1 mini2 mini3 mini4", "Mac16,11")
    connect(one, 1, two, 1)
    connect(two, 2, three, 1)
    connect(three, 2, four, 1)
    return one, two, three, four


def _star_of_five() -> Hosts:
    core, *leaves = _macs("core leaf1 leaf2 leaf3 leaf4", "Mac16,9")
    for receptacle, leaf in enumerate(leaves, 1):
        connect(core, receptacle, leaf, 1)
    return core, *leaves


def _stranger() -> Hosts:
    one, two, elsewhere = _macs("studio1 studio2 elsewhere", "Mac16,9")
    connect(one, 1, two, 1)
    connect(two, 4, elsewhere, 2)
    return one, two


def _self_looped_cable() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    connect(one, 1, two, 1)
    loop(one, 3, 4)
    return one, two


def _one_sided_cable() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    connect(one, 1, two, 1)
    see_peer(one, 3, two, 2)
    two.attached[2] = display()
    return one, two


def _receptacle_without_interface() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    two.interfaces = {1: "en2", 3: "en4", 4: "en5"}
    connect(one, 1, two, 1)
    connect(one, 2, two, 2)
    return one, two


def _vm_beside_mac() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    connect(one, 1, two, 1)
    return one, two, Mac.vm("vm1", lan=IPv4Interface("192.168.1.23/24"))


def _german_names() -> Hosts:
    one, two = _macs("eins zwei", "Mac14,3", macos="15.6", language="de")
    connect(one, 2, two, 1)
    return one, two


def _chinese_names_without_ioreg() -> Hosts:
    one, two = _macs("mini1 mini2", "Mac16,11", language="zh")
    for mac in (one, two):
        mac.missing = {"ioreg_ports", "network_interfaces"}
    connect(one, 1, two, 3)
    return one, two


def _no_bridge_block() -> Hosts:
    one, two = _macs("mini1 mini2", "Mac16,11", bridge=None)
    for mac in (one, two):
        mac.port_services = {f"en{n + 1}": f"EXO Thunderbolt {n}" for n in (1, 2, 3)}
    connect(one, 2, two, 2)
    return one, two


def _dock_nics() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    one.attached[4] = dock()
    one.nics = [
        Nic("Thunderbolt Ethernet Slot 0", "en10", "02:00:5e:10:00:02"),
        Nic("Thunderbolt Ethernet Slot 1, Port 1", "en11", "02:00:5e:10:00:03", is_active=False),
        Nic("USB 10/100/1G/2.5G LAN", "en12", "02:00:5e:10:00:04", is_active=False),
    ]
    one.vlans = [Vlan("Lab", "en0", "vlan0", 42)]
    connect(one, 1, two, 1)
    return one, two


def _tb4_tb5_mixed() -> Hosts:
    studio, mini, pro = (
        Mac("studio1", "Mac16,9", lan=IPv4Interface("192.168.1.21/24")),
        Mac("mini1", "Mac16,10", lan=IPv4Interface("192.168.1.22/24")),
        Mac("pro1", "Mac16,11", lan=IPv4Interface("192.168.1.23/24")),
    )
    connect(studio, 1, mini, 1)
    connect(mini, 2, pro, 2)
    connect(pro, 1, studio, 3)
    return studio, mini, pro


def _hub_between_hosts() -> Hosts:
    one, two, three = _macs("studio1 studio2 studio3", "Mac16,9")
    connect(one, 1, two, 1)
    connect(two, 2, three, 1)
    connect_through(dock(), three, 4, one, 3)
    three.attached[2] = drive()
    return one, two, three


def _old_macos_pair() -> Hosts:
    one, two = _macs("intel1 intel2", "MacBookPro16,1", macos="10.14.6")
    connect(one, 1, two, 2)
    connect(one, 3, two, 4)
    return one, two


def _old_macos_beside_new() -> Hosts:
    old = Mac("old", "MacBookPro16,1", "10.14.6", lan=IPv4Interface("192.168.1.21/24"))
    new = Mac("new", "Mac16,10", lan=IPv4Interface("192.168.1.22/24"))
    connect(old, 4, new, 1)
    return old, new


def _intel_both_connected() -> Hosts:
    intel = Mac("intel1", "MacBookPro16,1", "13.6.7", lan=IPv4Interface("192.168.1.21/24"))
    one, two = _macs("mini1 mini2", "Mac16,11")
    one.lan, two.lan = IPv4Interface("192.168.1.22/24"), IPv4Interface("192.168.1.23/24")
    connect(intel, 1, one, 1)
    connect(intel, 2, two, 1)
    connect(one, 2, two, 2)
    return intel, one, two


def _sudo_differs() -> Hosts:
    macs = _macs("studio1 studio2 studio3 studio4", "Mac16,9")
    one, two, three, four = macs
    two.sudo, three.sudo = "password", "absent"
    four.sudo = ("/sbin/ifconfig", "/sbin/route")
    connect(one, 1, two, 1)
    connect(two, 2, three, 1)
    connect(three, 2, four, 1)
    connect(four, 2, one, 2)
    return tuple(macs)


def _vpn_routes() -> Hosts:
    one, two = _macs("studio1 studio2", "Mac16,9")
    tunnel = Inet(IPv4Interface("10.66.0.2/32"), IPv4Address("10.66.0.1"))
    one.nics = [Nic("", "utun4", addresses=(tunnel,))]
    one.routes = [
        NetRoute(IPv4Network(each), "10.66.0.1", "UGSc", "utun4")
        for each in ("0.0.0.0/1", "128.0.0.0/1", "10.231.8.0/24")
    ]
    connect(one, 1, two, 1)
    return one, two


def _addressed_before() -> Hosts:
    one, two, three = _macs("mini1 mini2 mini3", "Mac16,11")
    for mac in (one, two, three):
        assert mac.bridge is not None
        mac.bridge.is_up, mac.bridge.members = False, ("en4",)
    cables = (((one, 1), (two, 2)), ((one, 2), (three, 1)), ((two, 1), (three, 2)))
    for block, ((a, at), (b, bt)) in enumerate(cables):
        connect(a, at, b, bt)
        for host, (mac, receptacle) in enumerate(((a, at), (b, bt)), 1):
            address = Inet(IPv4Interface(f"10.231.0.{4 * block + host}/30"))
            mac.addresses[mac.interfaces[receptacle]] = (address,)
    return one, two, three


def _vm_alone() -> Hosts:
    identifiers = {("mac", "en0"): "02:00:5e:10:00:01"}
    return (Mac.vm("vm", identifiers=identifiers),)


def _composed(
    hosts: Callable[[], Hosts], absent: Mapping[str, tuple[str, ...]] | None = None
) -> Scenario:
    return Scenario(hosts, {}, absent or {})


SCENARIOS: dict[str, Scenario] = {
    "fleet_of_four": Scenario(
        fleet,
        {
            "atlas": (*_RDMA_SAMPLE, "network_interfaces", "system_profiler_xml"),
            "birch": _RDMA_SAMPLE,
            "cedar": (*_RDMA_SAMPLE, "network_interfaces"),
            "dune": _SAMPLE,
        },
        {"birch": ("network_interfaces",), "dune": ("network_interfaces",)},
    ),
    "pair_with_dock": Scenario(
        dock_pair,
        {"delta": _RDMA_SAMPLE, "ember": _RDMA_SAMPLE},
        {"delta": ("network_interfaces",), "ember": ("network_interfaces",)},
    ),
    "pair_with_two_cables": Scenario(
        two_cable_pair,
        {"gable": _RDMA_SAMPLE, "grove": _RDMA_SAMPLE},
        {"gable": ("network_interfaces",), "grove": ("network_interfaces",)},
    ),
    "intel_and_german": Scenario(
        intel_and_german,
        {
            "heron": (*_SAMPLE_PROBES, "system_profiler_xml"),
            "granit": (*_SAMPLE, "network_interfaces"),
        },
        {"heron": ("networksetup_services", "ioreg_ports", "network_interfaces")},
    ),
    "mac_with_displays": Scenario(
        lambda: (display_mac(),),
        {"lumen": (*_SAMPLE, "system_profiler_xml")},
        {"lumen": ("network_interfaces",)},
    ),
    "idle_mac": Scenario(
        lambda: (idle_mac(),), {"quarry": _RDMA_SAMPLE}, {"quarry": ("network_interfaces",)}
    ),
    "linux_beside_mac": Scenario(
        mac_beside_linux, {"pebble": _SAMPLE}, {"pebble": ("network_interfaces",)}
    ),
    "vm_alone": Scenario(
        _vm_alone,
        {"vm": ("system_profiler", "networksetup_ports")},
        {"vm": ("ifconfig", "netstat", "ioreg_ports", "network_interfaces")},
    ),
    "two_hosts_one_cable": _composed(_two_hosts_one_cable),
    "two_hosts_two_cables": _composed(_two_hosts_two_cables),
    "triangle": _composed(_triangle),
    "four_studios": _composed(_four_studios),
    "mesh_of_four": _composed(_mesh_of_four),
    "six_with_chords": _composed(_six_with_chords),
    "chain_of_four": _composed(_chain_of_four),
    "star_of_five": _composed(_star_of_five),
    "stranger": _composed(_stranger),
    "self_looped_cable": _composed(_self_looped_cable),
    "one_sided_cable": _composed(_one_sided_cable),
    "receptacle_without_interface": _composed(_receptacle_without_interface),
    "vm_beside_mac": _composed(_vm_beside_mac),
    "german_names": _composed(_german_names),
    "chinese_names_without_ioreg": _composed(_chinese_names_without_ioreg),
    "no_bridge_block": _composed(_no_bridge_block),
    "dock_nics": _composed(_dock_nics),
    "tb4_tb5_mixed": _composed(_tb4_tb5_mixed),
    "hub_between_hosts": _composed(_hub_between_hosts),
    "old_macos_pair": _composed(_old_macos_pair),
    "old_macos_beside_new": _composed(_old_macos_beside_new),
    "intel_both_connected": _composed(_intel_both_connected),
    "sudo_differs": _composed(_sudo_differs),
    "vpn_routes": _composed(_vpn_routes),
    "addressed_before": _composed(_addressed_before),
}
