"""A model of what macOS commands do to the network of a Mac, and cables between such models.

It knows interfaces, bridges and IPv4 routes, follows the argv of ``ifconfig``, ``route`` and
``ipconfig`` by its own reading of their manual pages, and tells its state as a `HostReport`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from uuid import NAMESPACE_DNS, UUID, uuid5

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.reports.report import HostReport, InterfaceState, PeerSighting, Receptacle, Route
from distconfig.setup.setup_steps import SetupScript, SetupStep

Gateway = tuple[IPv4Address | None, str]

DEFAULT = IPv4Network("0.0.0.0/0")
LAN = IPv4Interface("192.168.1.10/24")


@dataclass
class ModelInterface:
    """One interface, or a bridge."""

    up: bool = True
    mtu: int = 1500
    addresses: list[IPv4Interface] = field(default_factory=list)


@dataclass
class ModelMac:
    """One Mac: ``en0`` with the LAN and the default route, and Thunderbolt ports."""

    host: str
    ports: tuple[str, ...] = ("en2", "en3", "en4")
    lan: IPv4Interface | None = LAN
    interfaces: dict[str, ModelInterface] = field(default_factory=dict)
    bridges: dict[str, set[str]] = field(default_factory=dict)
    static_routes: dict[IPv4Network, Gateway] = field(default_factory=dict)
    client: str = "192.168.1.2"

    def __post_init__(self) -> None:
        self.interfaces["en0"] = ModelInterface()
        if self.lan is not None:
            self.interfaces["en0"].addresses.append(self.lan)
            self.static_routes[DEFAULT] = (self.lan.network.network_address + 1, "en0")
        for port in self.ports:
            self.interfaces[port] = ModelInterface()

    @property
    def hardware_uuid(self) -> UUID:
        return uuid5(NAMESPACE_DNS, self.host)

    def add_bridge(self, name: str, members: Iterable[str], *, up: bool = True) -> None:
        self.interfaces[name] = ModelInterface(up)
        self.bridges[name] = set(members)

    def state(self) -> object:
        """All of it, comparable; addresses and members in no order."""
        interfaces = {
            name: (each.up, each.mtu, sorted(each.addresses))
            for name, each in self.interfaces.items()
        }
        return copy.deepcopy((interfaces, self.bridges, self.static_routes))

    # Commands

    def run(self, argv: Sequence[str]) -> int:
        """Do what the command does; its exit code."""
        program, *words = argv
        if program == "/sbin/ifconfig":
            return self._ifconfig(*words)
        if program == "/sbin/route":
            return self._route(words)
        if program == "/usr/sbin/ipconfig":
            return self._ipconfig(words)
        raise AssertionError(f"no Mac has {program}")

    def _ifconfig(self, name: str, *words: str) -> int:
        if name not in self.interfaces:
            return 1
        if words[0] in ("addm", "deletem"):
            return self._change_members(name, *words)
        interface = self.interfaces[name]
        rest = list(words)
        address: IPv4Address | None = None
        mask, alias, remove = "", False, False
        while rest:
            word = rest.pop(0)
            if word == "inet":
                address = IPv4Address(rest.pop(0))
            elif word == "netmask":
                mask = rest.pop(0)
            elif word in ("alias", "-alias"):
                alias, remove = word == "alias", word == "-alias"
            elif word == "mtu":
                interface.mtu = int(rest.pop(0))
            elif word in ("up", "down"):
                interface.up = word == "up"
            else:
                raise AssertionError(f"ifconfig knows no {word}")
        if address is None:
            return 0
        if remove:
            left = [each for each in interface.addresses if each.ip != address]
            is_gone = len(left) < len(interface.addresses)
            interface.addresses[:] = left
            return 0 if is_gone else 1
        added = IPv4Interface(f"{address}/{mask}")
        if not alias and interface.addresses:
            del interface.addresses[0]
        if added not in interface.addresses:
            interface.addresses.append(added)
        interface.up = True  # BSD switches an interface on that gets an address
        return 0

    def _change_members(self, bridge: str, verb: str, port: str) -> int:
        if bridge not in self.bridges or port not in self.interfaces:
            return 1
        if verb == "deletem":
            if port not in self.bridges[bridge]:
                return 1
            self.bridges[bridge].remove(port)
            return 0
        is_taken = any(port in members for members in self.bridges.values())
        if is_taken or self.interfaces[port].addresses:
            return 1
        self.bridges[bridge].add(port)
        return 0

    def _route(self, words: list[str]) -> int:
        assert words[0] == "-n"
        verb, is_host, peer, *way = words[1:]
        assert is_host == "-host"
        destination = IPv4Network(peer)
        gateway: Gateway = (
            (None, way[1]) if way[0] == "-interface" else (IPv4Address(way[0]), "en0")
        )
        exists = destination in self.static_routes
        if verb == ("change" if exists else "add"):
            self.static_routes[destination] = gateway
        elif verb == "delete":
            self.static_routes.pop(destination, None)
        return 0  # whatever it did

    def _ipconfig(self, words: list[str]) -> int:
        verb, name, method = words
        assert (verb, method) == ("set", "DHCP")
        self.interfaces[name].addresses[:] = [self.self_assigned(name)]
        return 0

    def self_assigned(self, name: str) -> IPv4Interface:
        """The address that macOS gives a port where no DHCP server answers."""
        return IPv4Interface((IPv4Address("169.254.7.0") + int(name[-1]), 16))

    # Routes

    def routes(self) -> list[Route]:
        """Static ones, and one for each address of an interface that is up."""
        found = [
            Route(destination, gateway, interface, "UGSc" if gateway else "UHS")
            for destination, (gateway, interface) in self.static_routes.items()
        ]
        for name, interface in self.interfaces.items():
            if interface.up:
                found += [Route(each.network, None, name, "UCS") for each in interface.addresses]
        return found

    def way_to(self, peer: IPv4Address) -> str:
        """The interface that a packet to this address leaves by."""
        fitting = [each for each in self.routes() if peer in each.destination]
        return max(fitting, key=lambda each: each.destination.prefixlen).interface

    def run_step(self, step: SetupStep) -> None:
        """Do a step as a person does who follows the printed text."""
        goal = step.unless
        for argv in (step.argv, step.otherwise):
            if argv and (goal is None or self.way_to(goal.peer) != goal.interface):
                assert self.run(argv) == 0

    def run_script(self, script: SetupScript, *, steps: int | None = None) -> None:
        for step in script.steps[:steps]:
            self.run_step(step)

    def run_undo(self, script: SetupScript) -> None:
        """Run every undo command, whatever the others came to."""
        for argv in script.undo:
            self.run(argv)

    # Telling

    def report(self, connected: dict[str, UUID]) -> HostReport:
        """What a probe round says.

        Args:
            connected: Port to the domain UUID of the port at the other end of its cable.
        """
        lan = str(self.lan.ip) if self.lan else ""
        return HostReport(
            self.host,
            hardware_uuid=self.hardware_uuid,
            receptacles=tuple(
                Receptacle(
                    str(number),
                    domain_of(self.host, port),
                    port,
                    is_connected=port in connected,
                    peers=(PeerSighting(connected[port]),) if port in connected else (),
                )
                for number, port in enumerate(self.ports, start=1)
            ),
            interfaces=tuple(
                InterfaceState(
                    name,
                    each.up,
                    each.mtu,
                    is_active=name in connected or name == "en0",
                    addresses=tuple(each.addresses),
                    members=tuple(sorted(self.bridges.get(name, ()))),
                    is_bridge=name in self.bridges,
                )
                for name, each in self.interfaces.items()
            ),
            routes=tuple(self.routes()),
            ssh_connection=(self.client, "50000", lan, "22") if lan else (),
        )


def domain_of(host: str, port: str) -> UUID:
    return uuid5(NAMESPACE_DNS, f"{host} {port}")


@dataclass
class ModelLab:
    """Macs in the order given and cables between their ports, ``(host, port, host, port)``."""

    macs: dict[str, ModelMac]
    plugged: list[tuple[str, str, str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, *macs: ModelMac) -> ModelLab:
        return cls({mac.host: mac for mac in macs})

    def plug(self, host: str, port: str, other: str, other_port: str) -> Cable:
        """Put a cable in; the host given first must come first in the lab."""
        self.plugged.append((host, port, other, other_port))
        return self.cable(host, port, other, other_port)

    def cable(self, host: str, port: str, other: str, other_port: str) -> Cable:
        ends = (
            CableEnd(each, str(1 + self.macs[each].ports.index(name)), name)
            for each, name in ((host, port), (other, other_port))
        )
        return Cable(*ends)

    def report(self, host: str) -> HostReport:
        connected = {}
        for a, port, b, other_port in self.plugged:
            if a == host:
                connected[port] = domain_of(b, other_port)
            if b == host:
                connected[other_port] = domain_of(a, port)
        return self.macs[host].report(connected)

    def topology(self, hosts: Sequence[str] | None = None) -> Topology:
        """What is known of these hosts, all of them by default."""
        hosts = tuple(self.macs if hosts is None else hosts)
        cables = tuple(
            self.cable(a, port, b, other_port)
            for a, port, b, other_port in self.plugged
            if a in hosts and b in hosts
        )
        reports = {host: self.report(host) for host in hosts}
        return Topology(hosts, cables, reports, {})
