"""Which host keys are trusted, and that the command in a refusal is the one that mends it."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

import pytest

from distconfig.errors import AuthenticationFailed, ProbeError
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm, FarmHost, make_key


def fingerprint(host: FarmHost) -> str:
    """The host's fingerprint as ssh-keygen computes it."""
    argv = ["ssh-keygen", "-l", "-f", f"{host.host_key}.pub"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()[1]


def obey(error: ProbeError, after: str) -> None:
    """Run the command that an error's hint gives after some words."""
    command = re.split(" -- ", error.hint.partition(after)[2])[0]
    subprocess.run(["/bin/sh", "-c", command], check=True, capture_output=True)


def other_key(farm: Farm, kind: str = "ed25519") -> str:
    path = farm.folder / f"other_{kind}"
    make_key(path, kind)
    return " ".join(Path(f"{path}.pub").read_text().split()[:2])


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_an_unknown_key_is_refused_until_the_command_shown_was_run(
    farm: Farm, connector: Connector, kind: str
) -> None:
    host = farm.add("studio1", key_type=kind, is_known=False)
    error = connector.fail("studio1")
    assert isinstance(error, AuthenticationFailed)
    assert error.what == f"its host key is not known: {kind} {fingerprint(host)}"
    assert error.hint == (
        "If the host itself shows this fingerprint, accept it with: ssh-keyscan -p"
        f" {host.port} -t {kind} {host.address} >> {farm.known_hosts}"
        " -- or use --accept-new-host-keys."
    )
    obey(error, "accept it with: ")
    connector.reach("studio1")
    assert "Accepted publickey" in host.log


def test_a_key_behind_an_alias_is_accepted_by_the_command_shown(
    farm: Farm, connector: Connector
) -> None:
    farm.add("studio1", is_known=False, options={"HostKeyAlias": "The-Studio"})
    error = connector.fail("studio1")
    assert "accept it with: ssh -o StrictHostKeyChecking=accept-new studio1 true" in error.hint
    obey(error, "accept it with: ")
    connector.reach("studio1")
    assert farm.known_hosts.read_text().startswith("the-studio ssh-ed25519 ")


def test_a_changed_key_is_refused_even_when_new_ones_are_accepted(
    farm: Farm, connector: Connector
) -> None:
    host = farm.add("studio1", is_known=False)
    farm.know(host, key=other_key(farm))
    before = farm.known_hosts.read_bytes()
    error = connector.fail("studio1", accept_new=True)
    assert isinstance(error, AuthenticationFailed)
    assert error.what == (
        f"its host key is not the one in {farm.known_hosts}:1: it shows ed25519 {fingerprint(host)}"
    )
    assert farm.known_hosts.read_bytes() == before
    assert "Accepted" not in host.log
    obey(error, "accept the new key with: ")
    connector.reach("studio1")


def test_a_key_of_another_type_than_the_known_one_counts_as_changed(
    farm: Farm, connector: Connector
) -> None:
    host = farm.add("studio1", is_known=False)
    farm.know(host, key=other_key(farm, "rsa"))
    error = connector.fail("studio1", accept_new=True)
    assert error.what.startswith(f"its host key is not the one in {farm.known_hosts}:1:")


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_the_known_type_of_key_is_asked_for(farm: Farm, connector: Connector, kind: str) -> None:
    """A host with several keys is recognised by the one that was written down."""
    host = farm.add("studio1", second_key_type=kind, is_known=False)
    farm.know(host, key=" ".join((host.folder / "host_key_2.pub").read_text().split()[:2]))
    connector.reach("studio1")


def test_new_keys_are_written_down_when_asked(farm: Farm, connector: Connector) -> None:
    hosts = [farm.add(name, is_known=False) for name in ("studio1", "studio2")]
    farm.known_hosts.write_text("# no line feed at the end")
    farm.known_hosts.chmod(0o640)
    found = connector.connect("studio1", "studio2", accept_new=True)
    assert [type(each).__name__ for each in found.values()] == ["SshConnection"] * 2
    first, *lines = farm.known_hosts.read_text().splitlines()
    assert first == "# no line feed at the end"
    assert sorted(lines) == sorted(f"{each.known_hosts_name} {each.public_key}" for each in hosts)
    assert stat.S_IMODE(farm.known_hosts.stat().st_mode) == 0o640
    assert sorted(connector.notes) == sorted(
        f"{each.name}: accepted its new ed25519 host key {fingerprint(each)} and added it to"
        f" {farm.known_hosts}"
        for each in hosts
    )
    connector.notes.clear()
    connector.reach("studio2")
    assert connector.notes == []


def test_a_known_hosts_file_that_is_made_is_private_and_hashed_as_configured(
    farm: Farm, connector: Connector
) -> None:
    file = farm.folder / "new" / "known_hosts"
    host = farm.add(
        "studio1",
        is_known=False,
        options={"UserKnownHostsFile": str(file), "HashKnownHosts": "yes"},
    )
    connector.reach("studio1", accept_new=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("|1|")
    found = subprocess.run(
        ["ssh-keygen", "-F", host.known_hosts_name, "-f", str(file)], capture_output=True
    )
    assert host.public_key.encode() in found.stdout
    connector.reach("studio1")


def test_accept_new_in_the_users_configuration_counts(farm: Farm, connector: Connector) -> None:
    host = farm.add("studio1", is_known=False, options={"StrictHostKeyChecking": "accept-new"})
    connector.reach("studio1")
    assert farm.known_hosts.read_text() == f"{host.known_hosts_name} {host.public_key}\n"


def test_lines_that_say_nothing_hide_no_line_after_them(farm: Farm, connector: Connector) -> None:
    key = other_key(farm)
    farm.known_hosts.write_bytes(
        f"@cert-authority *.local {key}\nstudio9 ssh-ed25519 AAAA!!!\n".encode()
        + b"\xff\xfe\x00 not text\n@future-marker x y z\n"
    )
    farm.add("studio1")
    connector.reach("studio1")
    assert connector.notes == [
        f"{farm.known_hosts}:1: a @cert-authority line is skipped, only plain keys are compared",
        f"{farm.known_hosts}:2: a line that can not be read is skipped",
        f"{farm.known_hosts}:3: a line that can not be read is skipped",
        f"{farm.known_hosts}:4: a line that can not be read is skipped",
    ]


def test_hashed_names_are_found(farm: Farm, connector: Connector) -> None:
    farm.add("studio1")
    subprocess.run(
        ["ssh-keygen", "-H", "-f", str(farm.known_hosts)], check=True, capture_output=True
    )
    assert farm.known_hosts.read_text().startswith("|1|")
    connector.reach("studio1")


def test_a_revoked_key_is_refused_although_it_is_known(farm: Farm, connector: Connector) -> None:
    host = farm.add("studio1")
    with farm.known_hosts.open("a") as file:
        file.write(f"@revoked * {host.public_key}\n")
    error = connector.fail("studio1", accept_new=True)
    assert isinstance(error, AuthenticationFailed)
    assert error.what == f"its host key {fingerprint(host)} is revoked by {farm.known_hosts}:2"


def test_a_known_name_without_its_tcp_port_counts_as_for_openssh(
    farm: Farm, connector: Connector
) -> None:
    host = farm.add("studio1", is_known=False)
    farm.know(host, name=host.address)
    connector.reach("studio1")


def test_another_key_on_the_standard_port_says_nothing_about_this_port(
    farm: Farm, connector: Connector
) -> None:
    """As for OpenSSH: behind other ports of one address there may be other machines."""
    host = farm.add("studio1", is_known=False)
    farm.know(host, name=host.address, key=other_key(farm))
    assert connector.fail("studio1").what.startswith("its host key is not known: ")
    connector.reach("studio1", accept_new=True)
    assert f"{host.known_hosts_name} {host.public_key}\n" in farm.known_hosts.read_text()


def test_a_key_that_is_to_be_kept_nowhere_is_accepted_all_the_same(
    farm: Farm, connector: Connector
) -> None:
    farm.add("studio1", is_known=False, options={"UserKnownHostsFile": "none"})
    assert "ssh -o StrictHostKeyChecking=accept-new studio1 true" in connector.fail("studio1").hint
    connector.reach("studio1", accept_new=True)
    assert connector.notes == ["studio1: its key is kept nowhere, UserKnownHostsFile is none"]


def test_a_known_hosts_file_that_can_not_be_written_stops_nobody(
    farm: Farm, connector: Connector
) -> None:
    file = farm.folder / "a_folder"
    file.mkdir()
    farm.add("studio1", is_known=False, options={"UserKnownHostsFile": str(file)})
    connector.reach("studio1", accept_new=True)
    assert connector.notes == [
        f"{file} can not be read: Is a directory",
        f"studio1: its key could not be kept: {file}: Is a directory",
    ]


def test_two_aliases_of_a_new_host_are_written_down_once(farm: Farm, connector: Connector) -> None:
    host = farm.add("studio1", is_known=False)
    farm.configure(f"Host desk\n  HostName {host.address}\n  Port {host.port}\n")
    connector.connect("studio1", "desk", accept_new=True)
    assert farm.known_hosts.read_text() == f"{host.known_hosts_name} {host.public_key}\n"
