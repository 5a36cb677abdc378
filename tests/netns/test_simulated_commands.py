"""The fake macOS commands: what they keep of macOS, and what they do to the real interface."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tests.netns.steps import address_both_ends, await_ping, carried, reaches, sudo, wait_until
from tests.simulated_macs import Bridge, Vpn, pair, simulated, triangle
from tests.simulated_macs.sudoers import SudoersError, list_entries, list_rules, parse_sudoers

CHECKOUT = Path(__file__).resolve().parents[2]


# Bridges


def test_a_port_in_an_up_bridge_carries_no_address_of_its_own(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        for host, last in (("studio1", 1), ("studio2", 2)):
            words = ["inet", f"10.231.0.{last}", "netmask", "255.255.255.252"]
            sudo(macs[host], "/sbin/ifconfig", "en2", *words)
        assert not reaches(macs["studio1"], "10.231.0.2")
        for mac in macs:
            sudo(mac, "/sbin/ifconfig", "bridge0", "down")
        await_ping(macs["studio1"], "10.231.0.2")
        shown = macs["studio1"].run(["/sbin/ifconfig", "bridge0"]).stdout.splitlines()
        assert shown[0] == "bridge0: flags=8822<BROADCAST,SMART,SIMPLEX,MULTICAST> mtu 1500"
        members = [line.split()[1] for line in shown if line.startswith("\tmember: ")]
        assert members == ["en2", "en3", "en4"]
        sudo(macs["studio1"], "/sbin/ifconfig", "bridge0", "up")
        assert not reaches(macs["studio1"], "10.231.0.2")


def test_a_bridge_joins_the_macs_at_the_ends_of_a_cable(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", bridge=Bridge(address="10.5.0.1/24"))
    layout = layout.with_mac("studio2", bridge=Bridge("bridge1", address="10.5.0.2/24"))
    with simulated(layout, tmp_path) as macs:
        await_ping(macs["studio1"], "10.5.0.2")
        assert macs["studio2"].members() == {"bridge1": ["en2", "en3", "en4"]}
        assert macs["studio2"].addresses()["bridge1"] == ["10.5.0.2/24"]


def test_a_cycle_of_up_bridges_does_not_storm(tmp_path: Path) -> None:
    layout = triangle()
    for number, host in enumerate(layout.names(), 1):
        layout = layout.with_mac(host, bridge=Bridge(address=f"10.5.0.{number}/24"))
    with simulated(layout, tmp_path) as macs:
        await_ping(macs["studio1"], "10.5.0.2")
        assert not reaches(macs["studio1"], "10.5.0.99")
        assert sum(carried(macs["studio3"]).values()) < 1000  # and not hundred thousands


def test_the_kernel_refuses_to_bridge_a_port_with_an_address(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        done = macs["studio1"].run(["sudo", "-n", "/sbin/ifconfig", "bridge0", "addm", "en2"])
        assert (done.returncode, done.stderr) == (1, "ifconfig: BRDGADD en2: Invalid argument\n")
        sudo(macs["studio1"], "/sbin/ifconfig", "en2", "inet", "10.231.0.1", "-alias")
        sudo(macs["studio1"], "/sbin/ifconfig", "bridge0", "addm", "en2")
        assert macs["studio1"].members() == {"bridge0": ["en3", "en4", "en2"]}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("bridge0 deletem en9", "ifconfig: BRDGDEL en9: No such file or directory\n"),
        ("bridge7 deletem en2", "ifconfig: interface bridge7 does not exist\n"),
        ("en2 mtu 100000", "ifconfig: ioctl (set mtu): Invalid argument\n"),
        (
            "en2 inet 10.0.0.1 -alias",
            "ifconfig: ioctl (SIOCDIFADDR): Can't assign requested address\n",
        ),
    ],
)
def test_ifconfig_refuses_in_its_own_words(tmp_path: Path, words: str, complaint: str) -> None:
    with simulated(pair(), tmp_path) as macs:
        before = macs["studio1"].state()
        done = macs["studio1"].run(["sudo", "-n", "/sbin/ifconfig", *words.split()])
        assert (done.returncode, done.stdout, done.stderr) == (1, "", complaint)
        assert macs["studio1"].state() == before


def test_configd_puts_freed_ports_back_when_told(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        assert studio.configd_put_back() == ["en2"]
        assert studio.configd_put_back() == []
        assert not reaches(studio, "10.231.0.2")
        assert studio.addresses()["en2"] == ["10.231.0.1/30"]
        sudo(studio, "/sbin/ifconfig", "bridge0", "down")
        await_ping(studio, "10.231.0.2")


def test_a_restless_configd_puts_ports_back_by_itself(tmp_path: Path) -> None:
    with simulated(pair().with_macs(put_back_every_s=0.1), tmp_path) as macs:
        sudo(macs["studio1"], "/sbin/ifconfig", "bridge0", "deletem", "en2")
        wait_until(lambda: "en2" in macs["studio1"].members()["bridge0"])


# Addresses and routes


def test_addresses_are_replaced_added_and_removed_as_bsd_does(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        change = ["/sbin/ifconfig", "en2", "inet"]
        sudo(studio, *change, "10.231.0.1", "netmask", "255.255.255.252", "mtu", "9000", "up")
        sudo(studio, *change, "10.231.0.5", "netmask", "0xfffffffc", "alias")
        assert studio.addresses()["en2"] == ["10.231.0.1/30", "10.231.0.5/30"]
        sudo(studio, *change, "192.168.7.1")
        assert studio.addresses()["en2"] == ["10.231.0.5/30", "192.168.7.1/24"]
        sudo(studio, *change, "10.231.0.5", "-alias")
        shown = studio.run(["/sbin/ifconfig", "en2"]).stdout.splitlines()
        assert shown[0].endswith(" mtu 9000")
        inet = [line for line in shown if line.startswith("\tinet ")]
        assert inet == ["\tinet 192.168.7.1 netmask 0xffffff00 broadcast 192.168.7.255"]


def test_route_changes_nothing_and_exits_0_if_there_is_no_route(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        root = ["sudo", "-n", "/sbin/route", "-n"]
        words = ["-host", "10.231.0.2", "-interface", "en2"]
        before = studio.state()
        done = studio.run([*root, "change", *words])
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            "change host 10.231.0.2: gateway en2: not in table\n",
            "route: writing to routing socket: not in table\n",
        )
        assert studio.state() == before
        done = studio.run([*root, "add", *words])
        assert (done.returncode, done.stdout) == (0, "add host 10.231.0.2: gateway en2\n")
        got = studio.run(["/sbin/route", "-n", "get", "10.231.0.2"]).stdout.splitlines()
        assert got[:3] == [
            "   route to: 10.231.0.2",
            "destination: 10.231.0.2",
            "  interface: en2",
        ]
        done = studio.run([*root, "add", *words])
        assert (done.returncode, done.stdout) == (
            0,
            "add host 10.231.0.2: gateway en2: File exists\n",
        )
        done = studio.run([*root, "change", "-host", "10.231.0.2", "-interface", "en3"])
        assert (done.returncode, done.stdout) == (0, "change host 10.231.0.2: gateway en3\n")
        done = studio.run([*root, "delete", "-host", "10.231.0.2", "-interface", "en3"])
        assert (done.returncode, done.stdout) == (0, "delete host 10.231.0.2: gateway en3\n")
        assert studio.state() == before


def test_only_root_changes_anything(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        before = studio.state()
        done = studio.run(["/sbin/route", "-n", "add", "-host", "10.0.0.1", "-interface", "en2"])
        assert (done.returncode, done.stderr) == (
            77,
            "route: must be root to alter routing table\n",
        )
        done = studio.run(["/sbin/ifconfig", "bridge0", "deletem", "en2"])
        assert (done.returncode, done.stderr) == (
            1,
            "ifconfig: BRDGDEL en2: Operation not permitted\n",
        )
        assert studio.state() == before


def test_what_the_lan_looks_like_is_free_to_choose(tmp_path: Path) -> None:
    layout = pair().on_lan("10.0.0.0/8")
    layout = layout.with_mac(
        "studio1",
        vpn=Vpn("10.66.0.2"),
        addresses={"en4": ("169.254.7.7/16",), "en0": ("192.168.0.9/30",)},
        routes=("172.29.0.0/20 via 10.0.0.1",),
    )
    with simulated(layout, tmp_path) as macs:
        assert macs.ssh("studio1", "true").returncode == 0
        assert macs["studio1"].addresses() == {
            "en0": ["10.0.0.11/8", "192.168.0.9/30"],
            "en4": ["169.254.7.7/16"],
            "utun4": ["10.66.0.2/32"],
        }
        assert macs["studio1"].members() == {"bridge0": ["en2", "en3"]}
        table = macs.ssh("studio1", "/usr/sbin/netstat -rn -f inet").stdout.splitlines()
        routed = {line.split()[0]: line.split()[3] for line in table[4:]}
        assert routed == {
            "default": "en0",
            "127": "lo0",
            "127.0.0.1": "lo0",
            "0/1": "utun4",
            "10": "en0",
            "128.0/1": "utun4",
            "169.254": "en4",
            "172.29/20": "en0",
            "192.168.0.8/30": "en0",
            "10.0.0.11/32": "en0",
            "192.168.0.9/32": "en0",
            "169.254.7.7/32": "en4",
            "10.66.0.2/32": "utun4",
        }


def test_ipconfig_hands_a_port_back_to_macos(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", addresses={"en2": ("169.254.7.7/16",)})
    with simulated(layout, tmp_path) as macs:
        studio = macs["studio1"]
        before = studio.state()
        sudo(studio, "/sbin/ifconfig", "en2", "inet", "10.231.0.1", "netmask", "255.255.255.252")
        assert studio.addresses()["en2"] == ["10.231.0.1/30"]
        sudo(studio, "/usr/sbin/ipconfig", "set", "en2", "DHCP")
        assert studio.state() == before
        assert studio.run(["/usr/sbin/ipconfig", "getifaddr", "en2"]).stdout == "169.254.7.7\n"


# sudo


@pytest.mark.parametrize(
    ("mode", "answers"),
    [
        ("free", {"true": (0, ""), "-l -- /sbin/route x": (0, "")}),
        (
            "password",
            {
                "true": (1, "sudo: a password is required\n"),
                "-l": (1, "sudo: a password is required\n"),
            },
        ),
        (
            "admin ALL=(root) NOPASSWD: /sbin/ifconfig en[0-9] up",
            {
                "true": (1, "sudo: a password is required\n"),
                "/sbin/ifconfig en2 up": (0, ""),
                "/sbin/ifconfig en2 down": (1, "sudo: a password is required\n"),
                "-l -- /sbin/ifconfig en2 up": (0, ""),
                "-l -- /sbin/ifconfig en2 down": (1, ""),
            },
        ),
        (
            "%admin ALL=(ALL) ALL\nadmin ALL=(root) NOPASSWD: /usr/bin/true",
            {
                "true": (0, ""),
                "id": (1, "sudo: a password is required\n"),
                "nosuch": (1, "sudo: a password is required\n"),
                "-l -- /usr/bin/id": (0, ""),
                "-l -- nosuch": (1, "sudo: nosuch: command not found\n"),
                "-l -l": (0, ""),
            },
        ),
    ],
)
def test_sudo_allows_what_its_rules_allow(
    tmp_path: Path, mode: str, answers: dict[str, tuple[int, str]]
) -> None:
    with simulated(pair().with_mac("studio1", sudo=mode), tmp_path) as macs:
        for words, (status, complaint) in answers.items():
            done = macs["studio1"].run(["/usr/bin/sudo", "-n", *words.split()])
            assert (done.returncode, done.stderr) == (status, complaint), words


def test_sudo_becomes_root_with_a_clean_environment(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        done = macs["studio1"].run(["sudo", "-n", "sh", "-c", "id -u; echo $TERM $SUDO_USER"])
        assert done.stdout == "0\nadmin\n"
        macs["studio1"].set_sudo("password")
        done = macs["studio1"].run(["sudo", "-n", "true"])
        assert (done.returncode, done.stderr) == (1, "sudo: a password is required\n")


def test_sudo_can_be_absent(tmp_path: Path) -> None:
    with simulated(pair().with_mac("studio1", sudo="absent"), tmp_path) as macs:
        assert macs.ssh("studio1", "/usr/bin/sudo -n true").returncode == 127
        assert macs.ssh("studio2", "/usr/bin/sudo -n true").returncode == 0


def test_sudoers_rules_are_read_as_sudo_reads_them() -> None:
    text = """
        Defaults env_reset
        Cmnd_Alias RING = /sbin/ifconfig bridge* deletem *, \\
            /sbin/route -n get *
        ada ALL=(root) NOPASSWD: RING, PASSWD: /bin/ls, /bin/echo a\\,b\\:c
        bob ALL=(root) NOPASSWD: ALL
    """
    assert list_rules(parse_sudoers(text, "ada")).splitlines() == [
        "    (root) NOPASSWD: /sbin/ifconfig bridge* deletem *, /sbin/route -n get *",
        "    (root) /bin/ls, /bin/echo a\\,b\\:c",
    ]
    assert (
        list_entries(parse_sudoers(text, "ada"))
        == """
Sudoers entry:
    RunAsUsers: root
    Options: !authenticate
    Commands:
\t/sbin/ifconfig bridge* deletem *
\t/sbin/route -n get *

Sudoers entry:
    RunAsUsers: root
    Commands:
\t/bin/ls
\t/bin/echo a\\,b\\:c
"""
    )
    with pytest.raises(SudoersError, match="ifconfig"):
        parse_sudoers("ada ALL=(root) NOPASSWD: ifconfig", "ada")
    with pytest.raises(SudoersError, match="a:b"):
        parse_sudoers("ada ALL=(root) NOPASSWD: /sbin/ifconfig a:b", "ada")


# The commands themselves


def test_ping_prints_what_apple_s_prints(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        argv = ["/sbin/ping", "-c", "2", "-i", "1", "-S", "10.231.0.1", "10.231.0.2"]
        done = macs["studio1"].run(argv)
        lines = done.stdout.splitlines()
        assert lines[0] == "PING 10.231.0.2 (10.231.0.2) from 10.231.0.1: 56 data bytes"
        assert lines[1].startswith("64 bytes from 10.231.0.2: icmp_seq=0 ttl=64 time=")
        assert lines[3:6] == [
            "",
            "--- 10.231.0.2 ping statistics ---",
            "2 packets transmitted, 2 packets received, 0.0% packet loss",
        ]
        macs["studio1"].cut("en2")
        done = macs["studio1"].run(["/sbin/ping", "-c", "1", "-W", "200", "10.231.0.2"])
        assert (done.returncode, done.stdout.splitlines()[-1]) == (
            2,
            "1 packets transmitted, 0 packets received, 100.0% packet loss",
        )
        done = macs["studio1"].run(["/sbin/ping", "-c", "1", "-S", "10.9.9.9", "10.231.0.2"])
        assert (done.returncode, done.stderr) == (
            68,
            "ping: bind: Can't assign requested address\n",
        )


def test_nc_tells_whether_a_tcp_port_is_answered(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        argv = ["/usr/bin/nc", "-z", "-G", "20", "-w", "20", macs["studio2"].lan_address]
        assert macs["studio1"].run([*argv, "22"]).returncode == 0
        assert macs["studio1"].run([*argv, "23"]).returncode == 1


def test_processes_of_one_host_are_not_those_of_another(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        sleeper = macs["studio1"].popen(["sleep", "4242"])
        listing = "/bin/ps -axww -o pid= -o command="
        wait_until(lambda: "sleep 4242" in macs.ssh("studio1", listing).stdout)
        assert "sleep 4242" not in macs.ssh("studio2", listing).stdout
        sleeper.kill()
        sleeper.wait(30)
        wait_until(lambda: macs["studio1"].processes() == [])


def test_a_rank_runs_on_a_host_with_the_same_python(tmp_path: Path) -> None:
    program = "import ring_runtime, sys; print(sys.prefix, ring_runtime.__file__)"
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "rank.py").write_text(program)
    with simulated(pair(), tmp_path, shared=[shared]) as macs:
        line = f"cd {CHECKOUT} && {sys.executable} {shared}/rank.py"
        done = macs.ssh("studio1", f"PYTHONPATH=. {line}")
    assert done.stdout.split() == [sys.prefix, f"{CHECKOUT}/ring_runtime/__init__.py"]


def test_a_listening_address_of_one_host_is_free_on_the_others(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_server(('127.0.0.1', {port}))"
        assert macs["studio1"].run([sys.executable, "-c", program]).returncode == 0
