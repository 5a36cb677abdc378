"""Cables under test on simulated Macs: slow, cut, led astray, without a Python, for long."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.netns.setups import auto_setup
from tests.netns.steps import wait_until
from tests.simulated_macs import SimulatedMacs, ring_of, simulated

HOSTS = "studio1,studio2,studio3,studio4"


@pytest.fixture
def macs(tmp_path: Path) -> Iterator[SimulatedMacs]:
    """A ring of four that was set up, its cables far slower than a busy machine is."""
    with simulated(ring_of(4), tmp_path) as lab:
        assert auto_setup(lab, "-o", "h.json").returncode == 0
        shape_all(lab, "50mbit")
        yield lab


def shape_all(macs: SimulatedMacs, rate: str) -> None:
    for mac in macs:
        mac.shape("en3", rate)


def verify(macs: SimulatedMacs, *words: str) -> dict[str, dict[str, Any]]:
    """The cables by their first and second end, as ``verify --json`` tells them."""
    done = macs.run_cli(["verify", "--json", *(words or ("--hosts", HOSTS))])
    cables = {
        " ".join(f"{end['host']}:{end['interface']}" for end in cable["ends"]): cable
        for cable in json.loads(done.stdout)["cables"]
    }
    is_good = all(cable["verdict"] == "good" for cable in cables.values())
    assert done.returncode == (0 if is_good else 8), done.stderr
    return cables


def verdicts(cables: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: cable["verdict"] for name, cable in cables.items()}


ONE, TWO, THREE, FOUR = (
    "studio1:en3 studio2:en2",
    "studio2:en3 studio3:en2",
    "studio3:en3 studio4:en2",
    "studio1:en2 studio4:en3",
)


@pytest.mark.slow
def test_a_slow_cable_is_named_by_both_ends_and_the_counters_agree(macs: SimulatedMacs) -> None:
    shape_all(macs, "500mbit")
    macs["studio2"].shape("en3", "50mbit")
    before = {mac.name: mac.counters() for mac in macs}
    cables = verify(macs)
    assert verdicts(cables) == {ONE: "good", TWO: "slow", THREE: "good", FOUR: "good"}
    assert any("studio2 to studio3 carried 0.0" in cause for cause in cables[TWO]["causes"])
    for cable in cables.values():
        for end, direction in zip(cable["ends"], cable["directions"], strict=True):
            assert direction["from"] == end["host"]
            assert direction["route"] == direction["carried_by"] == end["interface"]
            assert 0 < direction["rtt_ms"] < 1000
            sent = macs[end["host"]].counters()[end["interface"]].sent_bytes
            sent -= before[end["host"]][end["interface"]].sent_bytes
            assert direction["bytes"] <= sent <= 1.3 * direction["bytes"] + 4_000_000
    assert 0.02 < cables[TWO]["directions"][0]["gbps"] < 0.06


@pytest.mark.slow
def test_a_cut_cable_is_dead_and_a_route_over_the_lan_is_the_wrong_way(
    macs: SimulatedMacs,
) -> None:
    macs["studio3"].cut("en3")
    route = ["/usr/bin/sudo", "-n", "/sbin/route", "-n", "add", "-host", "10.231.0.2"]
    macs["studio1"].run([*route, "-interface", "en0"])
    cables = verify(macs, "--hostfile", "h.json")
    assert verdicts(cables) == {ONE: "wrong way", TWO: "good", THREE: "dead", FOUR: "good"}
    assert cables[ONE]["causes"] == ["studio1 routes 10.231.0.2 through en0, not en3"]
    assert cables[THREE]["causes"][0] == "neither studio3 nor studio4 sees a cable there"
    picture = macs.run_cli(["verify", "--hosts", HOSTS, "--seconds", "0.3", "--dot"]).stdout
    lines = {line.split(" [")[0]: line for line in picture.splitlines() if " -- " in line}
    assert "wrong way" in lines['"studio1" -- "studio2"']
    assert "dead" in lines['"studio3" -- "studio4"']
    assert " Gb/s measured" in lines['"studio2" -- "studio3"']


def test_a_cable_that_was_cut_while_its_host_restarted_is_known_from_the_hostfile(
    macs: SimulatedMacs,
) -> None:
    macs["studio3"].cut("en3")
    macs["studio3"].reboot()
    (macs.home / ".local/state/distributed_config/cables.json").unlink()
    done = macs.run_cli(["verify", "--hostfile", "h.json", "--seconds", "0.2", "--json"])
    dead = [
        (each["ends"][0]["host"], each["ends"][1]["host"], each["causes"])
        for each in json.loads(done.stdout)["cables"]
        if each["verdict"] == "dead"
    ]
    assert dead == [
        ("studio2", "studio3", ["studio3 en2 has not got an address",
                                "studio3 en2 is in bridge0, which is up"]),
        ("studio3", "studio4", ["neither studio3 nor studio4 sees a cable there",
                                "no port of studio3 has the address 10.231.0.13/30",
                                "studio4 does not answer studio3 at 10.231.0.14",
                                "studio3 does not answer studio4 at 10.231.0.13"]),
    ]  # fmt: skip


def test_where_there_is_no_python_a_ping_has_to_do(macs: SimulatedMacs) -> None:
    macs["studio2"].break_command("xcode-select -p")
    cables = verify(macs, "--hosts", HOSTS, "--seconds", "0.5")
    assert set(verdicts(cables).values()) == {"good"}
    reason = "no Python 3.8 or newer on studio2"
    missing = {name: [d["not_measured_because"] for d in c["directions"]] for name, c in
               cables.items()}  # fmt: skip
    assert missing == {
        ONE: [reason] * 2, TWO: [reason] * 2, THREE: [None] * 2, FOUR: [None] * 2,
    }  # fmt: skip
    assert all(each["rtt_ms"] for each in cables[ONE]["directions"])


@pytest.mark.slow
def test_a_host_whose_programs_are_refused_the_network_has_dead_cables(macs: SimulatedMacs) -> None:
    # A firewall, or Local Network privacy: pings of the system pass, our own streams do not.
    for words in (
        ["route", "add", "unreachable", "10.231.0.0/16", "table", "99"],
        ["rule", "add", "uidrange", "501-501", "lookup", "99"],
    ):
        macs["studio1"].run(["/usr/sbin/ip", *words], user="root")
    cables = verify(macs, "--hosts", HOSTS, "--seconds", "0.3")
    assert verdicts(cables) == {ONE: "dead", TWO: "good", THREE: "good", FOUR: "dead"}
    (cause, *_) = cables[ONE]["causes"]
    assert cause.startswith("studio1 to studio2: 10.231.0.2 answers, a stream does not come")
    assert "No route to host" in cause


def looks_at(macs: SimulatedMacs, host: str) -> int:
    return [words for _, words, _ in macs[host].commands()].count("ifconfig -a")


@pytest.mark.slow
def test_a_soak_tells_of_a_link_that_was_lost_and_came_back(macs: SimulatedMacs) -> None:
    command = [sys.executable, "-m", "distconfig.cli", "verify", "--hosts", HOSTS]
    command += ["--soak", "30", "--json"]
    with macs.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as soaking:
        try:
            assert soaking.stderr is not None
            assert soaking.stderr.readline() == (
                "loading 4 cables at once for 1800 s; Ctrl-C ends it sooner\n"
            )
            ends = ("studio2", "studio3")
            known = {host: looks_at(macs, host) for host in ends}
            for host in ends:
                wait_until(lambda host=host: looks_at(macs, host) >= known[host] + 2)
            sent = macs["studio2"].counters()["en3"].sent_bytes
            wait_until(lambda: macs["studio2"].counters()["en3"].sent_bytes > sent + 10_000_000)
            told: list[str] = []
            macs["studio2"].cut("en3")
            read_until_told(soaking.stderr, told, [*LOST, *BROKEN])
            macs["studio2"].plug("en3", "studio3", "en2")
            read_until_told(soaking.stderr, told, [*BACK, *FLOWING])
            soaking.send_signal(signal.SIGINT)
            stdout, stderr = soaking.communicate(timeout=60)
        finally:
            soaking.kill()
    assert soaking.returncode == 8, stderr
    document = json.loads(stdout)
    events = [event.partition(": ")[2] for event in document["events"]]
    assert (sorted(events[:2]), sorted(events[2:])) == (LOST, BACK)
    remarks = {
        " ".join(end["host"] for end in cable["ends"]): "\n".join(cable["remarks"])
        for cable in document["cables"]
    }
    for there, back in (("studio2", "studio3"), ("studio3", "studio2")):
        for what in ("broke (", "flowed again at second "):
            assert f"{there} to {back}: the stream {what}" in remarks["studio2 studio3"]
    others = [text for name, text in remarks.items() if name != "studio2 studio3"]
    assert not any("stream" in text for text in others)


LOST = ["studio2 en3 lost its link", "studio3 en2 lost its link"]
BACK = ["studio2 en3 has its link again", "studio3 en2 has its link again"]
BOTH_WAYS = ("from studio2 to studio3", "from studio3 to studio2")
BROKEN = [f"the stream {way} broke (" for way in BOTH_WAYS]
FLOWING = [f"the stream {way} flowed again" for way in BOTH_WAYS]


def read_until_told(stream: IO[str], told: list[str], texts: Iterable[str]) -> None:
    """Read lines until each of the texts was in one."""
    while not all(any(text in line for line in told) for text in texts):
        line = stream.readline()
        assert line, told
        told.append(line)


@pytest.mark.slow
def test_sixteen_hosts_take_less_than_a_minute_and_nothing_is_left_behind(tmp_path: Path) -> None:
    with simulated(ring_of(16), tmp_path) as macs:
        assert auto_setup(macs).returncode == 0
        before = {mac.name: (mac.state(), files_of(macs, mac.name)) for mac in macs}
        begun = time.monotonic()
        done = macs.run_cli(["verify", "--hosts", ",".join(macs.names), "--json"])
        assert time.monotonic() - begun < 60
        cables = json.loads(done.stdout)["cables"]
        assert len(cables) == 16
        assert all(d["bytes"] > 0 for cable in cables for d in cable["directions"])
        assert {cable["verdict"] for cable in cables} <= {"good", "slow"}
        assert {mac.name: (mac.state(), files_of(macs, mac.name)) for mac in macs} == before
        assert all(mac.processes() == [] for mac in macs)


def files_of(macs: SimulatedMacs, host: str) -> list[str]:
    """Every file in the places where a program may leave something."""
    places = ["/tmp", "/var/tmp", "/Users", "/var/root", "/Library", "/run"]
    done = macs[host].run(["/usr/bin/find", *places], user="root")
    return sorted(done.stdout.splitlines())
