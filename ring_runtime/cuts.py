"""How the array of a collective is cut up: not at all, or into chunks, as integers.

All ranks find the same, because it depends only on what is in the header and on the
ring. The numbers were found by measuring, see benchmarks/README.md.
"""

from __future__ import annotations

from ring_runtime.program import Plan, rows_of

__all__ = ["CHUNK_NBYTES", "STRIPE_NBYTES", "cut", "is_small"]

RELAY_NBYTES = 524288
PAIR_NBYTES = 1048576
PAIR_WIDENED_NBYTES = 131072
CHUNK_NBYTES = 524288
SMALLEST_CHUNK_NBYTES = 131072
CHUNKS_TO_OVERLAP = 3
POOL_NBYTES = 8 * 1024**2
STRIPE_NBYTES = 65536


def is_small(nbytes: int, itemsize: int, size: int, strands: int, *, widens: bool = False) -> bool:
    """Whether arrays travel whole.

    Args:
        nbytes: Of one rank's contribution.
        strands: Connections of a hop, times directions.
        widens: Whether partial results are larger than contributions.

    Example:
        >>> is_small(2**20, 4, size=2, strands=1), is_small(2**20, 4, size=4, strands=2)
        (True, False)
    """
    limit = min(RELAY_NBYTES, POOL_NBYTES // size)
    if size == 2:
        limit = PAIR_WIDENED_NBYTES if widens else PAIR_NBYTES // strands
    return nbytes <= limit or nbytes // itemsize < size * strands


def cut(
    count: int,
    itemsize: int,
    position: int,
    order: tuple[int, ...],
    strands: int,
    *,
    reduces: bool,
    gathers: bool,
) -> Plan:
    """The chunks of a large collective.

    Args:
        count: Elements of the whole buffer, at least one for each rank and strand.
        itemsize: Of partial results.
        position: Ours.
        order: The rank at each position.
        strands: Connections of a hop, times directions.

    Example:
        >>> cut(2**20, 4, 0, (0, 1), 1, reduces=True, gathers=True).chunks
        4
    """
    size = len(order)
    limit = CHUNK_NBYTES
    if reduces:
        limit = min(limit, POOL_NBYTES // (strands * rows_of(size)))
    share = -(-count // (size * strands)) * itemsize
    overlapping = min(CHUNKS_TO_OVERLAP, share // SMALLEST_CHUNK_NBYTES)
    chunks = min(max(-(-share // limit), overlapping, 1), count // (size * strands))
    return Plan(position, order, count, strands, chunks, reduces, gathers)
