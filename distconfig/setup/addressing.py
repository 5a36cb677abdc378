"""Addresses for cables: one /30 each, clashing with nothing any host already has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv4Network

from distconfig.cabling.topology import Cable, Topology
from distconfig.errors import AddressInUse, PoolExhausted, UsageError
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.occupancy import PRIVATE_BLOCKS, Claims, Occupied, find_claims, find_occupied

__all__ = ["CANDIDATE_BLOCKS", "AddressPlan", "plan_addresses"]

#: Where new subnets are looked for, in this order.
CANDIDATE_BLOCKS = (
    IPv4Network("10.231.0.0/20"),
    IPv4Network("172.29.0.0/20"),
    IPv4Network("192.168.224.0/20"),
    *(IPv4Network(f"10.{octet}.0.0/20") for octet in range(230, -1, -1)),
)


@dataclass(frozen=True)
class AddressPlan:
    """Subnet of every usable cable and address of both its ends.

    Args:
        subnets: Cable to its /30.
        addresses: (cable, host) to the address of the cable's end in the host.
        kept: Cables of which an end already carried its address.
        retired: (host, interface) to addresses of an earlier plan that must go.
    """

    subnets: Mapping[Cable, IPv4Network]
    addresses: Mapping[tuple[Cable, str], IPv4Interface]
    kept: frozenset[Cable] = frozenset()
    retired: Mapping[tuple[str, str], tuple[IPv4Interface, ...]] = field(default_factory=dict)

    def address(self, cable: Cable, host: str) -> IPv4Interface:
        """The address of the end of ``cable`` in ``host``."""
        return self.addresses[cable, host]


def plan_addresses(
    topology: Topology, operator: OperatorNetwork, *, pool: IPv4Network | None = None
) -> AddressPlan:
    """A /30 for every usable cable, disjoint from all that hosts and operator have.

    A cable whose ends carry addresses of one private /30 keeps them, unless
    something else overlaps; so a second plan is the first one, and another host
    changes nothing. Of a /30 in the candidate blocks one end is enough, since
    the other may have restarted. New cables take the lowest free /30, in
    canonical order, of the first candidate block that overlaps nothing.

    Args:
        pool: The only block to take subnets from; cables outside of it move there.

    Raises:
        AddressInUse: Something overlaps the pool.
        PoolExhausted: The pool is too small, or every candidate block is taken.
        UsageError: The pool is not inside a private block.
    """
    candidates = CANDIDATE_BLOCKS if pool is None else (_checked(pool),)
    claims = find_claims(topology, candidates)
    occupied = find_occupied(topology, operator, claims)
    subnets = _keep(claims, occupied, pool)
    kept = frozenset(subnets)
    new = [cable for cable in topology.usable_cables if cable not in kept]
    taken = {*subnets.values(), *claims.networks}
    subnets.update(zip(new, _free_subnets(len(new), candidates, occupied, taken), strict=True))
    in_order = {cable: subnets[cable] for cable in topology.usable_cables}
    addresses = dict(_addresses(in_order, claims))
    return AddressPlan(in_order, addresses, kept, _retired(in_order, addresses, claims))


def _checked(pool: IPv4Network) -> IPv4Network:
    if any(pool.subnet_of(block) for block in PRIVATE_BLOCKS):
        return pool
    raise UsageError(
        f"the pool {pool} is not private",
        hint="Use a part of " + ", ".join(map(str, PRIVATE_BLOCKS)) + ".",
    )


def _keep(
    claims: Claims, occupied: Mapping[IPv4Network, Occupied], pool: IPv4Network | None
) -> dict[Cable, IPv4Network]:
    """The cables that stay where they are: pairs first, then half pairs, each in order."""
    kept: dict[Cable, IPv4Network] = {}
    for cable, network in (*claims.pairs, *claims.halves):
        if cable in kept or (pool is not None and not network.subnet_of(pool)):
            continue
        if not any(network.overlaps(other) for other in (*occupied, *kept.values())):
            kept[cable] = network
    return kept


def _free_subnets(
    count: int,
    candidates: Iterable[IPv4Network],
    occupied: Mapping[IPv4Network, Occupied],
    taken: set[IPv4Network],
) -> list[IPv4Network]:
    """The lowest ``count`` free /30s of the first block that has them and overlaps nothing."""
    if count == 0:
        return []
    candidates = tuple(candidates)
    clash: Occupied | None = None
    for block in candidates:
        in_the_way = next((each for net, each in occupied.items() if net.overlaps(block)), None)
        if in_the_way is not None:
            clash = clash or in_the_way
            continue
        found = _lowest(count, block, taken)
        if len(found) == count:
            return found
    if clash is not None and len(candidates) == 1:
        raise AddressInUse(
            f"the pool {candidates[0]} overlaps {clash.kind} {clash.network}",
            host=clash.host,
            interface=clash.interface,
            hint="Choose another block with --pool, or leave the option out.",
        )
    what = f"no block is free for {count} more cable(s)"
    if len(candidates) == 1:
        what = f"the pool {candidates[0]} has no room for {count} more cable(s), a /30 each"
    elif clash is not None:
        what += f": {candidates[0]} and the others overlap such as {clash.network} of {clash.host}"
    raise PoolExhausted(what, hint="Name a free block with --pool, for example 100.64.0.0/20.")


def _lowest(count: int, block: IPv4Network, taken: set[IPv4Network]) -> list[IPv4Network]:
    found: list[IPv4Network] = []
    if block.prefixlen > 30:
        return found
    for subnet in block.subnets(new_prefix=30):
        if len(found) == count:
            break
        if subnet not in taken:
            found.append(subnet)
    return found


def _addresses(
    subnets: Mapping[Cable, IPv4Network], claims: Claims
) -> Iterator[tuple[tuple[Cable, str], IPv4Interface]]:
    """Both addresses of each cable: as they sit, else the lower one at the canonical first end."""
    for cable, network in subnets.items():
        first, second = (IPv4Interface((ip, 30)) for ip in network.hosts())
        straight = claims.carries(cable.a, first) + claims.carries(cable.b, second)
        crossed = claims.carries(cable.a, second) + claims.carries(cable.b, first)
        if crossed > straight:
            first, second = second, first
        yield (cable, cable.a.host), first
        yield (cable, cable.b.host), second


def _retired(
    subnets: Mapping[Cable, IPv4Network],
    addresses: Mapping[tuple[Cable, str], IPv4Interface],
    claims: Claims,
) -> dict[tuple[str, str], tuple[IPv4Interface, ...]]:
    """What earlier plans left on the ends of these cables and this plan does not use."""
    planned = {
        (end.host, end.interface, addresses[cable, end.host])
        for cable in subnets
        for end in cable.ends
    }
    retired: dict[tuple[str, str], tuple[IPv4Interface, ...]] = {}
    for host, interface, address in claims.carried:
        if (host, interface, address) not in planned:
            retired[host, interface] = (*retired.get((host, interface), ()), address)
    return retired
