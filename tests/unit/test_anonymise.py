"""Anonymised recordings: nothing of the owner is left, and the plan is the same one."""

from __future__ import annotations

import base64
import re
from datetime import datetime, timezone
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, ip_address
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.cluster_plan import PlanOptions, plan_cluster
from distconfig.errors import AuthenticationFailed, DistconfigError, NoRing, Unreachable
from distconfig.hosts.shell import Completed
from distconfig.recordings.anonymise import anonymise, rename_recording, renaming_for
from distconfig.recordings.recording import (
    HostRecording,
    OperatorNetwork,
    Recording,
    load_recording,
    save_recording,
)
from distconfig.recordings.scrambled_addresses import ScrambledAddresses
from distconfig.rings.ring import find_ring
from distconfig.setup.addressing import CANDIDATE_BLOCKS
from distconfig.setup.occupancy import PRIVATE_BLOCKS
from distconfig.setup.setup_text import render_setup
from distconfig.survey import Survey, survey_recording
from distconfig.views.cabling_json import render_cabling
from distconfig.views.dot import render_dot
from ring_runtime.hostfile import render_hostfile
from tests.scenarios import StoredScenario, load_scenarios, scenario

WHEN = datetime(2026, 9, 30, tzinfo=timezone.utc)
SPECIAL = [IPv4Network(text) for text in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")]
SCENARIOS = pytest.mark.parametrize("stored", load_scenarios(), ids=lambda each: each.name)


def tree(folder: Path) -> bytes:
    """Every byte of a folder, the names of its files included."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return b"".join(
        str(path.relative_to(folder)).encode() + b"\n" + path.read_bytes() for path in files
    )


def answers(**stdout: str | bytes) -> dict[str, Completed]:
    return {
        name: Completed((name,), 0, text.encode() if isinstance(text, str) else text)
        for name, text in stdout.items()
    }


def recording(*hosts: HostRecording, operator: OperatorNetwork | None = None) -> Recording:
    return Recording(WHEN, operator or OperatorNetwork(), hosts)


def renamed(host: str = "atlas", **stdout: str | bytes) -> dict[str, str]:
    """What the answers of one host become."""
    (only,) = anonymise(recording(HostRecording(host, answers(**stdout)))).hosts
    return {name: done.stdout.decode() for name, done in only.probes.items()}


def identifiers_in(recorded: Recording) -> set[str]:
    """Whatever tells who owns the hosts, found by other means than the module under test."""
    outputs = [
        output
        for host in recorded.hosts
        for done in host.probes.values()
        for output in (done.stdout, done.stderr)
    ]
    text = b"\n".join(outputs).decode("utf-8", "replace")
    found = {host.host for host in recorded.hosts}
    found |= set(re.findall(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}", text))
    found |= set(re.findall(r"(?:ether|Address:) ([0-9a-f:]{17})", text))
    found |= set(re.findall(r"0x[0-9A-F]{16}", text)) | set(re.findall(r"\b[0-9a-f]{16}\b", text))
    found |= set(re.findall(r"SerialNumber</key>\s*<string>(\w+)", text))
    found |= set(re.findall(r"User (\w+) may run", text))
    found |= set(re.findall(r"<data>\s*([A-Za-z0-9+/]{8})\s*</data>", text))
    found |= {each for each in re.findall(r"inet6 (\S+?)[%\s]", text) if len(each) > 8}
    return found


@SCENARIOS
def test_nothing_of_the_owner_is_left(stored: StoredScenario, tmp_path: Path) -> None:
    before = identifiers_in(stored.recording)
    assert before
    save_recording(anonymise(stored.recording), tmp_path / "anonymous")
    after = tree(tmp_path / "anonymous").decode("utf-8", "replace")
    words = {name: rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in before}
    assert [name for name, word in words.items() if re.search(word, after, re.IGNORECASE)] == []


def addresses_in(text: str) -> set[IPv4Address]:
    return {ip_address(word) for word in re.findall(r"(?<![\d.])(?:\d+\.){3}\d+(?![\d.])", text)}


@SCENARIOS
def test_no_address_is_left_but_those_that_say_nothing(stored: StoredScenario) -> None:
    """Loopback and multicast stay, and /30s of a plan in the blocks it draws from."""
    given_out = {
        IPv4Interface(f"{address}/30").network
        for host in stored.recording.hosts
        for address in re.findall(
            r"inet (\S+) netmask 0xfffffffc",
            host.probes["ifconfig"].stdout.decode() if "ifconfig" in host.probes else "",
        )
    }
    given_out = {each for each in given_out if any(each.subnet_of(b) for b in CANDIDATE_BLOCKS)}

    def telling(recorded: Recording) -> set[IPv4Address]:
        texts = [done.stdout for host in recorded.hosts for done in host.probes.values()]
        found = addresses_in(b"\n".join(texts).decode("utf-8", "replace"))
        found |= {each.ip for each in recorded.operator.addresses}
        found.discard(IPv4Address("169.254.255.255"))
        return {each for each in found if not any(each in net for net in [*SPECIAL, *given_out])}

    before, after = telling(stored.recording), telling(anonymise(stored.recording))
    assert before & after == set()
    assert len(after) >= len(before)  # routes cut short may have to be written in full


def pictures(survey: Survey) -> tuple[str, str]:
    """DOT and JSON of the cabling."""
    try:
        ring, reason = find_ring(survey.topology), None
    except NoRing as error:
        ring, reason = None, error.witness
    return (
        render_dot(survey.topology, ring).replace("\\n", "\n"),
        render_cabling(survey.topology, ring, reason),
    )


@SCENARIOS
def test_the_picture_is_the_same_up_to_renaming(stored: StoredScenario) -> None:
    renaming = renaming_for(stored.recording, b"any key")
    anonymous = survey_recording(rename_recording(stored.recording, renaming))
    expected = pictures(survey_recording(stored.recording))
    assert pictures(anonymous) == tuple(renaming.text(each, thorough=True) for each in expected)


@SCENARIOS
def test_the_plan_is_the_same_up_to_renaming(stored: StoredScenario) -> None:
    """Addresses that are given out are even the same ones."""
    renaming = renaming_for(stored.recording, b"another key")
    anonymous = survey_recording(rename_recording(stored.recording, renaming))
    try:
        plan = plan_cluster(survey_recording(stored.recording), PlanOptions())
    except DistconfigError as error:
        with pytest.raises(type(error)):
            plan_cluster(anonymous, PlanOptions())
        return
    renamed_plan = plan_cluster(anonymous, PlanOptions())
    assert list(renamed_plan.addresses.subnets.values()) == list(plan.addresses.subnets.values())
    planned = [str(each.ip) for each in plan.addresses.addresses.values()]
    stays = re.compile(f"({'|'.join(map(re.escape, planned))})")
    for text, other in (
        (
            render_setup(plan.scripts, with_undo=True),
            render_setup(renamed_plan.scripts, with_undo=True),
        ),
        (render_hostfile(plan.hostfile), render_hostfile(renamed_plan.hostfile)),
    ):
        pieces = stays.split(text)
        pieces[::2] = [renaming.text(piece, thorough=True) for piece in pieces[::2]]
        assert other == "".join(pieces)


def test_it_can_be_saved_loaded_and_anonymised_again(tmp_path: Path) -> None:
    once = anonymise(scenario("fleet_of_four").recording)
    save_recording(once, tmp_path / "once")
    assert load_recording(tmp_path / "once") == once
    assert len(anonymise(once).hosts) == 4


def test_two_runs_share_no_address_map() -> None:
    """The key is drawn anew, so nobody can look an address up."""
    operator = OperatorNetwork((IPv4Interface("17.142.160.59/24"),), ())
    runs = {str(anonymise(recording(operator=operator)).operator) for _ in range(8)}
    assert len(runs) > 1


def test_every_form_of_a_name() -> None:
    hosts = (
        HostRecording(
            "ada@atlas.lab.corp",
            answers(
                computer_name="Ada’s Atlas\n",
                sudo_list="User ada may run the following commands on atlas:\n    (ALL) ALL\n",
                python="/Users/ada/venv/bin/python\n",
                other="ATLAS atlas_2 atlases bob@Birch.local",
            ),
        ),
        HostRecording("birch.local", {}),
        HostRecording("10.1.2.3", {}),
        HostRecording("localhost", {}),
    )
    anonymous = anonymise(recording(*hosts))
    first, second, third, fourth = (each.host for each in anonymous.hosts)
    assert (first, second, fourth) == ("user1@host1.domain1", "host2.local", "localhost")
    assert IPv4Address(third) != IPv4Address("10.1.2.3")
    assert {name: done.stdout.decode() for name, done in anonymous.hosts[0].probes.items()} == {
        "computer_name": "computer1\n",
        "sudo_list": "User user1 may run the following commands on host1:\n    (ALL) ALL\n",
        "python": "/Users/user1/venv/bin/python\n",
        "other": "host1 host1_2 atlases bob@host2.local",
    }


def test_ordinary_words_stay_where_commands_print_them() -> None:
    """A host may be called mini, and a user admin."""
    text = '{"device_name_key" : "Mac mini", "x" : "en5"}'
    mini = HostRecording("mini", answers(system_profiler=text, computer_name="Mac mini\n"))
    en5 = HostRecording("admin@en5", {})
    anonymous = anonymise(recording(mini, en5))
    assert [each.host for each in anonymous.hosts] == ["host1", "user1@host2"]
    assert anonymous.hosts[0].probes["system_profiler"].stdout.decode() == text


def test_a_pseudonym_is_never_somebody_elses_name() -> None:
    anonymous = anonymise(recording(HostRecording("host2", {}), HostRecording("host1", {})))
    assert [each.host for each in anonymous.hosts] == ["host3", "host4"]


def test_a_uuid_keeps_its_case_and_its_identity() -> None:
    upper, lower = "01E40EEC-B573-42CE-ADCC-411FD8565B44", "01e40eec-b573-42ce-adcc-411fd8565b44"
    data = base64.b64encode(UUID(upper).bytes).decode()
    said = renamed(a=f"{upper} {lower}", b=f"<data>\n\t{data}\n\t</data>", c="55B13FC1-50FC-4481")
    one, two = said["a"].split()
    assert (one.lower(), one) == (two, two.upper())
    assert UUID(one) != UUID(upper)
    assert said["b"] == f"<data>\n\t{base64.b64encode(UUID(one).bytes).decode()}\n\t</data>"
    assert said["c"] == "55B13FC1-50FC-4481"


def test_a_mac_address_in_all_its_forms() -> None:
    """Padded, as BSD shortens it, in a property list, and inside an address made of it."""
    data = base64.b64encode(bytes.fromhex("367e0a01e500")).decode()
    said = renamed(
        ifconfig="ether 36:7e:0a:01:e5:00 ",
        netstat="192.168.1.7  36:7e:a:1:e5:0  UHLWI en0\n",
        networksetup="36:7E:0A:01:E5:00",
        ioreg=f"<data>{data}</data>",
        inet6="inet6 fe80::347e:aff:fe01:e500%en2 prefixlen 64",
        kept="id 0:0:0:0:0:0 ff:ff:ff:ff:ff:ff 1:0:5e:0:0:fb",
    )
    assert said["ifconfig"] == "ether 36:00:00:00:00:01 "
    assert said["netstat"].split()[1] == "36:0:0:0:0:1"
    assert said["networksetup"] == "36:00:00:00:00:01"
    assert base64.b64decode(said["ioreg"][6:-7]).hex(":") == "36:00:00:00:00:01"
    assert said["inet6"] == "inet6 fe80::3400:ff:fe00:1%en2 prefixlen 64"
    assert said["kept"] == "id 0:0:0:0:0:0 ff:ff:ff:ff:ff:ff 1:0:5e:0:0:fb"


def test_a_switch_uid_and_the_guid_made_of_it() -> None:
    number = int("0x05AC3111C304E485", 16)
    said = renamed(
        system_profiler='"switch_uid_key" : "0x05AC3111C304E485"',
        ibv_devices="    rdma_en2        \t85e404c31131ac05\n",
        ibv_devinfo="node_guid: 85e4:04c3:1131:ac05",
        ioreg=f"<key>UID</key>\n<integer>{number}</integer><integer>{number + 1}</integer>",
    )
    assert said == {
        "system_profiler": '"switch_uid_key" : "0x05AC000000000001"',
        "ibv_devices": "    rdma_en2        \t010000000000ac05\n",
        "ibv_devinfo": "node_guid: 0100:0000:0000:ac05",
        "ioreg": f"<key>UID</key>\n<integer>{0x05AC000000000001}</integer>"
        f"<integer>{number + 1}</integer>",
    }


def test_serial_numbers_and_data() -> None:
    said = renamed(
        system_profiler='"aapl_serial_number_key" : "C02XK0AAJG5H", "x" : "C02XK0AAJG5H"',
        hardware="<key>IOPlatformSerialNumber</key>\n\t<string>82696DBCAF</string>"
        "<key>serial-number</key><data>ODI2OTZEQkNBRgA=</data><data>!</data><data></data>",
    )
    assert said == {
        "system_profiler": '"aapl_serial_number_key" : "SERIAL1", "x" : "SERIAL1"',
        "hardware": "<key>IOPlatformSerialNumber</key>\n\t<string>SERIAL2</string>"
        "<key>serial-number</key><data>AAAAAAAAAAAAAAA=</data><data>!</data><data></data>",
    }


def test_a_binary_property_list_is_left_out() -> None:
    said = renamed(network_interfaces=b"bplist00\xd1\x01 Ada's secrets")
    assert said == {"network_interfaces": "bplist00"}


def test_names_that_users_gave_to_services_ports_and_peers() -> None:
    said = renamed(
        networksetup_ports="Hardware Port: Wi-Fi\nDevice: en0\n\n"
        "Hardware Port: LabBridge\nDevice: bridge2\n\nVLAN User Defined Name: Cellar\n",
        networksetup_services="(1) Ada at home\n(Hardware Port: Wi-Fi, Device: en0)\n\n"
        "(*) LabBridge\n(Hardware Port: LabBridge, Device: bridge2)\n"
        "(3) Wi-Fi 2\n(Hardware Port: Wi-Fi, Device: en3)\n",
        system_profiler='[{"domain_uuid_key": "", "vendor_id_key": "0x8086", "_name": "nuc-lab"}]',
    )
    assert said == {
        "networksetup_ports": "Hardware Port: Wi-Fi\nDevice: en0\n\n"
        "Hardware Port: port1\nDevice: bridge2\n\nVLAN User Defined Name: vlan1\n",
        "networksetup_services": "(1) service1\n(Hardware Port: Wi-Fi, Device: en0)\n\n"
        "(*) port1\n(Hardware Port: port1, Device: bridge2)\n"
        "(3) Wi-Fi 2\n(Hardware Port: Wi-Fi, Device: en3)\n",
        "system_profiler": '[{"domain_uuid_key": "", "vendor_id_key": "0x8086", "_name": "peer1"}]',
    }


def test_errors_are_renamed_with_the_rest() -> None:
    refused = Unreachable(
        "studio.lab.corp port 22 refused the connection", host="atlas", hint="Try: ssh atlas true"
    )
    unknown = AuthenticationFailed(
        "its host key is not known: ed25519 SHA256:GMe0fWUWdOC/yNkMiW2xEquSAQlgKI+q+CM09QsyDy0",
        host="birch",
        hint="accept it with: ssh-keyscan -t ed25519 birch.corp >> /Users/ada/.ssh/known_hosts",
    )
    anonymous = anonymise(
        recording(HostRecording("atlas", {}, refused), HostRecording("birch", {}, unknown))
    )
    assert [str(each.error) for each in anonymous.hosts] == [
        "host3.domain1 port 22 refused the connection -- host1 -- Try: ssh host1 true",
        "its host key is not known: ed25519 SHA256:key1 -- host2 --"
        " accept it with: ssh-keyscan -t ed25519 host2.domain2 >> /Users/user1/.ssh/known_hosts",
    ]
    assert [type(each.error) for each in anonymous.hosts] == [Unreachable, AuthenticationFailed]


def test_ipv6_addresses_keep_their_kind() -> None:
    text = "::1 fe80::1 ff02::fb fe80::1c2b:3d4e:5f60:7182 2a02:8071:b:c::17 fd12:3456:789a:1::5"
    one, lo, group, link, public, local = map(IPv6Address, renamed(x=text)["x"].split())
    assert (str(one), str(lo), str(group)) == ("::1", "fe80::1", "ff02::fb")
    assert link.is_link_local
    assert link != IPv6Address("fe80::1c2b:3d4e:5f60:7182")
    assert (str(public), str(local)) == ("2001:db8:0:1::17", "fd00:0:0:2::5")


def test_what_only_looks_like_an_identifier_stays() -> None:
    text = "12:34:56 1.44.0 mask 255.255.255.0 0xfffffffc IOService::start a:b:c 26.2 0x2 10000"
    assert renamed(x=text) == {"x": text}


def test_bytes_of_no_encoding_survive() -> None:
    host = HostRecording("atlas", answers(x=b"\xff\xfe atlas \x80"))
    assert anonymise(recording(host)).hosts[0].probes["x"].stdout == b"\xff\xfe host1 \x80"


def test_routes_are_cut_short_as_before() -> None:
    text = (
        "default            192.168.7.1        UGScg                 en0\n"
        "127                127.0.0.1          UCS                   lo0\n"
        "192.168.7          link#8             UCS                   en0      !\n"
        "192.168.7.21/32    link#8             UCS                   en0      !\n"
        "172.20/16          link#9             UCS                   en1      !\n"
        "224.0.0/4          link#8             UmCS                  en0      !\n"
        "0/1                10.66.0.1          UGSc                utun4       \n"
        "128.0/1            10.66.0.1          UGSc                utun4       \n"
    )
    lines = renamed(netstat=text)["netstat"].splitlines()
    words = [line.split()[0] for line in lines]
    assert (words[0], words[1], *words[5:]) == ("default", "127", "224.0.0/4", "0/1", "128.0/1")
    lan = words[2]
    assert re.fullmatch(r"192\.168\.\d+", lan)
    assert lan != "192.168.7"
    assert words[3].startswith(f"{lan}.")
    assert words[3].endswith("/32")
    assert lines[0].split()[1] == f"{lan}.1"
    assert re.fullmatch(r"172\.\d+/16", words[4])
    assert IPv4Network("172.16.0.0/12").supernet_of(IPv4Network(f"{words[4][:-3]}.0.0/16"))


ADDRESSES = st.integers(1, 2**32 - 2).map(IPv4Address)
INTERFACES = st.builds(
    lambda address, length: IPv4Interface((address, length)), ADDRESSES, st.integers(8, 30)
)


def common_bits(one: IPv4Address, two: IPv4Address) -> int:
    return 32 - (int(one) ^ int(two)).bit_length()


@given(st.lists(INTERFACES, min_size=2, max_size=6), st.binary(min_size=1, max_size=16))
def test_every_relation_between_networks_stays(interfaces: list[IPv4Interface], key: bytes) -> None:
    networks = [each.network for each in interfaces]
    scrambled = ScrambledAddresses(
        [each.ip for each in interfaces], networks, CANDIDATE_BLOCKS, [], key
    )
    new = [scrambled.scramble(each.ip) for each in interfaces]
    moved = [scrambled.scramble_network(each) for each in networks]
    assert [common_bits(a, b) for a in new for b in new] == [
        common_bits(a.ip, b.ip) for a in interfaces for b in interfaces
    ]
    for old, network, address, moved_network in zip(interfaces, networks, new, moved, strict=True):
        assert address in moved_network
        assert moved_network.broadcast_address == scrambled.scramble(network.broadcast_address)
        assert moved_network.network_address == scrambled.scramble(network.network_address)
        for block in CANDIDATE_BLOCKS:
            assert moved_network.overlaps(block) == network.overlaps(block)
        for kind in ("is_loopback", "is_link_local", "is_multicast", "is_reserved"):
            assert getattr(address, kind) == getattr(old.ip, kind)
        for block in PRIVATE_BLOCKS:
            assert (address in block) == (old.ip in block)


@given(ADDRESSES, st.binary(min_size=1, max_size=16))
def test_an_address_changes_if_it_says_anything(address: IPv4Address, key: bytes) -> None:
    scrambled = ScrambledAddresses([address], [], CANDIDATE_BLOCKS, [], key)
    is_special = any(address in network for network in SPECIAL)
    assert is_special or scrambled.scramble(address) != address


def test_the_order_of_hosts_stays() -> None:
    stored = scenario("six_with_chords").recording
    anonymous = anonymise(stored)
    assert [each.host for each in anonymous.hosts] == [f"host{n}" for n in range(1, 7)]
    assert [list(each.probes) for each in anonymous.hosts] == [
        list(each.probes) for each in stored.hosts
    ]
