"""What one host says about itself, as values: `HostReport` and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from uuid import UUID

__all__ = [
    "AmbiguousSighting",
    "Bridge",
    "HostReport",
    "InterfaceState",
    "PeerSighting",
    "Receptacle",
    "Route",
    "SudoAbility",
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


@dataclass(frozen=True)
class InterfaceState:
    """One interface as ``ifconfig -a`` shows it.

    Args:
        is_active: ``status: active``; None when no status line was printed.
        addresses: IPv4 addresses with their prefix, in printed order.
        peer_addresses: Far ends of point-to-point interfaces.
        members: Interfaces enslaved to this one, if it is a bridge.
    """

    name: str
    is_up: bool
    mtu: int
    mac: str = ""
    is_active: bool | None = None
    addresses: tuple[IPv4Interface, ...] = ()
    peer_addresses: tuple[IPv4Address, ...] = ()
    members: tuple[str, ...] = ()
    is_bridge: bool = False


@dataclass(frozen=True)
class Bridge:
    """A bridge and its members, found by membership and never by name."""

    name: str
    is_up: bool
    members: tuple[str, ...]


@dataclass(frozen=True)
class Route:
    """One IPv4 route of ``netstat -rn``.

    Args:
        gateway: The next hop, or None when directly attached.
        flags: As printed, such as ``UGScg``.
    """

    destination: IPv4Network
    gateway: IPv4Address | None
    interface: str
    flags: str = ""


@dataclass(frozen=True)
class SudoAbility:
    """What sudo allows without a password.

    Args:
        everything: ``sudo -n true`` succeeded.
        listing: Output of ``sudo -n -l`` where it answered; empty otherwise.
        problem: Why not, in sudo's own words; empty when everything is allowed.
    """

    everything: bool
    listing: str = ""
    problem: str = ""


@dataclass(frozen=True)
class HostReport:
    """Everything one host said, put together.

    Args:
        host: The name as the user typed it.
        platform: ``Darwin``, ``Linux`` or whatever ``uname -s`` said.
        hardware_uuid: Identity of the machine; None when not printed.
        receptacles: In ascending order of label (numeric labels first, as numbers).
        ambiguous: Sightings that could not be given to one receptacle.
        interfaces: In printed order.
        ssh_connection: The four fields of ``$SSH_CONNECTION`` (client address, client
            port, server address, server port); empty without ssh.
        rdma_status: ``enabled``, ``disabled``, or empty when there is no ``rdma_ctl``.
        notes: Lines that were not understood and carried no fact we use.
        problems: Probes that were missing or not understood, in sentences for a person.
    """

    host: str
    platform: str = "Darwin"
    computer_name: str = ""
    model: str = ""
    os_version: str = ""
    hardware_uuid: UUID | None = None
    receptacles: tuple[Receptacle, ...] = ()
    ambiguous: tuple[AmbiguousSighting, ...] = ()
    interfaces: tuple[InterfaceState, ...] = ()
    routes: tuple[Route, ...] = ()
    hardware_ports: tuple[tuple[str, str], ...] = ()
    services: tuple[tuple[str, str, bool], ...] = ()
    ssh_connection: tuple[str, ...] = ()
    sudo: SudoAbility | None = None
    rdma_status: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        labels = [receptacle.label for receptacle in self.receptacles]
        if len(set(labels)) != len(labels):
            raise ValueError(f"{self.host}: receptacle labels repeat: {labels}")

    @property
    def bridges(self) -> tuple[Bridge, ...]:
        """Every interface that is a bridge or holds members."""
        return tuple(
            Bridge(each.name, each.is_up, each.members)
            for each in self.interfaces
            if each.is_bridge or each.members
        )

    def receptacle(self, label: str) -> Receptacle:
        """The receptacle with this label.

        Raises:
            KeyError: The host has none.
        """
        for each in self.receptacles:
            if each.label == label:
                return each
        raise KeyError(label)

    def interface(self, name: str) -> InterfaceState | None:
        """The state of an interface, or None if ``ifconfig`` did not list it."""
        return next((each for each in self.interfaces if each.name == name), None)
