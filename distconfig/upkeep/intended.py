"""What was set up: every cable with the machine, port and address at both its ends.

Identity across time is (hardware UUID, port). Interface names, domain UUIDs and
the names people type may change; they are kept only to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from uuid import UUID

from distconfig.cabling.topology import Cable, Topology
from distconfig.setup.addressed import is_ours
from distconfig.setup.setup_steps import EndGoal, SetupScript
from ring_runtime.hostfile import Hostfile

__all__ = [
    "IntendedCable",
    "IntendedEnd",
    "find_intended",
    "intended_of_hostfile",
    "intended_of_setup",
    "replace_intended",
]


@dataclass(frozen=True)
class IntendedEnd:
    """One end of a cable as it was set up.

    Args:
        host: The name it was last reached by.
        machine: Its hardware UUID; None where only a hostfile tells of it.
        port: Label of the receptacle; empty where only a hostfile tells of it.
        interface: What the port was called then.
    """

    host: str
    machine: UUID | None
    port: str
    interface: str
    address: IPv4Interface

    @property
    def identity(self) -> tuple[UUID | str, str]:
        """What stays the same when names do not."""
        return (self.machine or self.host, self.port or str(self.address))


@dataclass(frozen=True)
class IntendedCable:
    """A cable as it was set up.

    Args:
        mtu: None where it was left alone.
        carries_ring: The ring used it; it was not a surplus one.
    """

    a: IntendedEnd
    b: IntendedEnd
    mtu: int | None = None
    carries_ring: bool = True

    @property
    def ends(self) -> tuple[IntendedEnd, IntendedEnd]:
        """Both ends."""
        return (self.a, self.b)

    @property
    def network(self) -> IPv4Network:
        """The /30 it carries."""
        return self.a.address.network

    def other_end(self, end: IntendedEnd) -> IntendedEnd:
        """The end that is not this one."""
        return self.b if end is self.a else self.a

    def __str__(self) -> str:
        return " -- ".join(f"{each.host} {each.interface or each.address.ip}" for each in self.ends)


def intended_of_setup(
    scripts: Mapping[str, SetupScript], topology: Topology
) -> tuple[IntendedCable, ...]:
    """What a setup with these scripts brings about, in the order of its goals."""
    found: dict[Cable, IntendedCable] = {}
    for script in scripts.values():
        for goal in script.goals:
            cable = goal.cable
            addresses = {script.host: goal.address, goal.peer_host: _with_peer(goal)}
            ends = [
                IntendedEnd(
                    end.host,
                    topology.reports[end.host].hardware_uuid,
                    end.receptacle,
                    end.interface,
                    addresses[end.host],
                )
                for end in cable.ends
                if end.host in topology.reports
            ]
            if len(ends) == 2:
                intended = IntendedCable(ends[0], ends[1], goal.mtu, goal.carries_ring)
                found.setdefault(cable, intended)
    return tuple(found.values())


def _with_peer(goal: EndGoal) -> IPv4Interface:
    return IPv4Interface((goal.peer, goal.address.network.prefixlen))


def intended_of_hostfile(hostfile: Hostfile) -> tuple[IntendedCable, ...]:
    """The cables that a ring's hostfile tells of, without machines and ports.

    Rank i lists its addresses on the cables to rank i - 1; addresses that are
    not one of the two of a private /30, such as those of a LAN, tell of none.
    """
    found = []
    for rank, entry in enumerate(hostfile.hosts):
        left = hostfile.hosts[rank - 1].ssh
        for text in entry.ips:
            address = _slash30(text)
            if address is None or left == entry.ssh:
                continue
            peer = next(ip for ip in address.network.hosts() if ip != address.ip)
            found.append(
                IntendedCable(
                    IntendedEnd(left, None, "", "", IPv4Interface((peer, 30))),
                    IntendedEnd(entry.ssh, None, "", "", address),
                )
            )
    return tuple(found)


def _slash30(text: str) -> IPv4Interface | None:
    try:
        address = IPv4Interface((IPv4Address(text), 30))
    except ValueError:
        return None
    return address if is_ours(address) else None


def find_intended(
    recorded: Iterable[IntendedCable], hostfile: Hostfile | None, topology: Topology
) -> tuple[IntendedCable, ...]:
    """What was set up between the hosts of a topology, by the record and by a hostfile.

    A cable of the record is told by its machines, so that hosts may have been
    renamed, and counts only if both its hosts are among those asked about. A
    cable of the hostfile that the record has too is that of the record.
    """
    names = {
        report.hardware_uuid: host
        for host, report in topology.reports.items()
        if report.hardware_uuid is not None
    }
    renamed = (_renamed(cable, names) for cable in recorded)
    found = [each for each in renamed if all(end.host in topology.hosts for end in each.ends)]
    known = {cable.network for cable in found}
    for cable in intended_of_hostfile(hostfile) if hostfile else ():
        if cable.network not in known and all(end.host in topology.hosts for end in cable.ends):
            found.append(cable)
            known.add(cable.network)
    return tuple(found)


def _renamed(cable: IntendedCable, names: Mapping[UUID, str]) -> IntendedCable:
    """The same cable with the names by which its machines were asked now."""
    a, b = (
        replace(end, host=names.get(end.machine, end.host)) if end.machine else end
        for end in cable.ends
    )
    return replace(cable, a=a, b=b)


def replace_intended(
    recorded: Iterable[IntendedCable], new: Iterable[IntendedCable], forgotten: Iterable[UUID] = ()
) -> tuple[IntendedCable, ...]:
    """The record after a setup: new cables take the place of those at their ports.

    Args:
        forgotten: Machines that were torn down; their cables go.
    """
    added = tuple(new)
    taken = {end.identity for cable in added for end in cable.ends}
    networks = {cable.network for cable in added}
    gone = set(forgotten)
    kept = [
        cable
        for cable in recorded
        if not any(end.identity in taken or end.machine in gone for end in cable.ends)
        and not (cable.network in networks and _share_a_machine(cable, added))
    ]
    return (*kept, *added)


def _share_a_machine(cable: IntendedCable, others: Iterable[IntendedCable]) -> bool:
    machines = {end.machine for end in cable.ends}
    return any(end.machine in machines for other in others for end in other.ends)
