"""Loops that bridges and cables close: macOS has nothing that stops packets from circling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from distconfig.topology import Cable, Topology

__all__ = ["BridgeLoop", "bridges_of_ports", "find_bridge_loops"]

#: (host, interface) to the name of the bridge that holds it.
Membership = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class BridgeLoop:
    """Three or more bridges joined in a cycle by cables between their members.

    Args:
        bridges: (host, bridge), in the order of the hosts given.
        ports: (host, interface) of both ends of every cable in the loop.
    """

    bridges: tuple[tuple[str, str], ...]
    ports: frozenset[tuple[str, str]]


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


def find_bridge_loops(topology: Topology, membership: Membership) -> tuple[BridgeLoop, ...]:
    """The loops that arise when these interfaces are members of these bridges, all up.

    Parallel cables between two bridges are not counted: they did no harm in
    the field (exo-explore/exo pull request 1222), a cycle of three does.
    """
    graph = nx.Graph()
    cables: dict[frozenset[tuple[str, str]], list[Cable]] = {}
    for cable in topology.usable_cables:
        ends = [(end.host, membership.get((end.host, end.interface), "")) for end in cable.ends]
        if all(bridge for _, bridge in ends):
            graph.add_edge(*ends)
            cables.setdefault(frozenset(ends), []).append(cable)
    position = {host: index for index, host in enumerate(topology.hosts)}
    loops = []
    for edges in nx.biconnected_component_edges(graph):
        edges = list(edges)
        if len(edges) < 3:
            continue
        bridges = sorted(
            {node for edge in edges for node in edge}, key=lambda n: (position[n[0]], n[1])
        )
        ports = {
            (end.host, end.interface)
            for edge in edges
            for cable in cables[frozenset(edge)]
            for end in cable.ends
        }
        loops.append(BridgeLoop(tuple(bridges), frozenset(ports)))
    return tuple(sorted(loops, key=lambda loop: [position[host] for host, _ in loop.bridges]))
