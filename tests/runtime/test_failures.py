"""Ranks that die, stop, leave, raise or call something else: everybody hears of it, soon."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.rank_processes import Finished, Job, run_job

LOOP = """
world = ring.init()
say(joined=os.getpid())
while True:
    ring.all_sum(np.ones({count}, np.float32))
"""


def errors_of(finished: list[Finished]) -> list[tuple[str, str]]:
    """Class and text of the last error each rank said."""
    return [(f.facts[-1]["error"], f.facts[-1]["text"]) for f in finished]


WATCHED = """
world = ring.init()
say(joined=os.getpid())
def forever():
    while True:
        ring.all_sum(np.ones({count}, np.float32))
attempt(forever)
attempt(ring.barrier)
"""


@pytest.mark.parametrize("count", [1, 4_000_000])
def test_a_killed_rank_is_noticed_by_all(count: int) -> None:
    with Job(4, WATCHED.format(count=count)) as job:
        for rank in range(4):
            job.wait_until_said(rank, "joined")
        job.signal(2, signal.SIGKILL)
        killed = time.monotonic()
        survivors = [job.wait(rank) for rank in (0, 1, 3)]
    for rank in survivors:
        first, later = rank.facts[1:]
        assert first["at"] - killed < 10
        assert first["error"] == later["error"] == "PeerLost"
        assert first["text"] == later["text"]
        assert "the connection to rank 2" in first["text"]
        assert rank.returncode == 0
    texts = [rank.facts[1]["text"] for rank in survivors]
    assert texts[0].startswith(("rank 1 reports: ", "rank 3 reports: "))


def test_a_killed_rank_is_noticed_although_its_children_live_on() -> None:
    body = """
world = ring.init()
ring.barrier()
if world.rank() == 2:
    children = [os.fork(), os.fork()]
    if 0 in children:
        attempt(ring.barrier)
        time.sleep(300)
    say(joined=os.getpid())
attempt(lambda: [ring.barrier() for _ in range(10**9)])
"""
    with Job(4, body) as job:
        job.wait_until(lambda: len(job.said(2)) == 4)
        children = [fact["error"] for fact in job.said(2) if "error" in fact]
        job.signal(2, signal.SIGKILL)
        survivors = [job.wait(rank, within=45) for rank in (0, 1, 3)]
        assert all(error == "PeerLost" for error, _ in errors_of(survivors))
    assert children == ["GroupClosed"] * 3  # the first child forks one more


def test_a_stopped_rank_is_noticed_after_the_deadline() -> None:
    body = """
ring.init()
ring.barrier()
if ring.init().rank() == 2:
    say(stopped=time.monotonic())
    os.kill(os.getpid(), signal.SIGSTOP)
attempt(lambda: ring.all_sum(np.ones(1, np.float32)))
attempt(ring.barrier)
"""
    with Job(4, body, env={"RING_TIMEOUT": "3"}) as job:
        stopped = float(job.wait_until_said(2, "stopped"))
        survivors = [job.wait(rank) for rank in (0, 1, 3)]
    for rank in survivors:
        first, later = rank.facts
        assert first["error"] == later["error"] == "PeerLost"
        assert first["text"] == later["text"]
        assert "no byte from rank 2 for 3 s" in first["text"]
        assert "RING_TIMEOUT" in first["text"] or "reports" in first["text"]
        assert 1.5 < first["at"] - stopped < 13


@pytest.mark.parametrize("count", [1, 4_000_000])
def test_a_rank_that_is_stopped_in_the_middle_is_noticed_after_the_deadline(count: int) -> None:
    """Those who wait for ranks that wait for it do not blame them, however far each has come."""
    with Job(4, WATCHED.format(count=count), env={"RING_TIMEOUT": "3"}) as job:
        for rank in range(4):
            job.wait_until_said(rank, "joined")
        job.signal(2, signal.SIGSTOP)
        stopped = time.monotonic()
        survivors = [job.wait(rank) for rank in (0, 1, 3)]
    for error, text in errors_of(survivors):
        assert error == "PeerLost"
        assert "no byte from rank 2 for 3 s" in text
        assert "RING_TIMEOUT" in text or "reports" in text
    assert all(1.5 < rank.facts[1]["at"] - stopped < 13 for rank in survivors)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("ring.recv((3,), np.float32, 1 - world.rank())", "no byte from"),
        ("ring.send(np.ones(20_000_000), 1 - world.rank())", "no byte taken by"),
    ],
)
def test_two_ranks_that_wait_for_each_other_are_told_so(call: str, what: str) -> None:
    body = f"world = ring.init(); attempt(lambda: {call})"
    finished = run_job(2, body, env={"RING_TIMEOUT": "2"})
    for error, text in errors_of(finished):
        assert error == "PeerLost"
        assert re.search(f"{what} rank [01] for 2 s, which waits as well", text), text
        assert "See that all ranks make the same calls" in text or "reports" in text


def test_a_rank_busy_in_user_code_is_not_lost() -> None:
    """It is silent for longer than a pulled cable, with megabytes waiting for it."""
    body = """
world = ring.init()
if world.rank() == 1:
    say(busy=True)
    until = time.monotonic() + 8.5
    while time.monotonic() < until:
        time.sleep(0.5)
say(total=ring.all_sum(np.ones(8_000_000, np.float32))[-1].item())
"""
    finished = run_job(2, body)
    assert [rank.facts[-1] for rank in finished] == [{"total": 2.0}] * 2


MISMATCHES = {
    "shape": (
        "ring.all_sum(np.ones((3, 2) if rank == 2 else (2, 3), np.float32))",
        "all_sum of float32 (3, 2), 24 bytes",
        "all_sum of float32 (2, 3), 24 bytes",
    ),
    "size": (
        "ring.all_sum(np.ones(1_000_000 if rank == 2 else 1, np.int8))",
        "all_sum of int8 (1000000,), 1000000 bytes",
        "all_sum of int8 (1,), 1 bytes",
    ),
    "dtype": (
        "ring.all_sum(np.ones(5, np.int32 if rank == 2 else np.float32))",
        "all_sum of int32 (5,), 20 bytes",
        "all_sum of float32 (5,), 20 bytes",
    ),
    "operation": (
        "(ring.all_max if rank == 2 else ring.all_sum)(np.ones(5, np.int8))",
        "all_max of int8 (5,), 5 bytes",
        "all_sum of int8 (5,), 5 bytes",
    ),
    "root": (
        "ring.broadcast(np.ones(5, np.int8), 1 if rank == 2 else 0)",
        "broadcast root 1 of int8 (5,), 5 bytes",
        "broadcast root 0 of int8 (5,), 5 bytes",
    ),
    "large root": (
        "ring.broadcast(np.ones(10**6, np.int8), 1 if rank == 2 else 0)",
        "broadcast root 1 of int8 (1000000,), 1000000 bytes",
        "broadcast root 0 of int8 (1000000,), 1000000 bytes",
    ),
    "order": (
        "(ring.barrier(), ring.all_sum(1)) if rank == 2 else (ring.all_sum(1), ring.barrier())",
        "barrier of uint8 (), 0 bytes",
        "all_sum of int64 (), 8 bytes",
    ),
    "empty": (
        "ring.all_sum(np.ones(0, np.int8 if rank == 2 else np.int16))",
        "all_sum of int8 (0,), 0 bytes",
        "all_sum of int16 (0,), 0 bytes",
    ),
    "group": (
        "ring.all_sum(1, group=pair if rank == 2 else world)",
        "all_sum of int64 (), 8 bytes, number 0 of group ",
        "all_sum of int64 (), 8 bytes, number 2 of group 00000000",
    ),
}


@pytest.mark.parametrize("kind", MISMATCHES)
def test_different_calls_are_an_error_on_every_rank(kind: str) -> None:
    call, theirs, ours = MISMATCHES[kind]
    body = f"""
world = attempt(ring.init)
rank = world.rank()
pair = world.split(rank // 2) if {kind == "group"} else None
attempt(lambda: {call})
attempt(ring.barrier)
"""
    with Job(4, body) as job:
        finished = job.finish()
    faults = [next(fact for fact in rank.facts if fact["error"]) for rank in finished]
    last_call = max(fault["began"] for fault in faults)
    for fault in faults:
        assert fault["error"] == "CollectiveMismatch", fault
        assert fault["at"] - last_call < 2
        assert theirs in fault["text"]
        assert ours in fault["text"]
        assert "rank 2" in fault["text"]


def test_a_message_where_a_collective_is_expected() -> None:
    """Its bytes are fewer than rank 3 expects, and the sender goes on with something else."""
    body = """
world = ring.init()
if world.rank() == 2:
    attempt(lambda: ring.send(np.ones(5), 3))
    time.sleep(2)
    attempt(ring.barrier)
else:
    attempt(lambda: ring.all_sum(np.ones(500)))
"""
    finished = run_job(4, body)
    last_call = max(rank.facts[0]["began"] for rank in finished)
    for rank in finished:
        fact = rank.facts[-1]
        assert fact["error"] == "CollectiveMismatch"
        assert fact["at"] - max(last_call, fact["began"]) < 2
        assert "rank 2 is in send to rank 3 of float64 (5,), 40 bytes" in fact["text"]
        assert "rank 3 is in all_sum of float64 (500,), 4000 bytes" in fact["text"]


def test_a_rank_that_leaves_early_is_named_on_all() -> None:
    """The error may overtake the end of the last collective they all made."""
    body = """
world = ring.init()
if world.rank() == 2:
    attempt(lambda: ring.all_sum(1))
else:
    attempt(lambda: (ring.all_sum(1), ring.all_sum(np.ones(3, np.float32))))
"""
    finished = run_job(4, body)
    left = finished[2].facts[0]["at"]
    for rank in finished:
        if rank.rank != 2:
            (fact,) = rank.facts
            assert fact["error"] == "PeerLost"
            assert "rank 2 left after 2 collectives" in fact["text"]
            assert "in all_sum of float32 (3,), 12 bytes" in fact["text"]
            assert fact["at"] - left < 2


@pytest.mark.parametrize("opening", ["world = ring.init()\nif True:", "with ring.init() as world:"])
def test_a_rank_that_raises_is_named_with_its_exception(opening: str) -> None:
    body = f"""
{opening}
    if world.rank() == 2:
        say(at=time.monotonic())
        raise ValueError("no such file: weights.bin")
    attempt(lambda: ring.all_sum(np.ones(3, np.float32)))
"""
    with Job(4, body) as job:
        finished = job.finish()
    assert [rank.returncode for rank in finished] == [0, 0, 1, 0]
    raised = finished[2].facts[0]["at"]
    for rank in finished:
        if rank.rank != 2:
            (fact,) = rank.facts
            assert fact["error"] == "PeerLost"
            assert (
                "rank 2 left after 1 collectives (raised ValueError: no such file: weights.bin)"
                in fact["text"]
            )
            assert fact["at"] - raised < 5


def test_leaving_right_after_the_last_collective_harms_nobody() -> None:
    """Ranks end in a different order each time, the data of the last call still on its way."""
    body = """
world = ring.init()
for count in (1, 300_000):
    total = ring.all_sum(np.ones(count, np.float32))
    assert total[-1] == world.size()
if world.rank() % 2:
    os._exit(0)
"""
    for _ in range(5):
        run_job(4, body)


def test_an_interrupt_in_the_middle_breaks_the_group_on_all_ranks() -> None:
    """Rank 1 gets its Ctrl-C inside an all_sum of 64 MiB, which rank 2 keeps from ending."""
    body = """
import psutil, threading
world = ring.init()
large = np.ones(16 * 1024**2, np.float32)
pressed = os.path.join(os.path.dirname(os.environ["JOB_START"]), "pressed")
def press_ctrl_c():
    while not (world.ring._lock.locked() and world.ring.patience._since):
        time.sleep(0.001)  # until it waits, so it is inside
    os.kill(os.getpid(), signal.SIGINT)
    open(pressed, "w").close()
if world.rank() == 1:
    threading.Thread(target=press_ctrl_c, daemon=True).start()
while world.rank() == 2 and not os.path.exists(pressed):
    time.sleep(0.01)
try:
    attempt(lambda: ring.all_sum(large, out=large))
except KeyboardInterrupt:
    say(interrupted=True)
attempt(ring.barrier)
say(sockets=len(psutil.Process().net_connections(kind="tcp")))
"""
    finished = run_job(3, body)
    assert finished[1].facts[0] == {"interrupted": True}
    for rank in finished:
        assert rank.facts[-1] == {"sockets": 0}
        assert rank.facts[-2]["error"] == "PeerLost"
        assert "rank 1 left a collective midway: KeyboardInterrupt" in rank.facts[-2]["text"]


def test_a_reset_connection_is_an_error_on_all_ranks() -> None:
    body = """
import socket, struct
world = ring.init()
ring.barrier()
if world.rank() == 2:
    sock = world.ring.right.data[0].sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    time.sleep(600)
attempt(ring.barrier)
"""
    with Job(4, body) as job:
        faults = [job.wait(rank).facts[0] for rank in (0, 1, 3)]
    assert [fault["error"] for fault in faults] == ["PeerLost"] * 3
    assert "the connection to rank 2" in faults[2]["text"]
    assert "reset" in faults[2]["text"]


def test_the_interpreter_ends_whatever_state_the_group_is_in() -> None:
    body = """
world = ring.init()
import threading
if world.rank() == 0:
    thread = threading.Thread(target=ring.barrier, daemon=True)
    thread.start()
    time.sleep(0.2)
elif world.rank() == 1:
    world.close()
    world.close()
"""
    with Job(3, body) as job:
        finished = job.finish(within=45)  # and not the 60 s of RING_TIMEOUT
    assert [rank.returncode for rank in finished] == [0, 0, 0]


def test_after_an_error_nothing_is_left_behind() -> None:
    """Sockets closed, no thread, and the same addresses can be used again at once."""
    body = """
import psutil, threading
for _ in range(3):
    world = ring.init()
    attempt(lambda: ring.all_sum(np.ones(1 + world.rank())))
    world.close()
    world.close()
    say(sockets=len(psutil.Process().net_connections(kind="tcp")), threads=threading.active_count())
    time.sleep(0.3)
"""
    for rank in run_job(2, body):
        assert rank.facts[1::2] == [{"sockets": 0, "threads": 1}] * 3
        assert [fact["error"] for fact in rank.facts[::2]] == ["CollectiveMismatch"] * 3
