"""A simulated Mac as `tests.fakemac` sees it: the same machine, with the state of this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from tests import fakemac
from tests.macos_output import PROMISC, RUNNING, UP, Inet, Inet6, Interface, NetRoute
from tests.simulated_macs.layout import End, Mac
from tests.simulated_macs.network import Link, Network
from tests.simulated_macs.world_file import World

__all__ = ["ether", "live_interfaces", "live_routes", "portray"]


def _blank(mac: Mac) -> fakemac.Mac:
    fake = fakemac.Mac(mac.name, mac.model, mac.macos, user=mac.user)
    if fake.rdma is not None:
        fake.rdma = "enabled" if mac.rdma else "disabled"
    fake.bridge = fakemac.Bridge(mac.bridge.name) if mac.bridge else None
    if mac.usb_card:
        fake.nics.append(fakemac.Nic("USB LAN", "en8", fake.mac_address("mac", "en8")))
    if mac.vpn:
        fake.nics.append(fakemac.Nic("VPN", "utun4"))
    return fake


def ether(mac: Mac, interface: str) -> str:
    """The Ethernet address that this Mac prints for an interface."""
    fake = _blank(mac)
    if interface in mac.ports:
        return fake.port_mac(1 + mac.ports.index(interface))
    return fake.mac_address("mac", interface)


def portray(world: World, host: str) -> fakemac.Mac:
    """The Mac of this name with what is attached to it now."""
    cables = [cable for cable in world.cables if host in (cable[0].host, cable[1].host)]
    near = {host, *(end.host for cable in cables for end in cable)}
    ports = {mac.name: mac.ports for mac in world.macs if mac.name in near}
    fakes = {mac.name: _blank(mac) for mac in world.macs if mac.name in near}
    for name, fake in fakes.items():
        fake.identifiers = {
            ("domain", fake.bus_of(1 + place)): str(world.domain_uuid(End(name, port))).upper()
            for place, port in enumerate(ports[name])
        }
    for one, two in cables:
        ends = [(fakes[end.host], 1 + ports[end.host].index(end.interface)) for end in (one, two)]
        fakemac.connect(*ends[0], *ends[1])
    return fakes[host]


def live_interfaces(fake: fakemac.Mac, network: Network) -> list[Interface]:
    """What ``ifconfig -a`` lists: interfaces of the kernel as they are, the rest imagined."""
    links = {link.name: link for link in network.links()}
    carriers = {name for name, link in links.items() if link.has_carrier}
    listed = [
        _alive(each, links[each.name]) if each.name in links else each
        for each in fake.interface_list()
        if each.name in links or each.members is None
    ]
    known = {each.name for each in listed}
    for name, bridge in network.bridges.items():
        if name not in known:
            imagined = Interface(name, options=0x63, mac=links[name].mac, members=())
            listed.append(_alive(imagined, links[name]))
        place = next(at for at, each in enumerate(listed) if each.name == name)
        is_active = bridge.is_up and not carriers.isdisjoint(bridge.members)
        listed[place] = replace(
            listed[place],
            members=tuple(bridge.members),
            is_active=is_active,
            media="autoselect" if is_active else "<unknown type>",
        )
    return listed


def _alive(imagined: Interface, link: Link) -> Interface:
    if link.name == "lo":
        return imagined
    changing = UP | RUNNING | PROMISC
    flags = imagined.flags & ~changing
    flags |= UP | RUNNING if link.is_up else 0
    flags |= PROMISC if link.bridge else 0
    inet6 = () if link.name != "en0" else tuple(_inet6(imagined.addresses))
    is_tunnel = imagined.is_active is None
    addresses = tuple(Inet(each, peer=each.ip if is_tunnel else None) for each in link.addresses)
    is_active = None if is_tunnel else link.is_up and link.has_carrier
    return replace(
        imagined, flags=flags, mtu=link.mtu, addresses=inet6 + addresses, is_active=is_active
    )


def _inet6(addresses: Sequence[Inet | Inet6]) -> list[Inet6]:
    return [each for each in addresses if isinstance(each, Inet6)]


def live_routes(
    fake: fakemac.Mac, network: Network, interfaces: Sequence[Interface]
) -> list[NetRoute]:
    """What ``netstat -rn`` lists for IPv4: the routes of the kernel and those macOS adds."""
    numbers = {each.name: place for place, each in enumerate(interfaces, 1)}
    routes = [net_route(entry, numbers) for entry in network.routes()]
    for each in interfaces:
        if each.name == "lo0":
            continue
        link = f"link#{numbers[each.name]}"
        own = [entry.address.ip for entry in each.addresses if isinstance(entry, Inet)]
        routes += [NetRoute(IPv4Network(ip), link, "UCS", each.name, "!") for ip in own]
    loopback = [
        NetRoute(IPv4Network("127.0.0.0/8"), "127.0.0.1", "UCS", "lo0"),
        NetRoute(IPv4Network("127.0.0.1/32"), "127.0.0.1", "UH", "lo0"),
    ]
    return [*routes[:1], *loopback, *routes[1:]]


def net_route(entry: Mapping[str, Any], numbers: Mapping[str, int]) -> NetRoute:
    """One route of ``ip -j route`` as BSD has it."""
    destination = entry["dst"]
    network = IPv4Network("0.0.0.0/0" if destination == "default" else destination)
    is_host = network.prefixlen == 32
    interface = "lo0" if entry["dev"] == "lo" else entry["dev"]
    if "gateway" in entry:
        flags = "UGScg" if network.prefixlen == 0 else "UGHS" if is_host else "UGSc"
        return NetRoute(network, entry["gateway"], flags, interface)
    link = f"link#{numbers.get(interface, 0)}"
    return NetRoute(network, link, "UHS" if is_host else "UCS", interface, "" if is_host else "!")
