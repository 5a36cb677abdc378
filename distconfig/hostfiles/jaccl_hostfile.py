"""The hostfiles of MLX's RDMA backends, ``jaccl`` on a full mesh and ``jaccl-ring``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface

from distconfig.rings.mesh import MeshPlan
from distconfig.rings.ring import RingPlan
from ring_runtime.hostfile import Hostfile, HostfileEntry, RdmaDevice

__all__ = ["plan_jaccl_hostfile", "plan_jaccl_ring_hostfile"]


def _entry(names: Sequence[str]) -> RdmaDevice:
    """One device by its name, several as a list: what MLX writes itself."""
    return names[0] if len(names) == 1 else tuple(names)


def plan_jaccl_hostfile(
    mesh: MeshPlan, addresses: Mapping[str, IPv4Interface], *, envs: Sequence[str] = ()
) -> Hostfile:
    """The hostfile of ``jaccl``: every rank has as many devices towards every other.

    Args:
        addresses: The LAN address of each host, for the coordinator.
    """
    ranks = range(len(mesh.hosts))
    entries = tuple(
        HostfileEntry(
            host,
            (str(addresses[host].ip),),
            tuple(None if rank == peer else _entry(mesh.devices(rank, peer)) for peer in ranks),
        )
        for rank, host in enumerate(mesh.hosts)
    )
    return Hostfile(entries, "jaccl", tuple(envs))


def plan_jaccl_ring_hostfile(
    ring: RingPlan, addresses: Mapping[str, IPv4Interface], *, envs: Sequence[str] = ()
) -> Hostfile:
    """The hostfile of ``jaccl-ring``: devices towards both ring neighbours, null elsewhere.

    Args:
        addresses: The LAN address of each host, for the coordinator.
    """
    entries = []
    for rank, host in enumerate(ring.hosts):
        towards = {
            (rank + 1) % ring.size: _devices(ring, rank, host),
            (rank - 1) % ring.size: _devices(ring, rank - 1, host),
        }
        rdma = tuple(towards.get(peer) for peer in range(ring.size))
        entries.append(HostfileEntry(host, (str(addresses[host].ip),), rdma))
    return Hostfile(tuple(entries), "jaccl-ring", tuple(envs))


def _devices(ring: RingPlan, hop: int, host: str) -> RdmaDevice:
    """The devices of one end of a hop, whose cables all carry RDMA."""
    names = []
    for cable in ring.cables[hop]:
        assert cable.rdma is not None
        names.append(cable.rdma[0 if cable.a.host == host else 1])
    return _entry(names)
