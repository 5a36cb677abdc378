"""What the doctor's own probes print, read; and what can not be read."""

from __future__ import annotations

import contextlib
import plistlib
import subprocess
import sys
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.doctor.facts import HostFacts, assemble_facts
from distconfig.doctor.probes import DOCTOR_PROBES, reach_probe
from distconfig.errors import UnexpectedOutput
from distconfig.probes import PROBES
from distconfig.probes.firewall import (
    parse_firewall_block_all,
    parse_firewall_state,
    parse_firewall_stealth,
)
from distconfig.probes.groups import parse_groups
from distconfig.probes.internet_sharing import InternetSharing, parse_internet_sharing
from distconfig.probes.launch_daemons import parse_launch_daemons
from distconfig.probes.network_location import parse_network_location
from distconfig.probes.parsed import Parsed
from distconfig.probes.python import Python, parse_python
from distconfig.probes.reach import Reach, parse_reach, render_reach_program
from distconfig.recordings.recording import HostRecording
from tests.doctor_answers import SHARING_ON, doctor_answers

Parse = Callable[[bytes], Parsed[object]]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_firewall_state, b"Firewall is disabled. (State = 0)\n", 0),
        (parse_firewall_state, b"Firewall is enabled. (State = 1) \n", 1),
        (parse_firewall_state, b"Firewall is enabled. (State = 2)\n", 2),
        (parse_firewall_block_all, b"Block all DISABLED! \n", False),
        (parse_firewall_block_all, b"Block all ENABLED!\n", True),
        (parse_firewall_block_all, b"Firewall has block all state set to disabled.\n", False),
        (
            parse_firewall_block_all,
            b"Firewall is set to block all non-essential incoming connections\n",
            True,
        ),
        (parse_firewall_stealth, b"Stealth mode enabled\n", True),
        (parse_firewall_stealth, b"Stealth mode disabled\n", False),
        (parse_firewall_stealth, b"Firewall stealth mode is on\n", True),
        (parse_firewall_stealth, b"Firewall stealth mode is off\n", False),
        (parse_network_location, "Büro 2\n".encode(), "Büro 2"),
        (parse_internet_sharing, SHARING_ON, InternetSharing(True, ("en1", "en3"))),
        (parse_internet_sharing, plistlib.dumps({"NAT": {}}), InternetSharing(False)),
        (
            parse_internet_sharing,
            plistlib.dumps({"NAT": {"Enabled": 1, "SharingDevices": ["en2", "; reboot", 3]}}),
            InternetSharing(True, ("en2",)),
        ),
        (parse_launch_daemons, b"a.plist\nREADME\n/Library/x/b.c.plist\n", ("a", "b.c")),
        (parse_launch_daemons, b"", ()),
        (parse_groups, b"admin\nstaff\n", frozenset({"admin", "staff"})),
        (parse_groups, b"staff everyone admin\n", frozenset({"staff", "everyone", "admin"})),
        (parse_python, b"3.13.0 /usr/local/bin/python3\n",
         Python("3.13.0", "/usr/local/bin/python3")),
        (
            parse_reach,
            b"10.231.0.2 OK no\n10.231.0.6 EHOSTUNREACH yes\n",
            (
                Reach(IPv4Address("10.231.0.2"), "OK", False),
                Reach(IPv4Address("10.231.0.6"), "EHOSTUNREACH", True),
            ),
        ),
    ],
)  # fmt: skip
def test_an_answer_is_read(parse: Parse, text: bytes, value: object) -> None:
    assert parse(text).value == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_firewall_state, b""),
        (parse_firewall_state, b"Firewall is enabled. (State = 3)\n"),
        (parse_firewall_state, b"Firewall is enabled. (State = 1)"),
        (parse_firewall_block_all, b"Block all MAYBE!\n"),
        (parse_firewall_stealth, b"Stealth mode enabled\nStealth mode disabled\n"),
        (parse_network_location, b"\n"),
        (parse_network_location, b"one\ntwo\n"),
        (parse_internet_sharing, b"not a property list"),
        (parse_internet_sharing, plistlib.dumps([])),
        (parse_internet_sharing, plistlib.dumps({"NAT": {"Enabled": "yes"}})),
        (parse_internet_sharing, plistlib.dumps({"NAT": {"Enabled": 1, "SharingDevices": 1}})),
        (parse_groups, b"\n"),
        (parse_python, b"3.13 /usr/bin/python3\n"),
        (parse_python, b"3.13.0 python3\n"),
        (parse_reach, b"10.231.0.2 OK\n"),
        (parse_reach, b"10.231.0.256 OK no\n"),
    ],
)
def test_an_answer_that_says_nothing_is_refused(parse: Parse, text: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse(text)


@pytest.mark.parametrize(
    "parse",
    [
        parse_firewall_state, parse_firewall_block_all, parse_firewall_stealth,
        parse_network_location, parse_internet_sharing, parse_launch_daemons, parse_groups,
        parse_python, parse_reach,
    ],
)  # fmt: skip
@given(text=st.binary(max_size=200))
def test_no_answer_does_anything_else(parse: Parse, text: bytes) -> None:
    with contextlib.suppress(UnexpectedOutput):
        parse(text)


def test_one_answer_that_is_not_understood_costs_only_itself() -> None:
    answers = doctor_answers(firewall_state=(0, b"Pare-feu\n"), python=(127, b""))
    facts = assemble_facts(HostRecording("studio1", answers))
    assert facts.firewall is None
    assert facts.lacks_python
    assert facts.location == "Automatic"
    assert len(facts.unknown) == 1
    assert facts.unknown[0].startswith("not a state of the firewall -- studio1 firewall_state:")


def test_without_any_answer_nothing_is_known_and_nothing_is_wrong() -> None:
    assert assemble_facts(HostRecording("studio1")) == HostFacts()


def test_the_doctors_probes_are_further_ones_with_absolute_paths() -> None:
    names = [probe.name for probe in (*PROBES, *DOCTOR_PROBES, reach_probe([]))]
    assert len(set(names)) == len(names)
    assert all(probe.argv[0].startswith("/") for probe in DOCTOR_PROBES)


def test_the_reach_program_names_the_error_that_python_got() -> None:
    program = render_reach_program([IPv4Address("127.0.0.1"), IPv4Address("127.0.0.2")])
    program = program.replace("(address, 22)", "(address, 1)")  # nobody listens there
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True
    )
    assert done.stdout == b"127.0.0.1 ECONNREFUSED no\n127.0.0.2 ECONNREFUSED no\n"
