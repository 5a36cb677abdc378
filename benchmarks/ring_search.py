"""How long the ring search takes, next to the one of MLX's distributed_config, in one run.

    python benchmarks/ring_search.py [--limit SECONDS] [--json]

MLX's `extract_rings` lists every simple cycle; it runs in a process of its own
that is ended at the limit. Ours (`distconfig.rings.ring.find_ring`) is timed from the
topology to the best ring with its cables, best of three. Times are CPU seconds
of one process. A ratio above 1 says how many times longer MLX takes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection

import networkx as nx

from distconfig.cabling.cable import Cable, CableEnd
from distconfig.cabling.topology import Topology
from distconfig.rings.ring import find_ring

MESHES_FOR_BOTH = (8, 9, 10)
MESHES_FOR_OURS = (12, 14, 16)
DEGREES = (3, 4, 6)
SIZES = (16, 32, 64)


@dataclass(frozen=True)
class Result:
    """One cabling, timed.

    Args:
        mlx_s: None if MLX was not asked.
        mlx_finished: False if it was ended after ``mlx_s``.
    """

    cabling: str
    hosts: int
    cables: int
    ours_s: float
    proved_best: bool
    mlx_s: float | None
    mlx_finished: bool


def lay_cables(graph: nx.Graph) -> Topology:
    """The topology of a graph: a cable of 80 Gb/s per edge."""
    hosts = tuple(f"h{node:02}" for node in graph)
    ports = dict.fromkeys(graph, 0)
    cables = []
    for edge in sorted(tuple(sorted(edge)) for edge in graph.edges):
        ends = []
        for node in edge:
            ports[node] += 1
            ends.append(CableEnd(hosts[node], str(ports[node]), f"en{ports[node] + 1}"))
        cables.append(Cable(*ends, gbps=80))
    return Topology(hosts, tuple(cables), {}, {})


def time_ours(topology: Topology) -> tuple[float, bool]:
    """CPU seconds of the fastest of three searches, and whether the ring is proved best."""
    times = []
    for _ in range(3):
        start = time.process_time()
        plan = find_ring(topology)
        times.append(time.process_time() - start)
    return min(times), plan.proved_best


def _run_mlx(matrix: list[list[int]], limit_s: int, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    from mlx._distributed_utils.config import extract_rings

    start = time.process_time()
    rings = extract_rings(matrix)
    seconds = time.process_time() - start
    answer.send((seconds, bool(rings) and len(rings[0][0]) == len(matrix)))


def time_mlx(graph: nx.Graph, limit_s: int) -> tuple[float, bool]:
    """CPU seconds MLX took, or the limit; and whether it finished."""
    matrix = nx.to_numpy_array(graph, dtype=int).tolist()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run_mlx, args=(matrix, limit_s, theirs))
    child.start()
    theirs.close()
    try:
        seconds, has_ring = ours.recv()
    except EOFError:
        return limit_s, False
    finally:
        child.kill()
        child.join()
    if not has_ring:
        raise RuntimeError("MLX found no ring where there is one")
    return seconds, True


def cablings() -> Iterator[tuple[str, nx.Graph, bool]]:
    """Name, graph, and whether MLX is asked too."""
    for size in MESHES_FOR_BOTH:
        yield "full mesh", nx.complete_graph(size), True
    for size in MESHES_FOR_OURS:
        yield "full mesh", nx.complete_graph(size), False
    for degree in DEGREES:
        for size in SIZES:
            yield (
                f"random, {degree} cables each",
                nx.random_regular_graph(degree, size, seed=size + degree),
                size == SIZES[0],
            )


def measure(limit_s: int) -> Iterator[Result]:
    """Time every cabling, one after the other."""
    for name, graph, is_for_both in cablings():
        ours_s, proved_best = time_ours(lay_cables(graph))
        mlx_s, finished = time_mlx(graph, limit_s) if is_for_both else (None, False)
        yield Result(
            name, len(graph), graph.number_of_edges(), ours_s, proved_best, mlx_s, finished
        )


def render_row(result: Result) -> str:
    """One line of the table."""
    mlx, ratio = "", ""
    if result.mlx_s is not None:
        more = "" if result.mlx_finished else "> "
        mlx = f"{more}{result.mlx_s:.2f} s"
        ratio = f"{more}{result.mlx_s / result.ours_s:,.0f}"
    best = "yes" if result.proved_best else "not proved"
    return (
        f"| {result.cabling:<22} | {result.hosts:>5} | {result.cables:>6} "
        f"| {result.ours_s * 1000:>7.1f} ms | {best:<10} | {mlx:>9} | {ratio:>9} |"
    )


def main() -> None:
    """Print the table, or a JSON object per line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=60, help="CPU seconds MLX gets per cabling")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args()
    if not options.json:
        columns = ("cabling", "hosts", "cables", "ours", "best", "MLX", "MLX/ours")
        widths = (22, 5, 6, 10, 10, 9, 9)
        cells = [f"{column:<{width}}" for column, width in zip(columns, widths, strict=True)]
        print(f"| {' | '.join(cells)} |")
        print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for result in measure(options.limit):
        print(json.dumps(asdict(result)) if options.json else render_row(result), flush=True)


if __name__ == "__main__":
    main()
