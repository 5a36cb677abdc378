"""The simulated Macs themselves: what they keep of macOS, and that nothing of them stays."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distconfig.probes import PROBES
from distconfig.recording import HostRecording
from distconfig.report import assemble
from distconfig.shell import Completed
from tests.simulated_macs import (
    Bridge,
    SimulatedMac,
    SimulatedMacs,
    Vpn,
    chain_of,
    mesh_of,
    pair,
    ring_of,
    simulated,
    triangle,
)
from tests.simulated_macs.sudoers import SudoersError, parse_sudoers

CHECKOUT = Path(__file__).resolve().parents[2]


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"


def sudo(mac: SimulatedMac, *words: str) -> None:
    """Run a command on a host as root through its sudo; it must succeed in silence."""
    done = mac.run(["/usr/bin/sudo", "-n", *words])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def address_both_ends(macs: SimulatedMacs, one: tuple[str, str], two: tuple[str, str]) -> None:
    """Free two ports from their bridges and give them 10.231.0.1 and 10.231.0.2."""
    for (host, interface), last in ((one, 1), (two, 2)):
        sudo(macs[host], "/sbin/ifconfig", "bridge0", "deletem", interface)
        words = ["inet", f"10.231.0.{last}", "netmask", "255.255.255.252", "up"]
        sudo(macs[host], "/sbin/ifconfig", interface, *words)


def reaches(mac: SimulatedMac, address: str) -> bool:
    """Whether a ping is answered soon."""
    return mac.run(["/sbin/ping", "-c", "1", "-W", "400", address]).returncode == 0


def await_ping(mac: SimulatedMac, address: str) -> None:
    """Wait for a ping to be answered; where ARP just failed, its next try takes a second."""
    wait_until(lambda: reaches(mac, address))


def carried(mac: SimulatedMac) -> dict[str, int]:
    """Packets that each interface has sent and received."""
    return {
        name: count.sent_packets + count.received_packets for name, count in mac.counters().items()
    }


# ssh


def test_ssh_leads_to_a_real_sshd_with_a_key_and_name_of_its_own(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        done = macs.ssh("studio2", "hostname; id -un; pwd; printenv PATH")
        assert done.stdout.splitlines() == [
            "studio2",
            "admin",
            "/Users/admin",
            "/usr/bin:/bin:/usr/sbin:/sbin",
        ]
        assert (done.returncode, done.stderr) == (0, "")
        assert len(macs["studio2"].exec_channels()) == 1
        assert macs["studio1"].exec_channels() == []
        keys = {
            (macs.folder / name / "host_key.pub").read_text() for name in ("studio1", "studio2")
        }
        assert len(keys) == 2


def test_the_user_the_port_the_shell_and_a_banner_are_as_asked_for(tmp_path: Path) -> None:
    layout = pair().with_mac(
        "studio2",
        user="ada",
        ssh_port=2222,
        login_shell="/usr/bin/fish",
        banner="Welcome to the lab",
    )
    with simulated(layout, tmp_path) as macs:
        done = macs.ssh("studio2", "id -un; status fish-path; printenv SSH_CONNECTION")
        lines = done.stdout.splitlines()
        assert lines[:3] == ["Welcome to the lab", "ada", "/usr/bin/fish"]
        assert lines[3].split()[0] == "192.168.1.2"
        assert lines[3].split()[2:] == ["192.168.1.12", "2222"]


def test_a_host_is_reached_through_another_one(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        done = macs.run(["ssh", "-o", "BatchMode=yes", "-J", "studio1", "studio2", "hostname"])
        assert (done.returncode, done.stdout) == (0, "studio2\n")


def test_without_its_lan_cable_a_host_is_not_reached(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        macs["studio2"].lan_down()
        argv = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=1", "studio2", "true"]
        assert macs.run(argv).returncode == 255
        macs["studio2"].lan_up()
        wait_until(lambda: macs.run(argv).returncode == 0)


# Cables


def test_a_ping_crosses_its_own_cable_and_no_other(tmp_path: Path) -> None:
    with simulated(triangle(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en3"), ("studio2", "en2"))
        before = {mac.name: carried(mac) for mac in macs}
        done = macs["studio1"].run(["/sbin/ping", "-c", "3", "-i", "0.05", "10.231.0.2"])
        assert done.returncode == 0
        grown = {
            (mac.name, interface)
            for mac in macs
            for interface, packets in carried(mac).items()
            if packets > before[mac.name][interface]
        }
        assert grown == {("studio1", "en3"), ("studio2", "en2")}


def test_a_cable_is_cut_and_put_elsewhere(tmp_path: Path) -> None:
    with simulated(chain_of(3), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        await_ping(macs["studio1"], "10.231.0.2")
        macs["studio1"].cut("en2")
        assert not reaches(macs["studio1"], "10.231.0.2")
        shown = macs["studio1"].run(["/sbin/ifconfig", "en2"]).stdout
        assert "inet 10.231.0.1 netmask 0xfffffffc" in shown
        assert "status: inactive" in shown
        macs["studio1"].plug("en4", "studio2", "en2")
        assert not reaches(macs["studio1"], "10.231.0.2")
        macs["studio1"].cut("en4")
        macs["studio1"].plug("en2", "studio2", "en2")
        await_ping(macs["studio1"], "10.231.0.2")


def test_a_cable_needs_two_free_receptacles(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        with pytest.raises(RuntimeError, match="a cable is in en2 of studio2"):
            macs["studio1"].plug("en3", "studio2", "en2")
        with pytest.raises(RuntimeError, match="there is no en9 on studio1"):
            macs["studio1"].plug("en9", "studio2", "en3")
        with pytest.raises(RuntimeError, match="no cable is in en4 of studio1"):
            macs["studio1"].cut("en4")


def test_two_cables_join_the_same_pair_side_by_side(tmp_path: Path) -> None:
    with simulated(pair(2), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en3"), ("studio2", "en3"))
        macs["studio1"].cut("en2")
        await_ping(macs["studio1"], "10.231.0.2")


def test_a_shaped_cable_is_slow(tmp_path: Path) -> None:
    nbytes = 2_000_000
    receive = (
        "import socket;"
        "server = socket.create_server(('10.231.0.2', 5000)); print('up', flush=True);"
        "peer, _ = server.accept(); total = 0\n"
        "while data := peer.recv(65536): total += len(data)\n"
        "print(total)"
    )
    send = (
        "import socket, time; began = time.monotonic();"
        f"peer = socket.create_connection(('10.231.0.2', 5000)); peer.sendall(bytes({nbytes}));"
        "peer.shutdown(socket.SHUT_WR); peer.recv(1); print(time.monotonic() - began)"
    )
    with simulated(pair(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        macs["studio1"].shape("en2", "20mbit")
        pipes = {"stdout": subprocess.PIPE, "text": True}
        with macs["studio2"].popen([sys.executable, "-c", receive], **pipes) as receiver:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "up\n"
            done = macs["studio1"].run([sys.executable, "-c", send])
            assert receiver.stdout.readline() == f"{nbytes}\n"
        # 2 MB at 20 Mb/s take 0.8 s; the burst of 256 kB comes off it.
        assert float(done.stdout) > 0.6


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
        assert sum(carried(macs["studio3"]).values()) < 100


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
                "-l -- /usr/bin/id": (0, ""),
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
    assert [str(rule) for rule in parse_sudoers(text, "ada")] == [
        "(root) NOPASSWD: /sbin/ifconfig bridge* deletem *",
        "(root) NOPASSWD: /sbin/route -n get *",
        "(root) /bin/ls",
        "(root) /bin/echo a,b:c",
    ]
    with pytest.raises(SudoersError, match="ifconfig"):
        parse_sudoers("ada ALL=(root) NOPASSWD: ifconfig", "ada")
    with pytest.raises(SudoersError, match="a:b"):
        parse_sudoers("ada ALL=(root) NOPASSWD: /sbin/ifconfig a:b", "ada")


# What the probes see


def ask_everything(macs: SimulatedMacs, host: str) -> HostRecording:
    """Run every probe of the product over one ssh connection."""
    script = "".join(
        f"{' '.join(probe.argv)} 2>/dev/null; echo; echo END {probe.name} $?\n" for probe in PROBES
    )
    done = macs.run(["ssh", "-o", "BatchMode=yes", host, "/bin/sh"], input=script)
    answers: dict[str, Completed] = {}
    lines: list[str] = []
    argvs = {probe.name: probe.argv for probe in PROBES}
    for line in done.stdout.splitlines(keepends=True):
        if line.startswith("END "):
            name = line.split()[1]
            text = "".join(lines).removesuffix("\n")
            answers[name] = Completed(argvs[name], 0 if text else 1, text.encode())
            lines = []
        else:
            lines.append(line)
    return HostRecording(host, answers)


def test_the_product_understands_every_probe_of_a_simulated_mac(tmp_path: Path) -> None:
    with simulated(triangle().with_macs(rdma=True), tmp_path) as macs:
        report = assemble(ask_everything(macs, "studio2"))
    assert (report.notes, report.problems) == ((), ())
    assert (report.platform, report.model, report.os_version) == ("Darwin", "Mac16,11", "26.4")
    assert [(each.label, each.interface, len(each.peers)) for each in report.receptacles] == [
        ("1", "en2", 1),
        ("2", "en3", 1),
        ("3", "en4", 0),
    ]
    addresses = {
        each.name: [str(address) for address in each.addresses]
        for each in report.interfaces
        if each.addresses
    }
    assert addresses == {"lo0": ["127.0.0.1/8"], "en0": ["192.168.1.12/24"]}
    members = {each.name: each.members for each in report.interfaces if each.is_bridge}
    assert members == {"bridge0": ("en2", "en3", "en4")}
    assert report.ssh_connection[0] == "192.168.1.2"
    assert report.rdma_status == "enabled"


def peers(macs: SimulatedMacs, host: str) -> dict[str, str]:
    """Receptacle -> domain UUID of the peer that system_profiler shows there."""
    argv = ["/usr/sbin/system_profiler", "SPThunderboltDataType", "-json"]
    buses = json.loads(macs[host].run(argv).stdout)["SPThunderboltDataType"]
    return {
        bus["receptacle_1_tag"]["receptacle_id_key"]: bus["_items"][0]["domain_uuid_key"]
        for bus in buses
        if "_items" in bus
    }


def own_domains(macs: SimulatedMacs, host: str) -> dict[str, str]:
    """Receptacle -> its own domain UUID."""
    argv = ["/usr/sbin/system_profiler", "SPThunderboltDataType", "-json"]
    buses = json.loads(macs[host].run(argv).stdout)["SPThunderboltDataType"]
    return {bus["receptacle_1_tag"]["receptacle_id_key"]: bus["domain_uuid_key"] for bus in buses}


def test_system_profiler_shows_the_cables_of_this_moment(tmp_path: Path) -> None:
    with simulated(mesh_of(3), tmp_path) as macs:
        one, two, three = (own_domains(macs, name) for name in macs.names)
        assert peers(macs, "studio1") == {"1": two["1"], "2": three["1"]}
        macs["studio1"].cut("en3")
        assert peers(macs, "studio1") == {"1": two["1"]}
        assert peers(macs, "studio3") == {"2": two["2"]}
        macs["studio3"].plug("en4", "studio1", "en4")
        assert peers(macs, "studio3") == {"2": two["2"], "3": one["3"]}


# Reboot, speed, and the end


def test_nothing_set_by_ifconfig_survives_a_reboot(tmp_path: Path) -> None:
    with simulated(ring_of(4), tmp_path) as macs:
        studio = macs["studio2"]
        first_pid, domains = studio.pid, own_domains(macs, "studio2")
        members = studio.members()
        address_both_ends(macs, ("studio2", "en3"), ("studio3", "en2"))
        sleeper = studio.popen(["sleep", "1000"])
        studio.reboot()
        assert sleeper.wait(30) != 0
        assert studio.pid != first_pid
        assert studio.addresses() == {"en0": ["192.168.1.12/24"]}
        assert studio.members() == members
        assert macs["studio3"].addresses()["en2"] == ["10.231.0.2/30"]
        assert set(own_domains(macs, "studio2").values()).isdisjoint(domains.values())
        assert sorted(peers(macs, "studio2")) == ["1", "2"]
        assert macs.ssh("studio2", "hostname").stdout == "studio2\n"


def test_a_ring_of_16_is_up_in_seconds_and_every_host_answers(tmp_path: Path) -> None:
    began = time.monotonic()
    with simulated(ring_of(16), tmp_path) as macs:
        seconds = time.monotonic() - began
        assert all(mac.run(["hostname"]).stdout == f"{mac.name}\n" for mac in macs)
    assert seconds < 8


def namespaces() -> set[int]:
    """Every network namespace in which a process of this machine runs."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add((process / "ns/net").stat().st_ino)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there and is not merely waiting for its parent to notice."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def traces() -> dict[str, object]:
    """All of this machine that a simulation could change and leave changed."""
    shown = [
        subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout
        for words in (["-o", "-4", "addr"], ["-o", "link"], ["route"], ["netns"])
    ]
    folders = [Path("/"), Path("/etc"), Path("/usr/bin"), Path("/usr/sbin"), Path.home()]
    files = [sorted(entry.name for entry in folder.iterdir()) for folder in folders]
    return {"network": shown, "mounts": Path("/proc/self/mountinfo").read_text(), "files": files}


def test_nothing_outside_is_changed_and_nothing_is_left(tmp_path: Path) -> None:
    before = traces()
    with simulated(triangle().with_mac("studio1", vpn=Vpn()), tmp_path) as macs:
        inodes = {Path(f"/proc/{mac.pid}/ns/net").stat().st_ino for mac in macs}
        assert len(inodes) == 3
        assert inodes <= namespaces()
        assert traces() == before
        pid = macs.facts["lab"]
        macs["studio1"].popen(["sleep", "1000"], start_new_session=True)
        macs["studio2"].popen(["sudo", "-n", "sleep", "1000"], start_new_session=True)
    assert not is_running(pid)
    wait_until(lambda: namespaces().isdisjoint(inodes))
    assert traces() == before


def test_when_the_test_is_killed_everything_goes_with_it(tmp_path: Path) -> None:
    program = (
        "import pathlib, signal, sys\n"
        "from tests.simulated_macs import pair, simulated\n"
        "with simulated(pair(), pathlib.Path(sys.argv[1])) as macs:\n"
        "    print(*[macs.facts['lab'], *[mac.pid for mac in macs]], flush=True)\n"
        "    signal.pause()\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as test:
        assert test.stdout is not None
        pids = [int(word) for word in test.stdout.readline().split()]
        assert len(pids) == 3
        inodes = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in pids}
        test.send_signal(signal.SIGKILL)
    wait_until(lambda: namespaces().isdisjoint(inodes))
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_the_simulation_is_used_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "by-hand"

    def by_hand(*words: str) -> str:
        argv = [sys.executable, "-m", "tests.simulated_macs", *words]
        environment = {**os.environ, "SIMULATED_MACS": str(folder)}
        done = subprocess.run(
            argv, capture_output=True, text=True, cwd=CHECKOUT, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        assert by_hand("up", "ring4").startswith("up: studio1,studio2,studio3,studio4;")
        by_hand("cut", "studio2", "en3")
        assert "status: inactive" in by_hand("run", "ssh", "studio2", "/sbin/ifconfig", "en3")
        by_hand("plug", "studio2", "en3", "studio3", "en4")
        by_hand("reboot", "studio2")
        assert "status: active" in by_hand("run", "ssh", "studio3", "/sbin/ifconfig", "en4")
        counters = [line.split()[:2] for line in by_hand("counters").splitlines()]
        assert ["studio4", "en3"] in counters
        assert by_hand("status").count("members {'bridge0': ['en2', 'en3', 'en4']}") == 4
    finally:
        by_hand("down")
    assert not folder.exists()
    assert by_hand("down") == "nothing is up\n"


# The commands themselves


def test_ping_prints_what_apple_s_prints(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        argv = ["/sbin/ping", "-c", "2", "-i", "0.1", "-S", "10.231.0.1", "10.231.0.2"]
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
        argv = ["/usr/bin/nc", "-z", "-G", "1", "-w", "1", macs["studio2"].lan_address]
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
