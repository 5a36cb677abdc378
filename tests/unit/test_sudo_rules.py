"""Which rule of sudo counts for a command, from what sudo lists."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.setup.script_answers import parse_answer
from distconfig.setup.setup_check import find_denied
from distconfig.setup.sudo_rules import SudoRule, asks_for_password, parse_sudo_rules

# As sudo 1.9.13 prints it for a sudoers file of
#   ada ALL=(ALL) ALL
#   Cmnd_Alias RING = (the three commands)
#   ada ALL=(root) NOPASSWD: RING
#   ada ALL=(ALL) NOPASSWD: /usr/bin/powermetrics, PASSWD: /bin/ls, NOPASSWD: /bin/cat "", ...
LISTING = """\
Matching Defaults entries for ada on studio1:
    env_reset, mail_badpass

User ada may run the following commands on studio1:

Sudoers entry:
    RunAsUsers: ALL
    Commands:
\tALL

Sudoers entry:
    RunAsUsers: root
    Options: !authenticate
    Commands:
\t/sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up
\t/usr/sbin/networksetup -setmanual x\\,y\\:z\\=1 b
\t/sbin/route -n add -host 10.231.0.* -interface en2

Sudoers entry:
    RunAsUsers: ALL
    Options: !authenticate
    Commands:
\t/usr/bin/powermetrics

Sudoers entry:
    RunAsUsers: ALL
    Options: setenv, authenticate
    Commands:
\t/bin/ls

Sudoers entry:
    RunAsUsers: backup
    Options: !authenticate
    Commands:
\t/usr/bin/tar

Sudoers entry:
    RunAsUsers: ALL
    Options: !authenticate
    Commands:
\t/bin/cat ""
\t!/bin/cat /etc/shadow
"""


def test_the_rules_about_root_in_their_order() -> None:
    assert parse_sudo_rules(LISTING) == (
        SudoRule("ALL", True),
        SudoRule("/sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up", False),
        SudoRule("/usr/sbin/networksetup -setmanual x\\,y\\:z\\=1 b", False),
        SudoRule("/sbin/route -n add -host 10.231.0.* -interface en2", False),
        SudoRule("/usr/bin/powermetrics", False),
        SudoRule("/bin/ls", True),
        SudoRule('/bin/cat ""', False),
        SudoRule("!/bin/cat /etc/shadow", False),
    )


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("/sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up", False),
        ("/sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252", True),
        ("/sbin/ifconfig bridge0 down", True),
        ("/usr/sbin/networksetup -setmanual x,y:z=1 b", False),
        ("/sbin/route -n add -host 10.231.0.2 -interface en2", False),
        ("/sbin/route -n add -host 10.231.1.2 -interface en2", True),
        ("/usr/bin/powermetrics --samplers all", False),
        ("/bin/ls /", True),
        ("/usr/bin/tar", True),
        ("/bin/cat", False),
        ("/bin/cat /etc/hosts", True),
    ],
)
def test_the_last_rule_about_a_command_counts(command: str, asks: bool) -> None:
    assert asks_for_password(parse_sudo_rules(LISTING), command.split()) is asks


@pytest.mark.parametrize(
    "rule", ["/bin/cat ^-f.*$", "sha256:abc= /bin/cat", "!/bin/cat", "/bin/cat [[:alpha:]]", "list"]
)
def test_what_only_sudo_can_tell_is_left_to_sudo(rule: str) -> None:
    rules = [SudoRule("ALL", True), SudoRule(rule, False)]
    assert not asks_for_password(rules, ("/bin/cat", "-f"))


def test_a_default_of_no_password_and_users_that_are_not_root() -> None:
    head = "Matching Defaults entries for a on b:\n    env_reset, !authenticate\n\n"
    entry = "Sudoers entry: /etc/sudoers\n    RunAsUsers: ALL, !root\n    Commands:\n\t/bin/a\n"
    other = "Sudoers entry: /etc/sudoers\n    RunAsUsers: root\n    Commands:\n\t/bin/b\n"
    assert parse_sudo_rules(head + entry + other) == (SudoRule("/bin/b", False),)
    assert parse_sudo_rules(entry + other) == (SudoRule("/bin/b", True),)


@pytest.mark.parametrize(
    "text", ["", "sudo: a password is required\n", "\x00\tALL\n", LISTING[:150]]
)
def test_what_is_no_list_says_nothing(text: str) -> None:
    assert not asks_for_password(parse_sudo_rules(text), ("/bin/ls",))


@given(st.text(max_size=300))
def test_any_text_is_a_list_of_rules_or_none(text: str) -> None:
    for rule in parse_sudo_rules(f"Sudoers entry:\n    RunAsUsers: root\n{text}"):
        asks_for_password([rule], ("/bin/ls", "a"))


@given(st.text("ab*?[]!-", max_size=8), st.text("ab-[]!", max_size=8))
def test_wildcards_are_those_of_fnmatch(pattern: str, text: str) -> None:
    rules = [SudoRule("/bin/x a" + pattern, True)]
    assert asks_for_password(rules, ("/bin/x", "a" + text)) is fnmatchcase(
        "a" + text, "a" + pattern
    )


def test_a_directory_and_a_path_with_wildcards() -> None:
    rules = [SudoRule("/sbin/", True), SudoRule("/usr/*bin/n*", True)]
    paths = ("/sbin/route", "/sbin/a/route", "/usr/sbin/netstat", "/usr/a/bin/n", "/usr/bin/x")
    assert [asks_for_password(rules, (path,)) for path in paths] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_a_list_without_end_is_none() -> None:
    head = "Sudoers entry:\n    RunAsUsers: root\n    Commands:\n"
    assert len(parse_sudo_rules(head + "\t/bin/a\n" * 1000)) == 1000
    assert parse_sudo_rules(head + "\t/bin/a\n" * 100_000) == ()


def test_a_rule_that_is_made_to_take_long_does_not() -> None:
    began = time.monotonic()
    assert not asks_for_password(
        [SudoRule("/bin/x " + "a*" * 100 + "b", True)], ("/bin/x", "a" * 999)
    )
    assert time.monotonic() - began < 20


ANSWER = """@ sudo some
@ step 0 0
/sbin/ifconfig en2 up
@ step 1 0
/sbin/ifconfig en3 up
@ rules
{listing}@ snapshot
lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384
@ end
"""


def test_a_command_that_sudo_lists_but_wants_a_password_for_is_denied() -> None:
    rule = "Sudoers entry:\n    RunAsUsers: root\n    Options: !authenticate\n    Commands:\n"
    everything = "Sudoers entry:\n    RunAsUsers: ALL\n    Commands:\n\tALL\n\n"
    commands = (("/sbin/ifconfig", "en2", "up"), ("/sbin/ifconfig", "en3", "up"))

    def denied(listing: str) -> str:
        return find_denied(commands, parse_answer(ANSWER.format(listing=listing).encode(), "a"))

    refusal = "not allowed without a password: sudo /sbin/ifconfig en3 up"
    assert denied(f"{everything}{rule}\t/sbin/ifconfig en2 up\n") == refusal
    assert denied(f"{everything}{rule}\t/sbin/ifconfig en* up\n") == ""
    assert denied("") == ""
