"""Which way a connection takes: aliases, jump hosts, proxy commands, and this machine itself."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from distconfig.errors import AuthenticationFailed, ProbeError, Unreachable
from distconfig.ssh import connect_hosts, dial
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm, free_loopback_address, make_key

HOSTNAME = "cat /etc/name"


def named(name: str) -> dict[str, str]:
    return {"/etc/name": name}


def test_an_alias_of_this_machine_goes_over_ssh(farm: Farm, connector: Connector) -> None:
    farm.add("studio1", files=named("studio1"))
    found = connector.connect("studio1", "localhost")
    assert {host: each.is_local for host, each in found.items()} == {
        "studio1": False,
        "localhost": True,
    }
    assert found["studio1"].run("echo $SSH_CONNECTION", timeout_s=60).stdout.startswith(b"127.0")
    assert found["localhost"].run("echo $SSH_CONNECTION", timeout_s=60).stdout == b"\n"


def test_exactly_three_words_mean_this_machine(connector: Connector) -> None:
    """They need no sshd and no configuration."""
    found = connector.connect("localhost", "127.0.0.1", "::1")
    assert [each.is_local for each in found.values()] == [True, True, True]


def test_include_and_match_apply(farm: Farm, connector: Connector) -> None:
    host = farm.add("studio1", files=named("studio1"))
    more = farm.folder / "more"
    more.write_text(
        f"Host desk*\n  HostName {host.address}\n"
        f"Match originalhost desk1\n  Port {host.port}\n  HostKeyAlias studio-on-the-desk\n"
    )
    farm.configure(f"Include {more}\n")
    farm.know(host, name="studio-on-the-desk")
    assert connector.reach("desk1").run(HOSTNAME, timeout_s=60).stdout == b"studio1"


def test_hosts_behind_a_jump_host_share_one_connection_to_it(
    farm: Farm, connector: Connector
) -> None:
    gate = farm.add("gate", options={"User": "ada"})
    names = [f"studio{number}" for number in range(1, 13)]
    behind = [farm.add(name, files=named(name), options={"ProxyJump": "gate"}) for name in names]
    found = connector.connect(*names)
    said = {name: each.run(HOSTNAME, timeout_s=60).stdout for name, each in found.items()}
    assert said == {name: name.encode() for name in names}
    assert gate.log.count("Accepted publickey") == 1
    for host in behind:
        assert f" from {host.address} " not in host.log  # it sees the gate's address
        assert host.log.count("Accepted publickey") == 1


def test_jump_hosts_in_a_row(farm: Farm, connector: Connector) -> None:
    """The one in the middle is reached through the first; user and port come from ProxyJump."""
    outer = farm.add("outer")
    inner = farm.add("inner", options={"Port": "1"})
    jumps = f"outer,ada@inner:{inner.port}"
    farm.add("studio1", files=named("studio1"), options={"ProxyJump": jumps})
    assert connector.reach("studio1").run(HOSTNAME, timeout_s=60).stdout == b"studio1"
    assert "Accepted publickey for root" in outer.log
    assert "Accepted publickey for ada" in inner.log


def test_a_jump_host_that_fails_is_named(farm: Farm, connector: Connector) -> None:
    stranger = farm.folder / "stranger"
    make_key(stranger)
    key = Path(f"{stranger}.pub").read_text()
    farm.add("gate", files={"/etc/farm_authorized_keys": key})
    farm.add("studio1", options={"ProxyJump": "gate"})
    farm.add("studio2", options={"ProxyJump": "gate"})
    found = connector.connect("studio1", "studio2")
    for name, error in found.items():
        assert isinstance(error, AuthenticationFailed)
        assert (error.host, error.what) == (
            name,
            f"its jump host gate: the login as root was refused (tried {farm.identity})",
        )


def test_a_host_that_its_jump_host_can_not_reach_is_named(farm: Farm, connector: Connector) -> None:
    farm.add("gate")
    address, port = free_loopback_address()
    farm.configure(f"Host studio1\n  HostName {address}\n  Port {port}\n  ProxyJump gate\n")
    error = connector.fail("studio1")
    assert isinstance(error, Unreachable)
    assert error.what == (
        f"{address} port {port} can not be reached from the jump host gate (connect failed)"
    )


def test_a_proxy_jump_in_a_circle_ends(farm: Farm, connector: Connector) -> None:
    farm.configure("Host circle1\n  ProxyJump circle2\nHost circle2\n  ProxyJump circle1\n")
    error = connector.fail("circle1", timeout_s=20)
    assert isinstance(error, Unreachable)
    assert "ProxyJump goes in a circle" in error.what


@contextmanager
def silent_server() -> Iterator[tuple[tuple[str, int], list[tuple[float, int]]]]:
    """Accepts connections and says nothing; with the time and number of those open at each."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_now: set[socket.socket] = set()
        accepted: list[tuple[float, int]] = []
        lock = threading.Lock()

        def hold(connection: socket.socket) -> None:
            with connection:
                while connection.recv(1000):
                    pass
            with lock:
                open_now.discard(connection)

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with lock:
                    open_now.add(connection)
                    accepted.append((time.monotonic(), len(open_now)))
                threading.Thread(target=hold, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield server.getsockname(), accepted
        server.shutdown(socket.SHUT_RDWR)
        accepting.join()


def test_at_most_eight_unfinished_logins_pass_one_jump_host(
    farm: Farm, connector: Connector
) -> None:
    """The ninth comes once the first has been given up, five seconds later."""
    farm.add("gate")
    with silent_server() as ((address, port), accepted):
        farm.configure(f"Host silent*\n  HostName {address}\n  Port {port}\n  ProxyJump gate\n")
        found = connector.connect(*[f"silent{number}" for number in range(12)], timeout_s=5)
    assert all(isinstance(each, Unreachable) for each in found.values())
    assert len(accepted) == 12
    assert max(count for _, count in accepted[:8]) == 8
    assert accepted[8][0] - accepted[0][0] > 1


def test_a_proxy_command_carries_the_connection(farm: Farm, connector: Connector) -> None:
    """Its tokens are replaced, and its child ends with the connection."""
    gate = farm.add("gate")
    command = f"ssh -W %h:%p gate 2>{farm.folder}/%n.%r.log"
    farm.add("studio1", files=named("studio1"), options={"ProxyCommand": command})
    assert connector.reach("studio1").run(HOSTNAME, timeout_s=60).stdout == b"studio1"
    assert "Accepted publickey" in gate.log
    assert (farm.folder / "studio1.root.log").exists()


def test_what_a_failing_proxy_command_says_is_shown(farm: Farm, connector: Connector) -> None:
    command = "sh -c 'echo no such gate: %h >&2; exit 1'"
    farm.configure(f"Host studio1\n  ProxyCommand {command}\n")
    error = connector.fail("studio1")
    assert isinstance(error, Unreachable)
    assert error.what == (
        "studio1 port 22 was reached but no ssh session came about (the connection was closed);"
        " the command that should reach it said: no such gate: studio1"
    )


RELAY = """\
#!{python}
import os, socket, sys, threading
print(*sys.argv[1:], file=open("{log}", "a"))
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def copy():
    while data := link.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=copy).start()
while data := os.read(0, 65536):
    link.sendall(data)
os._exit(0)
"""


def test_errno_65_on_macos_is_passed_by_way_of_nc(
    farm: Farm, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Local Network privacy lets Apple's nc through where it stops this Python."""
    host = farm.add("studio1", files=named("studio1"))
    nc = farm.folder / "nc"
    nc.write_text(RELAY.format(python=sys.executable, log=farm.folder / "nc.log"))
    nc.chmod(0o755)

    def refused(*args: object) -> socket.socket:
        raise OSError(65, "No route to host")

    monkeypatch.setattr(dial, "NC", str(nc))
    monkeypatch.setattr(dial, "_connect", refused)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert connector.reach("studio1").run(HOSTNAME, timeout_s=60).stdout == b"studio1"
    assert (farm.folder / "nc.log").read_text() == f"{host.address} {host.port}\n"
    assert connector.notes == [
        "studio1: macOS lets this Python reach no local address (errno 65, Local Network"
        f" privacy), so {nc} carries the connection"
    ]


def test_errno_65_elsewhere_is_an_error(
    farm: Farm, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = farm.add("studio1")

    def refused(*args: object) -> socket.socket:
        raise OSError(65, "No route to host")

    monkeypatch.setattr(dial, "_connect", refused)
    error = connector.fail("studio1")
    assert error.what == (
        f"{host.address} port {host.port} can not be reached: No route to host (errno 65)"
    )


def test_without_an_openssh_client_the_configuration_is_read_all_the_same(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = farm.add("gate")
    farm.add("studio1", files=named("studio1"), options={"ProxyJump": "gate"})
    (farm.home / ".ssh").mkdir()
    text = farm.config.read_text().replace("IdentityAgent none", "")
    (farm.home / ".ssh" / "config").write_text(text)
    monkeypatch.setenv("PATH", str(farm.home))
    connection = connect_hosts(["studio1"])["studio1"]
    assert not isinstance(connection, ProbeError), str(connection)
    assert connection.run(HOSTNAME, timeout_s=60).stdout == b"studio1"
    connection.close()
    assert "Accepted publickey for root" in gate.log
