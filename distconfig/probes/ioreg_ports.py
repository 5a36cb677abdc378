"""``ioreg -a -l -r -c AppleThunderboltIPPort``: receptacle and interface, untranslated.

``IOLocation`` is the number of the receptacle, ``BSD Name`` of the child that
is an ``IOEthernetInterface`` the interface, and ``IOLinkStatus`` 3 where a peer
host is at the other end (1: nothing, or only a dock). Seen in dumps published
by users of whatcable; the class names are Apple's own and may change. Nothing
at all is printed when nothing matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from distconfig.probes.parsed import Parsed, misunderstood, parse_interface_name
from distconfig.probes.plist import parse_plist, walk_dicts

__all__ = ["IoregPort", "parse_ioreg_ports"]

_CHILDREN = "IORegistryEntryChildren"
_LABEL = re.compile(r"[A-Za-z0-9._-]{1,16}")
_PEER_LINKED = 3


@dataclass(frozen=True)
class IoregPort:
    """One Thunderbolt port of the IO registry.

    Args:
        label: The receptacle; empty on a port that does not say.
        has_peer: A peer host is linked here; None if the link's state is not printed.
    """

    label: str
    interface: str
    has_peer: bool | None = None


def _parse_port(port: dict[str, Any], at: str) -> IoregPort | None:
    names = [
        node.get("BSD Name")
        for node in walk_dicts(port.get(_CHILDREN), _CHILDREN)
        if node.get("IOObjectClass") == "IOEthernetInterface"
    ]
    if not names:
        return None  # a port that networking has not taken up yet
    name = names[0]
    if len(names) > 1 or not isinstance(name, str):
        raise misunderstood("a port with one interface was expected", f"{at}.{_CHILDREN}")
    label = port.get("IOLocation", "")
    if not isinstance(label, str) or (label and not _LABEL.fullmatch(label)):
        raise misunderstood("not the number of a receptacle", f"{at}.IOLocation")
    status = port.get("IOLinkStatus")
    has_peer = status == _PEER_LINKED if isinstance(status, int) else None
    return IoregPort(label, parse_interface_name(name, f"{at}.BSD Name"), has_peer)


def parse_ioreg_ports(stdout: bytes) -> Parsed[tuple[IoregPort, ...]]:
    """Every Thunderbolt port that has an interface, in printed order.

    Raises:
        UnexpectedOutput: It is not a list of ports, or one of them can not be read.
    """
    if not stdout.strip():
        return Parsed(())
    root = parse_plist(stdout)
    if not isinstance(root, list) or not all(isinstance(port, dict) for port in root):
        raise misunderstood("a list of dictionaries was expected", "the root")
    found = [_parse_port(port, f"[{place}]") for place, port in enumerate(root)]
    return Parsed(tuple(port for port in found if port is not None))
