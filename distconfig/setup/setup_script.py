"""The commands that configure one host, each with its reason and its undo, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Interface

from distconfig.cabling.bridge_loops import bridges_of_ports, find_bridge_loops
from distconfig.cabling.topology import Topology
from distconfig.errors import UsageError
from distconfig.reports.report import Bridge, HostReport, InterfaceState
from distconfig.rings.ring import RingPlan
from distconfig.setup import mac_commands as mac
from distconfig.setup.addressing import AddressPlan
from distconfig.setup.refusals import find_refusals, route_to
from distconfig.setup.setup_steps import EndGoal, RouteGoal, SetupScript, SetupStep
from distconfig.setup.setup_text import render_setup

__all__ = ["EndGoal", "RouteGoal", "SetupScript", "SetupStep", "plan_setup", "render_setup"]


def plan_setup(
    topology: Topology,
    ring: RingPlan | None,
    addresses: AddressPlan,
    *,
    mtu: int | None = None,
    replace_addresses: bool = False,
) -> dict[str, SetupScript]:
    """For each host the steps that free its ports and give them their addresses.

    What is already as planned needs no step; so planning again after the
    commands were run gives empty scripts.

    Args:
        ring: Only cables between its hosts are set up, those it uses and surplus
            ones; all cables if None.
        mtu: Set on both ends of every cable; None leaves it alone.
        replace_addresses: Take foreign addresses off the ports instead of adding to them.

    Raises:
        UsageError: No interface takes such an mtu.
    """
    if mtu is not None and not 576 <= mtu <= 65535:
        raise UsageError(f"--mtu {mtu}", hint="Thunderbolt ports take 1500 and more, such as 9000.")
    hosts = topology.hosts if ring is None else tuple(h for h in topology.hosts if h in ring.hosts)
    in_loop = _loop_warnings(topology)
    scripts = {}
    for host in hosts:
        if (report := topology.reports.get(host)) is not None:
            goals = tuple(_goals(host, hosts, ring, addresses, mtu))
            planner = _HostPlanner(report, addresses, goals, replace_addresses)
            scripts[host] = planner.script(in_loop.get(host, ()))
    return scripts


def _goals(
    host: str,
    hosts: tuple[str, ...],
    ring: RingPlan | None,
    addresses: AddressPlan,
    mtu: int | None,
) -> Iterator[EndGoal]:
    for cable in addresses.subnets:
        if host in (cable.a.host, cable.b.host) and {cable.a.host, cable.b.host} <= set(hosts):
            peer = cable.other_end(host)
            yield EndGoal(
                cable,
                cable.end_at(host).interface,
                addresses.address(cable, host),
                peer.host,
                addresses.address(cable, peer.host).ip,
                mtu,
                ring is None or cable in ring.used_cables,
            )


def _loop_warnings(topology: Topology) -> dict[str, tuple[str, ...]]:
    """For every host in a loop of bridges that are up, the sentence that says so."""
    warnings: dict[str, tuple[str, ...]] = {}
    for loop in find_bridge_loops(topology, bridges_of_ports(topology)):
        names = ", ".join(f"{bridge} of {host}" for host, bridge in loop)
        text = (
            f"Cables between {names} close a loop, in which packets circle for ever "
            "and can take the whole network down. The setup takes the ports out of the bridges."
        )
        for host, _ in loop:
            warnings[host] = (*warnings.get(host, ()), text)
    return warnings


@dataclass
class _HostPlanner:
    """The steps of one host, from its report and the goals of its cable ends."""

    report: HostReport
    addresses: AddressPlan
    goals: tuple[EndGoal, ...]
    replace_addresses: bool
    warnings: list[str] = field(default_factory=list)

    def script(self, warnings: tuple[str, ...]) -> SetupScript:
        wanted = dict.fromkeys(goal.interface for goal in self.goals)
        refused = find_refusals(self.report, wanted)
        goals = tuple(goal for goal in self.goals if goal.interface not in refused)
        ports = [name for name in wanted if name not in refused]
        steps = [*self._bridge_steps(ports)]
        for name in ports:
            steps += self._port_steps(name, [goal for goal in goals if goal.interface == name])
        bridges = [
            bridge.name for bridge in self.report.bridges if set(bridge.members) & set(ports)
        ]
        touched = [*ports, *bridges] if steps else []
        before = tuple(s for s in self.report.interfaces if s.name in touched)
        return SetupScript(
            self.report.host,
            tuple(steps),
            tuple(refused.values()),
            (*warnings, *self.warnings),
            goals,
            tuple(goal for goal in self.goals if goal.interface in refused),
            before,
            self.report.hardware_uuid,
        )

    def _bridge_steps(self, ports: list[str]) -> Iterator[SetupStep]:
        for bridge in self.report.bridges:
            leaving = [name for name in bridge.members if name in ports]
            for name in leaving:
                yield SetupStep(
                    mac.leave_bridge(bridge.name, name),
                    f"take {name} out of {bridge.name}, where it has no address of its own",
                    (mac.rejoin_bridge(bridge.name, name),),
                )
            if leaving and bridge.is_up:
                yield from self._down_step(bridge, leaving)

    def _down_step(self, bridge: Bridge, leaving: list[str]) -> Iterator[SetupStep]:
        in_use = [
            each for each in bridge.members if each not in leaving and not self._is_idle(each)
        ]
        if in_use:
            self.warnings.append(
                f"{bridge.name} stays up, since {', '.join(in_use)} is in use there; "
                f"macOS may put {', '.join(leaving)} back into it, which ends their addresses."
            )
            return
        state = self.report.interface(bridge.name)
        for address in state.addresses if state is not None else ():
            if not address.is_link_local:
                self.warnings.append(
                    f"{bridge.name} has the address {address}, which answers no more while "
                    f"{bridge.name} is off."
                )
        yield SetupStep(
            mac.set_down(bridge.name),
            f"switch {bridge.name} off, so that ports macOS puts back keep their addresses",
            (mac.set_up(bridge.name),),
        )

    def _is_idle(self, member: str) -> bool:
        """A Thunderbolt port without a peer and without a link."""
        state = self.report.interface(member)
        if state is None or state.is_active or state.addresses:
            return False
        return any(each.interface == member and not each.peers for each in self.report.receptacles)

    def _port_steps(self, name: str, goals: list[EndGoal]) -> Iterator[SetupStep]:
        state = self.report.interface(name)
        assert state is not None  # else it was refused
        staying = list(state.addresses)
        for address, why in self._leaving_addresses(state, goals):
            staying.remove(address)
            undo = [mac.add_address(name, address)]
            if address.is_link_local:  # which only macOS itself can give again
                others = [each for each in state.addresses if not each.is_link_local]
                undo = [mac.hand_to_dhcp(name), *(mac.add_address(name, each) for each in others)]
            if not state.is_up:  # an address switches its interface on
                undo.append(mac.set_down(name))
            yield SetupStep(mac.remove_address(name, address), why, tuple(undo))
        for goal in goals:
            yield from self._configure_step(state, goal, staying)
        for goal in goals:
            yield from self._route_step(state, goal)

    def _leaving_addresses(
        self, state: InterfaceState, goals: list[EndGoal]
    ) -> Iterator[tuple[IPv4Interface, str]]:
        retired = self.addresses.retired.get((self.report.host, state.name), ())
        planned = [goal.address for goal in goals]
        for address in sorted(state.addresses, key=lambda each: each.is_link_local):
            if address in retired:
                yield address, f"{state.name} has {address} from an earlier setup, now in the way"
            elif address not in planned:
                if self.replace_addresses:
                    yield address, f"{state.name} has a foreign address that is to be replaced"
                elif not address.is_link_local:
                    self.warnings.append(
                        f"{state.name} keeps its address {address} beside the new one; "
                        "--replace-addresses would take it off."
                    )

    def _configure_step(
        self, state: InterfaceState, goal: EndGoal, staying: list[IPv4Interface]
    ) -> Iterator[SetupStep]:
        """The step that brings address, mtu and up about, as far as they are missing."""
        undo: list[mac.Argv] = []
        address = None if goal.address in staying else goal.address
        if address is not None:
            undo.append(mac.remove_address(state.name, address))
        mtu = None if goal.mtu == state.mtu else goal.mtu
        if mtu is not None:
            undo.append(mac.set_mtu(state.name, state.mtu))
        if not state.is_up:
            undo.append(mac.set_down(state.name))
        if undo:
            argv = mac.configure_port(state.name, address, beside_others=bool(staying), mtu=mtu)
            surplus = "" if goal.carries_ring else ", which the ring does not use"
            peer = goal.cable.other_end(self.report.host)
            why = f"set up {state.name}, cabled to {peer.host} {peer.interface}{surplus}"
            yield SetupStep(argv, why, tuple(undo))
        if address is not None:
            staying.append(address)

    def _route_step(self, state: InterfaceState, goal: EndGoal) -> Iterator[SetupStep]:
        """The step for the case that something else leads packets for the peer elsewhere."""
        route = route_to(self.report, goal.peer)
        if goal.address in state.addresses and route and route.interface == state.name:
            return
        argv = mac.add_route(goal.peer, state.name)
        otherwise = mac.change_route(goal.peer, state.name)
        undo = mac.delete_route(goal.peer, state.name)
        if route is not None and route.destination.prefixlen == 32:
            argv, otherwise = otherwise, ()
            undo = mac.change_route(goal.peer, route.interface, route.gateway)
        why = f"only if {goal.peer} is reached otherwise: lead it through {state.name}"
        yield SetupStep(argv, why, (undo,), RouteGoal(goal.peer, state.name), otherwise)
