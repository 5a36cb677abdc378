"""What to do about a cabling: the fewest cables to touch for a ring, or for a better one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from distconfig.advice.advice_steps import AdviceStep, plan_steps, rewired_topology
from distconfig.advice.rewiring import Rewiring
from distconfig.advice.rewiring_search import find_rewiring
from distconfig.advice.spare_ports import Aim, SparePorts
from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Topology, restrict_topology
from distconfig.errors import NoRing, TopologyError
from distconfig.printable import escape_controls
from distconfig.rings.hops import speed
from distconfig.rings.mesh import find_full_mesh
from distconfig.rings.ring import RingPlan, find_ring

__all__ = ["Advice", "advise", "describe_ring", "render_advice"]


@dataclass(frozen=True)
class Advice:
    """Steps that give a ring, or a better one than there is.

    Args:
        purpose: What the steps are for: a ring at all, a ring without docks, a faster
            slowest cable, or more cables per hop.
        reason: What is wrong now, in a sentence.
        steps: In the order to take them.
        ring: The best ring there will be.
        topology: The cabling there will be; the reports in it are those of today.
        n_new_cables: Cables to buy, if those taken out are used again.
        proved_fewest: No fewer steps do; always so up to eight hosts.
    """

    purpose: Literal["ring", "docks", "speed", "width"]
    reason: str
    steps: tuple[AdviceStep, ...]
    ring: RingPlan
    topology: Topology
    n_new_cables: int = 0
    proved_fewest: bool = True

    @property
    def new_cables(self) -> frozenset[Cable]:
        """Cables of ``topology`` that are added or end elsewhere than today, for a picture."""
        return frozenset(step.new for step in self.steps if step.new)

    @property
    def gone_cables(self) -> frozenset[Cable]:
        """Cables of today that are not in ``topology``, for a picture."""
        return frozenset(step.old for step in self.steps if step.old)


def advise(topology: Topology) -> tuple[Advice, ...]:
    """What to change: one advice if there is no ring, else one per way to a better one.

    Only hosts that answered are advised about. The steps of different advices are
    alternatives, not parts of one plan.

    Returns:
        Nothing if the ring can not be made better by moving idle cables, or by
        adding cables where some hops are narrower, slower or lead through docks.

    Raises:
        TopologyError: The hosts can not be cabled into a ring; says which port lacks.

    Cost:
        Up to eight hosts every order is considered, which takes a second or two.
    """
    if topology.unread:
        topology = restrict_topology(topology, tuple(topology.reports))
    if len(topology.hosts) < 2:
        raise TopologyError(
            "a ring needs two hosts that answer", hint="List every host of the ring."
        )
    spare = SparePorts(topology)
    try:
        ring = find_ring(topology)
    except TopologyError as error:
        witness = error.witness if isinstance(error, NoRing) else error.what
        return (_mend(spare, f"There is no ring: {witness}."),)
    return tuple(_improve(spare, ring))


def _mend(spare: SparePorts, reason: str) -> Advice:
    """The fewest steps to a ring and, with as many, the fastest and then one without docks."""
    aim = Aim(1)
    found, is_proved = find_rewiring(spare.wiring(aim), 1)
    if found is None:
        raise TopologyError(
            _why_impossible(spare), hint="Leave a host out, or free a port that holds a device."
        )
    return _advice("ring", reason, spare, aim, found, is_proved)


def _improve(spare: SparePorts, ring: RingPlan) -> Iterator[Advice]:
    """Each way in which at most as many steps as there are hosts make the ring better."""
    width, gbps = ring.width, min(speed(cable) for cable in ring.used_cables)
    aims: list[tuple[Literal["docks", "speed", "width"], str, list[Aim]]] = []
    if ring.hops_through_docks:
        aims.append(("docks", _name_docks(ring), [Aim(width, gbps, allows_docks=False)]))
    faster = [each for each in spare.speeds() if each > gbps]
    aims.append(("speed", _name_slowest(ring), [Aim(width, each) for each in faster]))
    idle = [each for each in spare.cables if each not in ring.used_cables]
    if idle:
        wider = [each for each in spare.speeds() if (width + 1) * each > width * gbps]
        reason = _name_idle(idle, width) + _name_mesh(spare.topology)
        aims.append(("width", reason, [Aim(width + 1, each) for each in wider]))
    for purpose, reason, alternatives in aims:
        for aim in alternatives:
            found, is_proved = find_rewiring(spare.wiring(aim), aim.width, ring.size)
            if found is None:
                continue
            advice = _advice(purpose, reason, spare, aim, found, is_proved)
            # A dock whose cable is faster than any direct one could be stays in use.
            if purpose != "docks" or advice.ring.hops_through_docks < ring.hops_through_docks:
                yield advice
                break


def _advice(
    purpose: Literal["ring", "docks", "speed", "width"],
    reason: str,
    spare: SparePorts,
    aim: Aim,
    rewiring: Rewiring,
    proved_fewest: bool,
) -> Advice:
    aim, rewiring = _raise_aim(spare, aim, rewiring)
    steps = plan_steps(spare, rewiring, aim)
    after = rewired_topology(spare.topology, steps)
    ring = find_ring(after)
    return Advice(purpose, reason, steps, ring, after, rewiring.n_new_cables, proved_fewest)


def _raise_aim(spare: SparePorts, aim: Aim, rewiring: Rewiring) -> tuple[Aim, Rewiring]:
    """The highest aim that as many steps reach: the fastest, then without docks."""
    higher = [Aim(aim.width, gbps, aim.allows_docks) for gbps in spare.speeds() if gbps > aim.gbps]
    for candidate in higher:
        found, _ = find_rewiring(spare.wiring(candidate), aim.width, rewiring.n_steps)
        if found is None:
            break
        aim, rewiring = candidate, found
    bare = Aim(aim.width, aim.gbps, allows_docks=False)
    found, _ = find_rewiring(spare.wiring(bare), aim.width, rewiring.n_steps)
    return (bare, found) if found else (aim, rewiring)


def _why_impossible(spare: SparePorts) -> str:
    """The hosts that have too few ports for a ring, as far as that is the reason."""
    hosts, wiring = spare.topology.hosts, spare.wiring(Aim(1))
    needed, ports = 2, "two Thunderbolt ports that are free or cabled to a host"
    if len(hosts) == 2:
        needed, ports = 1, "a Thunderbolt port that is free or cabled to a host"
    short = [
        f"{host} has {wiring.most(index) or 'none'}"
        for index, host in enumerate(hosts)
        if wiring.most(index) < needed
    ]
    if not short:
        return f"no way was found to cable the {len(hosts)} hosts into a ring"
    return f"no ring can be cabled: each host needs {ports}, and {', '.join(short)}"


def _name_docks(ring: RingPlan) -> str:
    passages = sorted(
        f"{' and '.join(cable.via)} between {cable.a} and {cable.b}"
        for cable in ring.used_cables
        if cable.via
    )
    return f"The ring passes through {'; '.join(passages)}."


def _name_slowest(ring: RingPlan) -> str:
    slowest = min(ring.used_cables, key=lambda cable: (speed(cable), str(cable)))
    at_most = "at most " if slowest.is_ceiling else ""
    gbps = "unknown speed" if slowest.gbps is None else f"{at_most}{slowest.gbps} Gb/s"
    return f"The slowest cable of the ring is {slowest}: {gbps}."


def _name_idle(idle: list[Cable], width: int) -> str:
    cables = ", ".join(str(cable) for cable in idle)
    plural = "cables lie" if len(idle) > 1 else "cable lies"
    return f"{len(idle)} {plural} idle ({cables}); the ring uses {width} per hop."


def _name_mesh(topology: Topology) -> str:
    """A warning where cables that a ring leaves idle are at work in a mesh over RDMA."""
    try:
        find_full_mesh(topology)
    except TopologyError:
        return ""
    if len(topology.hosts) < 4:
        return ""
    return " For --backend jaccl they are part of a full mesh, which the steps below break."


def describe_ring(ring: RingPlan) -> str:
    """The ring in a line: hosts in rank order, cables per hop, slowest cable, docks."""
    gbps = ring.slowest_gbps
    is_ceiling = any(cable.is_ceiling and cable.gbps == gbps for cable in ring.used_cables)
    at_most = "at most " if is_ceiling else ""
    facts = [
        f"{ring.width} {'cable' if ring.width == 1 else 'cables'} per hop",
        "slowest of unknown speed" if gbps is None else f"slowest {at_most}{gbps} Gb/s",
    ]
    if ring.hops_through_docks:
        facts.append(f"hops through docks: {ring.hops_through_docks}")
    return f"{' - '.join((*ring.hosts, ring.hosts[0]))} ({', '.join(facts)})"


def render_advice(advice: Advice) -> str:
    """The advice as numbered sentences, one per line, with the ring there will be."""
    lines = [advice.reason]
    lines += [f"  {number}. {step.sentence}" for number, step in enumerate(advice.steps, 1)]
    lines.append(f"Then the ring is {describe_ring(advice.ring)}.")
    if advice.n_new_cables:
        cables = "cable is" if advice.n_new_cables == 1 else "cables are"
        lines.append(f"{advice.n_new_cables} new {cables} needed.")
    if not advice.proved_fewest:
        lines.append("Fewer steps may do; with this many hosts not every order was tried.")
    return escape_controls("\n".join(lines))
