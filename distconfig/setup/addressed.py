"""Cables as the hosts' addresses tell of them: which two interfaces talk to each other.

A cable that was cut or never seen still has addresses at its ends, and a cable
that was never set up has none; both are here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.reports.report import HostReport
from distconfig.setup.occupancy import PRIVATE_BLOCKS

__all__ = [
    "AddressedCable",
    "AddressedEnd",
    "find_addressed_cables",
    "is_ours",
]


@dataclass(frozen=True)
class AddressedEnd:
    """One end of a cable with the address it has.

    Args:
        address: None where it has none that the other end could talk to.
    """

    end: CableEnd
    address: IPv4Interface | None = None

    @property
    def host(self) -> str:
        """The host it is in."""
        return self.end.host

    @property
    def interface(self) -> str:
        """Its interface; empty if not known."""
        return self.end.interface

    def __str__(self) -> str:
        return str(self.end)


@dataclass(frozen=True)
class AddressedCable:
    """Two ends that belong together.

    Args:
        seen: The cable that the hosts see there; None if only the addresses tell of it.
    """

    a: AddressedEnd
    b: AddressedEnd
    seen: Cable | None = None

    @property
    def ends(self) -> tuple[AddressedEnd, AddressedEnd]:
        """Both ends."""
        return (self.a, self.b)

    @property
    def has_addresses(self) -> bool:
        """Both ends can be talked to."""
        return self.a.address is not None and self.b.address is not None

    @property
    def network(self) -> IPv4Network | None:
        """The network it carries, as far as an end tells."""
        known = [each.address.network for each in self.ends if each.address is not None]
        return known[0] if known else None

    def other_end(self, end: AddressedEnd) -> AddressedEnd:
        """The end that is not this one."""
        return self.b if end is self.a else self.a

    def __str__(self) -> str:
        return f"{self.a} -- {self.b}"


def find_addressed_cables(topology: Topology) -> tuple[AddressedCable, ...]:
    """Every cable that can carry a ring, and every pair of ends whose addresses are one /30.

    In canonical order of cables, then those that nobody sees.
    """
    found = [_with_addresses(cable, topology) for cable in topology.usable_cables]
    taken = {(each.host, each.interface) for cable in found for each in cable.ends}
    for one, other in _address_pairs(topology):
        if not {(one.host, one.interface), (other.host, other.interface)} & taken:
            found.append(AddressedCable(one, other))
    return tuple(found)


def _with_addresses(cable: Cable, topology: Topology) -> AddressedCable:
    at_a, at_b = (_addresses(topology, end) for end in cable.ends)
    shared = [network for network in at_a if network in at_b and at_a[network] != at_b[network]]
    if shared:
        best = max(shared, key=lambda network: network.prefixlen)
        return _joined(cable, at_a[best], at_b[best])
    return _joined(cable, _first_slash30(at_a), _first_slash30(at_b))


def _joined(cable: Cable, at_a: IPv4Interface | None, at_b: IPv4Interface | None) -> AddressedCable:
    return AddressedCable(AddressedEnd(cable.a, at_a), AddressedEnd(cable.b, at_b), cable)


def _addresses(topology: Topology, end: CableEnd) -> dict[IPv4Network, IPv4Interface]:
    """The first address of an end in each network it is in."""
    report = topology.reports.get(end.host)
    state = report.interface(end.interface) if report else None
    found: dict[IPv4Network, IPv4Interface] = {}
    for address in state.addresses if state else ():
        found.setdefault(address.network, address)
    return found


def _first_slash30(addresses: dict[IPv4Network, IPv4Interface]) -> IPv4Interface | None:
    return next((each for each in addresses.values() if is_ours(each)), None)


def is_ours(address: IPv4Interface) -> bool:
    """The address is one of the two of a private /30, as a setup gives them."""
    network = address.network
    return (
        network.prefixlen == 30
        and address.ip in tuple(network.hosts())
        and any(network.subnet_of(block) for block in PRIVATE_BLOCKS)
    )


def _address_pairs(topology: Topology) -> Iterator[tuple[AddressedEnd, AddressedEnd]]:
    """Thunderbolt ports of two hosts that have the two addresses of one private /30."""
    holders: dict[IPv4Network, list[AddressedEnd]] = {}
    for report in topology.reports.values():
        for end in _thunderbolt_ends(report):
            for address in _addresses(topology, end).values():
                if is_ours(address):
                    holders.setdefault(address.network, []).append(AddressedEnd(end, address))
    for ends in holders.values():
        if len(ends) == 2 and ends[0].host != ends[1].host and ends[0].address != ends[1].address:
            yield ends[0], ends[1]


def _thunderbolt_ends(report: HostReport) -> Iterator[CableEnd]:
    for each in report.receptacles:
        if each.interface:
            yield CableEnd(report.host, each.label, each.interface)
