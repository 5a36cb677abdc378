"""What a collective costs besides time: memory, and the core of a rank that only waits."""

from __future__ import annotations

import pytest

from tests.rank_processes import run_job

MEMORY = """
import resource
world = ring.init()
rank = world.rank()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
small = np.ones(1000, {dtype!r})
ring.all_sum(small)
x = np.ones({nbytes} // small.itemsize, small.dtype)
out = np.ones_like(x)
rows = np.ones(x.size // world.size(), x.dtype)
before = peak()
ring.all_sum(x, out=out)
say(sum=peak() - before)
assert out[0] == out[-1] == world.size()
ring.sum_scatter(x, out=rows)
say(scatter=peak() - before)
ring.all_gather(rows, out=x)
ring.broadcast(x, 1, out=x)
if rank == 0:
    ring.send(x, 1)
elif rank == 1:
    ring.recv(x.shape, x.dtype, 0, out=x)
ring.barrier()
say(all=peak() - before)
"""


def most_memory(size: int, nbytes: int, dtype: str, within: float) -> int:
    finished = run_job(size, MEMORY.format(nbytes=nbytes, dtype=dtype), within=within)
    return max(next(iter(fact.values())) for rank in finished for fact in rank.facts)


@pytest.mark.parametrize(("size", "dtype"), [(2, "float32"), (4, "float16")])
def test_memory_beyond_input_and_output_is_bounded(size: int, dtype: str) -> None:
    assert most_memory(size, 64 * 1024**2, dtype, 60) < 16 * 1024**2


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("size", "dtype"), [(2, "float32"), (4, "float32")])
def test_memory_at_a_gibibyte(size: int, dtype: str) -> None:
    assert most_memory(size, 1024**3, dtype, 500) < 16 * 1024**2


def test_a_rank_that_waits_leaves_its_core_alone() -> None:
    """Under 5 % of a core after the first 50 ms, in a barrier as in a large collective."""
    body = """
world = ring.init()
ring.barrier()
for call in (ring.barrier, lambda: ring.all_sum(np.ones(1_000_000))):
    if world.rank() == 0:
        time.sleep(3)
        call()
    else:
        began, cpu = time.monotonic(), time.process_time()
        call()
        say(share=(time.process_time() - cpu - 0.05) / (time.monotonic() - began))
"""
    for rank in run_job(3, body):
        if rank.rank:
            barrier, total = rank.facts
            assert barrier["share"] < 0.05
            assert total["share"] < 0.25  # the sum itself takes some of it
