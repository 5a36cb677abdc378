"""From cables to a ring that works and back, on simulated Macs of every shape."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.netns.setups import (
    auto_setup,
    await_end_of_processes,
    carried_by,
    journals,
    states,
    teardown,
)
from tests.simulated_macs import (
    Bridge,
    Layout,
    SimulatedMacs,
    mesh_of,
    pair,
    ring_of,
    simulated,
    triangle,
)

OFF = Bridge(up=False)


def host_files(macs: SimulatedMacs) -> dict[str, str]:
    """Every file that is not of the system, on each host."""
    words = ["/usr/bin/find", "/Users", "/tmp", "/var", "/Library", "-xdev", "!", "-name", "*.log"]
    return {mac.name: mac.run(words, user="root").stdout for mac in macs}


def prove_cables(macs: SimulatedMacs, ends: list[tuple[str, str, str, str]]) -> None:
    """Pings of each address cross their own cable, both ways, and nothing else.

    Other interfaces may carry an ARP packet meanwhile, which has 42 bytes.

    Args:
        ends: host, its port, the peer's address, and ``peer port`` of the other end.
    """
    before = carried_by(macs)
    for host, port, address, other_end in ends:
        peer, peer_port = other_end.split()
        done = macs[host].run(["/sbin/ping", "-c", "10", "-i", "0.02", "-s", "1400", address])
        assert done.returncode == 0, done.stdout
        after = carried_by(macs)
        grown = {end: nbytes - before[end] for end, nbytes in after.items()}
        assert {end for end, nbytes in grown.items() if nbytes > 28_000} == {
            (host, port),
            (peer, peer_port),
        }
        assert {end for end, nbytes in grown.items() if 1_000 < nbytes <= 28_000} == set()
        before = after


RING_OF_4 = [
    ("studio1", "en3", "10.231.0.2", "studio2 en2"),
    ("studio2", "en2", "10.231.0.1", "studio1 en3"),
    ("studio1", "en2", "10.231.0.6", "studio4 en3"),
    ("studio4", "en3", "10.231.0.5", "studio1 en2"),
    ("studio2", "en3", "10.231.0.10", "studio3 en2"),
    ("studio3", "en2", "10.231.0.9", "studio2 en3"),
    ("studio3", "en3", "10.231.0.14", "studio4 en2"),
    ("studio4", "en2", "10.231.0.13", "studio3 en3"),
]
MESH_OF_4 = [
    ("studio1", "en2", "10.231.0.2", "studio2 en2"),
    ("studio1", "en3", "10.231.0.6", "studio3 en2"),
    ("studio1", "en4", "10.231.0.10", "studio4 en2"),
    ("studio2", "en3", "10.231.0.14", "studio3 en3"),
    ("studio2", "en4", "10.231.0.18", "studio4 en3"),
    ("studio3", "en4", "10.231.0.22", "studio4 en4"),
]
TRIANGLE = [
    ("studio1", "en3", "10.231.0.2", "studio2 en2"),
    ("studio1", "en2", "10.231.0.6", "studio3 en3"),
    ("studio2", "en3", "10.231.0.10", "studio3 en2"),
]
PAIR_OF_2 = [
    ("studio1", "en2", "10.231.0.2", "studio2 en2"),
    ("studio1", "en3", "10.231.0.6", "studio2 en3"),
]


@pytest.mark.parametrize(
    ("layout", "cables", "ips"),
    [
        pytest.param(
            ring_of(4).with_macs(bridge=OFF),
            RING_OF_4,
            [["10.231.0.5"], ["10.231.0.2"], ["10.231.0.10"], ["10.231.0.14"]],
            id="ring4",
        ),
        pytest.param(
            mesh_of(4).with_macs(bridge=OFF),
            MESH_OF_4,
            [["10.231.0.9"], ["10.231.0.2"], ["10.231.0.14"], ["10.231.0.22"]],
            id="mesh4",
        ),
        pytest.param(
            triangle().with_macs(bridge=OFF),
            TRIANGLE,
            [["10.231.0.5"], ["10.231.0.2"], ["10.231.0.10"]],
            id="triangle",
        ),
        pytest.param(pair(), PAIR_OF_2[:1], [["10.231.0.1"], ["10.231.0.2"]], id="pair"),
        pytest.param(
            pair(2),
            PAIR_OF_2,
            [["10.231.0.1", "10.231.0.5"], ["10.231.0.2", "10.231.0.6"]],
            id="pair2",
        ),
    ],
)
def test_setup_proves_every_cable_and_teardown_leaves_no_trace(
    layout: Layout, cables: list[tuple[str, str, str, str]], ips: list[list[str]], tmp_path: Path
) -> None:
    with simulated(layout, tmp_path) as macs:
        before, files = states(macs), host_files(macs)
        done = auto_setup(macs, "-o", "hostfile.json")
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert json.loads((macs.home / "hostfile.json").read_text()) == [
            {"ssh": host, "ips": each} for host, each in zip(macs.names, ips, strict=True)
        ]
        assert {mac.name: len(mac.exec_channels()) for mac in macs} == dict.fromkeys(macs.names, 4)
        assert len(journals(macs)) == len(macs.names)
        prove_cables(macs, cables)
        configured = states(macs)

        again = auto_setup(macs)
        assert again.returncode == 0, again.stderr
        assert states(macs) == configured

        undone = teardown(macs)
        assert undone.returncode == 0, undone.stderr
        assert states(macs) == before
        assert host_files(macs) == files
        assert journals(macs) == []
        await_end_of_processes(macs)

        nothing = teardown(macs)
        assert nothing.returncode == 0
        assert states(macs) == before


@pytest.mark.slow  # it measures, and shares its cores with no other test
def test_a_ring_of_16_is_set_up_in_under_20_seconds(tmp_path: Path) -> None:
    with simulated(ring_of(16).with_macs(bridge=OFF), tmp_path) as macs:
        before = states(macs)
        began = time.monotonic()
        done = auto_setup(macs, "-o", "hostfile.json")
        seconds = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        assert "16 cables verified both ways" in done.stderr
        assert seconds < 20
        assert max(len(mac.exec_channels()) for mac in macs) <= 4
        assert len(json.loads((macs.home / "hostfile.json").read_text())) == 16
        assert teardown(macs).returncode == 0
        assert states(macs) == before
        assert journals(macs) == []


def test_three_hosts_in_a_cycle_are_warned_and_teardown_closes_no_loop(tmp_path: Path) -> None:
    with simulated(triangle(), tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs, "-o", "hostfile.json")
        assert done.returncode == 0, done.stderr
        assert "close a loop" in done.stderr
        undone = teardown(macs)
        assert "bridge0 stays off" in undone.stderr
        for mac in macs:
            assert not mac.bridge_is_up()
            assert sorted(mac.members()["bridge0"]) == ["en2", "en3", "en4"]
        assert len(journals(macs)) == 3
        macs["studio1"].cut("en3")
        assert teardown(macs).returncode == 0
        assert journals(macs) == []
        macs["studio1"].plug("en3", "studio2", "en2")
        assert states(macs) == before


def test_the_printed_commands_do_the_same_when_pasted(tmp_path: Path) -> None:
    """Into any shell; pasted commands have no journal, so only addresses are taken back."""
    layout = pair().with_mac("studio2", login_shell="/usr/bin/fish")
    with simulated(layout, tmp_path) as macs:
        printed = macs.run_cli(["--hosts", "studio1,studio2"])
        assert printed.returncode == 0
        commands, _, hostfile = printed.stdout.partition("\n# hostfile.json\n")
        one, two = commands.split("\n\n")
        pasted = macs.run(["ssh", "studio1", one])
        assert (pasted.returncode, pasted.stderr) == (0, "")
        pasted = macs.run(["ssh", "studio2", two])
        assert (pasted.returncode, pasted.stderr) == (0, "")
        by_hand = states(macs)
        checked = auto_setup(macs)
        assert checked.returncode == 0, checked.stderr
        assert checked.stdout == f"\n# hostfile.json\n{hostfile}"
        assert states(macs) == by_hand
        assert "1 cables verified both ways" in checked.stderr

        undone = teardown(macs)
        assert undone.returncode == 0
        assert "sudo /sbin/ifconfig bridge0 up" in undone.stderr
        assert "sudo /sbin/ifconfig bridge0 addm en2" in undone.stderr
        for mac in macs:
            assert "en2" not in mac.addresses()
            assert mac.members()["bridge0"] == ["en3", "en4"]


def test_a_dry_run_shows_everything_and_changes_nothing(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = states(macs)
        shown = auto_setup(macs, "--dry-run")
        assert shown.returncode == 0
        assert "#   undo: sudo /sbin/ifconfig bridge0 addm en2\n" in shown.stdout
        assert "60 s" in shown.stdout
        assert states(macs) == before
        assert journals(macs) == []
        assert auto_setup(macs).returncode == 0
        configured = states(macs)
        shown = teardown(macs, "--dry-run")
        assert shown.returncode == 0
        assert "sudo /sbin/ifconfig bridge0 addm en2\n" in shown.stdout
        assert states(macs) == configured


def test_mtu_is_set_on_both_ends_and_taken_back(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = states(macs)
        assert auto_setup(macs, "--mtu", "9000").returncode == 0
        for mac in macs:
            assert " mtu 9000" in mac.run(["/sbin/ifconfig", "en2"]).stdout
            assert " mtu 1500" in mac.run(["/sbin/ifconfig", "en3"]).stdout
        assert teardown(macs).returncode == 0
        assert states(macs) == before


def test_an_mtu_that_the_port_does_not_take_changes_nothing(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = states(macs)
        refused = auto_setup(macs, "--mtu", "1200")
        assert refused.returncode == 7
        assert "takes an mtu of 1280" in refused.stderr
        assert states(macs) == before
        assert macs["studio1"].state() == before["studio1"]
        assert journals(macs) == []
