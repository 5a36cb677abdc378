"""The receptacles of one host: the interface of each, and the peers seen through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from distconfig.cabling.cable import label_order
from distconfig.errors import InconsistentReport
from distconfig.probes.thunderbolt_buses import AttachedPeer, Bus, BusReceptacle
from distconfig.reports.port_interfaces import InterfaceSources, name_interfaces

__all__ = [
    "AmbiguousSighting",
    "PeerSighting",
    "Receptacle",
    "assemble_receptacles",
]


@dataclass(frozen=True)
class PeerSighting:
    """A peer host seen through one receptacle.

    Args:
        domain_uuid: The peer's domain UUID, which is that of its receptacle at the other end.
        model: The peer's model identifier, such as ``Mac15,14``; empty if not printed.
        via: Names of the docks or displays passed on the way, nearest first.
        offers_rdma: The peer advertises service 64087.
    """

    domain_uuid: UUID
    model: str = ""
    via: tuple[str, ...] = ()
    offers_rdma: bool = False


@dataclass(frozen=True)
class Receptacle:
    """One physical Thunderbolt socket.

    Args:
        label: macOS's number of it, a label and nothing more.
        domain_uuid: The UUID of its domain; on Intel two receptacles share one.
        interface: The BSD name, or None with the reason in ``interface_problem``.
        is_connected: Something has a cable here; not necessarily a peer.
        peers: Peers seen here. More than one only behind a dock.
        devices: Names of docks, displays, drives attached here.
        link_gbps: Speed of the trained link; None if idle or not printed.
        ceiling_gbps: What the port can do, as far as known ("Up to").
        place: Where it is on the case, if known: "back, second from left".
        rdma_device: Its name in ``ibv_devices``, such as ``rdma_en2``.
        switch_uid: Of the controller's own switch, as printed; empty if not printed.
    """

    label: str
    domain_uuid: UUID
    interface: str | None = None
    interface_problem: str = ""
    is_connected: bool = False
    peers: tuple[PeerSighting, ...] = ()
    devices: tuple[str, ...] = ()
    link_gbps: int | None = None
    ceiling_gbps: int | None = None
    place: str = ""
    rdma_device: str | None = None
    switch_uid: str = ""

    def __post_init__(self) -> None:
        if self.interface is None and not self.interface_problem:
            raise ValueError(f"receptacle {self.label} has neither interface nor problem")


@dataclass(frozen=True)
class AmbiguousSighting:
    """A peer seen on an Intel controller that could be at either of its receptacles."""

    sighting: PeerSighting
    candidates: tuple[str, ...]


def _sighting(peer: AttachedPeer) -> PeerSighting:
    return PeerSighting(peer.domain_uuid, peer.model, peer.via, peer.offers_rdma)


def _candidates(bus: Bus, linked: frozenset[str]) -> list[BusReceptacle]:
    """The receptacles that a peer without a route may be plugged into.

    Those that are connected, of these the ones that hold nothing else, and of
    these the ones where ioreg says that a peer host is linked; each rule only
    as far as it leaves one.
    """
    taken = {device.tag for device in bus.devices if device.depth == 0}
    taken |= {peer.tag for peer in bus.peers}
    connected = [each for each in bus.receptacles if each.is_connected is not False]
    free = [each for each in connected if each.tag not in taken] or connected
    return [each for each in free if each.label in linked] or free


def _place_peers(
    bus: Bus, linked: frozenset[str]
) -> tuple[dict[str, list[PeerSighting]], list[AmbiguousSighting]]:
    """The peers of a bus by label of their receptacle, and those that could be at several.

    Args:
        linked: Receptacles that ioreg says have a peer host.
    """
    by_tag = {each.tag: each.label for each in bus.receptacles}
    placed: dict[str, list[PeerSighting]] = {each.label: [] for each in bus.receptacles}
    unplaced = [peer for peer in bus.peers if peer.tag not in by_tag]
    for peer in bus.peers:
        if peer.tag in by_tag:
            placed[by_tag[peer.tag]].append(_sighting(peer))
    candidates = sorted((each.label for each in _candidates(bus, linked)), key=label_order)
    ways = {peer.via[:1] or peer.domain_uuid for peer in unplaced}
    doubtful = [AmbiguousSighting(_sighting(peer), tuple(candidates)) for peer in unplaced]
    if len(candidates) == 1 and len(ways) == 1:
        placed[candidates[0]] += [each.sighting for each in doubtful]
        doubtful = []
    nameless = [AmbiguousSighting(sighting, ("",)) for sighting in placed.pop("", [])]
    return placed, doubtful + nameless


def _devices_at(bus: Bus, receptacle: BusReceptacle) -> tuple[str, ...]:
    is_only_one = len(bus.receptacles) == 1
    return tuple(
        device.name for device in bus.devices if is_only_one or device.tag == receptacle.tag
    )


def _refuse_repeated_labels(buses: Sequence[Bus]) -> None:
    counts = Counter(each.label for bus in buses for each in bus.receptacles if each.label)
    repeated = [label for label, times in counts.items() if times > 1]
    if repeated:
        raise InconsistentReport(
            f"several receptacles have the number {', '.join(repeated)}",
            probe="system_profiler",
            hint="Report it with a recording (--save DIR --anonymise).",
        )


def _unplaceable(ambiguous: Sequence[AmbiguousSighting]) -> list[str]:
    return [
        f"A peer ({each.sighting.model or each.sighting.domain_uuid}) is seen where no port with"
        " a number is connected; it was left out."
        for each in ambiguous
        if not all(each.candidates) or not each.candidates
    ]


def assemble_receptacles(
    buses: Sequence[Bus], sources: InterfaceSources
) -> tuple[tuple[Receptacle, ...], tuple[AmbiguousSighting, ...], tuple[str, ...]]:
    """The receptacles in ascending order, sightings of no single one, and problems in sentences.

    Raises:
        InconsistentReport: Two receptacles have the same number.
    """
    _refuse_repeated_labels(buses)
    named = name_interfaces(buses, sources)
    linked = frozenset(port.label for port in sources.ioreg if port.has_peer)
    rdma_devices = {each.interface: each.name for each in sources.rdma_devices}
    receptacles = []
    ambiguous: list[AmbiguousSighting] = []
    for bus in buses:
        placed, doubtful = _place_peers(bus, linked)
        ambiguous += doubtful
        for each in bus.receptacles:
            if not each.label:
                continue
            peers = tuple(placed[each.label])
            devices = _devices_at(bus, each)
            is_connected = each.is_connected
            if is_connected is None:
                is_connected = bool(peers or devices)
            interface = named.names.get(each.label)
            receptacles.append(
                Receptacle(
                    each.label,
                    bus.domain_uuid,
                    interface,
                    named.reasons.get(each.label, ""),
                    is_connected,
                    peers,
                    devices,
                    each.link_gbps if is_connected else None,
                    each.ceiling_gbps,
                    rdma_device=rdma_devices.get(interface) if interface else None,
                    switch_uid=bus.switch_uid,
                )
            )
    receptacles.sort(key=lambda receptacle: label_order(receptacle.label))
    return (
        tuple(receptacles),
        tuple(each for each in ambiguous if each.candidates and all(each.candidates)),
        (*named.problems, *_unplaceable(ambiguous)),
    )
