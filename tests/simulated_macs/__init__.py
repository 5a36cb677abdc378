"""Macs made of Linux namespaces, to run the product against: see ``docs/simulated-macs.md``."""

from __future__ import annotations

from tests.simulated_macs.layout import (
    Bridge,
    End,
    Layout,
    Mac,
    Vpn,
    chain_of,
    joined,
    mesh_of,
    pair,
    ring_of,
    triangle,
)
from tests.simulated_macs.simulated import SimulatedMacs, simulated
from tests.simulated_macs.simulated_mac import Counters, SimulatedMac

__all__ = [
    "Bridge",
    "Counters",
    "End",
    "Layout",
    "Mac",
    "SimulatedMac",
    "SimulatedMacs",
    "Vpn",
    "chain_of",
    "joined",
    "mesh_of",
    "pair",
    "ring_of",
    "simulated",
    "triangle",
]
