"""The cabling as JSON, for other programs; ``docs/cabling.schema.json`` is its schema."""

from __future__ import annotations

import json
from typing import Any

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.reports.report import Receptacle
from distconfig.rings.ring import RingPlan

__all__ = ["render_cabling"]


def _end(end: CableEnd) -> dict[str, Any]:
    return {"host": end.host, "port": end.receptacle, "interface": end.interface or None}


def _port(receptacle: Receptacle) -> dict[str, Any]:
    return {
        "port": receptacle.label,
        "place": receptacle.place or None,
        "interface": receptacle.interface,
        "problem": receptacle.interface_problem or None,
        "domain_uuid": str(receptacle.domain_uuid),
        "connected": receptacle.is_connected,
        "devices": list(receptacle.devices),
        "link_gbps": receptacle.link_gbps,
        "ceiling_gbps": receptacle.ceiling_gbps,
        "rdma_device": receptacle.rdma_device,
    }


def _host(host: str, topology: Topology) -> dict[str, Any]:
    report = topology.reports.get(host)
    if report is None:
        return {"host": host, "answered": False, "problem": topology.unread.get(host)}
    return {
        "host": host,
        "answered": True,
        "computer_name": report.computer_name or None,
        "model": report.model or None,
        "platform": report.platform,
        "os_version": report.os_version or None,
        "hardware_uuid": str(report.hardware_uuid) if report.hardware_uuid else None,
        "ports": [_port(receptacle) for receptacle in report.receptacles],
        "problems": list(report.problems),
        "notes": list(report.notes),
    }


def _cable(cable: Cable) -> dict[str, Any]:
    return {
        "ends": [_end(end) for end in cable.ends],
        "confirmed": cable.confirmed,
        "usable": cable.is_usable,
        "via": list(cable.via),
        "gbps": cable.gbps,
        "gbps_is_ceiling": cable.is_ceiling,
    }


def _ring(ring: RingPlan, cables: list[Cable]) -> dict[str, Any]:
    return {
        "hosts": list(ring.hosts),
        "width": ring.width,
        "proved_best": ring.proved_best,
        "hops": [[cables.index(cable) for cable in hop] for hop in ring.cables],
    }


def render_cabling(topology: Topology, ring: RingPlan | None, no_ring: str | None) -> str:
    """The JSON text of the cabling.

    Args:
        ring: The ring, whose hops name cables by their index in ``cables``.
        no_ring: Why there is none, if there is none.
    """
    cables = [*topology.cables, *topology.loops]
    document = {
        "format": 1,
        "hosts": [_host(host, topology) for host in topology.hosts],
        "cables": [_cable(cable) for cable in cables],
        "strangers": [
            {
                "seen_from": _end(stranger.seen_from),
                "domain_uuid": str(stranger.domain_uuid),
                "model": stranger.model or None,
                "via": list(stranger.via),
            }
            for stranger in topology.strangers
        ],
        "problems": list(topology.problems),
        "ring": _ring(ring, cables) if ring else None,
        "no_ring": no_ring,
    }
    return json.dumps(document, indent=2) + "\n"
