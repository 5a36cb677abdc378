"""The renderer of Mac output agrees, byte for byte, with text that was there before it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest

from tests.fakemac import Mac, connect, connect_through, disconnect, dock
from tests.macos_output import (
    HardwarePort,
    Inet,
    Interface,
    NetRoute,
    Service,
    Vlan,
    abbreviate_network,
    render_ibv_devices,
    render_ifconfig,
    render_netstat,
    render_networksetup_ports,
    render_networksetup_services,
    render_route_get,
)
from tests.sample_macs import intel_and_german
from tests.scenario_macs import SCENARIOS
from tests.scenarios import scenario

SAMPLE_TEXTS = [
    (name, host, probe)
    for name, each in SCENARIOS.items()
    for host, probes in each.from_sample.items()
    for probe in probes
]

# Where the renderer does not give the sample's text, and why.
DEVIATIONS = {
    ("heron", "ifconfig"): "the sample shows no more than lo0 without IPv6, the ports and bridge0"
}


def sample_text(name: str, host: str, probe: str) -> str:
    hosts = {each.host: each for each in scenario(name).recording.hosts}
    return hosts[host].probes[probe].stdout.decode()


def rendered(name: str, host: str, probe: str) -> str:
    hosts = {each.name: each for each in SCENARIOS[name].hosts()}
    return hosts[host].answer(probe).stdout.decode()


def test_the_samples_are_compared_at_all() -> None:
    probes = {probe for _, _, probe in SAMPLE_TEXTS}
    assert {"system_profiler", "system_profiler_xml", "ifconfig", "ibv_devices"} <= probes
    assert {"networksetup_ports", "networksetup_services", "ioreg_ports"} <= probes
    assert len(SAMPLE_TEXTS) > 90


@pytest.mark.parametrize(("name", "host", "probe"), SAMPLE_TEXTS)
def test_a_sample_is_rendered_from_its_parameters(name: str, host: str, probe: str) -> None:
    differs = rendered(name, host, probe) != sample_text(name, host, probe)
    assert differs == ((host, probe) in DEVIATIONS)


def test_the_deviating_sample_is_a_part_of_what_is_rendered() -> None:
    heron, _ = intel_and_german()
    listed = heron.interface_list()
    loopback = replace(listed[0], addresses=listed[0].addresses[:1], has_nd6=False)
    shown = ["lo0", "en1", "en2", "en3", "en4", "bridge0"]
    text = render_ifconfig([loopback, *listed[1:]], is_old=True, only=shown)
    assert text == sample_text("intel_and_german", "heron", "ifconfig")


# Texts below: man pages and sources of Apple's network_cmds, and public threads.


@pytest.mark.parametrize(
    ("network", "printed"),
    [
        ("0.0.0.0/0", "default"),
        ("0.0.0.0/1", "0/1"),
        ("128.0.0.0/1", "128.0/1"),
        ("127.0.0.0/8", "127"),
        ("10.0.0.0/8", "10"),
        ("10.231.0.0/20", "10.231/20"),
        ("10.231.0.4/30", "10.231.0.4/30"),
        ("169.254.0.0/16", "169.254"),
        ("172.16.0.0/12", "172.16/12"),
        ("192.168.1.0/24", "192.168.1"),
        ("192.168.0.0/16", "192.168.0/16"),
        ("192.168.1.7/32", "192.168.1.7/32"),
        ("224.0.0.0/4", "224.0.0/4"),
    ],
)
def test_networks_are_abbreviated_as_bsd_does(network: str, printed: str) -> None:
    assert abbreviate_network(IPv4Network(network)) == printed


def test_routes_stand_in_the_columns_of_netstat() -> None:
    routes = [
        NetRoute(IPv4Network("0.0.0.0/0"), "192.168.1.1", "UGScg", "en0"),
        NetRoute(IPv4Network("192.168.64.0/24"), "link#18", "UCSIg", "bridge100", "!"),
        NetRoute(IPv4Network("192.168.1.4/32"), "84:2f:57:43:de:a5", "UHLWI", "en0", "279"),
    ]
    assert render_netstat(routes).splitlines()[:7] == [
        "Routing tables",
        "",
        "Internet:",
        "Destination        Gateway            Flags               Netif Expire",
        "default            192.168.1.1        UGScg                 en0       ",
        "192.168.64         link#18            UCSIg           bridge100      !",
        "192.168.1.4        84:2f:57:43:de:a5  UHLWI                 en0    279",
    ]


def test_route_get_names_the_interface() -> None:
    route = NetRoute(IPv4Network("192.168.0.0/30"), "link#4", "UCS", "en4")
    assert render_route_get(IPv4Address("192.168.0.2"), route) == (
        "   route to: 192.168.0.2\n"
        "destination: 192.168.0.0\n"
        "       mask: 255.255.255.252\n"
        "  interface: en4\n"
        "      flags: <UP,DONE,CLONING>\n"
        " recvpipe  sendpipe  ssthresh  rtt,msec    rttvar  hopcount      mtu     expire\n"
        "       0         0         0         0         0         0      1500         0 \n"
    )


def test_a_tunnel_prints_its_far_end() -> None:
    address = Inet(IPv4Interface("10.66.0.2/32"), IPv4Address("10.66.0.1"))
    tunnel = Interface("utun4", flags=0x8051, mtu=1380, addresses=(address,))
    assert render_ifconfig([tunnel]) == (
        "utun4: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380\n"
        "\tinet 10.66.0.2 --> 10.66.0.1 netmask 0xffffffff\n"
        "\tnd6 options=201<PERFORMNUD,DAD>\n"
    )


def test_a_disabled_service_is_starred() -> None:
    services = [
        Service("Ethernet", "Ethernet", "en0"),
        Service("Thunderbolt Bridge", "Thunderbolt Bridge", "bridge0", is_enabled=False),
        Service("USB LAN 2", "USB LAN", "en8"),
    ]
    assert render_networksetup_services(services) == (
        "An asterisk (*) denotes that a network service is disabled.\n"
        "(1) Ethernet\n(Hardware Port: Ethernet, Device: en0)\n\n"
        "(*) Thunderbolt Bridge\n(Hardware Port: Thunderbolt Bridge, Device: bridge0)\n\n"
        "(3) USB LAN 2\n(Hardware Port: USB LAN, Device: en8)\n\n"
    )


def test_vlans_follow_the_ports() -> None:
    ports = [HardwarePort("Bluetooth DUN", "Bluetooth-Modem")]
    assert render_networksetup_ports(ports, [Vlan("Lab", "en0", "vlan0", 42)]) == (
        "\nHardware Port: Bluetooth DUN\nDevice: Bluetooth-Modem\nEthernet Address: N/A\n"
        "\nVLAN Configurations\n===================\n"
        "\nVLAN User Defined Name: Lab\nParent Device: en0\n"
        'Device ("Hardware" Port): vlan0\nTag: 42\n'
    )


def test_without_rdma_ibv_devices_prints_its_heading() -> None:
    assert render_ibv_devices([]) == (
        "    device          \t   node GUID\n    ------          \t----------------\n"
    )


def test_identifiers_depend_on_the_name_alone() -> None:
    once, again, other = Mac("studio1"), Mac("studio1"), Mac("studio2")
    assert once.answers() == again.answers()
    assert once.domain_uuid(1) != other.domain_uuid(1)


def test_pulling_a_cable_takes_it_out_of_both_ends() -> None:
    one, two = Mac("studio1"), Mac("studio2")
    idle = one.answers(), two.answers()
    connect(one, 1, two, 2)
    connect_through(dock(), one, 3, two, 4)
    assert one.has_active_peer(3)
    assert two.has_active_peer(4)
    disconnect(two, 2)
    disconnect(one, 3)
    assert (one.answers(), two.answers()) == idle


def test_live_state_replaces_that_of_the_fake() -> None:
    live = [Interface("en2", flags=0x8863, mtu=9000, mac="36:00:00:00:00:00", has_nd6=False)]
    text = Mac("studio1").answer("ifconfig", interfaces=live).stdout.decode()
    assert text.startswith("en2: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 9000")
    assert text.count("flags=") == 1
