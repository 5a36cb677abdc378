"""Loops that bridges and cables close: macOS has nothing that stops packets from circling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from distconfig.cabling.blocks import find_blocks
from distconfig.cabling.topology import Topology

__all__ = ["BridgeLoop", "bridges_of_ports", "find_bridge_loops"]

#: (host, interface) to the name of the bridge that holds it.
Membership = Mapping[tuple[str, str], str]


#: Three or more bridges in a cycle of cables, each as (host, bridge), in the order of the hosts.
BridgeLoop = tuple[tuple[str, str], ...]

_ELSEWHERE = ("", "")


def bridges_of_ports(topology: Topology, *, only_up: bool = True) -> dict[tuple[str, str], str]:
    """The bridge that holds each member interface of each host.

    Args:
        only_up: Leave out bridges that are down, which forward nothing.
    """
    return {
        (host, member): bridge.name
        for host, report in topology.reports.items()
        for bridge in report.bridges
        if bridge.is_up or not only_up
        for member in bridge.members
    }


def find_bridge_loops(
    topology: Topology, membership: Membership, *, suspects: Iterable[tuple[str, str]] = ()
) -> tuple[BridgeLoop, ...]:
    """The loops that arise when these interfaces are members of these bridges, all up.

    Parallel cables between two bridges are not counted: they did no harm in
    the field (exo-explore/exo pull request 1222), a cycle of three does.

    Args:
        suspects: Ports cabled to machines nobody asked, which may all be one bridged
            network; a second way into it is taken for a loop.
    """
    edges: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    ways_out: Counter[tuple[str, str]] = Counter()
    for cable in topology.usable_cables:
        a, b = ((end.host, membership.get((end.host, end.interface), "")) for end in cable.ends)
        if a[1] and b[1]:
            edges.add((a, b))
    for host, interface in suspects:
        if bridge := membership.get((host, interface)):
            edges.add(((host, bridge), _ELSEWHERE))
            ways_out[host, bridge] += 1
    position = {host: index for index, host in enumerate(topology.hosts)}
    blocks = find_blocks(edges)
    blocks += [{node} for node, ways in ways_out.items() if ways > 1]
    loops = [
        tuple(sorted(nodes - {_ELSEWHERE}, key=lambda node: (position[node[0]], node[1])))
        for nodes in blocks
    ]
    return tuple(sorted(loops, key=lambda loop: [position[host] for host, _ in loop]))
