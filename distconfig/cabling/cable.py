"""A cable and its ends, and the order in which cables are listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Cable", "CableEnd", "label_order", "sort_cables"]


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
        rdma: The RDMA devices at ``a`` and ``b``, where both ends can use RDMA over it.
        obstacle: Why it can not be used although it joins two hosts; usually empty.
    """

    a: CableEnd
    b: CableEnd
    confirmed: bool = True
    via: tuple[str, ...] = ()
    gbps: int | None = None
    is_ceiling: bool = False
    rdma: tuple[str, str] | None = None
    obstacle: str = ""

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
        """It joins two hosts, both interfaces are known and nothing is in the way."""
        return (
            not self.is_loop and bool(self.a.interface and self.b.interface) and not self.obstacle
        )

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
