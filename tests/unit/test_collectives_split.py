"""Groups within a ring: one rank, all ranks in another order, two neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ring_runtime as ring
from ring_runtime.errors import GroupClosed
from ring_runtime.group import Group
from tests.local_rings import results_of, run_ranks


def everything(group: Group) -> dict[str, Any]:
    """What each collective gives in this group for arrays that tell ranks apart."""
    rank, size = group.rank(), group.size()
    mine = np.arange(4 * size, dtype=np.int64) + 100 * rank
    large = np.full(100_000 * size, rank + 1, np.int64)
    return {
        "sum": ring.all_sum(mine, group=group).tolist(),
        "gather": ring.all_gather(np.array([rank]), group=group).tolist(),
        "scatter": ring.sum_scatter(mine, group=group).tolist(),
        "root": ring.broadcast(np.array([rank]), size - 1, group=group).tolist(),
        "large gather": ring.all_gather(large, group=group)[:: large.size].tolist(),
        "large scatter": ring.sum_scatter(np.repeat(np.arange(size), 100_000) * large, group=group)[
            ::99_999
        ].tolist(),
        "large root": ring.broadcast(large, size - 1, group=group)[:: large.size - 1].tolist(),
    }


def expected(rank: int, size: int) -> dict[str, Any]:
    """The same, worked out by hand."""
    ranks = size * (size - 1) // 2
    sums = [size * index + 100 * ranks for index in range(4 * size)]
    return {
        "sum": sums,
        "gather": list(range(size)),
        "scatter": sums[4 * rank : 4 * rank + 4],
        "root": [size - 1],
        "large gather": list(range(1, size + 1)),
        "large scatter": [rank * (ranks + size)] * 2,
        "large root": [size, size],
    }


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("width", [1, 2])
def test_all_ranks_in_reverse_order(size: int, width: int) -> None:
    def body(world: Group) -> tuple[int, int, dict[str, Any]]:
        group = world.split(7, key=size - world.rank())
        return group.rank(), group.size(), everything(group)

    results = results_of(run_ranks(size, body, width=width))
    for rank, (new_rank, new_size, found) in enumerate(results):
        assert (new_rank, new_size) == (size - 1 - rank, size)
        assert found == expected(new_rank, size)


@pytest.mark.parametrize("size", [2, 4, 6])
@pytest.mark.parametrize("shifted", [0, 1])
def test_pairs_of_neighbours_also_across_the_end(size: int, shifted: int) -> None:
    """With ``shifted`` the last rank and rank 0 are a pair; keys turn every pair around."""

    def body(world: Group) -> tuple[int, dict[str, Any]]:
        pair = world.split((world.rank() + shifted) % size // 2, key=size - world.rank())
        assert pair.size() == 2
        found = everything(pair)
        other = 1 - pair.rank()
        if pair.rank() == 0:
            ring.send(np.arange(3), other, group=pair)
        else:
            assert ring.recv((3,), np.int64, other, group=pair).tolist() == [0, 1, 2]
        assert ring.all_sum(1, group=world) == size
        return pair.rank(), found

    for rank, (new_rank, found) in enumerate(results_of(run_ranks(size, body, width=2))):
        others = [
            r for r in range(size) if (r + shifted) % size // 2 == (rank + shifted) % size // 2
        ]
        assert new_rank == sorted(others, reverse=True).index(rank)
        assert found == expected(new_rank, 2)


def test_groups_of_one_and_splits_of_splits() -> None:
    def body(world: Group) -> None:
        one = world.split(world.rank())
        assert (one.rank(), one.size()) == (0, 1)
        assert ring.all_sum(3, group=one) == 3
        pair = world.split(world.rank() // 2)
        again = pair.split(0, key=-1)
        assert (again.rank(), again.size()) == (pair.rank(), 2)
        assert ring.all_sum(1, group=again) == 2
        assert pair.split(pair.rank()).size() == 1
        assert ring.all_sum(1, group=world) == 4

    results_of(run_ranks(4, body))


def test_a_negative_key_stands_for_the_rank() -> None:
    """Rank 2 comes first with key 0; ranks 0 and 1 keep 0 and 1; rank 3 keeps 3."""

    def body(world: Group) -> int:
        return world.split(1, key=0 if world.rank() == 2 else -1).rank()

    assert results_of(run_ranks(4, body)) == [0, 2, 1, 3]


def test_closing_a_part_leaves_the_whole_open() -> None:
    def body(world: Group) -> None:
        with world.split(0) as part:
            ring.barrier(group=part)
        with pytest.raises(GroupClosed):
            ring.barrier(group=part)
        assert ring.all_sum(1, group=world) == 2
        late = world.split(0)
        world.close()
        with pytest.raises(GroupClosed):
            ring.barrier(group=late)

    results_of(run_ranks(2, body))
