"""A probe round on this machine, and its output taken apart."""

from __future__ import annotations

import signal
import subprocess
from datetime import timezone
from ipaddress import IPv4Interface, IPv4Network

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.errors import CommandFailed, Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.local import LocalChannel, LocalConnection
from distconfig.hosts.marked_script import wrap_script
from distconfig.hosts.run_script import converse
from distconfig.hosts.shell import Completed
from distconfig.probes import Probe
from distconfig.recordings.operator_network import (
    parse_ip_addresses,
    parse_ip_routes,
    read_operator_network,
)
from distconfig.recordings.probe import record_hosts
from distconfig.recordings.probe_script import (
    Answers,
    platform_of,
    render_probe_script,
    split_answers,
)
from distconfig.recordings.recording import OperatorNetwork
from tests.sshd.farm import wait_until

NONCE = "0123456789abcdef"
ALL = ("Darwin", "Linux")
PLATFORM = Probe("uname", ("/bin/echo", "Linux 6.1 arm64"), ALL)


def say(name: str, script: str, *words: str, **more: str) -> Probe:
    return Probe(name, ("/bin/sh", "-c", script, "sh", *words), ALL, **more)


def marked(*pieces: bytes | tuple[str, int, int]) -> bytes:
    """Bytes with markers between them, as (b or e, number, returncode)."""
    return b"".join(
        each if isinstance(each, bytes) else f"{NONCE}:{each[0]}:{each[1]}:{each[2]};".encode()
        for each in pieces
    )


def test_the_answers_of_a_host() -> None:
    awkward = ("it's", "two words", "$HOME", "*", "", "back\\slash", "new\nline")
    probes = (
        PLATFORM,
        Probe("mac_only", ("/bin/echo", "no"), ("Darwin",)),
        say("words", 'printf "%s|" "$@"', *awkward),
        say("bytes", r"printf '\000\377'; printf '\n\n' >&2; exit 9"),
        say("reads", "cat; echo done"),
        Probe("missing", ("/no/such/command",), ALL),
    )
    recording = record_hosts(
        {"localhost": LocalConnection("localhost")}, operator=OperatorNetwork(), probes=probes
    )
    (host,) = recording.hosts
    assert (host.host, host.error) == ("localhost", None)
    assert recording.recorded_at.tzinfo is timezone.utc
    said = {name: (each.returncode, each.stdout) for name, each in host.probes.items()}
    assert said == {
        "uname": (0, b"Linux 6.1 arm64\n"),
        "words": (0, "".join(f"{word}|" for word in awkward).encode()),
        "bytes": (9, b"\0\xff"),
        "reads": (0, b"done\n"),
        "missing": (127, b""),
    }
    assert host.probes["bytes"].stderr == b"\n\n"
    assert b"/no/such/command" in host.probes["missing"].stderr
    assert host.probes["words"].argv == probes[2].argv


def test_a_probe_that_stands_in_for_another_runs_only_where_that_one_failed() -> None:
    probes = (
        PLATFORM,
        say("fine", "echo '{}'"),
        say("not_needed", "echo second", instead_of="fine"),
        say("broken", "echo usage"),
        say("needed", "echo second", instead_of="broken"),
        Probe("elsewhere", ("/bin/echo",), ("Darwin",), instead_of="broken"),
    )
    recording = record_hosts(
        {"localhost": LocalConnection("localhost")}, operator=OperatorNetwork(), probes=probes
    )
    assert list(recording.hosts[0].probes) == ["uname", "fine", "broken", "needed"]


def test_errors_stand_in_for_hosts_that_were_not_reached() -> None:
    error = Unreachable("off", host="studio2")
    recording = record_hosts(
        {"studio2": error, "localhost": LocalConnection("localhost")},
        operator=OperatorNetwork(),
        probes=(PLATFORM,),
    )
    assert [(each.host, each.error) for each in recording.hosts] == [
        ("studio2", error),
        ("localhost", None),
    ]


def test_a_command_that_hangs_is_named_and_ended() -> None:
    probes = (PLATFORM, say("quick", "echo x"), say("slow", "exec sleep 87654"), say("never", ":"))
    recording = record_hosts(
        {"localhost": LocalConnection("localhost")},
        operator=OperatorNetwork(),
        probes=probes,
        timeout_s=3,
    )
    (host,) = recording.hosts
    assert isinstance(host.error, CommandFailed)
    assert (host.error.what, host.error.argv) == ("it did not end within 3 s", probes[2].argv)
    assert list(host.probes) == ["uname", "quick"]
    wait_until(lambda: ["sleep", "87654"] not in command_lines())


def command_lines() -> list[list[str]]:
    found = psutil.process_iter(["cmdline"])
    return [process.info["cmdline"] for process in found]


def test_markers_separate_what_no_line_does() -> None:
    probes = (PLATFORM, say("one", ""), say("two", ""), say("three", ""))
    stdout = marked(
        b"Last login: never", ("b", 0, 0), b"Linux\n", ("e", 0, 0), ("b", 1, 0), b"no line feed"
    ) + marked(("e", 1, 3), ("b", 2, 0), ("e", 2, 127), ("b", 3, 0), b"half of")
    stderr = marked(b"quota", ("b", 0, 0), ("e", 0, 0), ("b", 1, 0), b"oops", ("e", 1, 3))
    arrival = {stdout.index(b"no line"): 2.5, stdout.index(marked(("e", 1, 3))): 4.0}
    answers = split_answers(
        probes, NONCE, stdout, stderr, lambda at: arrival.get(at, arrival.get(at + 1, 1.0))
    )
    assert answers == Answers(
        {
            "uname": Completed(PLATFORM.argv, 0, b"Linux\n", b"", 0.0),
            "one": Completed(probes[1].argv, 3, b"no line feed", b"oops", 1.5),
            "two": Completed(probes[2].argv, 127, b"", b"", 0.0),
        },
        unfinished=probes[3],
    )


@given(st.binary(max_size=200), st.integers(0, 300))
def test_no_output_is_mistaken_for_an_answer(noise: bytes, cut: int) -> None:
    """Whatever is printed, and wherever it is cut, answers are whole or absent."""
    probes = (PLATFORM, say("one", ""))
    whole = marked(
        noise, ("b", 0, 0), b"Linux", ("e", 0, 0), noise, ("b", 1, 0), noise, ("e", 1, 0), noise
    )
    answers = split_answers(probes, NONCE, whole[:cut], b"", lambda at: 0.0).completed
    for name, stdout in {"uname": b"Linux", "one": noise}.items():
        assert name not in answers or answers[name].stdout == stdout


def test_numbers_of_no_probe_are_ignored() -> None:
    stdout = marked(("b", 7, 0), ("e", 7, 0), ("e", 0, 0), ("b", 9, 0))
    answers = split_answers((PLATFORM,), NONCE, stdout, b"", lambda at: 0.0)
    assert answers == Answers({}, unfinished=None)


def test_the_script_is_made_of_words_only_the_shell_sees() -> None:
    script = render_probe_script((PLATFORM, say("odd", "echo '; reboot'")), NONCE)
    assert NONCE not in script  # a shell that echoes its input prints no marker
    assert (
        "case $platform in Darwin' '*|Linux' '*)"
        """ probe 1 /bin/sh -c 'echo '"'"'; reboot'"'"'' sh;; esac\n"""
    ) in script


@pytest.mark.parametrize(
    ("stdout", "platform"),
    [(b"Darwin 27.0.0 arm64\n", "Darwin"), (b"", ""), (b"\xff", "�"), (b" Linux", "Linux")],
)
def test_the_platform_is_the_first_word(stdout: bytes, platform: str) -> None:
    assert platform_of(Completed(("uname",), 0, stdout)) == platform


def test_this_machines_network_is_read() -> None:
    assert IPv4Interface("127.0.0.1/8") in read_operator_network().addresses


@pytest.mark.parametrize("text", [b"", b"[", b"{}", b"[1, null]", b'[{"dst": 7}]', b"[" * 50000])
def test_what_ip_does_not_say_is_left_out(text: bytes) -> None:
    assert (parse_ip_addresses(text), parse_ip_routes(text)) == ((), ())


def test_what_ip_says_is_read() -> None:
    """Cut from ``ip -j -4 addr`` and ``ip -j -4 route`` of iproute2 6.1."""
    addresses = (
        b'[{"ifindex":1,"ifname":"lo","addr_info":[{"family":"inet","local":"127.0.0.1",'
        b'"prefixlen":8,"scope":"host"}]},{"ifindex":2,"ifname":"eth0","addr_info":[{"family":'
        b'"inet","local":"192.168.1.7","prefixlen":24,"broadcast":"192.168.1.255"},{"family":'
        b'"inet","local":"10.9.0.1","prefixlen":30}]}]'
    )
    routes = (
        b'[{"dst":"default","gateway":"192.168.1.1","dev":"eth0","flags":[]},'
        b'{"dst":"192.168.1.0/24","dev":"eth0","scope":"link","flags":[]},'
        b'{"type":"unreachable","dst":"10.0.0.5","flags":[]}]'
    )
    assert parse_ip_addresses(addresses) == (
        IPv4Interface("127.0.0.1/8"),
        IPv4Interface("192.168.1.7/24"),
        IPv4Interface("10.9.0.1/30"),
    )
    assert parse_ip_routes(routes) == (
        IPv4Network("0.0.0.0/0"),
        IPv4Network("192.168.1.0/24"),
        IPv4Network("10.0.0.5/32"),
    )


@pytest.mark.parametrize("shell", [("/bin/sh",), ("/bin/bash", "--posix")], ids=["sh", "bash"])
def test_the_script_is_one_for_every_posix_shell(shell: tuple[str, ...]) -> None:
    """``/bin/sh`` is dash on Debian, bash in POSIX mode on macOS."""
    probes = (PLATFORM, say("words", 'printf "%s|" "$@"', "it's", "a\\b"), say("bad", "exit 7"))
    channel = LocalChannel(shell, "localhost")
    payload = wrap_script(render_probe_script(probes, NONCE), "greeting")
    heard = converse(channel, payload, Deadline(30))
    assert (heard.gave_up, heard.returncode) == ("", 0)
    answers = split_answers(probes, NONCE, heard.stdout, heard.stderr, heard.seconds_at)
    said = {name: (each.returncode, each.stdout) for name, each in answers.completed.items()}
    assert said == {
        "uname": (0, b"Linux 6.1 arm64\n"),
        "words": (0, b"it's|a\\b|"),
        "bad": (7, b""),
    }


@pytest.mark.parametrize("shell", [("/bin/sh",), ("/bin/bash", "--posix")], ids=["sh", "bash"])
def test_what_hangs_ends_with_the_channel(shell: tuple[str, ...]) -> None:
    """Closing standard input is all that the end of an ssh connection does on a host."""
    probes = (PLATFORM, say("slow", "echo $$; exec sleep 76543"))
    process = subprocess.Popen(
        shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(wrap_script(render_probe_script(probes, NONCE), "greeting"))
    process.stdin.flush()
    output = b""
    while not output.endswith(b"\n") or b"b:1" not in output:
        output += process.stdout.read1(1000)
    process.stdin.close()
    assert process.stdout.read() == b""  # nobody is left who could write
    assert process.wait(60) == -signal.SIGKILL
    process.stdout.close()
