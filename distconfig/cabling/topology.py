"""The cabling between hosts: the frozen `Topology`, assembled from reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from distconfig.cabling.cable import Cable, CableEnd, label_order, sort_cables
from distconfig.cabling.sightings import Passage, Port, join_sightings
from distconfig.errors import UsageError
from distconfig.reports.report import HostReport, PeerSighting, Receptacle

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "Cable",
    "CableEnd",
    "Stranger",
    "Topology",
    "assemble_topology",
    "label_order",
    "restrict_topology",
    "sort_cables",
]

RDMA_GBPS = 80
"""Slowest link that can carry RDMA: Thunderbolt 5 (Apple technote TN3205)."""


@dataclass(frozen=True)
class Stranger:
    """A peer that belongs to no listed host, and the receptacle it was seen from."""

    seen_from: CableEnd
    domain_uuid: UUID
    model: str = ""
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    """All cables between the hosts; ``graph`` is the same as a ``networkx.MultiGraph``.

    Args:
        hosts: Every listed host, in the order given, unreachable ones included.
        cables: Every cable between two hosts, usable or not; kept in canonical order.
        reports: Of the hosts that answered and were understood.
        unread: Host to the reason, for the others.
        problems: Sentences about what was seen and can not be used, or is in doubt.
    """

    hosts: tuple[str, ...]
    cables: tuple[Cable, ...]
    reports: Mapping[str, HostReport]
    unread: Mapping[str, str]
    strangers: tuple[Stranger, ...] = ()
    loops: tuple[Cable, ...] = ()
    problems: tuple[str, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    def __post_init__(self) -> None:
        object.__setattr__(self, "cables", sort_cables(self.cables, self.hosts))

    @cached_property
    def graph(self) -> nx.MultiGraph:
        """The frozen multigraph with the hosts as nodes and an edge per cable, its key."""
        import networkx as nx  # takes longer to load than most commands take without it

        graph = nx.MultiGraph()
        graph.add_nodes_from(self.hosts)
        graph.add_edges_from((cable.a.host, cable.b.host, cable) for cable in self.cables)
        return nx.freeze(graph)

    @property
    def usable_cables(self) -> tuple[Cable, ...]:
        """The cables a ring can be made of, in canonical order."""
        return tuple(cable for cable in self.cables if cable.is_usable)


def assemble_topology(
    hosts: Sequence[str], reports: Mapping[str, HostReport], unread: Mapping[str, str]
) -> Topology:
    """The cabling of the hosts, from the union of what both ends of each cable saw.

    Args:
        hosts: Every listed host, in the order given.
        reports: Of the hosts that answered and were understood, in any order.
        unread: Host to the reason, for all others.

    Raises:
        UsageError: A host is listed twice, or two names reach one machine.
    """
    if len(set(hosts)) != len(hosts):
        twice = next(host for host in hosts if hosts.count(host) > 1)
        raise UsageError(f"{twice} is listed twice", hint="List each host once.")
    if {*reports, *unread} != set(hosts):
        raise ValueError("every listed host needs a report or a reason why there is none")
    ordered = {host: reports[host] for host in hosts if host in reports}
    _refuse_one_machine_twice(ordered)
    joined = join_sightings(ordered)
    position = {host: index for index, host in enumerate(hosts)}
    found = [_assemble_cable(passage, ordered, position) for passage in joined.passages]
    loops = sort_cables((cable for cable in found if cable.is_loop), tuple(hosts))
    cables = _part_shared_receptacles(
        sort_cables((cable for cable in found if not cable.is_loop), tuple(hosts))
    )
    return Topology(
        tuple(hosts),
        cables,
        ordered,
        {host: unread[host] for host in hosts if host in unread},
        tuple(_stranger(port, peer, ordered) for port, peer in joined.strangers),
        loops,
        (*joined.problems, *_doubts(cables, loops, ordered)),
    )


def restrict_topology(topology: Topology, hosts: Sequence[str]) -> Topology:
    """The cabling as if only these hosts had been listed; cables to others lead to strangers.

    Raises:
        UsageError: A host is named twice.
    """
    return assemble_topology(
        hosts,
        {host: report for host, report in topology.reports.items() if host in hosts},
        {host: reason for host, reason in topology.unread.items() if host in hosts},
    )


def _refuse_one_machine_twice(reports: Mapping[str, HostReport]) -> None:
    """Two names with one hardware UUID, or sharing a domain and not known to differ."""
    machines: dict[UUID, str] = {}
    domains: dict[UUID, str] = {}
    for host, report in reports.items():
        same = machines.get(report.hardware_uuid) if report.hardware_uuid else None
        for receptacle in report.receptacles:
            other = domains.setdefault(receptacle.domain_uuid, host)
            if other != host and None in (report.hardware_uuid, reports[other].hardware_uuid):
                same = same or other
        if same:
            raise UsageError(
                f"{same} and {host} are two names of one machine", hint=f"Leave out {host}."
            )
        if report.hardware_uuid:
            machines[report.hardware_uuid] = host


def _end(port: Port, reports: Mapping[str, HostReport]) -> CableEnd:
    host, label = port
    return CableEnd(host, label, reports[host].receptacle(label).interface or "")


def _stranger(port: Port, peer: PeerSighting, reports: Mapping[str, HostReport]) -> Stranger:
    return Stranger(_end(port, reports), peer.domain_uuid, peer.model, peer.via)


def _assemble_cable(
    passage: Passage, reports: Mapping[str, HostReport], position: Mapping[str, int]
) -> Cable:
    """The cable of a passage, with its ends in canonical order."""
    if _port_order(passage.far, position) < _port_order(passage.near, position):
        back = passage.seen_back
        via = _via(back.via if back else (), passage.seen.via)
        near, far = passage.far, passage.near
    else:
        via = _via(passage.seen.via, passage.seen_back.via if passage.seen_back else ())
        near, far = passage.near, passage.far
    ports = [reports[host].receptacle(label) for host, label in (near, far)]
    gbps, is_ceiling = _speed(ports)
    return Cable(
        _end(near, reports),
        _end(far, reports),
        confirmed=passage.seen_back is not None,
        via=via,
        gbps=gbps,
        is_ceiling=is_ceiling,
        rdma=None if via else _rdma(passage, ports),
    )


def _port_order(port: Port, position: Mapping[str, int]) -> tuple[int, tuple[int, str]]:
    return position[port[0]], label_order(port[1])


def _via(from_near: tuple[str, ...], from_far: tuple[str, ...]) -> tuple[str, ...]:
    """What is passed from the near end to the far end, as both ends tell it."""
    backwards = from_far[::-1]
    return from_near if from_near == backwards else from_near + backwards


def _speed(ports: Sequence[Receptacle]) -> tuple[int | None, bool]:
    """The slower end's link, or failing that the lower ceiling, and whether it is one."""
    links = [port.link_gbps for port in ports if port.link_gbps is not None]
    if links:
        return min(links), False
    ceilings = [port.ceiling_gbps for port in ports if port.ceiling_gbps is not None]
    return (min(ceilings), True) if ceilings else (None, False)


def _rdma(passage: Passage, ports: Sequence[Receptacle]) -> tuple[str, str] | None:
    """The RDMA devices at both ends, if each offers the service and the link is fast enough."""
    near, far = (port.rdma_device for port in ports)
    gbps, _ = _speed(ports)
    if near is None or far is None or passage.seen_back is None or gbps is None:
        return None
    offered = passage.seen.offers_rdma and passage.seen_back.offers_rdma
    return (near, far) if offered and gbps >= RDMA_GBPS else None


def _part_shared_receptacles(cables: tuple[Cable, ...]) -> tuple[Cable, ...]:
    """The cables, of which at most one at each receptacle is usable.

    Behind a dock several peers can share a receptacle, whose interface has one
    address. The cable kept is one that both ends saw, then the only one between
    its hosts, then the fastest, then the first.
    """
    pairs = Counter(frozenset((each.a.host, each.b.host)) for each in cables if each.is_usable)
    preferred = sorted(
        (cable for cable in cables if cable.is_usable),
        key=lambda cable: (
            not cable.confirmed,
            pairs[frozenset((cable.a.host, cable.b.host))] > 1,
            -(cable.gbps or 0),
        ),
    )
    taken: dict[Port, Cable] = {}
    obstacles: dict[Cable, str] = {}
    for cable in preferred:
        ports = [(end.host, end.receptacle) for end in cable.ends]
        holders = [taken[port] for port in ports if port in taken]
        if holders:
            obstacles[cable] = f"its port already carries {holders[0]}"
        else:
            taken.update((port, cable) for port in ports)
    return tuple(replace(cable, obstacle=obstacles.get(cable, "")) for cable in cables)


def _doubts(
    cables: Iterable[Cable], loops: Iterable[Cable], reports: Mapping[str, HostReport]
) -> Iterable[str]:
    """A sentence for each cable that can not be used or that only one end saw."""
    for loop in loops:
        yield (
            f"both ends of one cable are in {loop.a.host}: "
            f"ports {loop.a.receptacle} and {loop.b.receptacle}"
        )
    for cable in cables:
        for end in cable.ends:
            if not end.interface:
                problem = reports[end.host].receptacle(end.receptacle).interface_problem
                yield f"{cable} can not be used: {end} has no known interface ({problem})"
        if cable.obstacle:
            yield f"{cable} can not be used: {cable.obstacle}"
        if not cable.confirmed:
            yield f"{cable} was seen from one end only"
    yield from _shared_domains(reports)


def _shared_domains(reports: Mapping[str, HostReport]) -> Iterable[str]:
    """A sentence for each domain UUID that two machines claim."""
    owners: dict[UUID, list[str]] = {}
    for host, report in reports.items():
        for uuid in dict.fromkeys(each.domain_uuid for each in report.receptacles):
            owners.setdefault(uuid, []).append(host)
    for uuid, hosts in owners.items():
        if len(hosts) > 1:
            yield f"{' and '.join(hosts)} claim one domain UUID, {str(uuid).upper()}"
