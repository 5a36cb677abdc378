"""A host as it will be after the commands planned so far."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface

from distconfig.reports.report import HostReport
from distconfig.setup.mac_commands import Argv

__all__ = ["LiveHost"]


@dataclass
class LiveHost:
    """The state of a host, kept up to date while commands are planned for it.

    Args:
        up: Names of the interfaces and bridges that are up.
        members: Bridge to its ports.
        static_routes: Peer and interface of each route to one address that someone set.
    """

    addresses: dict[str, list[IPv4Interface]]
    mtus: dict[str, int]
    up: set[str]
    members: dict[str, list[str]]
    static_routes: set[tuple[IPv4Address, str]]

    @classmethod
    def of(cls, report: HostReport) -> LiveHost:
        """The state that a report tells."""
        return cls(
            {state.name: list(state.addresses) for state in report.interfaces},
            {state.name: state.mtu for state in report.interfaces},
            {state.name for state in report.interfaces if state.is_up},
            {bridge.name: list(bridge.members) for bridge in report.bridges},
            {
                (route.destination.network_address, route.interface)
                for route in report.routes
                if route.destination.prefixlen == 32
                and "S" in route.flags
                and "W" not in route.flags  # not an entry of the neighbour table
            },
        )

    def bridge_of(self, port: str) -> str | None:
        """The bridge that holds a port."""
        return next((name for name, ports in self.members.items() if port in ports), None)

    def run(self, argv: Argv) -> None:
        """Become what the host is after the command."""
        match argv:
            case (_, bridge, "addm", port):
                self.members[bridge].append(port)
            case (_, name, "up"):
                self.up.add(name)
            case (_, name, "down"):
                self.up.discard(name)
            case (_, name, "mtu", mtu):
                self.mtus[name] = int(mtu)
            case (_, name, "inet", ip, "-alias"):
                self.addresses[name] = [a for a in self.addresses[name] if str(a.ip) != ip]
            case (_, name, "inet", ip, "netmask", mask, "alias"):
                self.addresses[name].append(IPv4Interface(f"{ip}/{mask}"))
                self.up.add(name)  # as BSD does with an interface that gets an address
            case (_, "set", name, "DHCP"):
                self.addresses[name] = []
            case (_, _, "delete", _, peer, _, name):
                self.static_routes.discard((IPv4Address(peer), name))
