"""Names a person can follow for Thunderbolt ports, and what is known of them by model."""

from __future__ import annotations

from distconfig.printable import escape_controls
from distconfig.reports.report import HostReport, Receptacle

__all__ = ["is_known_without_rdma", "name_end", "name_port"]

_BESIDE_ETHERNET = "back, beside Ethernet"

_PLACES_BY_MODEL = {
    ("Mac15,14", "1"): _BESIDE_ETHERNET,
    ("Mac16,9", "1"): _BESIDE_ETHERNET,
}
"""Places of receptacles that ioreg did not tell, by model and label.

Source: exo-explore/exo pull request 1543, on Mac Studio with Thunderbolt 5; one project's
word, so a place that the host itself reports always wins.
"""

_WITHOUT_RDMA = frozenset(_PLACES_BY_MODEL)
"""Receptacles said to carry no RDMA (exo-explore/exo issue 1050, pull request 1543)."""


def name_port(receptacle: Receptacle, model: str = "") -> str:
    """What to call a receptacle so that a person finds it on the case.

    Args:
        model: The host's model identifier, such as ``Mac15,14``; used where the
            host did not tell the place itself.

    Example:
        >>> from uuid import UUID
        >>> port = Receptacle("3", UUID(int=3), interface="en4")
        >>> name_port(port)
        'port 3 (System Information: Receptacle 3)'
    """
    label = escape_controls(receptacle.label)
    place = receptacle.place or _PLACES_BY_MODEL.get((model, receptacle.label), "")
    where = escape_controls(place) if place else f"System Information: Receptacle {label}"
    return f"port {label} ({where})"


def name_end(report: HostReport, label: str) -> str:
    """The host, the port with its place, and the interface of a receptacle.

    Example:
        >>> from uuid import UUID
        >>> port = Receptacle("3", UUID(int=3), interface="en4", place="back, second from left")
        >>> name_end(HostReport("studio1", receptacles=(port,)), "3")
        'studio1 port 3 (back, second from left), en4'
    """
    receptacle = report.receptacle(label)
    interface = receptacle.interface or "no interface"
    return f"{report.host} {name_port(receptacle, report.model)}, {interface}"


def is_known_without_rdma(model: str, receptacle: Receptacle) -> bool:
    """Whether this port is known to carry no RDMA although its Mac has it.

    A TCP ring may use the port all the same.

    Example:
        >>> from uuid import UUID
        >>> is_known_without_rdma("Mac15,14", Receptacle("1", UUID(int=1), interface="en2"))
        True
    """
    return (model, receptacle.label) in _WITHOUT_RDMA
