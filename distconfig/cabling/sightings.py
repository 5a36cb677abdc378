"""Sightings of peers joined into passages from receptacle to receptacle.

Each host says which peer domains it sees. A domain belongs to one receptacle
on Apple silicon and to two on Intel, so a sighting names a set of receptacles
at either end; what the other end saw, and which receptacles are taken, narrows
both sets down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from distconfig.reports.report import HostReport, PeerSighting

__all__ = ["Joined", "Passage", "Port", "Sighting", "join_sightings"]

Port = tuple[str, str]
"""A host and the label of one of its receptacles."""


@dataclass(frozen=True)
class Sighting:
    """A peer domain seen from a host.

    Args:
        host: The host that sees it.
        labels: The receptacles it may be seen through; one, unless Intel leaves it open.
    """

    host: str
    labels: tuple[str, ...]
    peer: PeerSighting

    @property
    def ports(self) -> frozenset[Port]:
        """The receptacles it may be seen through, with their host."""
        return frozenset((self.host, label) for label in self.labels)


@dataclass(frozen=True)
class Passage:
    """A way from one receptacle to another, and who saw it.

    Args:
        seen: What the near end saw.
        seen_back: What the far end saw; None if it saw nothing.
    """

    near: Port
    far: Port
    seen: PeerSighting
    seen_back: PeerSighting | None = None


@dataclass(frozen=True)
class Joined:
    """All sightings, joined as far as they can be."""

    passages: tuple[Passage, ...]
    strangers: tuple[tuple[Port, PeerSighting], ...]
    problems: tuple[str, ...]


@dataclass
class _Open:
    """A sighting not yet joined, with the ports still possible at either end."""

    sighting: Sighting
    near: set[Port]
    far: set[Port]


def join_sightings(reports: Mapping[str, HostReport]) -> Joined:
    """Passages between receptacles, from the union of what all hosts saw.

    Returns:
        Passages that both ends saw, then passages only one end saw; peers of no
        host in ``reports``; and a sentence for each sighting that fits more than
        one pair of receptacles.

    Example:
        >>> from distconfig.reports.report import Receptacle
        >>> one, two = UUID(int=1), UUID(int=2)
        >>> left = Receptacle("1", one, "en2", is_connected=True, peers=(PeerSighting(two),))
        >>> right = Receptacle("4", two, "en5", is_connected=True)
        >>> hosts = {"a": HostReport("a", receptacles=(left,)),
        ...          "b": HostReport("b", receptacles=(right,))}
        >>> [(passage.near, passage.far) for passage in join_sightings(hosts).passages]
        [(('a', '1'), ('b', '4'))]
    """
    owners = _owners(reports)
    strangers: list[tuple[Port, PeerSighting]] = []
    problems: list[str] = []
    pending: list[_Open] = []
    for sighting in _sightings(reports):
        near = _likely(reports, sighting.ports, is_direct=not sighting.peer.via)
        far = _likely(reports, owners.get(sighting.peer.domain_uuid, ()), is_direct=False)
        if not far:
            if len(near) == 1:
                strangers.append((near.pop(), sighting.peer))
            else:
                problems.append(f"{_describe(near)} sees a peer of no listed host")
            continue
        if len(near) == 1:
            far -= near
        if far:
            pending.append(_Open(sighting, near, far))
        else:
            problems.append(f"{_describe(near)} sees itself")
    passages, pending = _join_mutual(pending)
    for passage in passages:
        _narrow(pending, passage)
    one_sided, unclear = _join_one_sided(pending)
    return Joined((*passages, *one_sided), tuple(strangers), (*problems, *unclear))


def _owners(reports: Mapping[str, HostReport]) -> dict[UUID, list[Port]]:
    owners: dict[UUID, list[Port]] = {}
    for host, report in reports.items():
        for receptacle in report.receptacles:
            owners.setdefault(receptacle.domain_uuid, []).append((host, receptacle.label))
    return owners


def _likely(
    reports: Mapping[str, HostReport], ports: Iterable[Port], *, is_direct: bool
) -> set[Port]:
    """The ports of one domain that have a cable and, if seen directly, no dock; else all."""
    found = set(ports)
    if len(found) < 2:
        return found
    receptacles = {port: reports[port[0]].receptacle(port[1]) for port in found}
    connected = {port for port in found if receptacles[port].is_connected} or found
    bare = {port for port in connected if not receptacles[port].devices} if is_direct else None
    return bare or connected


def _sightings(reports: Mapping[str, HostReport]) -> Iterable[Sighting]:
    """Every sighting once, in the order of hosts and receptacles."""
    for host, report in reports.items():
        found: dict[tuple[tuple[str, ...], UUID], Sighting] = {}
        for receptacle in report.receptacles:
            for peer in receptacle.peers:
                key = ((receptacle.label,), peer.domain_uuid)
                found.setdefault(key, Sighting(host, key[0], peer))
        for ambiguous in report.ambiguous:
            found.setdefault(
                (ambiguous.candidates, ambiguous.sighting.domain_uuid),
                Sighting(host, ambiguous.candidates, ambiguous.sighting),
            )
        yield from found.values()


def _join_mutual(pending: list[_Open]) -> tuple[list[Passage], list[_Open]]:
    """Join sightings that fit each other and nothing else, until no more do."""
    passages: list[Passage] = []
    while True:
        joined = _first_unique_pairs(pending)
        if not joined:
            return passages, pending
        gone = {id(each) for pair in joined for each in pair}
        pending = [each for each in pending if id(each) not in gone]
        for one, other in joined:
            near, far = one.near & other.far, other.near & one.far
            passage = Passage(min(near), min(far), one.sighting.peer, other.sighting.peer)
            passages.append(passage)
            _narrow(pending, passage)


def _first_unique_pairs(pending: Sequence[_Open]) -> list[tuple[_Open, _Open]]:
    """Pairs of sightings that have only each other and exact receptacles."""
    by_port: dict[Port, list[int]] = {}
    for index, each in enumerate(pending):
        for port in each.near:
            by_port.setdefault(port, []).append(index)
    partners = [
        {
            other
            for port in each.far
            for other in by_port.get(port, ())
            if other != index and each.near & pending[other].far
        }
        for index, each in enumerate(pending)
    ]
    pairs = []
    for index, found in enumerate(partners):
        if len(found) != 1:
            continue
        other = next(iter(found))
        one, two = pending[index], pending[other]
        is_exact = len(one.near & two.far) == 1 and len(two.near & one.far) == 1
        if index < other and partners[other] == {index} and is_exact:
            pairs.append((one, two))
    return pairs


def _narrow(pending: Iterable[_Open], passage: Passage) -> None:
    """Take the ports of a direct cable out of every set that has others left."""
    if passage.seen.via or (passage.seen_back and passage.seen_back.via):
        return
    for each in pending:
        for ports in (each.near, each.far):
            rest = ports - {passage.near, passage.far}
            if rest and len(rest) < len(ports):
                ports &= rest


def _join_one_sided(pending: Sequence[_Open]) -> tuple[list[Passage], list[str]]:
    """Passages only one end saw, where one pair of receptacles is possible."""
    passages: list[Passage] = []
    unclear: dict[frozenset[frozenset[Port]], str] = {}
    for each in pending:
        if len(each.near) == 1 and len(each.far) == 1:
            passages.append(Passage(min(each.near), min(each.far), each.sighting.peer))
        else:
            ends = frozenset((frozenset(each.near), frozenset(each.far)))
            unclear.setdefault(
                ends,
                f"a cable runs from {_describe(each.near)} to {_describe(each.far)}, "
                "and nothing says which; unplug one of them and look again",
            )
    return passages, list(unclear.values())


def _describe(ports: Iterable[Port]) -> str:
    """Hosts with their ports: "heron port 1 or 2"."""
    by_host: dict[str, list[str]] = {}
    for host, label in sorted(ports):
        by_host.setdefault(host, []).append(label)
    return " or ".join(f"{host} port {' or '.join(labels)}" for host, labels in by_host.items())
