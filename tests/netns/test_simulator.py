"""The simulated Macs themselves: ssh, cables, power, and that nothing of them stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from distconfig.hosts.shell import Completed
from distconfig.probes import PROBES
from distconfig.recordings.recording import HostRecording
from distconfig.reports.report import assemble
from tests.netns.steps import address_both_ends, await_ping, carried, reaches, sudo, wait_until
from tests.simulated_macs import (
    Bridge,
    SimulatedMacs,
    Vpn,
    chain_of,
    mesh_of,
    pair,
    ring_of,
    simulated,
    triangle,
)

CHECKOUT = Path(__file__).resolve().parents[2]


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
        wait_until(lambda: macs.ssh("studio2", "true").returncode == 0)


def test_a_host_is_reached_over_the_bridge_of_its_neighbour(tmp_path: Path) -> None:
    layout = pair().with_mac("studio1", bridge=Bridge(address="10.5.0.1/24"))
    layout = layout.with_mac("studio2", bridge=Bridge(address="10.5.0.2/24"))
    with simulated(layout, tmp_path) as macs:
        macs["studio2"].lan_down()
        macs.add_ssh_alias("far", "studio2", "10.5.0.2", ProxyJump="studio1")
        done = macs.ssh("far", "hostname; printenv SSH_CONNECTION")
        name, connection = done.stdout.splitlines()
        assert (name, connection.split()[2]) == ("studio2", "10.5.0.2")


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
    assert seconds < 60  # one second on an idle machine


@contextmanager
def kept_namespaces(pids: Iterable[int]) -> Iterator[set[int]]:
    """The network namespaces of processes, kept meanwhile.

    Otherwise the kernel would soon give their numbers to those of another test.
    """
    with ExitStack() as kept:
        files = [kept.enter_context(Path(f"/proc/{pid}/ns/net").open("rb")) for pid in pids]
        yield {os.fstat(file.fileno()).st_ino for file in files}


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
    """All of this machine that a simulation could change and leave changed.

    Left out is what other tests may change at the same time: namespaces with a name, of
    `CabledHosts`, which are mounts too, and what libraries keep in the home folder.
    """
    shown = [
        subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout
        for words in (["-o", "-4", "addr"], ["-o", "link"], ["route"], ["netns"])
    ]
    network = [[line for line in each.splitlines() if line[:3] != "rr-"] for each in shown]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    folders = [Path("/"), Path("/etc"), Path("/usr/bin"), Path("/usr/sbin"), Path.home()]
    files = [
        sorted(entry.name for entry in folder.iterdir() if entry.name not in (".cache", ".config"))
        for folder in folders
    ]
    return {
        "network": network,
        "mounts": [line for line in mounts if "/netns" not in line],
        "files": files,
    }


def test_nothing_outside_is_changed_and_nothing_is_left(tmp_path: Path) -> None:
    before = traces()
    with ExitStack() as kept:
        with simulated(triangle().with_mac("studio1", vpn=Vpn()), tmp_path) as macs:
            inodes = kept.enter_context(kept_namespaces(mac.pid for mac in macs))
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
        with kept_namespaces(pids) as inodes:
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
    finally:
        by_hand("down")
    assert not folder.exists()


def test_without_power_a_host_is_gone_for_its_neighbours(tmp_path: Path) -> None:
    with simulated(ring_of(3), tmp_path) as macs:
        macs["studio2"].switch_off()
        macs["studio3"].switch_off()
        assert peers(macs, "studio1") == {}
        macs["studio3"].switch_on()
        assert list(peers(macs, "studio1")) == ["1"]
        macs["studio2"].switch_on()
        assert [sorted(peers(macs, name)) for name in macs.names] == [["1", "2"]] * 3
        with pytest.raises(RuntimeError, match="studio2 is on"):
            macs["studio2"].switch_on()


# What a test does to a host


def test_a_command_is_made_to_fail(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        studio.break_command("ifconfig en3 inet *", "ifconfig: out of luck\n")
        before = studio.state()
        argv = ["sudo", "-n", "/sbin/ifconfig", "en3", "inet", "10.0.0.1"]
        done = studio.run(argv)
        assert (done.returncode, done.stderr) == (1, "ifconfig: out of luck\n")
        assert studio.state() == before
        studio.repair_commands()
        assert studio.run(argv).returncode == 0
        assert studio.commands()[-2:] == [
            (501, "sudo -n /sbin/ifconfig en3 inet 10.0.0.1", 0),
            (0, "ifconfig en3 inet 10.0.0.1", 0),
        ]


def test_a_command_is_held_and_not_carried_out_for_the_dead(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        studio = macs["studio1"]
        before = studio.state()
        pattern = "ifconfig bridge0 deletem *"
        with studio.holding(pattern):
            argv = ["sudo", "-n", "/sbin/ifconfig", "bridge0", "deletem"]
            with studio.popen([*argv, "en2"]) as killed, studio.popen([*argv, "en3"]) as patient:
                studio.await_held(pattern)
                assert studio.state() == before
                wait_until(lambda: len(studio.processes()) == 2)
                studio.run(["/usr/bin/pkill", "-KILL", "-f", "deletem en2"], user="root")
                assert killed.wait(30) != 0
                studio.run(["/sbin/ifconfig"])
                studio.release(pattern)
                assert patient.wait(30) == 0
        assert studio.members() == {"bridge0": ["en2", "en4"]}
        wait_until(lambda: studio.processes() == [])


def test_ssh_sessions_are_dropped_and_come_again(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        argv = ["ssh", "-o", "BatchMode=yes", "studio1", "echo started; sleep 1000"]
        with macs.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as session:
            assert session.stdout is not None
            assert session.stdout.readline() == b"started\n"
            macs["studio1"].drop_ssh()
            assert session.wait(30) == 255
        assert macs.ssh("studio1", "true").returncode == 0
        assert "sleep 1000" in " ".join(macs["studio1"].processes())


def test_a_firewall_drops_pings_but_not_tcp(tmp_path: Path) -> None:
    with simulated(pair(), tmp_path) as macs:
        address_both_ends(macs, ("studio1", "en2"), ("studio2", "en2"))
        await_ping(macs["studio1"], "10.231.0.2")
        macs["studio2"].drop_pings()
        assert not reaches(macs["studio1"], "10.231.0.2")
        argv = ["/usr/bin/nc", "-z", "-G", "5", "-s", "10.231.0.1", "10.231.0.2", "22"]
        assert macs["studio1"].run(argv).returncode == 0
        argv = ["/usr/libexec/ApplicationFirewall/socketfilterfw", "--getstealthmode"]
        shown = [macs[name].run(argv).stdout for name in ("studio1", "studio2")]
        assert shown == ["Firewall stealth mode is off\n", "Firewall stealth mode is on\n"]


def test_a_network_card_shares_the_bridge_with_the_ports(tmp_path: Path) -> None:
    bridge = Bridge(members=("en2", "en3", "en4", "en8"))
    with simulated(pair().with_mac("studio1", bridge=bridge), tmp_path) as macs:
        shown = macs["studio1"].run(["/sbin/ifconfig", "en8"]).stdout.splitlines()
        assert shown[-1] == "\tstatus: active"
        assert macs["studio1"].members() == {"bridge0": ["en2", "en3", "en4", "en8"]}
        ports = macs["studio1"].run(["/usr/sbin/networksetup", "-listallhardwareports"]).stdout
        assert "Hardware Port: USB LAN\nDevice: en8\n" in ports


@pytest.mark.parametrize(
    ("bridge", "members"),
    [(None, {}), (Bridge("bridge1", up=False), {"bridge1": ["en2", "en3", "en4"]})],
)
def test_the_bridge_is_missing_or_down_or_has_another_name(
    tmp_path: Path, bridge: Bridge | None, members: dict[str, list[str]]
) -> None:
    with simulated(pair().with_mac("studio1", bridge=bridge), tmp_path) as macs:
        assert macs["studio1"].members() == members
        done = macs["studio1"].run(["/sbin/ifconfig", "bridge0"])
        assert (done.returncode, done.stderr) == (
            1,
            "ifconfig: interface bridge0 does not exist\n",
        )
        sudo(macs["studio1"], "/sbin/ifconfig", "en2", "inet", "10.231.0.1/30", "up")
        sudo(macs["studio2"], "/sbin/ifconfig", "bridge0", "deletem", "en2")
        sudo(macs["studio2"], "/sbin/ifconfig", "en2", "inet", "10.231.0.2/30", "up")
        await_ping(macs["studio1"], "10.231.0.2")
