"""Setup and teardown among everything else that hosts are used for."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.netns.setups import (
    auto_setup,
    await_end_of_processes,
    journals,
    states,
    teardown,
)
from tests.netns.steps import wait_until
from tests.simulated_macs import (
    Bridge,
    Layout,
    SimulatedMacs,
    Vpn,
    joined,
    pair,
    ring_of,
    simulated,
    triangle,
)

OFF = Bridge(up=False)


def addresses_of(macs: SimulatedMacs, *ends: str) -> list[str]:
    """The addresses of ends such as ``studio1 en2``, in one string each."""
    pairs = [end.split() for end in ends]
    return [" ".join(macs[host].addresses().get(port, ())) for host, port in pairs]


def assert_round_trip(macs: SimulatedMacs, addresses: Sequence[str]) -> None:
    """Setup gives ``en2`` of both hosts these addresses; teardown restores everything."""
    before = states(macs)
    done = auto_setup(macs)
    assert done.returncode == 0, done.stderr
    assert addresses_of(macs, "studio1 en2", "studio2 en2") == list(addresses)
    lan = macs["studio1"].run(["/sbin/ping", "-c", "1", "-t", "5", macs["studio2"].lan_address])
    assert lan.returncode == 0
    undone = teardown(macs)
    assert undone.returncode == 0, undone.stderr
    assert states(macs) == before
    assert journals(macs) == []


# Addresses in use


@pytest.mark.parametrize(
    ("layout", "addresses"),
    [
        pytest.param(
            pair().on_lan("192.168.0.0/24").with_mac("studio2", vpn=Vpn()),
            ["10.231.0.1/30", "10.231.0.2/30"],
            id="lan 192.168.0 and a full tunnel",
        ),
        pytest.param(
            pair().on_lan("10.0.0.0/8"), ["172.29.0.1/30", "172.29.0.2/30"], id="lan 10/8"
        ),
        pytest.param(
            pair().with_mac("studio2", vpn=Vpn(routes=("10.128.0.0/9",))),
            ["172.29.0.1/30", "172.29.0.2/30"],
            id="split tunnel",
        ),
    ],
)
def test_the_addresses_avoid_what_is_in_use(
    layout: Layout, addresses: list[str], tmp_path: Path
) -> None:
    with simulated(layout, tmp_path) as macs:
        assert_round_trip(macs, addresses)


def old_setup(layout: Layout, one: str, two: str) -> Layout:
    layout = layout.with_mac("studio1", addresses={"en2": (one,)})
    return layout.with_mac("studio2", addresses={"en2": (two,)})


def test_an_old_setup_outside_the_home_lan_is_kept(tmp_path: Path) -> None:
    """Nothing is run, so there is no journal; without one a teardown takes such addresses off."""
    with simulated(old_setup(pair(), "192.168.0.1/30", "192.168.0.2/30"), tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 0, done.stderr
        assert '"ips": ["192.168.0.1"]' in done.stdout
        assert states(macs) == before
        assert journals(macs) == []
        undone = teardown(macs)
        assert undone.returncode == 0
        assert "no setup of this host is known here" in undone.stderr
        assert addresses_of(macs, "studio1 en2", "studio2 en2") == ["", ""]


def test_an_old_setup_inside_the_home_lan_moves_out_and_comes_back(tmp_path: Path) -> None:
    layout = pair().on_lan("192.168.0.0/24")
    with simulated(old_setup(layout, "192.168.0.5/30", "192.168.0.6/30"), tmp_path) as macs:
        assert_round_trip(macs, ["10.231.0.1/30", "10.231.0.2/30"])


def test_a_foreign_address_is_kept_or_replaced_as_asked(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", addresses={"en2": ("192.168.50.1/24",)})
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 0
        assert "en2 keeps its address 192.168.50.1/24" in done.stderr
        assert addresses_of(macs, "studio1 en2") == ["192.168.50.1/24 10.231.0.1/30"]
        assert teardown(macs).returncode == 0
        assert states(macs) == before
        assert auto_setup(macs, "--replace-addresses").returncode == 0
        assert addresses_of(macs, "studio1 en2") == ["10.231.0.1/30"]
        assert teardown(macs).returncode == 0
        assert states(macs) == before


# Bridges


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(
            None, Bridge(name="bridge1", address="10.9.9.2/24"), id="none and bridge1 with address"
        ),
        pytest.param(Bridge(up=False), Bridge(members=("en3", "en4")), id="down and of others"),
    ],
)
def test_a_bridge_of_any_kind_is_restored(one: Bridge | None, two: Bridge, tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", bridge=one).with_mac("studio2", bridge=two)
    with simulated(layout, tmp_path) as macs:
        assert_round_trip(macs, ["10.231.0.1/30", "10.231.0.2/30"])


def test_a_bridge_with_a_member_in_use_stays_up(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", bridge=Bridge(members=("en2", "en3", "en8")))
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 0, done.stderr
        assert "bridge0 stays up, since en8 is in use there" in done.stderr
        assert macs["studio1"].bridge_is_up()
        assert macs["studio1"].members()["bridge0"] == ["en3", "en8"]
        assert not macs["studio2"].bridge_is_up()
        assert teardown(macs).returncode == 0
        assert states(macs) == before


def test_configd_puts_ports_back_during_and_after_the_setup(tmp_path: Path) -> None:
    """In a bridge that is off they keep their addresses and their cables work."""
    layout = ring_of(3).with_macs(put_back_every_s=0.2)
    with simulated(layout, tmp_path) as macs:
        done = auto_setup(macs, "-o", "hostfile.json")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: all(len(mac.members()["bridge0"]) == 3 for mac in macs))
        assert not any(mac.bridge_is_up() for mac in macs)
        for host, peer in (("studio1", "10.231.0.2"), ("studio3", "10.231.0.9")):
            assert macs[host].run(["/sbin/ping", "-c", "1", "-t", "5", peer]).returncode == 0


def test_a_port_that_configd_put_back_leaves_again_with_the_next_setup(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = states(macs)
        assert auto_setup(macs).returncode == 0
        assert macs["studio1"].configd_put_back() == ["en2"]
        again = auto_setup(macs)
        assert again.returncode == 0, again.stderr
        assert macs["studio1"].members()["bridge0"] == ["en3", "en4"]
        macs["studio2"].configd_put_back()
        assert teardown(macs).returncode == 0
        assert states(macs) == before
        assert journals(macs) == []


# How hosts are reached


def amend_ssh_config(macs: SimulatedMacs, host: str, *lines: str) -> None:
    config = macs.home / ".ssh/config"
    head = f"Host {host}\n" + "".join(f"    {line}\n" for line in lines)
    config.write_text(head + config.read_text())


def test_a_host_reached_over_the_thunderbolt_bridge_is_refused(tmp_path: Path) -> None:
    layout = pair()
    for last, host in enumerate(layout.names(), start=1):
        layout = layout.with_mac(host, bridge=Bridge(address=f"10.9.9.{last}/24"))
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        lan = macs["studio2"].lan_address
        amend_ssh_config(
            macs, "studio2", "HostName 10.9.9.2", "ProxyJump studio1", f"HostKeyAlias {lan}"
        )
        done = auto_setup(macs)
        assert done.returncode == 7
        assert "ssh connection comes in through bridge0 (10.9.9.2)" in done.stderr
        assert f"name the host by its address {lan} on en0 instead" in done.stderr
        assert states(macs) == before
        assert journals(macs) == []


def test_hosts_behind_a_jump_host_with_other_users_and_ports(tmp_path: Path) -> None:
    layout = triangle().with_macs(bridge=OFF)
    layout = layout.with_mac("studio2", user="ada", ssh_port=2222, login_shell="/usr/bin/fish")
    layout = layout.with_mac("studio3", banner="Welcome!\n@ step 0 1\n@ end")
    with simulated(layout, tmp_path) as macs:
        amend_ssh_config(macs, "studio2", "ProxyJump studio1")
        amend_ssh_config(macs, "studio3", "ProxyJump studio1")
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 0, done.stderr
        assert "3 cables verified both ways" in done.stderr
        assert teardown(macs).returncode == 0
        assert states(macs) == before


# sudo


def paste(macs: SimulatedMacs, host: str, text: str) -> subprocess.CompletedProcess[str]:
    """Type the commands of a host into a shell there, with the password."""
    mode = macs[host].mac.sudo
    macs[host].set_sudo("free")
    try:
        return macs.run(["ssh", host, text])
    finally:
        macs[host].set_sudo(mode)


def test_a_host_that_wants_a_password_is_left_to_the_person(tmp_path: Path) -> None:
    layout = triangle().with_macs(bridge=OFF).with_mac("studio2", sudo="password")
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs, "-o", "hostfile.json")
        assert done.returncode == 7, done.stderr
        assert "studio2 was left to you" in done.stderr
        assert "a password is required" in done.stderr
        assert "1 cables verified both ways" in done.stderr
        assert macs["studio2"].state() == before["studio2"]
        assert done.stdout.startswith("# studio2: run these on it\n")
        assert "studio1: run" not in done.stdout
        pasted = paste(macs, "studio2", done.stdout)
        assert (pasted.returncode, pasted.stderr) == (0, "")
        again = auto_setup(macs)
        assert again.returncode == 0
        assert "3 cables verified both ways" in again.stderr
        assert "left to you" not in again.stderr

        undone = teardown(macs)
        assert undone.returncode == 7
        assert "studio2 was left to you" in undone.stderr
        assert [macs[name].state() for name in ("studio1", "studio3")] == [
            before["studio1"],
            before["studio3"],
        ]
        assert "sudo /sbin/ifconfig en2 inet 10.231.0.2 -alias\n" in undone.stdout


def test_an_administrator_with_some_other_right_is_left_to_the_person(tmp_path: Path) -> None:
    """Then sudo lists every command as allowed, and wants a password for all but one."""
    rules = "%admin ALL=(ALL) ALL\nadmin ALL=(root) NOPASSWD: /usr/bin/powermetrics"
    with simulated(pair().with_mac("studio2", sudo=rules), tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 7, done.stderr
        assert "studio2 was left to you" in done.stderr
        assert "not allowed without a password: sudo /" in done.stderr
        assert done.stdout.startswith("# studio2: run these on it\n")
        assert macs["studio2"].state() == before["studio2"]


def test_without_any_right_nothing_changes_and_all_is_printed(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", sudo="absent").with_mac("studio2", sudo="password")
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        done = auto_setup(macs)
        assert done.returncode == 7, done.stderr
        assert "# studio1: run these on it\n" in done.stdout
        assert "# studio2: run these on it\n" in done.stdout
        assert "0 cables verified" in done.stderr
        assert states(macs) == before
        assert journals(macs) == []


def test_the_printed_sudoers_snippet_is_the_only_right_needed(tmp_path: Path) -> None:
    with simulated(triangle().with_macs(bridge=OFF), tmp_path) as macs:
        before = states(macs)
        shown = auto_setup(macs, "--dry-run", "--verbose")
        assert shown.returncode == 0
        blocks = shown.stdout.split("\n# ")
        for mac in macs:
            wanted = f"{mac.name}: sudo visudo"
            (snippet,) = [block for block in blocks if block.startswith(wanted)]
            mac.set_sudo("# " + snippet.replace("USER ALL", "admin ALL"))
            assert mac.run(["/usr/bin/sudo", "-n", "/usr/bin/true"]).returncode == 1
        done = auto_setup(macs)
        assert done.returncode == 0, done.stderr
        assert "3 cables verified both ways" in done.stderr
        undone = teardown(macs)
        assert undone.returncode == 0, undone.stderr
        assert states(macs) == before
        await_end_of_processes(macs)


# Other clusters, and reboots


@pytest.mark.slow
def test_two_clusters_share_a_host(tmp_path: Path) -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("c", "e")]
    layout = joined("abcde", edges)
    layout = replace(layout, macs=tuple(replace(mac, bridge=OFF) for mac in layout.macs))
    with simulated(layout, tmp_path) as macs:
        before = states(macs)
        assert auto_setup(macs, hosts="abc").returncode == 0
        first = states(macs)
        done = auto_setup(macs, hosts="cde")
        assert done.returncode == 0, done.stderr
        assert addresses_of(macs, "c en4", "d en2") == ["172.29.0.1/30", "172.29.0.2/30"]
        assert states(macs)["a"] == first["a"]
        again = auto_setup(macs, hosts="abc")
        assert again.returncode == 0, again.stderr
        assert "3 cables verified both ways" in again.stderr

        undone = teardown(macs, hosts="cde")
        assert undone.returncode == 0, undone.stderr
        assert "cabled to a machine that is not named" in undone.stderr
        now = states(macs)
        assert (now["d"], now["e"]) == (before["d"], before["e"])
        assert now["c"] == first["c"]
        assert teardown(macs, hosts="abc").returncode == 0
        assert states(macs) == before
        assert journals(macs) == []


def test_a_reboot_between_setup_and_teardown(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        assert auto_setup(macs).returncode == 0
        macs["studio1"].reboot()
        undone = teardown(macs)
        assert undone.returncode == 0, undone.stderr
        assert journals(macs) == []
        for mac in macs:
            assert mac.bridge_is_up()
            assert sorted(mac.members()["bridge0"]) == ["en2", "en3", "en4"]
            assert "en2" not in mac.addresses()


def test_a_reboot_and_the_next_setup_gives_the_same_addresses(tmp_path: Path) -> None:
    with simulated(pair(2), tmp_path) as macs:
        assert auto_setup(macs, "-o", "one.json").returncode == 0
        macs["studio2"].reboot()
        done = auto_setup(macs, "-o", "two.json")
        assert done.returncode == 0, done.stderr
        assert (macs.home / "one.json").read_text() == (macs.home / "two.json").read_text()
