"""Which cables are to be tested, and what the state of their ends says before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distconfig.cabling.topology import CableEnd, Topology
from distconfig.reports.report import InterfaceState
from distconfig.setup.addressed import AddressedCable, AddressedEnd, find_addressed_cables
from distconfig.upkeep.intended import IntendedCable, IntendedEnd
from distconfig.upkeep.status import find_present_end

__all__ = ["find_faults_at_ends", "find_tested_cables", "mtus_of"]


def find_tested_cables(
    topology: Topology, intended: Sequence[IntendedCable]
) -> tuple[AddressedCable, ...]:
    """Every cable the hosts see, every pair of addresses, and every cable that was set up.

    The last two find cables that were cut, which no host sees any more.
    """
    found = list(find_addressed_cables(topology))
    networks = {cable.network for cable in found}
    ends = {(each.host, each.end.receptacle) for cable in found for each in cable.ends}
    for cable in intended:
        is_known = cable.network in networks or any(
            (end.host, end.port) in ends for end in cable.ends if end.port
        )
        if not is_known:
            a, b = (AddressedEnd(_place(end, topology), end.address) for end in cable.ends)
            found.append(AddressedCable(a, b))
    return tuple(found)


def _place(end: IntendedEnd, topology: Topology) -> CableEnd:
    """Where an end is now, or was."""
    present = find_present_end(end, topology) if end.host in topology.reports else None
    return present or CableEnd(end.host, end.port, end.interface)


def mtus_of(cable: AddressedCable, topology: Topology) -> tuple[int | None, ...]:
    """The MTU at both ends, None where it is not known."""
    states = (_state(end, topology) for end in cable.ends)
    return tuple(state.mtu if state else None for state in states)


def _state(end: AddressedEnd, topology: Topology) -> InterfaceState | None:
    report = topology.reports.get(end.host)
    return report.interface(end.interface) if report else None


def find_faults_at_ends(cable: AddressedCable, topology: Topology) -> tuple[str, ...]:
    """What at the ends of a cable keeps it from carrying anything, as clauses."""
    faults = [fault for end in cable.ends for fault in _end_faults(end, topology)]
    if cable.seen is None:
        faults.insert(0, _nobody_sees(cable, topology))
    return tuple(faults)


def _nobody_sees(cable: AddressedCable, topology: Topology) -> str:
    asked = [end.host for end in cable.ends if end.host in topology.reports]
    if len(asked) == 2:
        return f"neither {asked[0]} nor {asked[1]} sees a cable there"
    return f"{asked[0]} sees no cable there" if asked else "nobody could be asked"


def _end_faults(end: AddressedEnd, topology: Topology) -> Iterator[str]:
    report = topology.reports.get(end.host)
    if report is None:
        yield f"{end.host} did not answer"
        return
    if not end.interface:
        yield f"no port of {end.host} has the address {end.address}"
        return
    state = report.interface(end.interface)
    if state is None:
        yield f"{end} is not listed by ifconfig"
        return
    if not state.is_up:
        yield f"{end} is down"
    if end.address is None or end.address not in state.addresses:
        wanted = f"its address {end.address}" if end.address else "an address"
        yield f"{end} has not got {wanted}"
    for bridge in report.bridges:
        if bridge.is_up and end.interface in bridge.members:
            yield f"{end} is in {bridge.name}, which is up"
