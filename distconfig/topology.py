"""The cabling between hosts: `Cable`, `CableEnd` and the frozen `Topology`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import networkx as nx

from distconfig.report import HostReport

__all__ = ["Cable", "CableEnd", "Stranger", "Topology"]


@dataclass(frozen=True, order=True)
class CableEnd:
    """One end of a cable: a receptacle of a host.

    Args:
        receptacle: Its label.
        interface: The BSD name; empty when unknown (the cable is then not usable).
    """

    host: str
    receptacle: str
    interface: str = ""

    def __str__(self) -> str:
        return f"{self.host} {self.interface or 'port ' + self.receptacle}"


@dataclass(frozen=True)
class Cable:
    """One physical cable between two receptacles, ends in canonical order.

    The canonical order is that of the hosts as given, then of the receptacles.

    Args:
        confirmed: Both ends report it.
        via: Docks or displays it passes through, from end ``a`` to end ``b``.
        gbps: Speed of the trained link, or the lower ceiling of its ports when
            ``is_ceiling``; None if not even that is known.
    """

    a: CableEnd
    b: CableEnd
    confirmed: bool = True
    via: tuple[str, ...] = ()
    gbps: int | None = None
    is_ceiling: bool = False

    def __post_init__(self) -> None:
        if (self.a.host, self.a.receptacle) == (self.b.host, self.b.receptacle):
            raise ValueError(f"both ends of a cable are {self.a}")

    @property
    def ends(self) -> tuple[CableEnd, CableEnd]:
        """Both ends, canonical first."""
        return (self.a, self.b)

    @property
    def is_loop(self) -> bool:
        """Both ends are in one host."""
        return self.a.host == self.b.host

    @property
    def is_usable(self) -> bool:
        """It joins two hosts and both interfaces are known."""
        return not self.is_loop and bool(self.a.interface and self.b.interface)

    def end_at(self, host: str) -> CableEnd:
        """The end in this host.

        Raises:
            KeyError: The cable does not reach the host.
        """
        for end in self.ends:
            if end.host == host:
                return end
        raise KeyError(host)

    def other_end(self, host: str) -> CableEnd:
        """The end that is not in this host."""
        return self.b if self.end_at(host) is self.a else self.a

    def __str__(self) -> str:
        return f"{self.a} -- {self.b}"


@dataclass(frozen=True)
class Stranger:
    """A peer that belongs to no listed host, and the receptacle it was seen from."""

    seen_from: CableEnd
    domain_uuid: UUID
    model: str = ""
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    """All cables between the hosts, as a frozen ``networkx.MultiGraph``.

    Nodes are host names; an edge's key is its `Cable`, usable or not. Loops are
    kept apart from the graph.

    Args:
        hosts: Every listed host, in the order given, unreachable ones included.
        reports: Of the hosts that answered and were understood.
        unread: Host to the reason, for the others.
        problems: Sentences about what was seen and could not be used.
    """

    hosts: tuple[str, ...]
    graph: nx.MultiGraph
    reports: Mapping[str, HostReport]
    unread: Mapping[str, str]
    strangers: tuple[Stranger, ...] = ()
    loops: tuple[Cable, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def cables(self) -> tuple[Cable, ...]:
        """Every cable between two hosts, in canonical order."""
        return sort_cables((key for _, _, key in self.graph.edges(keys=True)), self.hosts)

    @property
    def usable_cables(self) -> tuple[Cable, ...]:
        """The cables a ring can be made of, in canonical order."""
        return tuple(cable for cable in self.cables if cable.is_usable)


def label_order(label: str) -> tuple[int, str]:
    """Sort key of receptacle labels: numbers by value, then other text."""
    return (int(label), "") if label.isdecimal() else (1 << 30, label)


def sort_cables(cables: Iterable[Cable], hosts: tuple[str, ...]) -> tuple[Cable, ...]:
    """Cables in canonical order: by the positions of their hosts, then their receptacles."""
    position = {host: index for index, host in enumerate(hosts)}
    return tuple(
        sorted(
            cables,
            key=lambda cable: (
                position[cable.a.host],
                position[cable.b.host],
                label_order(cable.a.receptacle),
                label_order(cable.b.receptacle),
            ),
        )
    )
