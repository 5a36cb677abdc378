"""Whom a rank waits for, as far as it can know.

A neighbour that waits in a collective as well is as much a victim as we are; it says
so after a while. Pure: what is under way and who has said so in, ranks out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ring_runtime.connection import Inflow, Outflow

__all__ = ["Suspects", "find_suspects"]


@dataclass(frozen=True)
class Suspects:
    """Neighbours that keep us waiting.

    Args:
        ranks: In ascending order.
        are_late: None of what they have to send has come, and they do not wait themselves.
        wait_too: Each of them waits as well.
        take_nothing: It is they who should receive.
    """

    ranks: tuple[int, ...]
    are_late: bool
    wait_too: bool
    take_nothing: bool

    def __str__(self) -> str:
        return self.names() + self.aside()

    def names(self) -> str:
        """Such as "rank 1 and rank 3"."""
        return " and ".join(f"rank {rank}" for rank in self.ranks)

    def aside(self) -> str:
        """What to add behind the names if they are not to blame."""
        if not self.wait_too:
            return ""
        return f", which {'waits' if len(self.ranks) == 1 else 'wait'} as well"


def find_suspects(
    outs: Sequence[Outflow], ins: Sequence[Inflow], waiting: Collection[int]
) -> Suspects:
    """Those we wait for.

    Args:
        outs: What is being sent.
        ins: What is being received.
        waiting: Ranks that have told us they wait.
    """
    silent = [inflow for inflow in ins if inflow.remaining]
    late = {flow.connection.peer for flow in silent if not flow.started} - set(waiting)
    if late:
        return Suspects(tuple(sorted(late)), True, False, False)
    flows: Sequence[Inflow | Outflow] = silent or [out for out in outs if out.remaining]
    ranks = {flow.connection.peer for flow in flows}
    others = ranks - set(waiting)
    return Suspects(tuple(sorted(others or ranks)), False, not others, not silent)
