"""The order by which an agent starts its ranks: pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distconfig.launch.accounts import WINDOW
from distconfig.launch.plan import HostPart, LaunchPlan

__all__ = ["assemble_order"]


def assemble_order(
    plan: LaunchPlan,
    part: HostPart,
    answer: Mapping[str, Any],
    *,
    secret: str,
    lost_after_s: float,
) -> dict[str, Any]:
    """The START order for an agent.

    Args:
        answer: What the agent found, from `parse_answer`.
        secret: What the ranks of a ring prove to each other that they know.
    """
    argv = plan.command.argv(answer["python"], answer["program"])
    hidden = {"RING_SECRET": secret} if plan.backend == "ring" else {}
    return {
        "ranks": [
            {"rank": rank.rank, "argv": list(argv), "env": {**dict(rank.env), **hidden}}
            for rank in part.ranks
        ],
        "cwd": answer["cwd"],
        "files": dict(plan.files),
        "file_env": dict(plan.file_env),
        "default_env": dict(plan.default_env),
        "window": WINDOW,
        "lost_after_s": lost_after_s,
    }
