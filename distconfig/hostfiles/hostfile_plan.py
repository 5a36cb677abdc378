"""The `Hostfile` of a plan: who runs which rank and where it listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Interface

from distconfig.rings.ring import RingPlan
from distconfig.setup.addressing import AddressPlan
from ring_runtime.hostfile import Hostfile, HostfileEntry

__all__ = ["plan_lan_hostfile", "plan_ring_hostfile"]


def plan_ring_hostfile(
    ring: RingPlan, addresses: AddressPlan, *, backend: str = "", envs: Sequence[str] = ()
) -> Hostfile:
    """The hostfile of a TCP ring.

    Rank i is connected to by rank i - 1, so it lists its addresses on the
    cables of that hop, in the order of the hop.

    Args:
        backend: Stored only if given; without it and ``envs`` every MLX can read the file.
    """
    entries = []
    for rank, host in enumerate(ring.hosts):
        hop = ring.cables[rank - 1]
        ips = tuple(str(addresses.address(cable, host).ip) for cable in hop)
        entries.append(HostfileEntry(host, ips))
    return Hostfile(tuple(entries), backend, tuple(envs))


def plan_lan_hostfile(
    addresses: Mapping[str, IPv4Interface], *, backend: str = "", envs: Sequence[str] = ()
) -> Hostfile:
    """The hostfile of hosts on one network, in the order given, one address each."""
    entries = tuple(HostfileEntry(host, (str(each.ip),)) for host, each in addresses.items())
    return Hostfile(entries, backend, tuple(envs))
