"""The byte channel that the launcher builds on, over ssh and on this machine alike."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distconfig.errors import CommandFailed, ProbeError, Unreachable
from distconfig.hosts.shell import ByteChannel, Connection
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm, wait_until


@pytest.fixture(params=["localhost", "studio1"])
def connection(request: pytest.FixtureRequest, farm: Farm, connector: Connector) -> Connection:
    """This machine, and one over ssh."""
    if request.param == "studio1":
        farm.add("studio1")
    return connector.reach(request.param)


def read_all(receive: Callable[[int], bytes]) -> bytes:
    return b"".join(iter(lambda: receive(1 << 16), b""))


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_ten_mebibytes_of_anything_come_back_unchanged(connection: Connection) -> None:
    data = random.Random(1).randbytes(10 << 20)
    channel = connection.open_channel(("/bin/cat",))

    def feed() -> None:
        channel.send(data)
        channel.close_stdin()

    feeding = in_background(feed)
    assert read_all(channel.recv) == data
    feeding.join()
    assert channel.exit_status(60) == 0
    channel.close()


def test_the_two_streams_stay_apart(connection: Connection) -> None:
    channel = connection.open_channel(("/bin/sh", "-c", "printf out; printf err >&2; exit 9"))
    assert read_all(channel.recv) == b"out"
    assert read_all(channel.recv_stderr) == b"err"
    assert channel.exit_status(60) == 9
    channel.close()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("/bin/sh", "-c", "kill -9 $$"), 137),
        (("/no/such/program", "-x"), 127),
        (("/etc/passwd",), 126),
    ],
)
def test_every_way_to_end_has_its_status(
    connection: Connection, command: tuple[str, ...], status: int
) -> None:
    channel = connection.open_channel(command)
    assert read_all(channel.recv) == b""
    assert channel.exit_status(60) == status
    channel.close()


def test_a_command_that_runs_on_has_no_status(connection: Connection) -> None:
    channel = connection.open_channel(("/bin/cat",))
    assert channel.exit_status(0.1) is None
    channel.close()


def test_closing_wakes_whoever_waits(connection: Connection) -> None:
    channel = connection.open_channel(("/bin/cat",))
    received: list[bytes] = []
    readers = [
        in_background(lambda: received.append(channel.recv(10))),
        in_background(lambda: received.append(channel.recv_stderr(10))),
    ]
    channel.send(b"x")
    wait_until(lambda: received == [b"x"])
    readers.append(in_background(lambda: received.append(channel.recv(10))))
    channel.close()
    for reader in readers:
        reader.join(60)
    assert received == [b"x", b"", b""]
    assert channel.recv(10) == b""


def test_sending_to_a_command_that_ended_is_an_error(connection: Connection) -> None:
    channel = connection.open_channel(("/bin/true",))
    assert read_all(channel.recv) == b""
    assert channel.exit_status(60) == 0
    with pytest.raises(ProbeError):
        channel.send(bytes(16 << 20))
    channel.close()


def test_sending_waits_while_the_command_does_not_read(connection: Connection) -> None:
    """Four mebibytes fit in no pipe and in no window of ssh."""
    script = "read -r go; cat | wc -c"
    channel = connection.open_channel(("/bin/sh", "-c", script))
    data = b"go\n" + bytes(16 << 20)
    sent: list[bool] = []

    def feed() -> None:
        channel.send(data)
        channel.close_stdin()
        sent.append(True)

    feeding = in_background(feed)
    assert read_all(channel.recv).strip() == str(16 << 20).encode()
    feeding.join()
    assert sent == [True]
    channel.close()


def test_a_command_is_held_back_while_nobody_reads(
    connection: Connection, farm: Farm, tmp_path: Path
) -> None:
    """Output of any size costs no more memory than the window."""
    progress = tmp_path / "progress"
    seen_there = progress
    if not connection.is_local:
        progress, seen_there = Path("/shared/progress"), farm.hosts["studio1"].shared / "progress"
    lines = 4096
    script = (
        f"i=0; while [ $i -lt {lines} ]; do printf %16384s x; echo >>{progress}; i=$((i+1)); done"
    )
    channel = connection.open_channel(("/bin/sh", "-c", script))
    wait_until(lambda: seen_there.exists())
    last = [0, time.monotonic()]

    def is_held_back() -> bool:
        size = seen_there.stat().st_size
        if size != last[0]:
            last[:] = [size, time.monotonic()]
        return time.monotonic() - last[1] > 0.5

    wait_until(is_held_back)
    assert seen_there.stat().st_size < lines // 4
    assert len(read_all(channel.recv)) == lines * 16384
    assert channel.exit_status(60) == 0
    channel.close()


def test_a_script_gets_its_time_and_no_more(connection: Connection) -> None:
    start = time.monotonic()
    with pytest.raises(CommandFailed) as caught:
        connection.run("echo begun >&2; sleep 1000", timeout_s=4)
    assert time.monotonic() - start < 30
    assert (caught.value.what, caught.value.stderr_tail) == (
        "a script did not end within 4 s",
        "begun",
    )
    assert connection.run("echo still here", timeout_s=60).stdout == b"still here\n"


def test_output_without_end_is_cut_off(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distconfig.hosts.run_script._MOST_OUTPUT", 2 << 20)
    with pytest.raises(CommandFailed) as caught:
        connection.run("while :; do printf %65536s x; done", timeout_s=60)
    assert caught.value.what == "a script printed more than 2 MiB"


def test_scripts_run_at_the_same_time_on_one_connection(connection: Connection) -> None:
    """Each waits for a file that only the other one makes."""
    folder = connection.run("mktemp -d", timeout_s=60).stdout.decode().strip()
    results: list[int] = []

    def meet(mine: str, theirs: str) -> None:
        script = f"cd {folder}; touch {mine}; until [ -e {theirs} ]; do sleep 0.01; done"
        results.append(connection.run(script, timeout_s=60).returncode)

    threads = [in_background(lambda: meet("a", "b")), in_background(lambda: meet("b", "a"))]
    for thread in threads:
        thread.join()
    assert results == [0, 0]
    connection.run(f"rm -r {folder}", timeout_s=60)


def test_a_host_that_goes_away_is_noticed(farm: Farm, connector: Connector) -> None:
    host = farm.add("studio1")
    connection = connector.reach("studio1")
    channel: ByteChannel = connection.open_channel(("/bin/cat",))
    errors: list[ProbeError] = []

    def run() -> None:
        try:
            connection.run("touch /shared/running; sleep 1000", timeout_s=60)
        except ProbeError as error:
            errors.append(error)

    running = in_background(run)
    wait_until(lambda: (host.shared / "running").exists())
    host.stop()
    running.join(60)
    assert [str(error) for error in errors] == [
        "the connection ended before the script did -- studio1 --"
        " See whether the host restarted, or its network changed."
    ]
    assert isinstance(errors[0], Unreachable)
    assert channel.recv(10) == b""
    with pytest.raises(Unreachable):
        connection.open_channel(("/bin/cat",))


def test_closing_a_connection_to_this_machine_ends_what_runs_on_it(connector: Connector) -> None:
    connection = connector.reach("localhost")
    channel = connection.open_channel(("/bin/sh", "-c", "echo $$; sleep 1000 & wait"))
    pid = int(channel.recv(20))
    connection.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
