"""The sender and receiver as a real process, over this machine's loopback addresses."""

from __future__ import annotations

import ast
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Interface
from pathlib import Path
from threading import Event, Timer

import pytest

from distconfig.cabling.topology import CableEnd
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.local import LocalConnection
from distconfig.launch.bootstrap import remote_command
from distconfig.setup.addressed import AddressedCable, AddressedEnd
from distconfig.upkeep.cable_load import far_side
from distconfig.upkeep.cable_load.loader import Loader, LoadFailed, number_in, start_loader
from distconfig.upkeep.cable_load.soak import soak_cables
from distconfig.upkeep.cable_load.streams import load_in_rounds


def end(host: str, address: str) -> AddressedEnd:
    return AddressedEnd(CableEnd(host, "1", "lo"), IPv4Interface(f"{address}/30"))


PROGRAM = Path(far_side.__file__).read_text("utf-8")
CABLE = AddressedCable(end("a", "127.0.0.1"), end("b", "127.0.0.2"))


@pytest.fixture
def loaders() -> Iterator[dict[str, Loader | str]]:
    """Two hosts, both of them this machine."""
    connections = [LocalConnection("a"), LocalConnection("b")]
    try:
        yield {each.host: start_loader(each) for each in connections}
    finally:
        for each in connections:
            each.close()


def test_both_directions_are_measured_by_the_receiver(loaders: dict[str, Loader | str]) -> None:
    found = load_in_rounds([CABLE], loaders, seconds=0.3)
    for direction in found[CABLE]:
        assert direction.no_load_because == ""
        assert direction.load is not None
        assert direction.load.nbytes > 1 << 20
        assert 0.1 < direction.load.seconds < 10


def test_a_host_without_a_sender_costs_only_its_cables(loaders: dict[str, Loader | str]) -> None:
    other = AddressedCable(end("a", "127.0.0.1"), end("c", "127.0.0.3"))
    everyone = {**loaders, "c": "no Python 3.8 or newer on c"}
    found = load_in_rounds([other, CABLE], everyone, seconds=0.1)
    assert [each.no_load_because for each in found[other]] == ["no Python 3.8 or newer on c"] * 2
    assert all(each.load for each in found[CABLE])


def test_a_long_load_takes_samples_and_names_no_break(loaders: dict[str, Loader | str]) -> None:
    told: list[str] = []
    (there, back) = soak_cables([CABLE], loaders, seconds=3, tell=told.append, until=Event())[CABLE]
    for direction in (there, back):
        assert direction.load is not None
        assert direction.load.breaks == ()
        assert direction.load.nbytes > 1 << 20
        assert direction.load.seconds == 3
    assert told == []


def test_a_long_load_that_is_ended_sooner_says_what_came_until_then(
    loaders: dict[str, Loader | str],
) -> None:
    told: list[str] = []
    until = Event()
    until_set = Timer(2.5, until.set)  # after two of the samples, which come each second
    until_set.start()
    (there, back) = soak_cables([CABLE], loaders, seconds=600, tell=told.append, until=until)[CABLE]
    for direction in (there, back):
        assert direction.load is not None
        assert direction.load.breaks == ()
        assert direction.load.nbytes > 1 << 20
        assert 2.5 <= direction.load.seconds < 300
    assert told == []


def test_a_stream_without_the_token_is_not_counted(loaders: dict[str, Loader | str]) -> None:
    receiver, sender = loaders["a"], loaders["b"]
    assert isinstance(receiver, Loader)
    assert isinstance(sender, Loader)
    deadline = Deadline(30)
    words = {"address": "127.0.0.1", "token": "t" * 32, "seconds": 0.2}
    listening = receiver.order("listen", **words)
    tcp_port = int(number_in(listening.wait_for("tcp_port", deadline), "tcp_port"))
    with socket.create_connection(("127.0.0.1", tcp_port), 5) as intruder:
        intruder.sendall(b"x" * 32)
        assert intruder.recv(1) == b""
    source = {"to": ["127.0.0.1", tcp_port], "source": "127.0.0.2", "token": "t" * 32}
    sent = sender.order("send", seconds=0.2, **source).wait_for("bytes", deadline)
    assert listening.wait_for("bytes", deadline)["bytes"] == sent["bytes"]


def test_an_address_that_is_not_there_is_an_error_with_its_reason(
    loaders: dict[str, Loader | str],
) -> None:
    loader = loaders["a"]
    assert isinstance(loader, Loader)
    order = loader.order("listen", address="192.0.2.1", token="t", seconds=1)
    with pytest.raises(LoadFailed, match="Cannot assign requested address"):
        order.wait(Deadline(30))


def test_a_sender_that_was_killed_fails_what_is_under_way() -> None:
    connection = LocalConnection("a")
    loader = start_loader(connection)
    order = loader.order("listen", address="127.0.0.1", token="t", seconds=60)
    order.wait_for("tcp_port", Deadline(30))
    connection.close()
    with pytest.raises(LoadFailed, match="its sender ended"):
        order.wait(Deadline(30))
    with pytest.raises(LoadFailed):
        loader.order("counters").wait(Deadline(30))


@pytest.mark.parametrize("value", [None, "12", -1, float("nan"), float("inf"), True, [1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(LoadFailed):
        number_in({"bytes": value}, "bytes")


def _pythons() -> list[str]:
    """Our own Python, and the oldest ones that are meant to do, as far as they are here."""
    names = ("python3.8", "python3.9")
    found = [path for name in names if (path := shutil.which(name)) and _starts(path)]
    return [sys.executable, *found]


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def test_the_program_is_written_in_the_language_of_python_3_8() -> None:
    ast.parse(PROGRAM, feature_version=(3, 8))


@pytest.mark.parametrize("python", _pythons())
def test_the_program_runs_by_its_text_alone_and_ends_with_its_input(python: str) -> None:
    order = {"id": 1, "do": "send", "to": ["127.0.0.1", 1], "source": "127.0.0.1",
             "token": "", "seconds": 1}  # fmt: skip
    command = remote_command((python,), PROGRAM)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(30) == 0
    assert answer == {"id": 1, "error": "Connection refused"}
