"""A healthy ring, and one fault at a time: each gives its own finding and no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from distconfig.doctor.checks import CHECKS, find_all
from distconfig.doctor.evidence import examine
from distconfig.doctor.findings import Severity
from distconfig.doctor.protection import find_refusals_here
from distconfig.errors import AuthenticationFailed, CommandFailed, Unreachable
from distconfig.recordings.recording import HostRecording
from tests.doctor_answers import SHARING_ON, record
from tests.fakemac import (
    Bridge,
    LinuxHost,
    Mac,
    Nic,
    connect,
    connect_through,
    disconnect,
    dock,
    loop,
    see_peer,
)
from tests.macos_output import Inet, Inet6, NetRoute

ROOT = Path(__file__).resolve().parents[2]
Ring = list[Mac]
Changed = Mapping[str, Mapping[str, tuple[int, bytes]]]


def inet(text: str) -> tuple[Inet | Inet6, ...]:
    return (Inet(IPv4Interface(text)),)


def healthy_ring() -> Ring:
    """Four Macs after a setup: en3 of each cabled to en2 of the next, a /30 on each cable."""
    macs = [
        Mac(f"studio{n}", bridge=Bridge(is_up=False), lan=IPv4Interface(f"192.168.1.{20 + n}/24"))
        for n in (1, 2, 3, 4)
    ]
    for index, mac in enumerate(macs):
        right = macs[(index + 1) % 4]
        connect(mac, 2, right, 1)
        mac.addresses["en3"] = inet(f"10.231.0.{4 * index + 1}/30")
        right.addresses["en2"] = inet(f"10.231.0.{4 * index + 2}/30")
    return macs


def found(ring: list[Mac | HostRecording], changed: Changed | None = None) -> list[tuple[str, str]]:
    """(id, hosts) of every finding."""
    return [(each.id, each.host) for each in find_all(examine(record(*ring, changed=changed)))]


def test_a_healthy_ring_has_no_finding() -> None:
    assert find_all(examine(record(*healthy_ring()))) == ()


# Faults in a host's own state: (id, hosts named, what is done to the ring).


def give_second_address(ring: Ring) -> None:
    ring[1].addresses["en3"] += inet("10.9.9.1/24")


def put_address_on_bridge_too(ring: Ring) -> None:
    ring[1].bridge = Bridge(members=("en3", "en4"))
    ring[1].addresses["bridge0"] = inet("192.168.2.1/24")
    ring[1].addresses["en3"] = ()


def use_subnet_twice(ring: Ring) -> None:
    ring[0].addresses["en5"] = inet("10.231.0.1/30")


def lead_peer_over_lan(ring: Ring) -> None:
    network = IPv4Network("10.231.0.2/32")
    ring[0].routes.append(NetRoute(network, "192.168.1.1", "UGHS", "en0"))


def lead_everything_into_cable(ring: Ring) -> None:
    everything = IPv4Network("0.0.0.0/0")
    ring[2].routes.append(NetRoute(everything, "10.231.0.10", "UGScg", "en3"))


def start_full_tunnel(ring: Ring) -> None:
    ring[2].nics.append(Nic("VPN", "utun4", addresses=(tunnel("10.66.0.2"),)))
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        ring[2].routes.append(NetRoute(IPv4Network(half), "10.66.0.1", "UGScg", "utun4"))


def start_tailscale(ring: Ring) -> None:
    ring[2].nics.append(Nic("Tailscale", "utun5", addresses=(tunnel("100.101.102.103"),)))


def tunnel(address: str) -> Inet:
    at = IPv4Interface(f"{address}/32")
    return Inet(at, peer=at.ip)


def raise_one_mtu(ring: Ring) -> None:
    ring[0].mtus["en3"] = 9000


def train_slowly(ring: Ring) -> None:
    connect(ring[0], 2, ring[1], 1, gbps=40)


def put_bridges_up(ring: Ring) -> None:
    for mac in ring:
        mac.bridge = Bridge()
        mac.addresses.clear()


def put_port_back(ring: Ring) -> None:
    ring[1].bridge = Bridge(members=("en3",))


def loop_a_cable(ring: Ring) -> None:
    loop(ring[1], 3, 4)


def plug_into_stranger(ring: Ring) -> None:
    connect(ring[1], 4, Mac("mini9"), 2)


def hide_one_side(ring: Ring) -> None:
    see_peer(ring[0], 4, ring[2], 4)


def go_through_dock(ring: Ring) -> None:
    disconnect(ring[0], 2)
    connect_through(dock("TS5 Plus"), ring[0], 2, ring[1], 1)


def lose_interface(ring: Ring) -> None:
    del ring[2].interfaces[4]
    connect(ring[0], 4, ring[2], 4)


def update_one(ring: Ring) -> None:
    ring[3].macos = "27.0"


def ask_password(ring: Ring) -> None:
    ring[0].sudo = "password"


def remove_sudo(ring: Ring) -> None:
    ring[0].sudo = "absent"


STATES: list[tuple[str, str, Callable[[Ring], None]]] = [
    ("two-addresses", "studio2", give_second_address),
    ("subnet-twice", "studio1", use_subnet_twice),
    ("peer-elsewhere", "studio1", lead_peer_over_lan),
    ("default-route-on-cable", "studio3", lead_everything_into_cable),
    ("vpn-full-tunnel", "studio3", start_full_tunnel),
    ("vpn-active", "studio3", start_tailscale),
    ("mtu-differs", "studio1, studio2", raise_one_mtu),
    ("slow-link", "studio1, studio2", train_slowly),
    ("bridge-loop", "studio1, studio2, studio3, studio4", put_bridges_up),
    ("bridged-address", "studio2", put_port_back),
    ("looped-cable", "studio2", loop_a_cable),
    ("stranger", "studio2", plug_into_stranger),
    ("one-sided-cable", "studio1, studio3", hide_one_side),
    ("through-dock", "studio1, studio2", go_through_dock),
    ("port-without-interface", "studio3", lose_interface),
    ("macos-differs", "studio1, studio2, studio3, studio4", update_one),
    ("sudo-password", "studio1", ask_password),
    ("sudo-missing", "studio1", remove_sudo),
]


@pytest.mark.parametrize(("id", "hosts", "break_it"), STATES, ids=[each[0] for each in STATES])
def test_a_fault_in_state_is_found_alone(
    id: str, hosts: str, break_it: Callable[[Ring], None]
) -> None:
    ring = healthy_ring()
    break_it(ring)
    assert found(list(ring)) == [(id, hosts)]


# Faults that the doctor's own probes tell of: (id, probe answers of studio2).

ANSWERS: list[tuple[str, dict[str, tuple[int, bytes]]]] = [
    ("firewall-on", {"firewall_state": (0, b"Firewall is enabled. (State = 1)\n")}),
    (
        "firewall-stealth",
        {
            "firewall_state": (0, b"Firewall is enabled. (State = 1)\n"),
            "firewall_stealth": (0, b"Stealth mode enabled\n"),
        },
    ),
    ("firewall-blocks-all", {"firewall_state": (0, b"Firewall is enabled. (State = 2)\n")}),
    (
        "firewall-blocks-all",
        {
            "firewall_state": (0, b"Firewall is enabled. (State = 1)\n"),
            "firewall_block_all": (0, b"Block all ENABLED!\n"),
        },
    ),
    (
        "exo-daemon",
        {
            "launch_daemons": (0, b"com.docker.socket.plist\nio.exo.networksetup.plist\n"),
            "network_daemons": (0, b"/Library/LaunchDaemons/io.exo.networksetup.plist\n"),
        },
    ),
    ("exo-location", {"network_location": (0, b"exo\n")}),
    (
        "network-daemon",
        {"network_daemons": (0, b"/Library/LaunchDaemons/org.lab.thunderbolt.plist\n")},
    ),
    ("internet-sharing", {"internet_sharing": (0, SHARING_ON)}),
    (
        "login-restricted",
        {
            "groups": (0, b"admin\ncom.apple.access_ssh\nstaff\n"),
            "own_groups": (0, b"staff admin\n"),
        },
    ),
    ("python-missing", {"python": (127, b"")}),
    ("local-network-privacy", {"reach": (0, b"10.231.0.1 EHOSTUNREACH yes\n10.231.0.6 OK no\n")}),
]


@pytest.mark.parametrize(("id", "answers"), ANSWERS)
def test_a_fault_in_settings_is_found_alone(id: str, answers: dict[str, tuple[int, bytes]]) -> None:
    assert found(list(healthy_ring()), {"studio2": answers}) == [(id, "studio2")]


@pytest.mark.parametrize(
    "answers",
    [
        {"firewall_stealth": (0, b"Firewall stealth mode is on\n")},  # the firewall is off
        {"network_location": (0, b"Office\n")},
        {"internet_sharing": (0, SHARING_ON.replace(b"<integer>1<", b"<integer>0<"))},
        {
            "groups": (0, b"admin\ncom.apple.access_ssh\nstaff\n"),
            "own_groups": (0, b"staff com.apple.access_ssh\n"),
        },
        {"python": (0, b"3.12.9 /usr/local/bin/python3\n")},
        {"reach": (0, b"10.231.0.1 ECONNREFUSED no\n10.231.0.6 EHOSTUNREACH no\n")},
        {"firewall_state": (0, b"Pare-feu\n"), "launch_daemons": (1, b"")},  # not understood
    ],
)
def test_what_only_looks_like_a_fault_is_none(answers: dict[str, tuple[int, bytes]]) -> None:
    assert found(list(healthy_ring()), {"studio2": answers}) == []


def test_different_pythons_are_one_finding() -> None:
    changed = {"studio3": {"python": (0, b"3.9.6 /usr/bin/python3\n")}}
    everyone = "studio1, studio2, studio4, studio3"
    assert found(list(healthy_ring()), changed) == [("python-differs", everyone)]


# Faults of hosts that are not read at all.


@pytest.mark.parametrize(
    ("id", "error"),
    [
        ("host-unreachable", Unreachable("port 22 refused the connection", host="studio5")),
        ("ssh-refused", AuthenticationFailed("it took none of our keys", host="studio5")),
        ("ssh-host-key", AuthenticationFailed("its host key is not known: E", host="studio5")),
        ("host-silent", CommandFailed("a script did not end within 60 s", host="studio5")),
    ],
)
def test_a_host_that_can_not_be_asked_says_why(id: str, error: Unreachable) -> None:
    recording = HostRecording("studio5", {}, error)
    assert found([*healthy_ring(), recording]) == [(id, "studio5")]


def test_a_host_that_is_not_understood_is_a_finding() -> None:
    mac = Mac("studio5")
    answers = dict(mac.answers())
    answers["system_profiler"] = mac.answer("sw_vers")
    recording = HostRecording("studio5", answers)
    assert found([*healthy_ring(), recording]) == [("not-understood", "studio5")]


def test_two_names_of_one_machine_are_one_finding() -> None:
    ring = healthy_ring()
    again = HostRecording("localhost", ring[2].answers())
    assert found([*ring, again]) == [("same-machine", "studio3, localhost")]


def test_a_virtual_machine_and_a_linux_host_have_no_thunderbolt() -> None:
    linux = HostRecording("fw", LinuxHost("fw").answers())
    everyone = "studio1, studio2, studio3, studio4, vm"
    assert found([*healthy_ring(), Mac.vm("vm"), linux]) == [
        ("no-thunderbolt", "vm"),
        ("not-a-mac", "fw"),
        ("macos-differs", everyone),
    ]


def test_a_bridge_that_holds_a_port_with_another_address_is_two_addresses() -> None:
    ring = healthy_ring()
    put_address_on_bridge_too(ring)
    ring[1].addresses["en3"] = inet("10.231.0.5/30")
    assert ("two-addresses", "studio2") in found(list(ring))


def test_a_self_assigned_address_that_is_routed_elsewhere_is_a_finding() -> None:
    ring = healthy_ring()
    ring[3].addresses["en2"] = inet("169.254.7.9/16")
    # macOS binds every route to 169.254/16 but one to its interface: the flag I of netstat(1).
    routes = [
        replace(route, flags="UCSI") if route.interface == "en2" else route
        for route in ring[3].route_list()
    ]
    answers = {**ring[3].answers(), "netstat": ring[3].answer("netstat", routes=routes)}
    hosts = [*ring[:3], HostRecording("studio4", answers)]
    assert found(hosts) == [("link-local-elsewhere", "studio4")]


def test_several_faults_are_listed_worst_first() -> None:
    ring = healthy_ring()
    for break_it in (start_tailscale, ask_password, raise_one_mtu):
        break_it(ring)
    assert [each for each, _ in found(list(ring))] == ["mtu-differs", "sudo-password", "vpn-active"]


def test_a_refusal_on_this_machine_is_told_by_the_notes_of_its_connections() -> None:
    note = (
        "studio1: macOS lets this Python reach no local address (errno 65, Local Network privacy), "
        "so /usr/bin/nc carries the connection"
    )
    (finding,) = find_refusals_here(["studio1: accepted its new key", note, note])
    assert (finding.id, finding.host) == ("local-network-privacy", "this machine")
    assert finding.text == f"{note}."
    assert list(find_refusals_here(["studio1: accepted its new key"])) == []


def test_text_from_a_host_is_shown_with_its_controls_escaped() -> None:
    changed = {"studio2": {"network_daemons": (0, b"/Library/LaunchDaemons/\x1b[31mred.plist\n")}}
    (finding,) = find_all(examine(record(*healthy_ring(), changed=changed)))
    assert "\x1b" not in finding.text
    assert "red" in finding.text


def test_every_kind_has_a_section_in_the_manual_and_every_section_a_kind() -> None:
    kinds = [kind for check in CHECKS for kind in check.kinds]
    ids = [kind.id for kind in kinds]
    assert len(set(ids)) == len(ids)
    sections = re.findall(r"^## ([a-z-]+)$", (ROOT / "docs/doctor.md").read_text(), re.MULTILINE)
    assert sections == ids
    assert all(isinstance(kind.severity, Severity) and kind.cause and kind.fix for kind in kinds)
