"""Small cablings for tests, built without any host output.

    wire("a1-b2 80, b1-c1 40 via Dock, c2-a2")

A port is a host name ending in a letter followed by the receptacle's number.
`lay_cables` makes the reports of the hosts; every host gets ``ports`` receptacles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from distconfig.cabling.topology import Topology, assemble_topology
from distconfig.reports.report import HostReport, PeerSighting, Receptacle

NAMESPACE = UUID("6f1d7a0e-8c52-4b0e-9a86-5d0d0c0ffee0")


@dataclass(frozen=True)
class Wire:
    """One cable to lay: ``gbps`` of 0 means the link speed was not printed."""

    a: str
    port_a: int
    b: str
    port_b: int
    gbps: int = 80
    via: tuple[str, ...] = ()


def domain(host: str, port: int) -> UUID:
    """The domain UUID of a receptacle; the same for the same words."""
    return uuid5(NAMESPACE, f"{host} {port}")


def parse_wires(text: str) -> list[Wire]:
    """Wires from a line such as ``a1-b2 80 via Dock, b1-c1``."""
    pattern = re.compile(r"(\w*[a-z_])(\d+)-(\w*[a-z_])(\d+)(?: (\d+))?(?: via ([\w ]+))?")
    wires = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = pattern.fullmatch(part)
        if not found:
            raise ValueError(f"not a wire: {part!r}")
        a, port_a, b, port_b, gbps, via = found.groups()
        speed = 80 if gbps is None else int(gbps)
        wires.append(Wire(a, int(port_a), b, int(port_b), speed, (via,) if via else ()))
    return wires


def blank_report(
    host: str, ports: int = 4, *, ceiling: int = 120, model: str = "", rdma: bool = False
) -> HostReport:
    """A host with nothing plugged in; receptacle N has interface ``en<N+1>``."""
    receptacles = tuple(
        Receptacle(
            str(number),
            domain(host, number),
            interface=f"en{number + 1}",
            ceiling_gbps=ceiling,
            rdma_device=f"rdma_en{number + 1}" if rdma else None,
        )
        for number in range(1, ports + 1)
    )
    return HostReport(
        host, model=model, hardware_uuid=uuid5(NAMESPACE, host), receptacles=receptacles
    )


def lay_cables(reports: Mapping[str, HostReport], wires: Iterable[Wire]) -> dict[str, HostReport]:
    """The reports with each wire seen from both its ends; a dock is seen from end a."""
    laid = dict(reports)
    for wire in wires:
        near, far = (wire.a, wire.port_a), (wire.b, wire.port_b)
        laid[wire.a] = _plug(laid[wire.a], near, far, wire.gbps, wire.via, laid[wire.b])
        laid[wire.b] = _plug(laid[wire.b], far, near, wire.gbps, (), laid[wire.a])
    return laid


def _plug(
    report: HostReport,
    port: tuple[str, int],
    peer: tuple[str, int],
    gbps: int,
    via: tuple[str, ...],
    peer_report: HostReport,
) -> HostReport:
    old = report.receptacle(str(port[1]))
    device = peer_report.receptacle(str(peer[1])).rdma_device
    sighting = PeerSighting(domain(*peer), peer_report.model, via, device is not None)
    new = replace(
        old,
        is_connected=True,
        peers=(*old.peers, sighting),
        devices=(*old.devices, *via),
        link_gbps=gbps or None,
    )
    return replace(
        report,
        receptacles=tuple(new if each.label == old.label else each for each in report.receptacles),
    )


def wire(text: str, hosts: Sequence[str] = (), *, ports: int = 4, rdma: bool = False) -> Topology:
    """The topology of a line of wires; hosts in order of first mention unless given."""
    return topology_of(parse_wires(text), hosts, ports=ports, rdma=rdma)


def topology_of(
    wires: Sequence[Wire], hosts: Sequence[str] = (), *, ports: int = 4, rdma: bool = False
) -> Topology:
    """The topology of wires; hosts in order of first mention unless given."""
    mentioned = dict.fromkeys(host for each in wires for host in (each.a, each.b))
    names = tuple(hosts or mentioned)
    reports = {host: blank_report(host, ports, rdma=rdma) for host in names}
    return assemble_topology(names, lay_cables(reports, wires), {})


def wires_of_edges(edges: Iterable[tuple[int, int]], size: int, *, gbps: int = 80) -> list[Wire]:
    """A wire per edge between hosts ``h0_, h1_, ...``, each in the next free receptacle."""
    used = [0] * size
    wires = []
    for a, b in edges:
        used[a] += 1
        used[b] += 1
        wires.append(Wire(f"h{a}_", used[a], f"h{b}_", used[b], gbps))
    return wires


def topology_of_edges(edges: Iterable[tuple[int, int]], size: int, *, gbps: int = 80) -> Topology:
    """The topology of hosts ``h0_, h1_, ...`` with a cable per edge and a port to spare."""
    wires = wires_of_edges(edges, size, gbps=gbps)
    ports = max((port for each in wires for port in (each.port_a, each.port_b)), default=0)
    return topology_of(wires, [f"h{index}_" for index in range(size)], ports=ports + 1)
