"""The output of ``ssh -G`` as settings."""

from __future__ import annotations

import pytest

from distconfig.errors import UsageError
from distconfig.ssh.ssh_config import (
    Jump,
    SshSettings,
    expand_tokens,
    parse_proxy_jump,
    parse_ssh_settings,
)

# Cut from `ssh -G` of OpenSSH 9.2, with every setting we use given in the configuration.
EVERYTHING = """\
host studio1
user ada
hostname 10.0.0.7
port 2222
addressfamily inet
batchmode no
hashknownhosts yes
identitiesonly yes
stricthostkeychecking accept-new
bindaddress 10.0.0.1
hostkeyalias Studio-1
identityagent ~/Library/agent.sock
identityfile ~/.ssh/first
identityfile ~/.ssh/second key
globalknownhostsfile /etc/ssh/ssh_known_hosts
userknownhostsfile /home/ada/.ssh/known_hosts "/home/ada/my hosts"
sendenv LANG
sendenv LC_*
connecttimeout 7
proxyjump ops@gate:2200,inner
"""


def test_every_setting_is_read() -> None:
    assert parse_ssh_settings("studio1", EVERYTHING) == SshSettings(
        host="studio1",
        hostname="10.0.0.7",
        port=2222,
        user="ada",
        host_key_alias="Studio-1",
        identity_files=("~/.ssh/first", "~/.ssh/second key"),
        identities_only=True,
        identity_agent="~/Library/agent.sock",
        user_known_hosts=("/home/ada/.ssh/known_hosts", "/home/ada/my hosts"),
        global_known_hosts=("/etc/ssh/ssh_known_hosts",),
        hashes_known_hosts=True,
        accepts_new_keys=True,
        connect_timeout_s=7,
        address_family="inet",
        bind_address="10.0.0.1",
        proxy_command="",
        jumps=(Jump("gate", "ops", 2200), Jump("inner")),
    )


def test_what_is_not_printed_has_openssh_defaults() -> None:
    assert parse_ssh_settings("ada@studio1", "user ada\nconnecttimeout none\n") == SshSettings(
        host="ada@studio1", hostname="studio1", user="ada"
    )


def test_none_switches_a_proxy_off() -> None:
    settings = parse_ssh_settings("s", "hostname s\nproxycommand none\nproxyjump none\n")
    assert (settings.proxy_command, settings.jumps) == ("", ())


def test_a_proxy_command_stays_whole() -> None:
    command = "/bin/nc -X 5 -x 'my proxy:1080' %h %p"
    assert parse_ssh_settings("s", f"proxycommand {command}\n").proxy_command == command


@pytest.mark.parametrize("answer", ["ask", "yes", "true"])
def test_new_keys_are_accepted_only_where_configured(answer: str) -> None:
    text = f"stricthostkeychecking {answer}\n"
    assert not parse_ssh_settings("s", text).accepts_new_keys


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("port 0", "the ssh configuration gives s the Port '0'"),
        ("port 65536", "the ssh configuration gives s the Port '65536'"),
        ("port ssh", "the ssh configuration gives s the Port 'ssh'"),
        ("connecttimeout -1", "the ssh configuration gives s the ConnectTimeout '-1'"),
        ("proxyjump -x", "the ssh configuration gives s the ProxyJump '-x'"),
        ("proxyjump a:b:c", "the ssh configuration gives s the ProxyJump 'a:b:c'"),
        ("proxyjump a,,b", "the ssh configuration gives s the ProxyJump 'a,,b'"),
        ("proxyjump gate:99999", "the ssh configuration gives s the ProxyJump port '99999'"),
    ],
)
def test_a_setting_that_can_not_be_is_refused(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_ssh_settings("s", text)
    assert caught.value.what == what
    assert "`ssh -G s`" in caught.value.hint


def test_jump_hosts_in_every_notation() -> None:
    text = "gate,ops@gate:2200,[fe80::1%en0]:22,ssh://eve@gate:1/,a.b.c"
    assert parse_proxy_jump(text, "s") == (
        Jump("gate"),
        Jump("gate", "ops", 2200),
        Jump("fe80::1%en0", None, 22),
        Jump("gate", "eve", 1),
        Jump("a.b.c"),
    )


def test_tokens_are_replaced_once() -> None:
    tokens = {"h": "%p", "p": "22"}
    assert expand_tokens("%h %p %% %q %", tokens) == "%p 22 % %q %"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (SshSettings("a", "Studio1.local"), "studio1.local"),
        (SshSettings("a", "10.0.0.7", port=2222), "[10.0.0.7]:2222"),
        (SshSettings("a", "10.0.0.7", port=2222, host_key_alias="Alias"), "alias"),
    ],
)
def test_the_name_a_key_is_filed_under(settings: SshSettings, name: str) -> None:
    assert settings.known_hosts_name == name
