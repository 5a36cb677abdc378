"""Advice and cabling proposals as JSON; ``docs/advice.schema.json`` is the schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from distconfig.advice.advice import Advice
from distconfig.advice.proposal import CablingProposal
from distconfig.cabling.cable import Cable, CableEnd

__all__ = ["render_advice_json"]


def _end(end: CableEnd) -> dict[str, Any]:
    return {"host": end.host, "port": end.receptacle, "interface": end.interface or None}


def _cable(cable: Cable) -> list[dict[str, Any]]:
    return [_end(end) for end in cable.ends]


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "purpose": advice.purpose,
        "reason": advice.reason,
        "steps": [
            {
                "kind": step.kind,
                "sentence": step.sentence,
                "unplug": [_end(end) for end in step.unplug],
                "plug": [_end(end) for end in step.plug],
            }
            for step in advice.steps
        ],
        "ring": {
            "hosts": list(advice.ring.hosts),
            "width": advice.ring.width,
            "slowest_gbps": advice.ring.slowest_gbps,
        },
        "new_cables": advice.n_new_cables,
        "proved_fewest": advice.proved_fewest,
    }


def _proposal(proposal: CablingProposal) -> dict[str, Any]:
    return {
        "shape": proposal.shape,
        "cables": [
            {"ends": _cable(cable), "gbps": cable.gbps, "rdma": cable not in proposal.without_rdma}
            for cable in proposal.cables
        ],
        "ports": [
            {
                "host": budget.host,
                "needed": budget.needed,
                "free": budget.free,
                "free_with_rdma": budget.with_rdma,
                "total": budget.total,
            }
            for budget in proposal.budgets
        ],
    }


def render_advice_json(advices: Sequence[Advice], proposal: CablingProposal | None = None) -> str:
    """The JSON text of the advices, which are alternatives, or of a proposal."""
    document = {
        "format": 1,
        "advices": [_advice(advice) for advice in advices],
        "proposal": _proposal(proposal) if proposal else None,
    }
    return json.dumps(document, indent=2) + "\n"
