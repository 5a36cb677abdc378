"""From a `Survey` to everything that is set up: ring, addresses, commands, hostfile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from distconfig.cabling.topology import Topology, restrict_topology
from distconfig.errors import AddressError, NoRing, TopologyError
from distconfig.hostfiles.ethernet import find_lan_addresses
from distconfig.hostfiles.hostfile_plan import plan_ring_hostfile
from distconfig.hostfiles.jaccl_hostfile import plan_jaccl_hostfile, plan_jaccl_ring_hostfile
from distconfig.rings.mesh import explain_no_rdma, find_full_mesh
from distconfig.rings.ring import RingPlan, find_ring, is_rdma_cable
from distconfig.setup.addressing import AddressPlan, plan_addresses
from distconfig.setup.setup_script import SetupScript, plan_setup
from distconfig.survey import Survey
from ring_runtime.hostfile import Hostfile

__all__ = ["ClusterPlan", "PlanOptions", "plan_cluster", "suggest_rdma"]


@dataclass(frozen=True)
class PlanOptions:
    """What may be chosen about a plan.

    Args:
        backend: ``ring``, ``jaccl`` or ``jaccl-ring``; None for a ring whose hostfile
            every MLX can read.
        pool: Take subnets from this block only.
        mtu: Set on both ends of every cable; None leaves it alone.
        replace_addresses: Take foreign addresses off the ports.
        allow_subset: Without a ring through all hosts take the largest there is.
    """

    backend: str | None = None
    envs: tuple[str, ...] = ()
    pool: IPv4Network | None = None
    mtu: int | None = None
    replace_addresses: bool = False
    allow_subset: bool = False


@dataclass(frozen=True)
class ClusterPlan:
    """All that was decided for one cluster, from one survey.

    Args:
        topology: Of the hosts that take part.
        ring: None for a mesh.
        left_out: Listed hosts that do not take part.
    """

    topology: Topology
    ring: RingPlan | None
    addresses: AddressPlan
    scripts: Mapping[str, SetupScript]
    hostfile: Hostfile
    left_out: tuple[str, ...] = ()


def _find_ring(topology: Topology, options: PlanOptions) -> tuple[RingPlan, tuple[str, ...]]:
    """The ring, and who is left out of it."""
    over_rdma = options.backend == "jaccl-ring"
    wanted = is_rdma_cable if over_rdma else lambda cable: cable.is_usable
    try:
        return find_ring(topology, is_eligible=wanted), ()
    except NoRing as error:
        if options.allow_subset:
            from distconfig.rings.largest_ring import find_largest_ring

            largest = find_largest_ring(topology, is_eligible=wanted)
            return largest.ring, largest.left_out
        if over_rdma:
            reasons = (
                f"{cable} carries no RDMA: {explain_no_rdma(topology, cable)}"
                for cable in topology.usable_cables
                if not is_rdma_cable(cable)
            )
            raise NoRing(
                f"no ring of RDMA cables through all {len(topology.hosts)} hosts",
                witness="; ".join((f"counting only those, {error.witness}", *reasons)),
                hint="A TCP ring needs no RDMA: --backend ring.",
            ) from error
        raise


def _hostfile(
    topology: Topology, ring: RingPlan | None, addresses: AddressPlan, options: PlanOptions
) -> Hostfile:
    if ring is None:
        return plan_jaccl_hostfile(
            find_full_mesh(topology), find_lan_addresses(topology.reports), envs=options.envs
        )
    if options.backend == "jaccl-ring":
        return plan_jaccl_ring_hostfile(
            ring, find_lan_addresses(topology.reports), envs=options.envs
        )
    return plan_ring_hostfile(ring, addresses, backend=options.backend or "", envs=options.envs)


def plan_cluster(survey: Survey, options: PlanOptions) -> ClusterPlan:
    """The plan for the hosts of the survey.

    Raises:
        TopologyError: The cabling has no ring, or no mesh, of the kind asked for.
        AddressError: No free block, or what a host uses is not known.
    """
    topology = survey.topology
    ring: RingPlan | None = None
    left_out: tuple[str, ...] = ()
    if options.backend == "jaccl":
        find_full_mesh(topology)
    else:
        ring, left_out = _find_ring(topology, options)
    if left_out:
        topology = restrict_topology(
            topology, [host for host in topology.hosts if host not in left_out]
        )
    _require_known_networks(topology, options)
    addresses = plan_addresses(topology, survey.recording.operator, pool=options.pool)
    scripts = plan_setup(
        topology,
        ring,
        addresses,
        mtu=options.mtu,
        replace_addresses=options.replace_addresses,
    )
    hostfile = _hostfile(topology, ring, addresses, options)
    return ClusterPlan(topology, ring, addresses, scripts, hostfile, left_out)


def _require_known_networks(topology: Topology, options: PlanOptions) -> None:
    """Refuse to choose addresses without having looked at those every host uses."""
    for host, report in topology.reports.items():
        if "ifconfig" in report.unread:
            raise AddressError(
                f"the addresses and bridges of {host} are not known, as its ifconfig was not read",
                hint=f"See what is wrong with: ssh {host} /sbin/ifconfig -a",
            )
        if "netstat" in report.unread and options.pool is None:
            raise AddressError(
                f"the routes of {host} are not known, as its netstat was not read",
                hint="Name a block that nothing uses: --pool 10.99.0.0/24.",
            )


def suggest_rdma(topology: Topology) -> str | None:
    """One line that names the flag, where RDMA would allow MLX's jaccl; else None."""
    for flag, find in (("jaccl", find_full_mesh), ("jaccl-ring", _find_rdma_ring)):
        try:
            find(topology)
        except TopologyError:
            continue
        return f"RDMA works on these cables: --backend {flag} writes a hostfile for MLX's {flag}"
    return None


def _find_rdma_ring(topology: Topology) -> RingPlan:
    return find_ring(topology, is_eligible=is_rdma_cable)
