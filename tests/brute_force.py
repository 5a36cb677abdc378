"""Rings by trying every order of the hosts: slow, obvious, and independent of the planner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Topology

Ring = tuple[tuple[str, ...], int, int, int]
"""Hosts in rank order, width, Gb/s of the slowest cable, hops through docks."""


def cables_between(topology: Topology, a: str, b: str) -> list[Cable]:
    """The usable cables of two hosts, fastest first and those without a dock before others."""
    found = [
        cable
        for cable in topology.cables
        if {cable.a.host, cable.b.host} == {a, b} and cable.is_usable
    ]
    return sorted(found, key=lambda cable: (-(cable.gbps or 0), len(cable.via) > 0))


def orders(hosts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every ring order once: it starts at the first host and its direction is canonical."""
    for rest in permutations(hosts[1:]):
        if len(rest) < 2 or hosts.index(rest[0]) < hosts.index(rest[-1]):
            yield (hosts[0], *rest)


def all_rings(topology: Topology, hosts: Sequence[str]) -> Iterable[Ring]:
    """Every ring of every width through exactly these hosts."""
    between = {(a, b): cables_between(topology, a, b) for a, b in permutations(hosts, 2)}
    for order in orders(hosts):
        hops = [between[host, order[(rank + 1) % len(order)]] for rank, host in enumerate(order)]
        hops = hops[:1] if len(order) == 2 else hops
        for width in range(1, min(map(len, hops)) + 1):
            used = [cable for hop in hops for cable in hop[:width]]
            docked = sum(any(cable.via for cable in hop[:width]) for hop in hops)
            yield order, width, min(cable.gbps or 0 for cable in used), docked


def best_ring(topology: Topology, hosts: Sequence[str]) -> Ring | None:
    """The best ring by the product's order of preference, or None if there is none."""

    def preference(ring: Ring) -> tuple[int, int, int, list[int]]:
        order, width, gbps, docked = ring
        return (-width * gbps, -width, docked, [hosts.index(host) for host in order])

    return min(all_rings(topology, hosts), key=preference, default=None)
