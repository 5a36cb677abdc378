"""Hypothesis strategies for cablings."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import strategies as st

from distconfig.cabling.topology import Topology
from tests.graphs import Wire, topology_of

HOSTS = tuple("abcdefgh")


@st.composite
def wire_lists(
    draw: st.DrawFn, *, max_hosts: int = 7, min_hosts: int = 2, parallel: int = 2
) -> tuple[tuple[str, ...], list[Wire]]:
    """Hosts in some order, and wires between them in unused receptacles."""
    hosts = draw(st.permutations(HOSTS[: draw(st.integers(min_hosts, max_hosts))]))
    density = draw(st.sampled_from([0.4, 0.6, 0.9]))
    used: Counter[str] = Counter()
    wires = []
    for a, b in combinations(sorted(hosts), 2):
        if draw(st.floats(0, 1)) > density:
            continue
        for _ in range(draw(st.integers(1, parallel))):
            used.update((a, b))
            gbps = draw(st.sampled_from([0, 20, 40, 80]))
            via = draw(st.sampled_from([(), (), ("Dock",)]))
            wires.append(Wire(a, used[a], b, used[b], gbps, via))
    return tuple(hosts), draw(st.permutations(wires))


def topologies(*, max_hosts: int = 7, parallel: int = 2) -> st.SearchStrategy[Topology]:
    """Topologies of up to seven hosts with parallel cables, docks and mixed speeds."""
    return wire_lists(max_hosts=max_hosts, parallel=parallel).map(
        lambda drawn: topology_of(drawn[1], drawn[0], ports=16)
    )
