"""Collectives over a ring of TCP connections, or over MPI, for programs of one rank per host.

    import numpy as np, ring_runtime as ring

    world = ring.init()
    x = ring.all_sum(np.ones(10))
    print(world.rank(), world.size(), x)

Names are loaded when they are first used, so that tools which only read hostfiles
(`ring_runtime.hostfile`) load no numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ring_runtime.collectives import (
        all_gather,
        all_max,
        all_min,
        all_sum,
        barrier,
        broadcast,
        recv,
        recv_like,
        send,
        sum_scatter,
    )
    from ring_runtime.errors import (
        CollectiveMismatch,
        GroupClosed,
        HandshakeMismatch,
        HostfileError,
        PeerError,
        PeerLost,
        RendezvousError,
        RendezvousTimeout,
        RingError,
        UsageError,
    )
    from ring_runtime.gradients import average_gradients
    from ring_runtime.group import Group
    from ring_runtime.trees import tree_flatten, tree_map, tree_unflatten
    from ring_runtime.worlds import init, is_available

__all__ = [
    "CollectiveMismatch",
    "Group",
    "GroupClosed",
    "HandshakeMismatch",
    "HostfileError",
    "PeerError",
    "PeerLost",
    "RendezvousError",
    "RendezvousTimeout",
    "RingError",
    "UsageError",
    "all_gather",
    "all_max",
    "all_min",
    "all_sum",
    "average_gradients",
    "barrier",
    "broadcast",
    "init",
    "is_available",
    "recv",
    "recv_like",
    "send",
    "sum_scatter",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
]

_MODULES = {
    "collectives": (
        "all_gather all_max all_min all_sum barrier broadcast recv recv_like send sum_scatter"
    ),
    "errors": (
        "CollectiveMismatch GroupClosed HandshakeMismatch HostfileError PeerError PeerLost "
        "RendezvousError RendezvousTimeout RingError UsageError"
    ),
    "gradients": "average_gradients",
    "group": "Group",
    "trees": "tree_flatten tree_map tree_unflatten",
    "worlds": "init is_available",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
