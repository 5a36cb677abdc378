"""The full mesh over RDMA that MLX's jaccl backend needs, as a `MeshPlan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import RDMA_GBPS, Topology
from distconfig.errors import TopologyError
from distconfig.reports.ports import is_known_without_rdma, name_port
from distconfig.reports.report import HostReport
from distconfig.rings.hops import collect_offers
from distconfig.rings.ring import is_rdma_cable

__all__ = ["MeshPlan", "explain_no_rdma", "find_full_mesh"]

_REQUIREMENTS = (
    "RDMA over Thunderbolt needs Thunderbolt 5, macOS 26.2 and RDMA switched on at both ends"
)


@dataclass(frozen=True)
class MeshPlan:
    """Hosts in rank order, each joined with every other.

    Args:
        cables: The ``width`` fastest cables between rank i and rank j, by (i, j) with i < j.
    """

    hosts: tuple[str, ...]
    cables: Mapping[tuple[int, int], tuple[Cable, ...]]

    @property
    def width(self) -> int:
        """Parallel cables used between any two hosts."""
        return min(map(len, self.cables.values()))

    def devices(self, rank: int, peer: int) -> tuple[str, ...]:
        """The RDMA devices of a rank on its cables to another, fastest cable first."""
        names = []
        for cable in self.cables[min(rank, peer), max(rank, peer)]:
            assert cable.rdma is not None
            names.append(cable.rdma[0 if cable.a.host == self.hosts[rank] else 1])
        return tuple(names)


def find_full_mesh(topology: Topology) -> MeshPlan:
    """The mesh in which RDMA joins every two hosts, as wide as the thinnest pair allows.

    Raises:
        TopologyError: Two hosts have no cable, or only cables without RDMA; all such
            pairs are named with the reason.
    """
    hosts = topology.hosts
    if len(hosts) < 2:
        raise TopologyError("a mesh needs two hosts", hint="List every host of the mesh.")
    offers = collect_offers(topology, is_rdma_cable)
    missing = [
        _explain_pair(topology, hosts[a], hosts[b])
        for a, b in combinations(range(len(hosts)), 2)
        if (a, b) not in offers.cables
    ]
    if missing:
        raise TopologyError(
            f"no full mesh over RDMA: {'; '.join(missing)}",
            hint=f"{_REQUIREMENTS}; a TCP ring (--backend ring) needs none of it.",
        )
    width = min(map(len, offers.cables.values()))
    return MeshPlan(hosts, {pair: cables[:width] for pair, cables in offers.cables.items()})


def _explain_pair(topology: Topology, a: str, b: str) -> str:
    cables = [cable for cable in topology.cables if {cable.a.host, cable.b.host} == {a, b}]
    if not cables:
        return f"no cable joins {a} and {b}"
    return f"{cables[0]} carries no RDMA ({explain_no_rdma(topology, cables[0])})"


def explain_no_rdma(topology: Topology, cable: Cable) -> str:
    """Why RDMA does not work over a cable that has none, as far as the reports tell.

    What the hardware lacks comes first: nobody is told to switch on what can not work.
    """
    reports = [topology.reports[end.host] for end in cable.ends]
    for end, report in zip(cable.ends, reports, strict=True):
        if _best_gbps(report) < RDMA_GBPS:
            return f"{end.host} has no Thunderbolt 5 port"
    if cable.via:
        return f"it passes through {' and '.join(cable.via)}"
    for end, report in zip(cable.ends, reports, strict=True):
        receptacle = report.receptacle(end.receptacle)
        if is_known_without_rdma(report.model, receptacle):
            return f"{end.host} {name_port(receptacle, report.model)} is known to have none"
    if cable.gbps is not None and cable.gbps < RDMA_GBPS:
        return f"its link is {cable.gbps} Gb/s, and Thunderbolt 5 needs {RDMA_GBPS}"
    return _explain_software(topology, cable)


def _explain_software(topology: Topology, cable: Cable) -> str:
    for end in cable.ends:
        report = topology.reports[end.host]
        if not report.rdma_status:
            version = f" {report.os_version}" if report.os_version else ""
            return f"macOS{version} on {end.host} has no RDMA, which came with 26.2"
        if report.rdma_status != "enabled":
            return f"RDMA is switched off on {end.host}"
    for end in cable.ends:
        if topology.reports[end.host].receptacle(end.receptacle).rdma_device is None:
            return f"{end} has no RDMA device"
    if not cable.confirmed:
        return "only one end sees it"
    return "one end does not offer the RDMA service to the other; restart both hosts"


def _best_gbps(report: HostReport) -> int:
    """The most any port of the host is known to do; a great number if nothing is known."""
    known = [
        gbps
        for receptacle in report.receptacles
        for gbps in (receptacle.link_gbps, receptacle.ceiling_gbps)
        if gbps is not None
    ]
    return max(known, default=RDMA_GBPS)
