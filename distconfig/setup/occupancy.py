"""What addresses hosts already have: those of an earlier plan, and everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, collapse_addresses

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.recordings.recording import OperatorNetwork
from distconfig.reports.report import HostReport

__all__ = [
    "PRIVATE_BLOCKS",
    "Claims",
    "Occupied",
    "find_claims",
    "find_occupied",
    "parts_of_default",
]

#: RFC 1918, the shared block of RFC 6598, the benchmarking block of RFC 2544.
PRIVATE_BLOCKS = tuple(
    map(
        IPv4Network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15"),
    )
)
_EVERYTHING = IPv4Network("0.0.0.0/0")
_NEVER_ROUTED = (IPv4Network("0.0.0.0/7"), IPv4Network("224.0.0.0/3"))


@dataclass(frozen=True)
class Occupied:
    """An address or route in the way of a plan, and who has it."""

    network: IPv4Network
    host: str
    interface: str
    kind: str


@dataclass(frozen=True)
class Claims:
    """The /30s that the ends of listed cables carry already.

    Args:
        pairs: Cable and /30, where both addresses sit on the cable's two ends.
        halves: Cable and /30 of a candidate block, where only one end has its address.
        carried: (host, interface, address) of all of those.
    """

    pairs: tuple[tuple[Cable, IPv4Network], ...]
    halves: tuple[tuple[Cable, IPv4Network], ...]
    carried: tuple[tuple[str, str, IPv4Interface], ...]

    @property
    def networks(self) -> frozenset[IPv4Network]:
        """All the /30s."""
        return frozenset(network for _, network in (*self.pairs, *self.halves))

    def carries(self, end: CableEnd, address: IPv4Interface) -> bool:
        """The end has this address now."""
        return (end.host, end.interface, address) in self.carried


def find_claims(topology: Topology, candidates: Sequence[IPv4Network]) -> Claims:
    """Which /30s sit on the ends of usable cables, in canonical order of cables."""
    pairs: list[tuple[Cable, IPv4Network]] = []
    halves: list[tuple[Cable, IPv4Network]] = []
    carried: dict[tuple[str, str, IPv4Interface], None] = {}
    for cable in topology.usable_cables:
        at_a, at_b = (_slash30s(topology, end) for end in cable.ends)
        for network in sorted({address.network for address in (*at_a, *at_b)}):
            here, there = ([each for each in at if each.network == network] for at in (at_a, at_b))
            if any(one != two for one in here for two in there):
                pairs.append((cable, network))
            elif any(network.subnet_of(block) for block in candidates):
                halves.append((cable, network))
            else:
                continue
            for end, addresses in ((cable.a, here), (cable.b, there)):
                carried |= {(end.host, end.interface, address): None for address in addresses}
    return Claims(tuple(pairs), tuple(halves), tuple(carried))


def _slash30s(topology: Topology, end: CableEnd) -> tuple[IPv4Interface, ...]:
    """The addresses of a cable end that lie in private /30s."""
    report = topology.reports.get(end.host)
    state = report.interface(end.interface) if report is not None else None
    if state is None:
        return ()
    return tuple(
        address
        for address in state.addresses
        if address.network.prefixlen == 30
        and address.ip in tuple(address.network.hosts())
        and any(address.network.subnet_of(block) for block in PRIVATE_BLOCKS)
    )


def find_occupied(
    topology: Topology, operator: OperatorNetwork, claims: Claims
) -> dict[IPv4Network, Occupied]:
    """Every network that a new subnet must not overlap, with the first who has it.

    Left out: default routes in any spelling, loopback, link-local and multicast
    networks, the claims, and routes inside a claimed /30 on the hosts that
    claim it.
    """
    found: dict[IPv4Network, Occupied] = {}
    for report in topology.reports.values():
        for each in _of_host(report, claims):
            found.setdefault(each.network, each)
    if not any(_is_same_machine(operator, report) for report in topology.reports.values()):
        for each in _of_operator(operator):
            found.setdefault(each.network, each)
    return found


def _of_host(report: HostReport, claims: Claims) -> Iterator[Occupied]:
    own = {(name, address) for host, name, address in claims.carried if host == report.host}
    own_networks = {address.network for _, address in own}
    for state in report.interfaces:
        networks = [each.network for each in state.addresses if (state.name, each) not in own]
        networks += [IPv4Network(peer) for peer in state.peer_addresses]
        for network in networks:
            if not _is_ignored(network):
                yield Occupied(network, report.host, state.name, "the address range")
    parts = parts_of_default(route.destination for route in report.routes)
    for route in report.routes:
        network = route.destination
        if network in parts or _is_ignored(network):
            continue
        if not any(network.subnet_of(claimed) for claimed in own_networks):
            yield Occupied(network, report.host, route.interface, "the route")


def _of_operator(operator: OperatorNetwork) -> Iterator[Occupied]:
    parts = parts_of_default(operator.routes)
    for kind, networks in (
        ("the address range", [address.network for address in operator.addresses]),
        ("the route", [route for route in operator.routes if route not in parts]),
    ):
        for network in networks:
            if not _is_ignored(network):
                yield Occupied(network, "this machine", "", kind)


def _is_same_machine(operator: OperatorNetwork, report: HostReport) -> bool:
    """The tool runs on this host: all the addresses it has here, the host has too."""
    mine = {address for address in operator.addresses if not _is_ignored(address.network)}
    return bool(mine) and mine <= {
        address for state in report.interfaces for address in state.addresses
    }


def _is_ignored(network: IPv4Network) -> bool:
    return network.is_loopback or network.is_link_local or network.is_multicast


def parts_of_default(routes: Iterable[IPv4Network]) -> frozenset[IPv4Network]:
    """The routes that are, together, a default route.

    Besides ``0/0`` itself VPN programs write it as ``0/1`` with ``128/1``, or in
    smaller steps that leave out ``0/8`` and what is never routed.

    Example:
        >>> sorted(parts_of_default([IPv4Network("0.0.0.0/1"), IPv4Network("128.0.0.0/1")]))
        [IPv4Network('0.0.0.0/1'), IPv4Network('128.0.0.0/1')]
        >>> parts_of_default([IPv4Network("0.0.0.0/1")])
        frozenset()
    """
    wide = frozenset(route for route in routes if route.prefixlen < 8)
    parts = wide - {_EVERYTHING}
    if list(collapse_addresses({*parts, *_NEVER_ROUTED})) == [_EVERYTHING]:
        return wide
    return wide & {_EVERYTHING}
