"""Hosts that do not answer: each gets one error in time that says what to try."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from distconfig.errors import ProbeError, Unreachable, UsageError
from tests.signals import signal_all
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm, FarmHost, free_loopback_address

REMOTE_LOGIN = (
    "Start its ssh server: on a Mac, System Settings > General > Sharing > Remote Login;"
    " or give the right Port in ~/.ssh/config."
)


@pytest.fixture
def black_hole() -> Iterator[tuple[str, int]]:
    """An address where a connection is neither accepted nor refused."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        while True:  # fill its queue, from where on the kernel drops what comes
            filler = opened.enter_context(socket.socket())
            filler.settimeout(0.3)
            try:
                filler.connect(listener.getsockname())
            except TimeoutError:
                break
        yield listener.getsockname()


def test_an_address_that_is_silent_is_given_up_in_time(
    farm: Farm, connector: Connector, black_hole: tuple[str, int]
) -> None:
    address, port = black_hole
    farm.add("studio1")
    farm.configure(f"Host dead\n  HostName {address}\n  Port {port}\n")
    start = time.monotonic()
    found = connector.connect("studio1", "dead", timeout_s=5)
    assert time.monotonic() - start < 30
    assert not isinstance(found["studio1"], ProbeError)
    assert isinstance(found["dead"], Unreachable)
    assert str(found["dead"]) == (
        f"{address} port {port} did not answer within 5 s -- dead --"
        " Is it on, awake and in this network? Try: ssh dead true"
    )


def test_connect_timeout_of_the_configuration_counts(
    farm: Farm, connector: Connector, black_hole: tuple[str, int]
) -> None:
    address, port = black_hole
    farm.configure(f"Host dead\n  HostName {address}\n  Port {port}\n  ConnectTimeout 1\n")
    assert connector.fail("dead").what == f"{address} port {port} did not answer within 1 s"


def test_a_refused_port(farm: Farm, connector: Connector) -> None:
    address, port = free_loopback_address()
    farm.configure(f"Host studio1\n  HostName {address}\n  Port {port}\n")
    error = connector.fail("studio1")
    assert isinstance(error, Unreachable)
    assert str(error) == (
        f"{address} port {port} refused the connection -- studio1 -- {REMOTE_LOGIN}"
    )


def test_an_unknown_name(farm: Farm, connector: Connector) -> None:
    error = connector.fail("no-such-host.invalid", timeout_s=30)
    assert isinstance(error, Unreachable)
    assert error.what.startswith("the name 'no-such-host.invalid' is not known (")
    assert error.hint == (
        "Check the spelling, or give it a HostName in ~/.ssh/config; Macs on the same network"
        " are also known as NAME.local."
    )


def test_a_server_that_says_nothing(farm: Farm, connector: Connector) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        farm.configure(f"Host studio1\n  HostName 127.0.0.1\n  Port {port}\n")
        start = time.monotonic()
        error = connector.fail("studio1", timeout_s=1)
        assert time.monotonic() - start < 30
    assert isinstance(error, Unreachable)
    assert error.what.startswith(
        f"127.0.0.1 port {port} was reached but no ssh session came about ("
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-1.5-ancient\r\n",
        b"\xff\xfe\x00\r\n",
        b"SSH-2.0-odd\r\n" + bytes(64),
        b"SSH-2.0-odd\r\n" + bytes(range(256)) * 40,
        b"SSH-2.0-odd\r\n\x00\x00\x00\x0c\x0a\x14" + b"\xff" * 10,
        b"SSH-2.0-odd\r\n\xff\xff\xff\xff" + bytes(100),
        b"a line before\r\n" * 200,
        b"",
    ],
)
def test_a_server_that_does_not_speak_ssh(farm: Farm, connector: Connector, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        farm.configure(f"Host studio1\n  HostName 127.0.0.1\n  Port {port}\n")
        found: list[ProbeError] = []
        asking = threading.Thread(
            target=lambda: found.append(connector.fail("studio1", timeout_s=10))
        )
        asking.start()
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1000):
                pass
        asking.join()
    assert isinstance(found[0], Unreachable)
    assert found[0].hint in (
        "Is that port an ssh server, and does it take more connections? Try: ssh studio1 true",
        "Update its ssh server.",
    )


def test_a_host_that_freezes_is_given_up_in_time(farm: Farm, connector: Connector) -> None:
    """Whether it freezes before a login, or under a connection that is there."""
    host = farm.add("studio1")
    connection = connector.reach("studio1")
    with frozen(host):
        start = time.monotonic()
        with pytest.raises(ProbeError):
            connection.run("echo hello", timeout_s=1)
        assert isinstance(connector.fail("studio1", timeout_s=1), Unreachable)
        assert time.monotonic() - start < 30
    assert connection.run("echo hello", timeout_s=60).stdout == b"hello\n"


@contextmanager
def frozen(host: FarmHost) -> Iterator[None]:
    """Stop every process of a host, as a machine that hangs does.

    While they are being stopped some end and some start others, so this goes on until no
    new one is found.
    """
    stopped: set[int] = set()
    while new := set(host.pids()) - stopped:
        signal_all(new, signal.SIGSTOP)
        stopped |= new
    yield
    signal_all(stopped, signal.SIGCONT)


def test_a_configuration_that_ssh_refuses(farm: Farm, connector: Connector) -> None:
    farm.configure("Host studio1\n  Colour purple\n")
    error = connector.fail("studio1")
    assert isinstance(error, Unreachable)
    assert error.what.startswith("ssh does not understand its configuration: ")
    assert "line 2: Bad configuration option: colour" in error.what


@pytest.mark.parametrize("name", ["-oProxyCommand=reboot", "a b", "$(reboot)", "", "a;b", "a\nb"])
def test_a_name_that_is_none_never_reaches_ssh(connector: Connector, name: str) -> None:
    with pytest.raises(UsageError):
        connector.connect("localhost", name)
