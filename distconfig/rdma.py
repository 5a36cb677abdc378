"""RDMA over Thunderbolt: who has it, why others do not, and the hostfiles of MLX's jaccl."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface
from itertools import combinations

from distconfig.cable import Cable
from distconfig.errors import TopologyError
from distconfig.report import HostReport
from distconfig.ring import RingPlan, is_rdma_cable
from distconfig.topology import RDMA_GBPS, Topology
from ring_runtime.hostfile import Hostfile, HostfileEntry, RdmaDevice

__all__ = [
    "explain_no_rdma",
    "find_mesh",
    "plan_jaccl_hostfile",
    "plan_jaccl_ring_hostfile",
]

FIRST_MACOS = (26, 2)
"""The first macOS with RDMA over Thunderbolt (Apple technote TN3205)."""

Mesh = Mapping[frozenset[str], tuple[Cable, ...]]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _explain_host(report: HostReport) -> str | None:
    """Why this host has no RDMA at all, or None if it has."""
    if any(receptacle.rdma_device for receptacle in report.receptacles):
        return None
    speeds = [
        gbps
        for receptacle in report.receptacles
        for gbps in (receptacle.ceiling_gbps, receptacle.link_gbps)
        if gbps is not None
    ]
    if not speeds or max(speeds) < RDMA_GBPS:
        best = f", and its ports reach {max(speeds)} Gb/s" if speeds else ""
        return f"{report.host} can not use RDMA: it needs Thunderbolt 5{best}"
    if _version(report.os_version) < FIRST_MACOS:
        return (
            f"{report.host} runs macOS {report.os_version or 'of unknown version'}: "
            "RDMA needs macOS 26.2 on every host"
        )
    return (
        f"{report.host} has Thunderbolt 5 but RDMA is off: start it in Recovery, open "
        "Utilities > Terminal, and run: rdma_ctl enable"
    )


def explain_no_rdma(topology: Topology) -> tuple[str, ...]:
    """A sentence for each host without RDMA and each cable that can not carry it.

    Nothing is advised that a host's hardware does not allow: Thunderbolt 4 never
    carries RDMA, whatever ``rdma_ctl status`` prints (ml-explore/mlx and exo
    users were told otherwise; exo-explore/exo pull request 1813).
    """
    hosts = [_explain_host(report) for report in topology.reports.values()]
    capable = {host for host, reason in zip(topology.reports, hosts, strict=True) if reason is None}
    cables = [
        f"{cable} carries no RDMA: {_explain_cable(cable)}"
        for cable in topology.usable_cables
        if not is_rdma_cable(cable) and {cable.a.host, cable.b.host} <= capable
    ]
    return (*(reason for reason in hosts if reason), *cables)


def _explain_cable(cable: Cable) -> str:
    if cable.via:
        return "it passes through a dock"
    if not cable.confirmed:
        return "only one end sees the other"
    if cable.gbps is not None and cable.gbps < RDMA_GBPS:
        return f"its link runs at {cable.gbps} Gb/s, and RDMA needs a Thunderbolt 5 link"
    return "an end has no RDMA device there, or does not offer the service"


def find_mesh(topology: Topology) -> Mesh:
    """For every pair of hosts the RDMA cables that join them, fastest first.

    Raises:
        TopologyError: A pair has none.
    """
    cables: dict[frozenset[str], list[Cable]] = {}
    for cable in topology.usable_cables:
        if is_rdma_cable(cable):
            cables.setdefault(frozenset((cable.a.host, cable.b.host)), []).append(cable)
    pairs = [frozenset(pair) for pair in combinations(topology.hosts, 2)]
    missing = [pair for pair in combinations(topology.hosts, 2) if frozenset(pair) not in cables]
    if missing:
        named = ", ".join(f"{one} to {other}" for one, other in missing)
        reasons = "; ".join(explain_no_rdma(topology))
        raise TopologyError(
            f"no full mesh of RDMA cables: {named} missing" + (f" ({reasons})" if reasons else ""),
            hint="Add those cables, or use --backend jaccl-ring or --backend ring.",
        )
    return {pair: tuple(sorted(cables[pair], key=lambda each: -(each.gbps or 0))) for pair in pairs}


def _device(cable: Cable, host: str) -> str:
    assert cable.rdma is not None
    return cable.rdma[0] if cable.a.host == host else cable.rdma[1]


def _devices(cables: Sequence[Cable], host: str) -> RdmaDevice:
    """One device by its name, several as a list, none as null: what MLX writes itself."""
    names = tuple(_device(cable, host) for cable in cables)
    return None if not names else names[0] if len(names) == 1 else names


def plan_jaccl_hostfile(
    topology: Topology,
    mesh: Mesh,
    addresses: Mapping[str, IPv4Interface],
    *,
    envs: Sequence[str] = (),
) -> Hostfile:
    """The hostfile of MLX's ``jaccl``: every rank has the same number of devices to every other.

    Args:
        addresses: The LAN address of each host, for the coordinator.
    """
    width = min(len(cables) for cables in mesh.values())
    entries = tuple(
        HostfileEntry(
            host,
            (str(addresses[host].ip),),
            tuple(
                None if host == other else _devices(mesh[frozenset((host, other))][:width], host)
                for other in topology.hosts
            ),
        )
        for host in topology.hosts
    )
    return Hostfile(entries, "jaccl", tuple(envs))


def plan_jaccl_ring_hostfile(
    ring: RingPlan, addresses: Mapping[str, IPv4Interface], *, envs: Sequence[str] = ()
) -> Hostfile:
    """The hostfile of MLX's ``jaccl-ring``: devices towards both ring neighbours, null elsewhere.

    Args:
        addresses: The LAN address of each host, for the coordinator.
    """
    entries = []
    for rank, host in enumerate(ring.hosts):
        towards: dict[int, RdmaDevice] = {
            (rank + 1) % ring.size: _devices(ring.cables[rank], host),
            (rank - 1) % ring.size: _devices(ring.cables[rank - 1], host),
        }
        rdma = tuple(towards.get(other) for other in range(ring.size))
        entries.append(HostfileEntry(host, (str(addresses[host].ip),), rdma))
    return Hostfile(tuple(entries), "jaccl-ring", tuple(envs))
