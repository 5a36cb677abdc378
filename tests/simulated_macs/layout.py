"""Which Macs there are and which cables join them: plain values, made by hand or by shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import combinations, pairwise

from tests.fakemac import MODELS

__all__ = [
    "Bridge",
    "Cable",
    "End",
    "Layout",
    "Mac",
    "Vpn",
    "chain_of",
    "joined",
    "mesh_of",
    "named_layout",
    "pair",
    "ring_of",
    "triangle",
]


_HOME_LAN = IPv4Network("192.168.1.0/24")


@dataclass(frozen=True, order=True)
class End:
    """One end of a cable: the interface behind a receptacle of a host."""

    host: str
    interface: str


Cable = tuple[End, End]


@dataclass(frozen=True)
class Bridge:
    """The automatic bridge of a Mac as it is after booting.

    Args:
        members: None means every Thunderbolt port. ``en8``, a USB network card, may be
            named too: the simulated Mac then has one.
        address: In CIDR notation, given to the bridge itself; empty for none.
    """

    name: str = "bridge0"
    up: bool = True
    members: tuple[str, ...] | None = None
    address: str = ""


@dataclass(frozen=True)
class Vpn:
    """A tunnel interface ``utun4`` and what is routed into it."""

    address: str = "10.66.0.2"
    routes: tuple[str, ...] = ("0.0.0.0/1", "128.0.0.0/1")


@dataclass(frozen=True)
class Mac:
    """One host as it comes out of a reboot.

    Args:
        sudo: ``free``, ``password``, ``absent``, or the text of a sudoers file, which is
            then the only right the user has.
        bridge: None for a Mac whose Thunderbolt bridge was removed.
        addresses: interface -> addresses in CIDR notation, kept across reboots as a network
            service would; of a port they mean that the port is not in the bridge.
        routes: Words after ``ip route add``, kept across reboots.
        login_shell: The login shell of the user.
        banner: Printed by the login shell's start-up before any command runs.
        put_back_every_s: configd returns freed ports to the automatic bridge at random times,
            on average this many seconds apart; 0 for never.
    """

    name: str
    model: str = "Mac16,11"
    macos: str = "26.4"
    user: str = "admin"
    ssh_port: int = 22
    sudo: str = "free"
    bridge: Bridge | None = Bridge()
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[str, ...] = ()
    vpn: Vpn | None = None
    login_shell: str = "/bin/sh"
    banner: str = ""
    put_back_every_s: float = 0.0
    rdma: bool = False
    xcode: bool = True

    @property
    def ports(self) -> tuple[str, ...]:
        """The interfaces of the receptacles, receptacle 1 first."""
        return MODELS[self.model].interfaces

    @property
    def usb_card(self) -> bool:
        """Whether this Mac has the USB network card ``en8``."""
        members = self.bridge.members if self.bridge else None
        return "en8" in (members or ()) or "en8" in self.addresses


@dataclass(frozen=True)
class Layout:
    """Hosts, the cables between them, and the LAN that the operator reaches them over."""

    macs: tuple[Mac, ...]
    cables: tuple[Cable, ...]
    lan: IPv4Network = _HOME_LAN

    def __post_init__(self) -> None:
        known = {End(mac.name, port) for mac in self.macs for port in mac.ports}
        used = Counter(end for cable in self.cables for end in cable)
        for end, times in used.items():
            if end not in known:
                raise ValueError(f"there is no {end.interface} on {end.host}")
            if times > 1:
                raise ValueError(f"{times} cables in {end.interface} of {end.host}")

    def __getitem__(self, host: str) -> Mac:
        for mac in self.macs:
            if mac.name == host:
                return mac
        raise KeyError(host)

    def names(self) -> list[str]:
        """The hosts in order."""
        return [mac.name for mac in self.macs]

    def with_mac(self, host: str, **changes: object) -> Layout:
        """The same layout with some fields of one host changed."""
        return self.with_macs([host], **changes)

    def with_macs(self, hosts: Iterable[str] | None = None, **changes: object) -> Layout:
        """The same layout with some fields of these hosts (of all by default) changed."""
        chosen = set(self.names() if hosts is None else hosts)
        if unknown := chosen - set(self.names()):
            raise KeyError(unknown)
        macs = tuple(
            replace(mac, **changes) if mac.name in chosen else mac  # type: ignore[arg-type]
            for mac in self.macs
        )
        return replace(self, macs=macs)

    def on_lan(self, lan: str) -> Layout:
        """The same layout with the LAN in this network."""
        return replace(self, lan=IPv4Network(lan))

    def lan_address(self, host: str) -> IPv4Interface:
        """The address that the DHCP server of this LAN leases to a host."""
        number = 11 + self.names().index(host)
        return IPv4Interface((int(self.lan.network_address) + number, self.lan.prefixlen))

    def operator_address(self) -> IPv4Interface:
        """The address of the machine on which the product runs."""
        return IPv4Interface((int(self.lan.network_address) + 2, self.lan.prefixlen))

    def gateway(self) -> IPv4Address:
        """The router of the LAN, everybody's default route."""
        return self.lan.network_address + 1


def _model_for(ports: int) -> str:
    for model in ("Mac16,11", "Mac16,9", "Mac15,14"):
        if len(MODELS[model].interfaces) >= ports:
            return model
    raise ValueError(f"no Mac has {ports} receptacles")


def joined(hosts: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Layout:
    """Macs with a cable per pair, each in the lowest free receptacle of both ends."""
    wanted = list(pairs)
    degree = Counter(host for two in wanted for host in two)
    macs = tuple(Mac(host, _model_for(degree[host])) for host in hosts)
    free = {mac.name: list(mac.ports) for mac in macs}
    cables = tuple((End(a, free[a].pop(0)), End(b, free[b].pop(0))) for a, b in wanted)
    return Layout(macs, cables)


def _studios(count: int) -> list[str]:
    return [f"studio{number}" for number in range(1, count + 1)]


def ring_of(count: int) -> Layout:
    """``studio1`` ... ``studioN`` in a cycle: ``en3`` of each to ``en2`` of the next."""
    if count < 2:
        raise ValueError("a ring has at least two hosts")
    names = _studios(count)
    cables = tuple(
        (End(host, "en3"), End(names[(i + 1) % count], "en2")) for i, host in enumerate(names)
    )
    return Layout(tuple(Mac(name) for name in names), cables)


def mesh_of(count: int) -> Layout:
    """``studio1`` ... ``studioN`` with a cable between every two."""
    names = _studios(count)
    return joined(names, combinations(names, 2))


def chain_of(count: int) -> Layout:
    """``studio1`` ... ``studioN`` in a row, which no ring closes."""
    names = _studios(count)
    return joined(names, pairwise(names))


def pair(cables: int = 1) -> Layout:
    """Two Macs joined by this many cables: ``en2`` to ``en2``, ``en3`` to ``en3``, ..."""
    return joined(_studios(2), [("studio1", "studio2")] * cables)


def triangle() -> Layout:
    """Three Macs in a cycle."""
    return ring_of(3)


def named_layout(name: str) -> Layout:
    """The layout that a short name on the command line means: ``ring4``, ``mesh3``, ``pair2``.

    ``pairN`` is two Macs with N cables; ``chainN`` has no ring; ``triangle`` is ``ring3``.
    """
    shape = name.rstrip("0123456789")
    number = int(name[len(shape) :] or 0)
    if shape == "triangle":
        return triangle()
    if shape == "pair":
        return pair(number or 1)
    makers = {"ring": ring_of, "mesh": mesh_of, "chain": chain_of}
    if shape not in makers or not number:
        raise ValueError(f"{name!r} is no layout; try ring4, mesh4, pair2, triangle or chain3")
    return makers[shape](number)
