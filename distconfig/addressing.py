"""Addresses for cables: one /30 each, clashing with nothing any host already has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network

from distconfig.topology import Cable

__all__ = ["AddressPlan"]


@dataclass(frozen=True)
class AddressPlan:
    """Subnet of every usable cable and address of both its ends.

    Args:
        subnets: Cable to its /30.
        addresses: (host, receptacle label) to the address of that end.
        kept: Cables that already carried these addresses.
    """

    subnets: Mapping[Cable, IPv4Network]
    addresses: Mapping[tuple[str, str], IPv4Interface]
    kept: frozenset[Cable] = frozenset()

    def address(self, cable: Cable, host: str) -> IPv4Interface:
        """The address of the end of ``cable`` in ``host``."""
        end = cable.end_at(host)
        return self.addresses[end.host, end.receptacle]
