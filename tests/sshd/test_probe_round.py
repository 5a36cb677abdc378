"""A probe round over real sshd processes whose commands are fakes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone

import pytest

from distconfig.errors import CommandFailed, ProbeError, Unreachable
from distconfig.hosts.shell import Connection
from distconfig.probes import PROBES
from distconfig.recordings.probe import record_hosts
from distconfig.recordings.recording import (
    HostRecording,
    OperatorNetwork,
    Recording,
    load_recording,
)
from tests.scenarios import scenario
from tests.sshd.conftest import Connector
from tests.sshd.fake_commands import UNAME, fake_commands
from tests.sshd.farm import Farm, FarmHost, wait_until

OPERATOR = OperatorNetwork()
NO_ANSWER = {"system_profiler_xml", "ssh_connection", "ifconfig"}
OUTPUTS = {
    probe.name: f'{{"printed": "by {probe.name}"}}\n'
    for probe in PROBES
    if probe.name not in NO_ANSWER
} | {"uname": UNAME}


def record(
    connections: dict[str, Connection | ProbeError], timeout_s: float = 90.0
) -> dict[str, HostRecording]:
    recording = record_hosts(connections, operator=OPERATOR, timeout_s=timeout_s)
    assert [each.host for each in recording.hosts] == list(connections)
    return {each.host: each for each in recording.hosts}


def shells_that_asked(host: FarmHost) -> set[str]:
    return {line.split()[0] for line in host.shared_lines("calls")}


def channels_opened(host: FarmHost) -> int:
    """The exec channels that the sshd itself counted."""
    return host.log.count("Starting session: command")


@pytest.mark.slow  # it measures, and shares its cores with no other test
def test_sixteen_hosts_that_need_a_second_each_are_asked_in_under_five(
    farm: Farm, connector: Connector
) -> None:
    files = fake_commands(OUTPUTS, before={"system_profiler": "sleep 1"})
    names = [f"studio{number}" for number in range(1, 17)]
    hosts = [farm.add(name, files=files) for name in names]
    rounds = 0
    while True:  # a machine that is busy with other things may try again
        rounds += 1
        start = time.monotonic()
        recorded = record(connector.connect(*names))
        seconds = time.monotonic() - start
        if seconds < 5 or rounds == 5:
            break
    assert seconds < 5
    for host in hosts:
        answers = recorded[host.name].probes
        assert recorded[host.name].error is None
        assert {name: answers[name].stdout.decode() for name in OUTPUTS} == OUTPUTS
        assert channels_opened(host) == rounds
        assert len(shells_that_asked(host)) == rounds
        assert 0.5 < answers["system_profiler"].seconds < 5


def test_what_is_recorded_of_a_host(farm: Farm, connector: Connector) -> None:
    """Every command in the order of the table, with both streams and its status."""
    odd = {"ifconfig": "printf 'lo0: \\0\\377 no line feed'; printf warning >&2; exit 3"}
    host = farm.add("studio1", files=fake_commands(OUTPUTS | {"ifconfig": ""}, before=odd))
    before = datetime.now(timezone.utc)
    recording = record_hosts(connector.connect("studio1"), operator=OPERATOR)
    assert isinstance(recording, Recording)
    assert timedelta(seconds=-1) <= recording.recorded_at - before < timedelta(seconds=60)
    assert recording.operator == OPERATOR
    answers = recording.hosts[0].probes
    assert list(answers) == [probe.name for probe in PROBES if not probe.instead_of]
    for probe in PROBES:
        if probe.name in OUTPUTS:
            answer = answers[probe.name]
            assert (answer.argv, answer.returncode) == (probe.argv, 0)
            assert (answer.stdout.decode(), answer.stderr) == (OUTPUTS[probe.name], b"")
    ifconfig = answers["ifconfig"]
    assert (ifconfig.returncode, ifconfig.stdout, ifconfig.stderr) == (
        3,
        b"lo0: \0\xff no line feed",
        b"warning",
    )
    client, _, server, port = answers["ssh_connection"].stdout.decode().split()
    assert (client, server, port) == ("127.0.0.1", host.address, str(host.port))


def test_a_missing_command_costs_only_its_answer(farm: Farm, connector: Connector) -> None:
    given = {name: text for name, text in OUTPUTS.items() if name not in ("ibv_devices", "sudo")}
    farm.add("studio1", files=fake_commands(given))
    answers = record(connector.connect("studio1"))["studio1"].probes
    assert (answers["ibv_devices"].returncode, answers["ibv_devices"].stdout) == (127, b"")
    assert b"ibv_devices" in answers["ibv_devices"].stderr
    assert (answers["sudo"].returncode, answers["sudo"].stderr) == (64, b"usage: /usr/bin/sudo\n")
    assert answers["computer_name"].stdout.decode() == OUTPUTS["computer_name"]


def test_a_mac_without_json_is_asked_again_for_xml(farm: Farm, connector: Connector) -> None:
    given = {name: text for name, text in OUTPUTS.items() if name != "system_profiler"}
    old = farm.add("old", files=fake_commands(given | {"system_profiler_xml": "<plist/>\n"}))
    new = farm.add("new", files=fake_commands(OUTPUTS | {"system_profiler_xml": "<plist/>\n"}))
    recorded = record(connector.connect("old", "new"))
    assert recorded["old"].error is None
    assert recorded["old"].probes["system_profiler"].returncode == 64
    assert recorded["old"].probes["system_profiler_xml"].stdout == b"<plist/>\n"
    assert list(recorded["old"].probes)[:3] == ["uname", "system_profiler", "system_profiler_xml"]
    assert "system_profiler_xml" not in recorded["new"].probes
    assert (channels_opened(old), channels_opened(new)) == (2, 1)


@pytest.mark.parametrize("platform", ["Linux 6.18.0 x86_64", "DarwinBSD 1", ""])
def test_a_host_that_is_no_mac_is_asked_little(
    farm: Farm, connector: Connector, platform: str
) -> None:
    text = f"{platform}\n" if platform else ""
    host = farm.add("box", files=fake_commands(OUTPUTS | {"uname": text}))
    recorded = record(connector.connect("box"))["box"]
    assert recorded.error is None
    assert recorded.probes["uname"].stdout.decode() == text
    wanted = {"uname", "ssh_connection"} if platform.startswith("Linux ") else {"uname"}
    assert set(recorded.probes) == wanted
    assert [line.split()[1] for line in host.shared_lines("calls")] == ["/usr/bin/uname"]


def test_a_host_that_hangs_is_given_up_and_the_others_kept(
    farm: Farm, connector: Connector
) -> None:
    hanging = farm.add(
        "hanging", files=fake_commands(OUTPUTS, before={"networksetup_ports": "exec sleep 98765"})
    )
    farm.add("studio1", files=fake_commands(OUTPUTS))
    connections = connector.connect("hanging", "studio1", "no-such-host.invalid", timeout_s=20)
    start = time.monotonic()
    recorded = record(connections, timeout_s=6)
    assert time.monotonic() - start < 45
    assert (recorded["studio1"].error, len(recorded["studio1"].probes)) == (
        None,
        sum(not probe.instead_of for probe in PROBES),
    )
    error = recorded["hanging"].error
    assert isinstance(error, CommandFailed)
    assert str(error) == (
        "it did not end within 6 s -- hanging: /usr/sbin/networksetup -listallhardwareports --"
        " Run that command there by hand and see why it hangs."
    )
    assert list(recorded["hanging"].probes) == ["uname", "system_profiler"]
    assert recorded["no-such-host.invalid"].error is connections["no-such-host.invalid"]
    wait_until(lambda: not [line for line in hanging.commands_running() if "98765" in line])


def test_nothing_runs_on_and_nothing_is_written_after_a_round(
    farm: Farm, connector: Connector
) -> None:
    host = farm.add("studio1", files=fake_commands(OUTPUTS))
    connections = connector.connect("studio1")
    before = host.files_written()
    assert "/etc/farm_sshd_config" in before
    record(connections)
    assert host.files_written() == before
    wait_until(lambda: host.commands_running() == [])


def test_a_host_that_drops_the_connection_keeps_what_it_said(
    farm: Farm, connector: Connector
) -> None:
    kill = "read -r _ _ _ parent _ </proc/$PPID/stat; kill -9 $parent; exec sleep 98765"
    farm.add("studio1", files=fake_commands(OUTPUTS, before={"ifconfig": kill, "netstat": kill}))
    recorded = record(connector.connect("studio1"))["studio1"]
    assert isinstance(recorded.error, Unreachable)
    assert recorded.error.what == "the connection ended in the middle of the answers"
    assert "system_profiler" in recorded.probes
    assert "hw_model" not in recorded.probes


def test_a_host_whose_login_shell_runs_nothing_is_named(farm: Farm, connector: Connector) -> None:
    farm.add("studio1", login_shell="/usr/sbin/nologin")
    error = record(connector.connect("studio1"))["studio1"].error
    assert isinstance(error, CommandFailed)
    assert error.what == "the login shell did not start /bin/sh"
    assert error.stderr_tail == "This account is currently not available."


def test_this_machine_is_asked_without_ssh(connector: Connector) -> None:
    recorded = record(connector.connect("localhost"))["localhost"]
    assert recorded.error is None
    name, release, machine = recorded.probes["uname"].stdout.decode().split()
    assert (name, release, machine) == (os.uname().sysname, os.uname().release, os.uname().machine)


def test_hosts_asked_now_give_what_their_recording_gives(farm: Farm) -> None:
    """The whole command over ssh, against the same command over ``--from``."""
    stored = scenario("four_studios")
    names = [host.host for host in stored.recording.hosts]
    for host in stored.recording.hosts:
        outputs = {
            name: done.stdout.decode()
            for name, done in host.probes.items()
            if done.returncode == 0 and name != "ssh_connection"
        }
        farm.add(host.host, files=fake_commands(outputs))
    saved = farm.folder / "saved"
    hosts = ["--hosts", ",".join(names)]
    live = run_command("--dot", "--save", str(saved), *hosts)
    assert live == run_command("--dot", "--from", str(stored.folder))
    assert live.count(" -- ") == len(stored.expected.cables)
    again = load_recording(saved)
    for mine, theirs in zip(again.hosts, stored.recording.hosts, strict=True):
        for name, done in theirs.probes.items():
            if name != "ssh_connection" and done.returncode == 0:
                assert mine.probes[name].stdout == done.stdout


def run_command(*words: str) -> str:
    """What ``distributed_config`` prints."""
    program = "from distconfig.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
