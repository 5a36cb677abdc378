"""Ranks that do not belong together, and callers who do not belong at all."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ring_runtime.hostfile import digest_address_list, parse_address_list
from ring_runtime.wire import HELLO_NBYTES, Hello, decode_hello, encode_hello, prove
from tests.rank_processes import Job, free_addresses, raw_connection, run_job

JOIN = "world = attempt(ring.init)\nif world: say(total=ring.all_sum(1))"
SHORT = {"RING_INIT_TIMEOUT": "5"}


def hello_of(addresses: list[list[str]], rank: int, peer: int, **changes: object) -> Hello:
    """The hello ``rank`` would send to ``peer`` on its first data connection."""
    facts: dict[str, object] = {
        "digest": digest_address_list(parse_address_list(json.dumps(addresses))),
        "size": len(addresses),
        "rank": rank,
        "peer": peer,
        "kind": "data",
        "index": 0,
        "has_secret": False,
        "nonce": bytes(32),
    }
    return Hello(**{**facts, **changes})  # type: ignore[arg-type]


def test_a_rank_that_never_starts_is_named_by_its_neighbours_and_told_to_the_rest() -> None:
    addresses = free_addresses(4)
    with Job(4, JOIN, addresses=addresses, ranks=[0, 1, 3], env=SHORT) as job:
        finished = job.finish(within=45)
    texts = {rank.rank: rank.facts[0]["text"] for rank in finished}
    assert [rank.facts[0]["error"] for rank in finished] == ["RendezvousTimeout"] * 3
    assert all(len(rank.facts) == 1 for rank in finished)
    first = next(text for text in texts.values() if "reports" not in text)
    assert (
        f"for rank 2 to answer at {addresses[2][0]} (last attempt: errno 111, connection refused"
        in first
    ) or f"for rank 2 to connect to {addresses[3][0]}" in first
    assert all("rank 2" in text for text in texts.values())
    assert "RING_INIT_TIMEOUT" in first


def test_different_hostfiles_are_an_error_on_both_ranks(tmp_path: Path) -> None:
    addresses = free_addresses(2)
    other = tmp_path / "other.json"
    other.write_text(json.dumps([*addresses[:1], [*addresses[1], "127.0.0.1:1"]][:2]))
    began = time.monotonic()
    with Job(
        2,
        JOIN,
        addresses=addresses,
        env_of=lambda rank: {"MLX_HOSTFILE": str(other)} if rank == 0 else {},
    ) as job:
        finished = job.finish(within=45)
    assert time.monotonic() - began < 45
    digests = [
        digest_address_list(parse_address_list(text))[:4].hex()
        for text in (json.dumps(addresses), other.read_text())
    ]
    for rank in finished:
        assert rank.facts[0]["error"] == "HandshakeMismatch"
        assert all(digest in rank.facts[0]["text"] for digest in digests)
        assert "hostfile" in rank.facts[0]["text"]


def test_one_different_hostfile_of_four_is_told_to_all(tmp_path: Path) -> None:
    addresses = free_addresses(4)
    other = tmp_path / "other.json"
    other.write_text(json.dumps([*addresses[:3], [addresses[3][0].replace("127.", "127.1")]]))
    swapped = [addresses[1], addresses[0], *addresses[2:]]
    other.write_text(json.dumps(swapped))
    with Job(
        4,
        JOIN,
        addresses=addresses,
        env_of=lambda rank: {"MLX_HOSTFILE": str(other)} if rank == 2 else {},
    ) as job:
        finished = job.finish(within=45)
    for rank in finished:
        assert rank.facts[0]["error"] == "HandshakeMismatch"
        assert "hostfile" in rank.facts[0]["text"]


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        (("apple", "pear"), "RING_SECRET"),
        (("apple", None), "a RING_SECRET"),
        ((None, "pear"), "a RING_SECRET"),
    ],
)
def test_a_wrong_secret_or_one_on_one_side_only(
    secrets: tuple[str | None, str | None], words: str
) -> None:
    def secret_of(rank: int) -> dict[str, str]:
        secret = secrets[rank]
        return {} if secret is None else {"RING_SECRET": secret}

    with Job(2, JOIN, env_of=secret_of) as job:
        finished = job.finish(within=45)
    for rank in finished:
        assert rank.facts[0]["error"] == "HandshakeMismatch"
        assert words in rank.facts[0]["text"]
        assert not any(secret and secret in rank.facts[0]["text"] for secret in secrets)


def test_the_same_secret_on_all_ranks_joins() -> None:
    finished = run_job(3, JOIN, env={"RING_SECRET": "a long random text"})
    assert [rank.facts[-1] for rank in finished] == [{"total": 3}] * 3


def test_two_ranks_with_one_number() -> None:
    """The second one finds the TCP port taken; the first waits for the rank that is missing."""
    addresses = free_addresses(3)
    with Job(
        3,
        JOIN,
        addresses=addresses,
        ranks=[],
        env={"RING_INIT_TIMEOUT": "7"},
        env_of=lambda rank: {"MLX_RANK": str(min(rank, 1))},
    ) as job:
        for rank in range(3):
            job.start(rank, is_held=True)
        job.wait_until_up(0, 1, 2)
        job.release(0, 1)
        with raw_connection(addresses[1][0]):
            pass
        job.release(2)
        second = job.wait(2, within=45)
        others = [job.wait(rank, within=60) for rank in (0, 1)]
    assert second.facts[0]["error"] == "RendezvousError"
    assert "same rank number" in second.facts[0]["text"]
    assert addresses[1][0] in second.facts[0]["text"]
    assert [rank.facts[0]["error"] for rank in others] == ["RendezvousTimeout"] * 2


def test_an_address_of_another_machine() -> None:
    addresses = [["192.0.2.1:5000"], ["192.0.2.2:5000"]]
    with Job(2, JOIN, addresses=addresses, ranks=[0]) as job:
        (rank,) = job.finish(within=45)
    assert rank.facts[0]["error"] == "RendezvousError"
    assert "not an address of this machine" in rank.facts[0]["text"]
    assert "192.0.2.1:5000" in rank.facts[0]["text"]
    assert rank.stderr.splitlines() == [
        "no RING_SECRET is set: whoever reaches 192.0.2.1:5000 can join this job in place of a "
        "rank (distributed_launch sets one for you)"
    ]


def test_with_a_secret_an_open_address_is_no_reason_to_warn() -> None:
    addresses = [["192.0.2.1:5000"], ["192.0.2.2:5000"]]
    with Job(2, JOIN, addresses=addresses, ranks=[0], env={"RING_SECRET": "quince"}) as job:
        (rank,) = job.finish(within=45)
    assert rank.stderr == ""
    assert "quince" not in rank.stdout


def test_an_unknown_name() -> None:
    addresses = [["no-such-host.invalid:5000"], ["127.0.0.1:5000"]]
    with Job(2, JOIN, addresses=addresses, ranks=[0]) as job:
        (rank,) = job.finish(within=100)
    assert rank.facts[0]["error"] == "RendezvousError"
    assert "the name no-such-host.invalid is unknown here" in rank.facts[0]["text"]


def half_open(address: str, addresses: list[list[str]]) -> None:
    """Connects and says nothing; the socket stays open while the ranks join."""
    HELD.append(socket.create_connection(split(address), timeout=60))


def port_scan(address: str, addresses: list[list[str]]) -> None:
    """Connects and hangs up at once, with and without a reset."""
    for index in range(50):
        with socket.create_connection(split(address), timeout=60) as sock:
            if index % 2:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def other_protocol(address: str, addresses: list[list[str]]) -> None:
    """Speaks HTTP; is dropped without an answer."""
    with socket.create_connection(split(address), timeout=60) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: ring\r\n" + b"X: " + b"x" * 200 + b"\r\n\r\n")
        assert read_to_end(sock) == b""


def hundred_at_once(address: str, addresses: list[list[str]]) -> None:
    """More unfinished handshakes than are kept: the oldest are dropped."""
    HELD.extend(socket.create_connection(split(address), timeout=60) for _ in range(100))


def other_job(address: str, addresses: list[list[str]]) -> None:
    """A rank of a job with another address list: gets an answer, so that it can see why."""
    answered(address, hello_of(addresses, 1, 0, digest=bytes(32)))


def other_version(address: str, addresses: list[list[str]]) -> None:
    """A rank of a later version."""
    answered(address, hello_of(addresses, 1, 0, version=2))


def other_size(address: str, addresses: list[list[str]]) -> None:
    """A rank of a larger job."""
    answered(address, hello_of(addresses, 1, 0, size=7))


def wrong_rank(address: str, addresses: list[list[str]]) -> None:
    """Says it is us."""
    answered(address, hello_of(addresses, 0, 1))


def wrong_slot(address: str, addresses: list[list[str]]) -> None:
    """Wants a connection that does not exist."""
    with socket.create_connection(split(address), timeout=60) as sock:
        sock.sendall(encode_hello(hello_of(addresses, 1, 0, index=900)))
        assert len(read_to_end(sock)) in (0, HELLO_NBYTES)


def with_secret(address: str, addresses: list[list[str]]) -> None:
    """Claims to have a secret."""
    answered(address, hello_of(addresses, 1, 0, has_secret=True))


HELD: list[socket.socket] = []
INTRUDERS = [
    half_open,
    port_scan,
    other_protocol,
    hundred_at_once,
    other_job,
    other_version,
    other_size,
    wrong_rank,
    wrong_slot,
    with_secret,
]


def split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def read_to_end(sock: socket.socket) -> bytes:
    data = b""
    try:
        while more := sock.recv(4096):
            data += more
    except ConnectionResetError:
        pass
    return data


def answered(address: str, hello: Hello) -> None:
    """It is told who we are, and then dropped."""
    with socket.create_connection(split(address), timeout=60) as sock:
        sock.sendall(encode_hello(hello))
        answer = read_to_end(sock)
    assert decode_hello(answer[:HELLO_NBYTES]).rank == 0


@pytest.mark.parametrize("intrude", INTRUDERS, ids=lambda intrude: intrude.__name__)
def test_an_intruder_is_dropped_and_the_ranks_join(
    intrude: Callable[[str, list[list[str]]], None],
) -> None:
    addresses = free_addresses(2)
    with Job(2, JOIN, addresses=addresses, ranks=[0]) as job:
        with raw_connection(addresses[0][0]):
            pass
        intrude(addresses[0][0], addresses)
        job.start(1)
        finished = job.finish(within=60)
    for sock in HELD:
        sock.close()
    HELD.clear()
    assert [rank.facts[-1] for rank in finished] == [{"total": 2}] * 2


def test_who_holds_no_secret_can_not_join_by_sending_our_own_words_back() -> None:
    """A reflected handshake: the intruder returns our hello and our proof."""
    addresses = free_addresses(2)
    secret = {"RING_SECRET": "text"}
    with Job(2, JOIN, addresses=addresses, ranks=[0], env=secret) as job:
        host, port = split(addresses[1][0])
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen()
            listener.settimeout(60)
            call, _ = listener.accept()
            with call:
                hello = call.recv(HELLO_NBYTES, socket.MSG_WAITALL)
                call.sendall(hello)
                assert call.recv(1) == b""  # it hangs up instead of proving anything
        (rank,) = job.finish(within=45)
    assert rank.facts[0]["error"] == "HandshakeMismatch"
    assert "says it is rank 0 speaking to rank 1" in rank.facts[0]["text"]


def test_a_proof_without_the_secret_is_refused() -> None:
    """The intruder knows everything about the job but the secret; then the real rank joins."""
    addresses = free_addresses(2)
    with Job(2, JOIN, addresses=addresses, ranks=[0], env={"RING_SECRET": "text"}) as job:
        with raw_connection(addresses[0][0]) as sock:
            hello = encode_hello(hello_of(addresses, 1, 0, has_secret=True))
            sock.sendall(hello)
            answer = sock.recv(HELLO_NBYTES, socket.MSG_WAITALL)
            sock.sendall(prove(b"guess", "connector", hello, answer))
            assert read_to_end(sock) == b""
        with raw_connection(addresses[0][0]) as sock:
            sock.sendall(hello)
            sock.recv(HELLO_NBYTES, socket.MSG_WAITALL)
            sock.sendall(prove(b"text", "acceptor", hello, answer))
            assert read_to_end(sock) == b""
        job.start(1)
        finished = job.finish(within=60)
    assert [rank.facts[-1] for rank in finished] == [{"total": 2}] * 2


def test_a_second_rank_two_is_dropped_while_the_first_is_there() -> None:
    """It says all the right words and has come too late."""
    addresses = free_addresses(3)
    with Job(3, JOIN, addresses=addresses, ranks=[0, 2]) as job:
        until = time.monotonic() + 60
        is_dropped = False
        while not is_dropped:
            assert time.monotonic() < until
            with raw_connection(addresses[0][0]) as sock:
                sock.sendall(encode_hello(hello_of(addresses, 2, 0)))
                sock.settimeout(0.5)
                with contextlib.suppress(TimeoutError):
                    is_dropped = len(read_to_end(sock)) in (0, HELLO_NBYTES)
            for _ in range(50):
                job._doze(0)
        job.start(1)
        finished = job.finish(within=60)
    assert [rank.facts[-1] for rank in finished] == [{"total": 3}] * 3


def test_a_thousand_streams_at_the_listener_and_the_rank_still_joins() -> None:
    """Random bytes, cut and changed hellos: each is dropped, memory stays bounded."""
    generator = random.Random(11)
    addresses = free_addresses(2)
    body = """
import resource
world = attempt(ring.init)
say(total=ring.all_sum(1), megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    good = encode_hello(hello_of(addresses, 1, 0))
    patient = {"RING_INIT_TIMEOUT": "100"}
    with Job(2, body, addresses=addresses, ranks=[0], env=patient) as job:
        with raw_connection(addresses[0][0]):
            pass
        for number in range(1000):
            if number % 3 == 0:
                data = generator.randbytes(generator.randrange(400))
            elif number % 3 == 1:
                data = good[: generator.randrange(HELLO_NBYTES)]
            else:
                changed = bytearray(good)
                changed[generator.randrange(HELLO_NBYTES)] ^= 1 << generator.randrange(8)
                data = bytes(changed) + generator.randbytes(generator.randrange(100))
            with socket.create_connection(split(addresses[0][0]), timeout=60) as sock:
                sock.sendall(data)
        job.start(1)
        finished = job.finish(within=100)
    assert [rank.facts[-1]["total"] for rank in finished] == [2, 2]
    assert finished[0].facts[-1]["megabytes"] < finished[1].facts[-1]["megabytes"] + 30


def test_a_rank_that_dies_before_the_ring_is_complete_may_be_started_again() -> None:
    """Rank 1 has joined rank 0 and waits for rank 2 when it is killed."""
    body = "ring.init(); say(total=ring.all_sum(1))"
    with Job(3, body, ranks=[0, 1]) as job:
        job.wait_until(lambda: "for rank 2" in job.stderr(0), within=45)
        job.signal(1, signal.SIGKILL)
        job.wait(1)
        job.start(1)
        job.start(2)
        finished = job.finish(within=60)
    assert [rank.facts[-1] for rank in finished] == [{"total": 3}] * 3
