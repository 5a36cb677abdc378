"""The commands that print a line or two: which machine this is, and who is asking."""

from __future__ import annotations

import plistlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.hosts.shell import Completed
from distconfig.probes import PROBES, is_wanted, probes_for
from distconfig.probes.computer_name import parse_computer_name
from distconfig.probes.hardware import parse_hardware
from distconfig.probes.hw_model import parse_hw_model
from distconfig.probes.parsed import Parsed, misunderstood, split_lines
from distconfig.probes.rdma_ctl import parse_rdma_ctl
from distconfig.probes.ssh_connection import parse_ssh_connection
from distconfig.probes.sudo import SudoAbility, parse_sudo
from distconfig.probes.sw_vers import parse_sw_vers
from distconfig.probes.uname import Uname, parse_uname

IDENTITY = "0D402F05-FB00-41E1-A00C-5E67740F0886"


@pytest.mark.parametrize(
    ("parse", "stdout", "value"),
    [
        (parse_uname, b"Linux 6.12.9-generic x86_64\n", Uname("Linux", "6.12.9-generic", "x86_64")),
        (parse_hw_model, b"Mac15,14\n", "Mac15,14"),
        (parse_hw_model, b"VirtualMac2,1\n", "VirtualMac2,1"),
        (parse_rdma_ctl, b"disabled\n", "disabled"),
        (parse_computer_name, "Büro [bold]\n".encode(), "Büro [bold]"),
        (parse_ssh_connection, b"fe80::1%en0 50222 fe80::2%en0 22\n",
         ("fe80::1%en0", "50222", "fe80::2%en0", "22")),
        (parse_sw_vers, b"ProductName:\tmacOS\nProductVersion:\t13.6.7\nBuildVersion:\t22G720\n",
         "13.6.7"),
        (parse_hardware, plistlib.dumps([{"IOPlatformUUID": IDENTITY}]), UUID(IDENTITY)),
    ],
)  # fmt: skip
def test_what_is_printed_is_read(
    parse: Callable[[bytes], Parsed[Any]], stdout: bytes, value: object
) -> None:
    assert parse(stdout) == Parsed(value)


@pytest.mark.parametrize(
    ("parse", "stdout"),
    [
        (parse_uname, b""),
        (parse_uname, b"Darwin 25.4.0 arm64"),
        (parse_uname, b"Darwin 25.4.0\n"),
        (parse_uname, b"Darwin 25.4.0 arm64\nmore\n"),
        (parse_uname, b"sh: uname: command not found\n"),
        (parse_hw_model, b"Mac15,14"),
        (parse_hw_model, b"Mac15\xff14\n"),
        (parse_hw_model, b"Mac15,14\nMac16,9\n"),
        (parse_rdma_ctl, b"enabled?\n"),
        (parse_rdma_ctl, b""),
        (parse_computer_name, b""),
        (parse_computer_name, b"one\ntwo\n"),
        (parse_ssh_connection, b"192.168.1.10 52144 192.168.1.21\n"),
        (parse_ssh_connection, b"192.168.1.10 52144 192.168.1.21 22 \n"),
        (parse_ssh_connection, b"studio1 52144 192.168.1.21 22\n"),
        (parse_ssh_connection, b"192.168.1.10 52144 192.168.1.21 99999\n"),
        (parse_ssh_connection, b"192.168.1.10 52144 192.168.1.21 2"),
        (parse_sw_vers, b"ProductName:\tmacOS\n"),
        (parse_sw_vers, b"ProductVersion:\ttwentysix\n"),
        (parse_sw_vers, b"ProductVersion:\t26.4\nProductVersion:\t15.6\n"),
        (parse_hardware, b""),
        (parse_hardware, plistlib.dumps([])),
        (parse_hardware, plistlib.dumps([{"IOPlatformUUID": "7"}])),
        (parse_hardware, plistlib.dumps([{"IOPlatformUUID": 7}])),
        (parse_hardware, plistlib.dumps({"IOPlatformUUID": IDENTITY})),
    ],
)
def test_anything_else_is_refused(parse: Callable[[bytes], Parsed[Any]], stdout: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse(stdout)


def test_an_unknown_line_of_sw_vers_is_noted() -> None:
    assert parse_sw_vers(b"ProductVersion:\t26.4\nMood:\tgood\n").notes == ("Mood:\tgood",)


def sudo(returncode: int, stderr: bytes = b"", stdout: bytes = b"") -> Completed:
    return Completed(("/usr/bin/sudo",), returncode, stdout, stderr)


def test_sudo_may_allow_everything() -> None:
    listing = sudo(0, stdout=b"User ada may run: ALL\n")
    assert parse_sudo(sudo(0), listing).value == SudoAbility(True, "User ada may run: ALL\n")


def test_sudo_may_want_a_password() -> None:
    wants = sudo(1, b"sudo: a password is required\n")
    assert parse_sudo(wants, wants).value == SudoAbility(
        False, problem="sudo: a password is required"
    )


def test_sudo_that_says_nothing_is_quoted_by_its_status() -> None:
    assert parse_sudo(sudo(2)).value == SudoAbility(False, problem="sudo ended with 2")


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert split_lines(b"caf\xe9\r\n") == ["caf\ufffd"]


def test_a_long_line_is_shortened_in_the_error() -> None:
    assert misunderstood("odd", "x" * 1_000).at == "x" * 200 + "..."


def test_names_of_probes_do_not_repeat() -> None:
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names)
    assert PROBES[0].name == "uname"


def test_every_command_is_given_by_its_path() -> None:
    assert [probe.name for probe in PROBES if not probe.argv[0].startswith("/")] == []


def test_what_a_linux_host_is_asked() -> None:
    assert [probe.name for probe in probes_for("Linux")] == ["uname", "ssh_connection"]
    assert probes_for("Darwin") == PROBES


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (None, True),
        (sudo(0, stdout=b' \n{"SPThunderboltDataType" : []}'), False),
        (sudo(0, stdout=b""), True),
        (sudo(0, stdout=b"Thunderbolt:\n"), True),
        (sudo(1, stdout=b"{}"), True),
    ],
)
def test_the_property_list_is_asked_for_where_there_is_no_json(
    answer: Completed | None, wanted: bool
) -> None:
    xml = next(probe for probe in PROBES if probe.name == "system_profiler_xml")
    answers = {"system_profiler": answer} if answer is not None else {}
    assert is_wanted(xml, answers) is wanted
