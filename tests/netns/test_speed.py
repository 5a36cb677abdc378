"""Real ranks take as long as `ring_runtime.speed` says, over cables with a rate or a delay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ring_runtime.speed import Cables, expected_seconds
from tests.netns.cables import CabledHosts
from tests.netns.delays import DelayedHosts
from tests.rank_processes import run_job

KIB, MIB = 1024, 1024**2
# Ethernet, IP and TCP with timestamps: 66 bytes of 1514 on the wire are not data.
BYTES_PER_MEGABIT = 1e6 / 8 * 1448 / 1514
# Both bounds hold for every operation: less would mean that the formula asks for too much.
LEAST, MOST = 0.95, 1.25
MOST_ROUNDS = 15

# With others beside them on the same cores, ranks are late for reasons the formula leaves out.
pytestmark = pytest.mark.slow

# Reno, because bbr, where it is the default, takes cables that idled between two rounds for slow.
TIMED = """
with open("/proc/sys/net/ipv4/tcp_congestion_control", "w") as setting:
    setting.write("reno")
world = ring.init()
rank, size = world.rank(), world.size()

def prepare(operation, nbytes):
    x = np.ones(nbytes, np.uint8)
    out = np.empty_like(x)
    part = slice(nbytes // size)
    return dict(
        all_sum=lambda: ring.all_sum(x, out=out),
        all_gather=lambda: ring.all_gather(x[part], out=out),
        sum_scatter=lambda: ring.sum_scatter(x, out=out[part]),
        broadcast=lambda: ring.broadcast(x, 0, out=out),
        send=[lambda: ring.send(x, 1), lambda: ring.recv_like(x, 0), *[None] * size][rank],
        barrier=ring.barrier,
    )[operation]

for operation, nbytes, bound in {calls}:
    call = prepare(operation, nbytes)
    best, rounds = float("inf"), 0
    while rounds < {most_rounds} and best > bound:
        rounds += 1
        start = float(ring.all_max(np.array(time.monotonic()))) + {pause}
        time.sleep(max(0.0, start - time.monotonic()))
        seconds = 0.0
        if call is not None:
            call()
            seconds = time.monotonic() - start
        best = min(best, float(ring.all_max(np.array(seconds))))
    say(best=best)
"""


def check(
    hosts: CabledHosts, cables: Cables, calls: Sequence[tuple[str, int]], *, pause: float = 0.02
) -> None:
    """The best round of every call takes as long as expected of these cables, as a ratio.

    A round is from when all ranks begin to when the last one is done. There are more of
    them, up to a limit, while something else keeps this machine busy.

    Args:
        calls: Operation and bytes of each, as `expected_seconds` takes them.
        pause: Longer than it takes all ranks to agree on when to begin.
    """
    expected = {call: expected_seconds(*call, cables, dtype="uint8") for call in calls}
    bounds = [(*call, MOST * seconds) for call, seconds in expected.items()]
    finished = run_job(
        hosts.size,
        TIMED.format(calls=bounds, most_rounds=MOST_ROUNDS, pause=pause),
        addresses=hosts.addresses,
        prefix_of=hosts.urgent_prefix_of,
        within=250,
    )
    ratios = {
        call: round(float(finished[0].facts[number]["best"]) / seconds, 3)
        for number, (call, seconds) in enumerate(expected.items())
    }
    assert {call: each for call, each in ratios.items() if not LEAST <= each <= MOST} == {}, ratios


@pytest.mark.parametrize(
    ("size", "width", "megabits"),
    [
        (2, 1, 100),
        (2, 2, 60),
        (4, 1, 100),
        (4, 2, 40),
        (8, 1, 40),
    ],
)
def test_large_arrays_take_as_long_as_their_share_of_all_cables(
    size: int, width: int, megabits: int
) -> None:
    calls = [
        (operation, 8 * MIB)
        for operation in ("all_sum", "all_gather", "sum_scatter", "broadcast", "send")
    ]
    rate, cables = f"{megabits}mbit", Cables(size, megabits * BYTES_PER_MEGABIT, 0, width)
    with CabledHosts(size, width=width, rate=rate, burst="2kb", latency="400ms") as hosts:
        check(hosts, cables, calls)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_small_arrays_take_a_whole_array_of_time_for_every_hop(size: int) -> None:
    nbytes = 192 * KIB
    calls = [("all_sum", nbytes), ("all_gather", size * nbytes), ("broadcast", nbytes)]
    with CabledHosts(size, rate="20mbit", burst="2kb", latency="400ms") as hosts:
        check(hosts, Cables(size, 20 * BYTES_PER_MEGABIT, 0), calls)


def test_small_arrays_use_one_cable_of_a_hop() -> None:
    calls = [("all_sum", 192 * KIB), ("send", 64 * KIB)]
    with CabledHosts(2, width=2, rate="20mbit", burst="2kb", latency="400ms") as hosts:
        check(hosts, Cables(2, 20 * BYTES_PER_MEGABIT, 0, width=2), calls)


def test_one_slow_hop_sets_the_pace_of_all() -> None:
    calls = [("all_sum", 4 * MIB), ("all_gather", 4 * MIB)]
    with CabledHosts(4, rate="160mbit", burst="4kb", latency="400ms") as hosts:
        hosts.slow_down(2, "40mbit")
        check(hosts, Cables(4, 40 * BYTES_PER_MEGABIT, 0), calls)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_every_hop_costs_its_delay(size: int) -> None:
    delay_s = 0.025
    large = 1536 * KIB if size == 2 else 264 * KIB
    calls = [
        ("barrier", 0),
        ("send", 4),
        ("all_sum", 4),
        ("all_gather", 8 * size),
        ("all_sum", large),
        ("sum_scatter", large),
    ]
    with DelayedHosts(size, delay_s=delay_s, rate="200mbit") as hosts:
        pause = 0.02 + size // 2 * delay_s
        check(hosts, Cables(size, 200e6 / 8, delay_s), calls, pause=pause)
