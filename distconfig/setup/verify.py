"""Whether hosts are what was planned: every cable both ways, every interface put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from distconfig.reports.report import InterfaceState
from distconfig.setup.script_answers import HostAnswer
from distconfig.setup.setup_steps import EndGoal

__all__ = ["Fault", "find_differences", "find_faults"]


@dataclass(frozen=True)
class Fault:
    """What is not as planned at one end of a cable.

    Args:
        reason: A clause, such as "en2 is down".
    """

    goal: EndGoal
    reason: str

    @property
    def direction(self) -> str:
        """From which host to which the cable does not carry."""
        peer = self.goal.cable.end_at(self.goal.peer_host)
        return f"{self.goal.cable.other_end(self.goal.peer_host)} -> {peer}"


def find_faults(
    goals: Sequence[EndGoal], answer: HostAnswer, *, peers_tried: bool = True
) -> tuple[Fault, ...]:
    """The goals that a host does not meet, at most one reason for each.

    Args:
        goals: In the order in which the script tried them.
        peers_tried: The script also asked for the routes and tried to reach the peers.
    """
    found = []
    for index, goal in enumerate(goals):
        reasons = [*_state_faults(goal, answer)]
        if peers_tried:
            reasons += _reach_faults(index, goal, answer)
        if reasons:
            found.append(Fault(goal, reasons[0]))
    return tuple(found)


def _state_faults(goal: EndGoal, answer: HostAnswer) -> Iterator[str]:
    name = goal.interface
    state = answer.interface(name)
    if state is None:
        yield f"{name} is gone"
        return
    for bridge in answer.interfaces:
        if name in bridge.members and bridge.is_up:
            yield f"{name} is in {bridge.name}, which is up; macOS may have put it back"
    if state.is_active is False:
        yield f"{name} has no link; the cable may have been pulled"
    if goal.address not in state.addresses:
        yield f"{name} does not have its address {goal.address}"
    if not state.is_up:
        yield f"{name} is down"
    if goal.mtu is not None and state.mtu != goal.mtu:
        yield f"{name} has mtu {state.mtu}, not {goal.mtu}"


def _reach_faults(index: int, goal: EndGoal, answer: HostAnswer) -> Iterator[str]:
    if ("routed", str(index)) not in answer.facts:
        yield f"{goal.peer} is not reached through {goal.interface}"
    if not any(("reached", str(index), how) in answer.facts for how in ("ping", "tcp")):
        yield f"{goal.peer_host} does not answer at {goal.peer}, neither a ping nor on TCP port 22"


def find_differences(
    before: Sequence[InterfaceState], answer: HostAnswer, *, with_link: bool = False
) -> tuple[str, ...]:
    """In what the interfaces are no longer what they were, as clauses.

    Link-local addresses do not count, which macOS gives and takes by itself.

    Args:
        with_link: A cable that was pulled counts too.
    """
    found = []
    for old in before:
        new = answer.interface(old.name)
        if new is None:
            found.append(f"{old.name} is gone")
            continue
        if new.is_up != old.is_up:
            found.append(f"{old.name} is {'up' if new.is_up else 'down'}")
        if new.mtu != old.mtu:
            found.append(f"{old.name} has mtu {new.mtu} instead of {old.mtu}")
        if with_link and old.is_active and new.is_active is False:
            found.append(f"{old.name} has lost its link; the cable may have been pulled")
        found += _set_differences(old, new)
    return tuple(found)


def _set_differences(old: InterfaceState, new: InterfaceState) -> Iterator[str]:
    for kind, was, now in (
        ("address", _lasting_addresses(old), _lasting_addresses(new)),
        ("member", set(old.members), set(new.members)),
    ):
        for name in sorted(was - now):
            yield f"{old.name} has lost the {kind} {name}"
        for name in sorted(now - was):
            yield f"{old.name} has got the {kind} {name}"


def _lasting_addresses(state: InterfaceState) -> set[str]:
    return {str(address) for address in state.addresses if not address.is_link_local}
