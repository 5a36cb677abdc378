"""Mending drift: the steps that bring back what was set up, on the hosts that drifted alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface

from distconfig.cabling.topology import Cable, Topology
from distconfig.reports.report import HostReport
from distconfig.setup import mac_commands as mac
from distconfig.setup.addressing import AddressPlan
from distconfig.setup.setup_script import plan_setup
from distconfig.setup.setup_steps import SetupScript, SetupStep
from distconfig.upkeep.intended import IntendedCable, IntendedEnd
from distconfig.upkeep.status import Drift, find_cable

__all__ = ["ReapplyPlan", "plan_reapply"]


@dataclass(frozen=True)
class ReapplyPlan:
    """What can be mended by commands, and what takes a person's hands.

    Args:
        scripts: For every host of a cable that is there; without steps where nothing drifted.
        hopeless: Sentences about cables that no command brings back.
    """

    scripts: Mapping[str, SetupScript]
    hopeless: tuple[str, ...] = ()

    @property
    def has_steps(self) -> bool:
        """There is something to run."""
        return any(script.steps for script in self.scripts.values())


def plan_reapply(
    intended: Sequence[IntendedCable], drifts: Sequence[Drift], topology: Topology
) -> ReapplyPlan:
    """The plan that makes the cables of a topology carry what was set up.

    A cable that was moved to another port of the same host keeps its addresses
    and takes them to the new interface.
    """
    present = _match(intended, topology)
    plan = _address_plan(present, topology)
    mtus = {each.mtu for each in present}
    scripts = plan_setup(topology, None, plan, mtu=mtus.pop() if len(mtus) == 1 else None)
    drifted = {host for drift in drifts for host in (drift.host, *_ends_of(drift.cable))}
    mended = {}
    for host, script in scripts.items():
        if script.goals or script.refused_goals:
            script = _with_removals(script, plan, topology.reports[host])
            mended[host] = script if host in drifted else replace(script, steps=(), before=())
    return ReapplyPlan(mended, tuple(_hopeless(intended, present, topology)))


def _ends_of(cable: IntendedCable) -> Iterator[str]:
    yield from (end.host for end in cable.ends)


def _match(intended: Sequence[IntendedCable], topology: Topology) -> dict[IntendedCable, Cable]:
    """The cable that each one is now: the same, or one that was moved between the same hosts."""
    found: dict[IntendedCable, Cable] = {}
    for each in intended:
        cable = find_cable(each, topology)
        if cable is not None and cable.is_usable and cable not in found.values():
            found[each] = cable
    for each in intended:
        if each not in found:
            free = [c for c in topology.usable_cables if c not in found.values()]
            candidates = [c for c in free if {c.a.host, c.b.host} == set(_ends_of(each))]
            if candidates:
                found[each] = max(candidates, key=lambda cable: _ports_kept(each, cable))
    return found


def _ports_kept(intended: IntendedCable, cable: Cable) -> int:
    return sum(cable.end_at(end.host).receptacle == end.port for end in intended.ends)


def _address_plan(present: Mapping[IntendedCable, Cable], topology: Topology) -> AddressPlan:
    subnets = {cable: intended.network for intended, cable in present.items()}
    addresses = {
        (cable, end.host): end.address
        for intended, cable in present.items()
        for end in intended.ends
    }
    retired: dict[tuple[str, str], tuple[IPv4Interface, ...]] = {}
    for intended, cable in present.items():
        for end in intended.ends:
            right = cable.end_at(end.host).interface
            for name in _wrong_holders(end, right, topology.reports[end.host]):
                retired[end.host, name] = (*retired.get((end.host, name), ()), end.address)
    return AddressPlan(subnets, addresses, frozenset(subnets), retired)


def _wrong_holders(end: IntendedEnd, right: str, report: HostReport) -> Iterator[str]:
    """Interfaces that still carry the address of an end that is elsewhere now."""
    ports = {each.interface for each in report.receptacles}
    for state in report.interfaces:
        if state.name != right and state.name in ports and end.address in state.addresses:
            yield state.name


def _with_removals(script: SetupScript, plan: AddressPlan, report: HostReport) -> SetupScript:
    """The script, first taking addresses off ports that no cable of the setup is at now."""
    used = {goal.interface for goal in (*script.goals, *script.refused_goals)}
    steps = []
    left = []
    for (host, name), addresses in plan.retired.items():
        state = report.interface(name)
        if host != script.host or name in used or state is None:
            continue
        left.append(state)
        for address in addresses:
            undo = [mac.add_address(name, address)]
            if not state.is_up:  # an address switches its interface on
                undo.append(mac.set_down(name))
            why = f"take {address} off {name}, from where its cable was moved"
            steps.append(SetupStep(mac.remove_address(name, address), why, tuple(undo)))
    if not steps:
        return script
    return replace(script, steps=(*steps, *script.steps), before=(*left, *script.before))


def _hopeless(
    intended: Sequence[IntendedCable], present: Mapping[IntendedCable, Cable], topology: Topology
) -> Iterator[str]:
    for each in intended:
        silent = [end.host for end in each.ends if end.host not in topology.reports]
        if silent:
            yield f"{each}: {' and '.join(silent)} did not answer."
        elif each not in present:
            hosts = " and ".join(_ends_of(each))
            yield (
                f"{each}: no cable joins {hosts} there any more. Plug it back, or set up the new "
                "cabling with --auto-setup."
            )
