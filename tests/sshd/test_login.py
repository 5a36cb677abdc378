"""Logging in as OpenSSH would: agent, key files, user; and what is said when that fails."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from distconfig.errors import AuthenticationFailed
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm, make_key

REMOTE_LOGIN = "A Mac lets in only users listed under Sharing > Remote Login."


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """The socket of a fresh ssh-agent."""
    path = str(tmp_path / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()  # printed once it listens
    yield path
    process.kill()
    process.wait()
    process.stdout.close()


def put_in_agent(path: str, *keys: Path) -> None:
    argv = ["ssh-add", "-q", *map(str, keys)]
    subprocess.run(argv, check=True, env={**os.environ, "SSH_AUTH_SOCK": path}, capture_output=True)


def authorized(*keys: Path) -> dict[str, str]:
    text = "".join(Path(f"{key}.pub").read_text() for key in keys)
    return {"/etc/farm_authorized_keys": text}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("ed25519", ()),
        ("ecdsa", ()),
        ("ecdsa", ("-b", "521")),
        ("rsa", ()),
        ("rsa", ("-m", "PEM")),
        ("ecdsa", ("-m", "PKCS8")),
    ],
)
def test_a_key_file_of_any_kind_opens_the_door(
    farm: Farm, connector: Connector, kind: str, more: tuple[str, ...]
) -> None:
    key = farm.folder / "my_key"
    make_key(key, kind, "", *more)
    host = farm.add("studio1", files=authorized(key), options={"IdentityFile": str(key)})
    assert connector.reach("studio1").run("echo in", timeout_s=60).stdout == b"in\n"
    assert "Accepted publickey for root" in host.log


def test_the_user_in_the_configuration_or_before_the_name_logs_in(
    farm: Farm, connector: Connector
) -> None:
    farm.add("studio1", options={"User": "ada"})
    farm.add("studio2")
    for name in ("studio1", "ada@studio2"):
        assert connector.reach(name).run("id -un", timeout_s=60).stdout == b"ada\n"


def test_tokens_and_variables_in_paths_are_replaced(
    farm: Farm, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = farm.folder / "key_root_studio1"
    make_key(key)
    monkeypatch.setenv("MY_KEYS", str(farm.folder))
    farm.add("studio1", files=authorized(key), options={"IdentityFile": "${MY_KEYS}/key_%r_%n"})
    connector.reach("studio1")


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_a_key_in_the_agent_opens_the_door(
    farm: Farm, connector: Connector, agent: str, kind: str
) -> None:
    key = farm.folder / "agent_key"
    make_key(key, kind)
    put_in_agent(agent, key)
    key.unlink()
    options = {"IdentityAgent": agent, "IdentitiesOnly": "no", "IdentityFile": "none"}
    farm.add("studio1", files=authorized(key), options=options)
    connector.reach("studio1")


def test_the_agent_of_the_environment_is_asked(
    farm: Farm, connector: Connector, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = farm.folder / "agent_key"
    make_key(key)
    put_in_agent(agent, key)
    key.unlink()
    monkeypatch.setenv("SSH_AUTH_SOCK", agent)
    options = {"IdentityAgent": "SSH_AUTH_SOCK", "IdentitiesOnly": "no"}
    farm.add("studio1", files=authorized(key), options=options)
    connector.reach("studio1")


def test_a_key_with_a_passphrase_works_through_the_agent(
    farm: Farm, connector: Connector, agent: str
) -> None:
    """The agent holds the key; the file on disk is there too, and locked."""
    key = farm.folder / "locked"
    make_key(key)
    put_in_agent(agent, key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(key)], check=True)
    host = farm.add(
        "studio1",
        files=authorized(key),
        options={"IdentityAgent": agent, "IdentityFile": str(key)},
    )
    connector.reach("studio1")
    assert "Failed publickey" not in host.log


@pytest.mark.parametrize(
    ("kind", "more"), [("ed25519", ()), ("rsa", ("-m", "PEM")), ("ecdsa", ("-m", "PKCS8"))]
)
def test_a_key_with_a_passphrase_and_no_agent_is_named(
    farm: Farm, connector: Connector, kind: str, more: tuple[str, ...]
) -> None:
    key = farm.folder / "locked"
    make_key(key, kind, "secret", *more)
    farm.add("studio1", files=authorized(key), options={"IdentityFile": str(key)})
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    # The farm's own key is configured for all hosts and is not welcome on this one.
    assert error.what == f"the login as root was refused (tried {farm.identity})"
    assert error.hint == (
        "Try: ssh -o BatchMode=yes studio1 true."
        f" {key} has a passphrase; put it in the agent with: ssh-add {key}. {REMOTE_LOGIN}"
    )


def test_a_key_the_host_does_not_know_is_refused(farm: Farm, connector: Connector) -> None:
    stranger = farm.folder / "stranger"
    make_key(stranger)
    farm.add("studio1", files=authorized(stranger))
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    assert str(error) == (
        f"the login as root was refused (tried {farm.identity}) -- studio1 -- Try: ssh -o"
        " BatchMode=yes studio1 true. Put a key on it with: ssh-copy-id studio1."
        f" {REMOTE_LOGIN}"
    )


def test_no_key_at_all_is_said(farm: Farm, connector: Connector) -> None:
    farm.identity.rename(farm.folder / "elsewhere")
    farm.add("studio1")
    error = connector.fail("studio1")
    assert error.what == (
        "the login as root was refused (tried no key: none in the agent and no key file)"
    )


def test_a_host_that_takes_only_passwords_is_said(farm: Farm, connector: Connector) -> None:
    farm.add("studio1", sshd="AuthenticationMethods password\nPasswordAuthentication yes")
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    assert "It offers only password; allow keys there." in error.hint


def test_a_host_that_wants_a_second_factor_is_said(farm: Farm, connector: Connector) -> None:
    farm.add(
        "studio1",
        sshd="AuthenticationMethods publickey,password\nPasswordAuthentication yes",
    )
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    assert "It offers only password; allow keys there." in error.hint


def test_too_many_keys_in_the_agent_are_said(farm: Farm, connector: Connector, agent: str) -> None:
    keys = [farm.folder / f"key{number}" for number in range(7)]
    for key in keys:
        make_key(key)
    put_in_agent(agent, *keys)
    farm.add("studio1", options={"IdentityAgent": agent, "IdentitiesOnly": "no"})
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    tried = ", ".join(f"agent key key{number}" for number in range(6))
    assert error.what == (
        f"the login as root was refused (tried {tried}; then the host ended the connection)"
    )
    assert "If these are too many, name the right one with IdentityFile and IdentitiesOnly yes" in (
        error.hint
    )


def test_a_host_that_asks_for_no_key_is_entered_without_one(
    farm: Farm, connector: Connector
) -> None:
    """As over Tailscale SSH, which knows who is calling by the network."""
    farm.identity.rename(farm.folder / "elsewhere")
    farm.add(
        "studio1",
        sshd="AuthenticationMethods none\nPermitRootLogin yes\nPermitEmptyPasswords yes\n"
        "PasswordAuthentication yes",
        files={"/etc/shadow": "root::19000:0:99999:7:::\n"},
    )
    connector.reach("studio1")
