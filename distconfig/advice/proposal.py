"""Which cables to lay before any is in: a ring, a double ring or a full mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

from distconfig.advice.rewiring import hops_of
from distconfig.advice.spare_ports import Aim, SparePorts
from distconfig.cabling.cable import Cable, CableEnd
from distconfig.cabling.topology import RDMA_GBPS, assemble_topology
from distconfig.errors import TopologyError, UsageError
from distconfig.printable import escape_controls
from distconfig.reports.ports import is_known_without_rdma, name_end
from distconfig.reports.report import HostReport

__all__ = ["CablingProposal", "PortBudget", "Shape", "propose_cabling", "render_cabling"]

Shape = Literal["ring", "double-ring", "mesh"]
"""What the cables form; a double ring is two cables wide, a mesh joins every two hosts."""


@dataclass(frozen=True)
class PortBudget:
    """Ports of a host: how many the shape takes, and what there is.

    Args:
        needed: Ports the shape takes.
        free: Ports with an interface and nothing plugged in.
        with_rdma: Free ports that can carry RDMA, as far as is known.
        total: All Thunderbolt ports.
    """

    host: str
    needed: int
    free: int
    with_rdma: int
    total: int


@dataclass(frozen=True)
class CablingProposal:
    """Cables to lay, and the ports they take.

    Args:
        cables: In the order to lay them; their speed is what their ports should train to.
        without_rdma: Cables that would carry no RDMA; the others might.
    """

    shape: Shape
    cables: tuple[Cable, ...]
    budgets: tuple[PortBudget, ...]
    without_rdma: frozenset[Cable]
    reports: Mapping[str, HostReport]


def propose_cabling(
    hosts: Sequence[str], reports: Mapping[str, HostReport], shape: Shape = "ring"
) -> CablingProposal:
    """Cables that join the hosts in the order given into a ring, or all with all.

    Only free ports are used: the fastest first, those known to carry no RDMA last.

    Args:
        reports: Of all the hosts.

    Raises:
        UsageError: The shape is none of the three.
        TopologyError: A host has too few free ports.

    Example:
        >>> from uuid import UUID
        >>> from distconfig.reports.report import Receptacle
        >>> reports = {
        ...     host: HostReport(host, receptacles=(
        ...         Receptacle("1", UUID(int=2 * number + 1), "en2", ceiling_gbps=120),
        ...         Receptacle("2", UUID(int=2 * number + 2), "en3", ceiling_gbps=120)))
        ...     for number, host in enumerate(("a", "b", "c"))}
        >>> [str(cable) for cable in propose_cabling(("a", "b", "c"), reports).cables]
        ['a en2 -- b en2', 'b en3 -- c en2', 'a en3 -- c en3']
    """
    if shape not in get_args(Shape):
        raise UsageError(
            f"no such shape: {shape}", hint=f"Choose one of {', '.join(get_args(Shape))}."
        )
    if len(hosts) < 2:
        raise TopologyError("a ring or mesh needs two hosts", hint="List every host to be cabled.")
    spare = SparePorts(assemble_topology(hosts, reports, {}))
    pairs = _pairs(len(hosts), shape)
    free = [spare.free_ends(host, Aim(1)) for host in hosts]
    budgets = tuple(
        _budget(reports[host], free[index], sum(index in pair for pair in pairs))
        for index, host in enumerate(hosts)
    )
    _refuse_too_few_ports(budgets, shape)
    cables = []
    for a, b in pairs:
        near, far = free[a].pop(0), free[b].pop(0)
        gbps = spare.expected_gbps(near, far)
        cables.append(Cable(near, far, gbps=gbps, is_ceiling=gbps is not None))
    without_rdma = frozenset(
        cable
        for cable in cables
        if not all(_may_have_rdma(reports[end.host], end, cable) for end in cable.ends)
    )
    return CablingProposal(shape, tuple(cables), budgets, without_rdma, reports)


def _pairs(size: int, shape: Shape) -> list[tuple[int, int]]:
    """The pairs of hosts to join, one per cable."""
    if shape == "mesh":
        return list(combinations(range(size), 2))
    hops = hops_of(range(size))
    return hops if shape == "ring" else [hop for hop in hops for _ in range(2)]


def _budget(report: HostReport, free: Sequence[CableEnd], needed: int) -> PortBudget:
    receptacles = [report.receptacle(end.receptacle) for end in free]
    with_rdma = [
        each
        for each in receptacles
        if each.rdma_device is not None and not is_known_without_rdma(report.model, each)
    ]
    return PortBudget(report.host, needed, len(free), len(with_rdma), len(report.receptacles))


def _refuse_too_few_ports(budgets: Sequence[PortBudget], shape: Shape) -> None:
    short = [
        f"{each.host} needs {each.needed} and has {each.free} free of {each.total}"
        for each in budgets
        if each.free < each.needed
    ]
    if not short:
        return
    free = min(each.free for each in budgets)
    ports = "port" if free == 1 else "ports"
    hints = {
        "ring": "Free a port, or leave the host out.",
        "double-ring": "A single ring takes two ports per host.",
        "mesh": f"With {free} free {ports} per host a mesh has at most {free + 1} hosts; "
        "a ring takes two ports per host, however many hosts there are.",
    }
    raise TopologyError(
        f"too few Thunderbolt ports for a {shape}: {'; '.join(short)}", hint=hints[shape]
    )


def _may_have_rdma(report: HostReport, end: CableEnd, cable: Cable) -> bool:
    receptacle = report.receptacle(end.receptacle)
    return (
        receptacle.rdma_device is not None
        and not is_known_without_rdma(report.model, receptacle)
        and (cable.gbps is None or cable.gbps >= RDMA_GBPS)
    )


def render_cabling(proposal: CablingProposal) -> str:
    """The cables as numbered lines, then the ports that each host spends."""
    lines = []
    for number, cable in enumerate(proposal.cables, 1):
        a, b = (name_end(proposal.reports[end.host], end.receptacle) for end in cable.ends)
        facts = [f"{cable.gbps} Gb/s at most" if cable.gbps else "speed not known"]
        if cable in proposal.without_rdma:
            facts.append("no RDMA")
        lines.append(f"{number:3}. {a} -- {b} ({', '.join(facts)})")
    lines += [
        f"{each.host}: {each.needed} of {each.free} free ports used "
        f"({each.total} in all, {each.with_rdma} free with RDMA)"
        for each in proposal.budgets
    ]
    return escape_controls("\n".join(lines))
