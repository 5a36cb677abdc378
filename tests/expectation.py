"""What a person says is true of a scenario, as ``expected.py`` in its folder states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from distconfig.cabling.cable import Cable
from distconfig.cabling.topology import Stranger
from distconfig.reports.report import AmbiguousSighting, Receptacle

__all__ = ["Expected"]


@dataclass(frozen=True)
class Expected:
    """The truth about one scenario.

    Args:
        cables: Between two of the hosts, in canonical order.
        ring: Hosts in rank order; empty if there is none.
        width: Cables used on every hop of the ring.
        no_ring: Why there is no ring, in a person's words; for readers only.
        receptacles: Of the hosts for which every port is stated.
        ambiguous: Of the hosts that can not say where a peer is.
        problems: Of the hosts that have any.
        unread: Of the hosts where a probe's facts are not known.
    """

    cables: tuple[Cable, ...] = ()
    ring: tuple[str, ...] = ()
    width: int = 1
    no_ring: str = ""
    strangers: tuple[Stranger, ...] = ()
    loops: tuple[Cable, ...] = ()
    receptacles: Mapping[str, tuple[Receptacle, ...]] = field(default_factory=dict)
    ambiguous: Mapping[str, tuple[AmbiguousSighting, ...]] = field(default_factory=dict)
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.ring) == bool(self.no_ring):
            raise ValueError("state either the ring or why there is none")
