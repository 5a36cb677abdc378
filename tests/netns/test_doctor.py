"""The doctor on simulated Macs: a healthy ring, and real faults that are put right again.

Each batch provokes several faults at once, on different hosts; that exactly their findings
come out shows that each fault gives its own and no other.
"""

from __future__ import annotations

import json
import plistlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.doctor_answers import SHARING_ON
from tests.netns.setups import auto_setup
from tests.netns.steps import wait_until
from tests.simulated_macs import SimulatedMac, SimulatedMacs, ring_of, simulated

HOSTS = "studio1,studio2,studio3,studio4"
IFCONFIG = "/sbin/ifconfig"
FIREWALL = "socketfilterfw"
Fault = Callable[[SimulatedMac], None]
Undo = Fault


@pytest.fixture(scope="module")
def macs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedMacs]:
    """A ring of four that was set up."""
    with simulated(ring_of(4), tmp_path_factory.mktemp("lab")) as lab:
        assert auto_setup(lab).returncode == 0
        yield lab


def findings(macs: SimulatedMacs, hosts: str = HOSTS) -> list[tuple[str, str]]:
    """(id, hosts) of all findings, in order of ids."""
    done = macs.run_cli(["doctor", "--hosts", hosts, "--json"])
    document = json.loads(done.stdout)
    severities = {each["severity"] for each in document["findings"]}
    assert done.returncode == (8 if severities - {"note"} else 0), done.stderr
    return sorted((each["id"], each["host"]) for each in document["findings"])


def test_a_healthy_ring_is_one_green_line(macs: SimulatedMacs) -> None:
    before = {mac.name: mac.state() for mac in macs}
    done = macs.run_cli(["doctor", "--hosts", HOSTS], env={"FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert done.stdout == "\x1b[32m4 hosts, 19 checks: nothing is wrong.\x1b[0m\n"
    assert done.stderr == ""
    assert {mac.name: mac.state() for mac in macs} == before
    wait_until(lambda: all(mac.processes() == [] for mac in macs))


# Faults, each with what puts it right


def _root(mac: SimulatedMac, *words: str) -> None:
    done = mac.run(words, user="root")
    assert done.returncode == 0, done.stderr


def _speak(words: str, stdout: str) -> tuple[Fault, Undo]:
    return (lambda mac: mac.say(words, stdout), lambda mac: mac.repair_commands())


def _as_root(do: tuple[str, ...], undo: tuple[str, ...]) -> tuple[Fault, Undo]:
    return (lambda mac: _root(mac, *do), lambda mac: _root(mac, *undo))


def _file(path: str, content: bytes) -> tuple[Fault, Undo]:
    def write(mac: SimulatedMac) -> None:
        mac.run(["/bin/mkdir", "-p", str(Path(path).parent)], user="root")
        _root(mac, "/bin/sh", "-c", f"printf %s '{content.decode()}' > {path}")

    return write, lambda mac: _root(mac, "/bin/rm", path)


def _stealth(mac: SimulatedMac) -> None:
    mac.say(f"{FIREWALL} --getglobalstate", "Firewall is enabled. (State = 1)\n")
    mac.say(f"{FIREWALL} --getstealthmode", "Firewall stealth mode is on\n")


def _add_tunnel(mac: SimulatedMac) -> None:
    mac.say("ifconfig -a", mac.run([IFCONFIG, "-a"]).stdout + _UTUN)


def _add_full_tunnel(mac: SimulatedMac) -> None:
    _add_tunnel(mac)
    routes = mac.run(["/usr/sbin/netstat", "-rn"]).stdout
    lines = "0/1                10.66.0.1          UGScg               utun9       \n"
    lines += "128.0/1            10.66.0.1          UGSc                utun9       \n"
    mac.say("netstat -rn", routes.replace("\nInternet6:", f"{lines}\nInternet6:", 1))


_UTUN = (
    "utun9: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380\n"
    "\tinet 100.101.102.103 --> 100.101.102.103 netmask 0xffffffff\n"
)


def _edit_profile(edit: Callable[[dict[str, object]], object]) -> Fault:
    """Let system_profiler print something else about receptacle 2."""
    words = "system_profiler SPThunderboltDataType -json"

    def change(mac: SimulatedMac) -> None:
        printed = mac.run(["/usr/sbin/system_profiler", "SPThunderboltDataType", "-json"]).stdout
        document = json.loads(printed)
        for bus in document["SPThunderboltDataType"]:
            if bus["receptacle_1_tag"]["receptacle_id_key"] == "2":
                edit(bus)
        mac.say(words, json.dumps(document) + "\n")

    return change


def _train_slowly(bus: dict[str, object]) -> None:
    tag = bus["receptacle_1_tag"]
    assert isinstance(tag, dict)
    tag["current_speed_key"] = "20 Gb/s"


def _repair(mac: SimulatedMac) -> None:
    mac.repair_commands()


def _refuse_local_network(mac: SimulatedMac) -> None:
    """Let the user's own programs find no route to the cables, as macOS does when it denies it."""
    _root(mac, "/usr/sbin/ip", "route", "add", "unreachable", "10.231.0.0/16", "table", "99")
    _root(mac, "/usr/sbin/ip", "rule", "add", "uidrange", "501-501", "lookup", "99")


def _allow_local_network(mac: SimulatedMac) -> None:
    _root(mac, "/usr/sbin/ip", "rule", "del", "lookup", "99")
    _root(mac, "/usr/sbin/ip", "route", "flush", "table", "99")


def _put_back_into_bridge(mac: SimulatedMac) -> None:
    mac.configd_put_back()
    _root(mac, IFCONFIG, "bridge0", "up")
    _root(mac, IFCONFIG, "bridge0", "deletem", "en2")


def _free_from_bridge(mac: SimulatedMac) -> None:
    _root(mac, IFCONFIG, "bridge0", "deletem", "en3")
    _root(mac, IFCONFIG, "bridge0", "down")


# studio1 has 10.231.0.1 on en3, towards 10.231.0.2 at studio2 en2; and so on, clockwise.
NEW = ("/usr/sbin/ip", "addr", "add")
OLD = ("/usr/sbin/ip", "addr", "del")
BATCHES: dict[str, list[tuple[str, str, Fault, Undo]]] = {
    "settings": [
        ("firewall-on", "studio1",
         *_speak(f"{FIREWALL} --getglobalstate", "Firewall is enabled. (State = 1)\n")),
        ("firewall-stealth", "studio2", _stealth, _repair),
        ("firewall-blocks-all", "studio3",
         *_speak(f"{FIREWALL} --getglobalstate", "Firewall is enabled. (State = 2)\n")),
        ("exo-daemon", "studio1",
         *_file("/Library/LaunchDaemons/io.exo.networksetup.plist", b"disable_bridge.sh")),
        ("network-daemon", "studio2",
         *_file("/Library/LaunchDaemons/org.lab.bridge.plist", b"/sbin/ifconfig bridge0")),
        ("exo-location", "studio4", *_speak("networksetup -getcurrentlocation", "exo\n")),
        ("internet-sharing", "studio3",
         *_file("/Library/Preferences/SystemConfiguration/com.apple.nat.plist", SHARING_ON)),
        ("sudo-password", "studio4",
         lambda mac: mac.set_sudo("password"), lambda mac: mac.set_sudo("free")),
    ],
    "people": [
        ("login-restricted", "studio1",
         *_speak("dscl . -list /Groups", "admin\ncom.apple.access_ssh\nstaff\n")),
        ("python-missing", "studio2",
         lambda mac: mac.break_command("xcode-select -p"), _repair),
        ("local-network-privacy", "studio3", _refuse_local_network, _allow_local_network),
        ("sudo-missing", "studio4",
         lambda mac: mac.break_command("sudo -n *", "sudo: command not found\n"), _repair),
    ],
    "network": [
        ("two-addresses", "studio1",
         *_as_root((*NEW, "10.9.9.1/24", "dev", "en3"), (*OLD, "10.9.9.1/24", "dev", "en3"))),
        ("subnet-twice", "studio2",
         *_as_root((*NEW, "10.231.0.2/30", "dev", "en4"), (*OLD, "10.231.0.2/30", "dev", "en4"))),
        ("default-route-on-cable", "studio3",
         *_as_root(("/usr/sbin/ip", "route", "add", "default", "dev", "en3", "metric", "900"),
                   ("/usr/sbin/ip", "route", "del", "default", "dev", "en3", "metric", "900"))),
        ("peer-elsewhere", "studio4",
         *_as_root(("/sbin/route", "-n", "add", "-host", "10.231.0.5", "-interface", "en0"),
                   ("/sbin/route", "-n", "delete", "-host", "10.231.0.5"))),
    ],
    "tunnels and links": [
        ("vpn-active", "studio1", _add_tunnel, _repair),
        ("vpn-full-tunnel", "studio2", _add_full_tunnel, _repair),
        ("mtu-differs", "studio3, studio4",
         *_as_root((IFCONFIG, "en3", "mtu", "9000"), (IFCONFIG, "en3", "mtu", "1500"))),
        ("slow-link", "studio1, studio4", _edit_profile(_train_slowly), _repair),
    ],
    "ports": [
        ("one-sided-cable", "studio1, studio2",
         _edit_profile(lambda bus: bus.pop("_items")), _repair),
        ("bridged-address", "studio3", _put_back_into_bridge, _free_from_bridge),
        ("macos-differs", "studio1, studio2, studio3, studio4",
         *_speak("sw_vers", "ProductName:\t\tmacOS\nProductVersion:\t\t15.7\n")),
    ],
}  # fmt: skip
# Which host is broken where the finding names several.
AT = {
    "mtu-differs": "studio3",
    "slow-link": "studio4",
    "one-sided-cable": "studio1",
    "macos-differs": "studio4",
}


@contextmanager
def provoked(macs: SimulatedMacs, batch: str) -> Iterator[list[tuple[str, str]]]:
    """The faults of a batch, put right at the end; what they should be found as."""
    with ExitStack() as stack:
        for id, hosts, fault, undo in BATCHES[batch]:
            mac = macs[AT.get(id, hosts)]
            stack.callback(undo, mac)
            fault(mac)
        yield sorted((id, hosts) for id, hosts, _, _ in BATCHES[batch])


QUICK = ("settings", "network")


@pytest.mark.parametrize(
    "batch",
    [pytest.param(batch, marks=[] if batch in QUICK else [pytest.mark.slow]) for batch in BATCHES],
)
def test_each_fault_gives_its_own_finding_and_no_other(macs: SimulatedMacs, batch: str) -> None:
    with provoked(macs, batch) as expected:
        assert findings(macs) == expected


def test_a_port_that_was_switched_off_is_found(macs: SimulatedMacs) -> None:
    # Down, the port takes its cable's link away too; both its hosts still see the cable.
    _root(macs["studio2"], IFCONFIG, "en3", "down")
    try:
        assert findings(macs) == [("port-down", "studio2")]
    finally:
        _root(macs["studio2"], IFCONFIG, "en3", "up")


def test_a_host_that_was_not_named_is_a_note(macs: SimulatedMacs) -> None:
    assert findings(macs, "studio1,studio2,studio3") == [
        ("stranger", "studio1"),
        ("stranger", "studio3"),
    ]


def test_two_names_of_one_machine_are_found(macs: SimulatedMacs) -> None:
    macs.add_ssh_alias("spare", "studio3")
    assert findings(macs, f"{HOSTS},spare") == [("same-machine", "studio3, spare")]


def test_hosts_that_can_not_be_asked_say_why(macs: SimulatedMacs) -> None:
    known_hosts = macs.home / ".ssh/known_hosts"
    known = known_hosts.read_text()
    address = macs["studio1"].lan_address
    keys = "/Users/admin/.ssh/authorized_keys"
    _root(macs["studio2"], "/bin/mv", keys, f"{keys}.away")
    known_hosts.write_text("".join(
        line for line in known.splitlines(keepends=True) if not line.startswith(f"{address} ")
    ))  # fmt: skip
    try:
        found = [each for each in findings(macs) if each[0] != "stranger"]
    finally:
        _root(macs["studio2"], "/bin/mv", f"{keys}.away", keys)
        known_hosts.write_text(known)
    assert found == [("ssh-host-key", "studio1"), ("ssh-refused", "studio2")]


@pytest.mark.slow
def test_a_recording_is_examined_to_the_same_result(macs: SimulatedMacs, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    with provoked(macs, "settings") as expected:
        asked = macs.run_cli(["doctor", "--hosts", HOSTS, "--save", str(folder), "--json"])
    replayed = macs.run_cli(["doctor", "--from", str(folder), "--json"])
    assert replayed.stdout == asked.stdout
    assert replayed.returncode == asked.returncode == 8
    ids = sorted(each["id"] for each in json.loads(replayed.stdout)["findings"])
    assert ids == sorted(id for id, _ in expected)
    assert plistlib.loads(SHARING_ON)["NAT"]["Enabled"] == 1


def test_at_least_twenty_faults_were_provoked() -> None:
    provoked_here = {id for batch in BATCHES.values() for id, _, _, _ in batch}
    assert len(provoked_here) >= 20
