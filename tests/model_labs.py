"""Strategies that draw Macs in any state, with cables between them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from hypothesis import strategies as st

from tests.model_mac import ModelInterface, ModelLab, ModelMac

__all__ = ["looped_labs", "model_labs"]

_FOREIGN = tuple(
    map(
        IPv4Interface,
        (
            "10.231.0.1/30",
            "10.231.0.2/30",
            "10.231.0.5/30",
            "10.231.0.6/30",
            "10.231.0.9/24",
            "10.77.0.1/24",
            "172.29.3.3/16",
            "192.168.0.1/30",
            "192.168.0.2/30",
            "192.168.0.30/24",
        ),
    )
)
_ROUTES = tuple(
    map(
        IPv4Network,
        (
            "10.0.0.0/8",
            "10.231.0.2/32",
            "10.231.0.0/30",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "0.0.0.0/1",
            "128.0.0.0/1",
        ),
    )
)


@st.composite
def _macs(draw: st.DrawFn, host: str, number: int) -> ModelMac:
    lan = draw(st.sampled_from(["192.168.1", "192.168.0", "10.0.0"]))
    mac = ModelMac(host, lan=IPv4Interface(f"{lan}.{10 + number}/24"), client=f"{lan}.200")
    bridged = draw(st.sets(st.sampled_from(mac.ports)))
    for port in mac.ports:
        interface = mac.interfaces[port]
        interface.up = draw(st.booleans())
        interface.mtu = draw(st.sampled_from([1500, 9000]))
        if port not in bridged:
            some = st.lists(st.sampled_from(_FOREIGN), max_size=2, unique_by=lambda each: each.ip)
            interface.addresses += draw(some)
            if draw(st.booleans()):
                place = draw(st.integers(0, len(interface.addresses)))
                interface.addresses.insert(place, mac.self_assigned(port))
    if bridged or draw(st.booleans()):
        name = draw(st.sampled_from(["bridge0", "bridge1"]))
        mac.add_bridge(name, bridged, up=draw(st.booleans()))
    for network in draw(st.sets(st.sampled_from(_ROUTES), max_size=2)):
        mac.static_routes[network] = (IPv4Address(f"{lan}.1"), "en0")
    return mac


@st.composite
def model_labs(draw: st.DrawFn) -> ModelLab:
    """Two to four Macs in any state and at least one cable."""
    hosts = "abcd"[: draw(st.integers(2, 4))]
    lab = ModelLab.of(*(draw(_macs(host, number)) for number, host in enumerate(hosts)))
    free = [(host, port) for host in hosts for port in lab.macs[host].ports]
    for _ in range(draw(st.integers(1, 5))):
        pairs = [(one, two) for one in free for two in free if one[0] < two[0]]
        if not pairs:
            break
        one, two = draw(st.sampled_from(pairs))
        lab.plug(*one, *two)
        free.remove(one)
        free.remove(two)
    return lab


@st.composite
def looped_labs(draw: st.DrawFn) -> ModelLab:
    """Three or four Macs in a ring whose bridges are up; some hold a network card as well."""
    hosts = "abcd"[: draw(st.integers(3, 4))]
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in hosts))
    for mac in lab.macs.values():
        members = ["en2", "en3", *draw(st.sampled_from([["en4"], ["en4", "en8"], []]))]
        mac.interfaces["en8"] = ModelInterface()
        mac.add_bridge("bridge0", members)
    for number, host in enumerate(hosts[1:]):
        lab.plug(hosts[number], "en3", host, "en2")
    lab.plug(hosts[0], "en2", hosts[-1], "en3")
    return lab
