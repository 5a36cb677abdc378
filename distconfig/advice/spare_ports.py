"""What a cabling could become: free receptacles, cables that can move, and their speeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from distconfig.advice.rewiring import Idle, Wiring
from distconfig.cabling.cable import Cable, CableEnd, label_order
from distconfig.cabling.topology import Topology
from distconfig.reports.ports import is_known_without_rdma
from distconfig.reports.report import HostReport, Receptacle
from distconfig.rings.hops import collect_offers, speed

__all__ = ["Aim", "SparePorts", "expected_gbps"]

_FASTEST_LINK_GBPS = 80
"""What two Thunderbolt 5 ports that promise "up to 120" train to between two Macs."""


@dataclass(frozen=True)
class Aim:
    """What is asked of every cable of the ring to be.

    Args:
        width: Cables per hop.
        gbps: Of the slowest cable; 0 asks nothing.
        allows_docks: A cable may pass through a dock.
    """

    width: int
    gbps: int = 0
    allows_docks: bool = True

    def is_met_by(self, cable: Cable) -> bool:
        """Whether a cable that is plugged in already is good enough."""
        return (
            cable.is_usable and speed(cable) >= self.gbps and (self.allows_docks or not cable.via)
        )


def expected_gbps(report: HostReport, receptacle: Receptacle) -> int | None:
    """What a new cable at this port should train to, as far as its end is concerned.

    A port in use may print only its link, which the far end can hold down; then
    the best that any port of the host is known to do counts.

    Example:
        >>> from uuid import UUID
        >>> idle = Receptacle("1", UUID(int=1), "en2", ceiling_gbps=120)
        >>> expected_gbps(HostReport("a", receptacles=(idle,)), idle)
        80
    """
    if receptacle.ceiling_gbps is not None:
        return min(receptacle.ceiling_gbps, _FASTEST_LINK_GBPS)
    known = [
        gbps
        for each in report.receptacles
        for gbps in (each.link_gbps, each.ceiling_gbps)
        if gbps is not None
    ]
    return min(max(known), _FASTEST_LINK_GBPS) if known else None


class SparePorts:
    """The receptacles and cables of a topology, as far as cables may be moved and added.

    Cables through which a stranger is reached, and ports with a dock, display or
    drive, are left alone.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._position = {host: index for index, host in enumerate(topology.hosts)}
        useless = [*topology.loops, *(each for each in topology.cables if not each.is_usable)]
        self.cables: tuple[Cable, ...] = (*useless, *topology.usable_cables)
        self._plugged = Counter(
            (end.host, end.receptacle) for cable in self.cables for end in cable.ends
        )

    def report(self, host: str) -> HostReport:
        """The report of a host, which has to be read."""
        return self.topology.reports[host]

    def receptacle(self, end: CableEnd) -> Receptacle:
        """The receptacle at a cable's end."""
        return self.report(end.host).receptacle(end.receptacle)

    def expected_gbps(self, a: CableEnd, b: CableEnd) -> int | None:
        """What a good cable between two receptacles should train to."""
        found = [expected_gbps(self.report(end.host), self.receptacle(end)) for end in (a, b)]
        known = [gbps for gbps in found if gbps is not None]
        return min(known) if len(known) == 2 else None

    def free_ends(self, host: str, aim: Aim) -> list[CableEnd]:
        """Free receptacles of a host that serve the aim: fastest, with RDMA, lowest label."""
        if host not in self.topology.reports:
            return []
        report = self.report(host)
        free = [
            each
            for each in report.receptacles
            if not each.is_connected
            and not self._plugged[host, each.label]
            and self._serves(report, each, aim)
        ]
        free.sort(
            key=lambda each: (
                -(expected_gbps(report, each) or 0),
                is_known_without_rdma(report.model, each),
                label_order(each.label),
            )
        )
        return [CableEnd(host, each.label, each.interface or "") for each in free]

    def is_sound(self, end: CableEnd, aim: Aim) -> bool:
        """Whether the receptacle of a cable serves the aim, and is free without the cable."""
        receptacle = self.receptacle(end)
        has_dock = bool(receptacle.devices) or any(peer.via for peer in receptacle.peers)
        is_alone = self._plugged[end.host, end.receptacle] == 1
        return is_alone and not has_dock and self._serves(self.report(end.host), receptacle, aim)

    def wiring(self, aim: Aim) -> Wiring:
        """The topology as the search for the fewest steps sees it."""
        offers = collect_offers(self.topology, aim.is_met_by)
        index = {cable: number for number, cable in enumerate(self.cables)}
        return Wiring(
            tuple(len(self.free_ends(host, aim)) for host in self.topology.hosts),
            tuple(self._idle(cable, aim) for cable in self.cables),
            {pair: tuple(index[each] for each in found) for pair, found in offers.cables.items()},
        )

    def speeds(self) -> list[int]:
        """Every speed a cable has or could have, ascending."""
        found = {speed(cable) for cable in self.topology.usable_cables}
        for report in self.topology.reports.values():
            found.update(expected_gbps(report, each) or 0 for each in report.receptacles)
        return sorted(found)

    def _serves(self, report: HostReport, receptacle: Receptacle, aim: Aim) -> bool:
        gbps = expected_gbps(report, receptacle) or 0
        return receptacle.interface is not None and gbps >= aim.gbps

    def _idle(self, cable: Cable, aim: Aim) -> Idle:
        a, b = cable.ends
        return Idle(
            (self._position[a.host], self._position[b.host]),
            (self.is_sound(a, aim), self.is_sound(b, aim)),
            self._limit(cable) >= aim.gbps,
        )

    def _limit(self, cable: Cable) -> int:
        """What the cable itself can carry: its link, where both ports could do more."""
        expected = self.expected_gbps(*cable.ends)
        is_held_down = (
            cable.gbps is not None
            and not cable.is_ceiling
            and expected is not None
            and cable.gbps < expected
        )
        return speed(cable) if is_held_down else _FASTEST_LINK_GBPS
