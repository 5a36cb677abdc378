"""Scripts run the same whatever the login shell is and whatever it prints first."""

from __future__ import annotations

import pytest

from distconfig.errors import CommandFailed
from distconfig.hosts.shell import Completed
from tests.sshd.conftest import Connector
from tests.sshd.farm import Farm

NOISY = """\
#!/bin/sh
printf 'Welcome to {"SPThunderboltDataType": []}\\nLast login: never'
printf 'quota exceeded' >&2
exec /bin/sh "$@"
"""
AWKWARD = r"""printf '%s|' 'single '\''quote' "back\\slash" '$HOME' '!x' "$((1+1))"; cat; exit 3"""


def outcome(done: Completed) -> tuple[int, bytes, bytes]:
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/usr/bin/fish"])
def test_a_script_means_the_same_under_every_login_shell(
    farm: Farm, connector: Connector, shell: str
) -> None:
    farm.add("studio1", login_shell=shell)
    done = connector.reach("studio1").run(AWKWARD, timeout_s=60)
    assert outcome(done) == (3, b"single 'quote|back\\slash|$HOME|!x|2|", b"")


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/fish"])
def test_words_of_a_command_arrive_as_they_are(
    farm: Farm, connector: Connector, shell: str
) -> None:
    farm.add("studio1", login_shell=shell)
    words = ("it's", "a\\\\b", "$HOME", "two words", "", "!!", "new\nline", "*")
    channel = connector.reach("studio1").open_channel(("/usr/bin/printf", "%s|", *words))
    received = b"".join(iter(lambda: channel.recv(100), b""))
    assert received == b"it's|a\\\\b|$HOME|two words||!!|new\nline|*|"
    assert channel.exit_status(60) == 0


def test_what_is_printed_before_the_script_is_ignored(farm: Farm, connector: Connector) -> None:
    files = {"/bin/noisy": NOISY, "/etc/farm_banner": "UNAUTHORIZED ACCESS PROHIBITED\n"}
    farm.add("studio1", files=files, login_shell="/bin/noisy", sshd="Banner /etc/farm_banner")
    connection = connector.reach("studio1")
    done = connection.run("echo out; echo err >&2", timeout_s=60)
    assert outcome(done) == (0, b"out\n", b"err\n")
    channel = connection.open_channel(("/bin/sh", "-c", "echo out; echo err >&2"))
    assert channel.recv(100) == b"out\n"
    assert channel.recv_stderr(100) == b"err\n"


def test_a_login_shell_that_runs_nothing_is_named(farm: Farm, connector: Connector) -> None:
    farm.add("studio1", login_shell="/usr/sbin/nologin")
    with pytest.raises(CommandFailed) as caught:
        connector.reach("studio1").run("echo hello", timeout_s=60)
    assert str(caught.value) == (
        "the login shell did not start /bin/sh -- studio1: /bin/sh: exit 1: This account is"
        " currently not available. -- `ssh studio1 /bin/sh -c true` must work without a question."
    )


def test_a_script_that_did_not_arrive_whole_does_not_run(farm: Farm, connector: Connector) -> None:
    """A cut connection must not leave half of a setup done."""
    host = farm.add("studio1")
    channel = connector.reach("studio1").open_channel(("/bin/sh",))
    channel.send(b"{\ntouch /shared/half\n")
    channel.close_stdin()
    assert channel.exit_status(60) == 2
    assert not (host.shared / "half").exists()
