"""Jobs over real sshd processes: the same promises, and what only a network can do wrong."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.conftest import Launch
from tests.launch.jobs import Ended, Job, wait_until
from tests.signals import signal_all
from tests.sshd.farm import Farm, FarmHost, may_run
from tests.tcp_ports import draw_loopback_block

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(may_run()), reason=may_run() or "an sshd can run here"),
]

Run = Callable[..., Ended]
Script = Callable[..., str]

WAIT = "pathlib.Path(f'/shared/ready-{rank}').touch(); signal.pause()"


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Farm]:
    """An empty farm whose configuration is what ``ssh`` on PATH reads."""
    folder = tmp_path / "farm"
    folder.mkdir()
    made = Farm(folder)
    monkeypatch.setenv("PATH", f"{made.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    yield made
    made.close()


@pytest.fixture
def ring(farm: Farm, tmp_path: Path) -> Callable[..., str]:
    """Writes a hostfile of these hosts, and returns its name."""

    def write(*hosts: FarmHost | str) -> str:
        names = [host if isinstance(host, str) else host.name for host in hosts]
        block = draw_loopback_block()
        lasts = {name: index for index, name in enumerate(dict.fromkeys(names), start=1)}
        entries = [{"ssh": name, "ips": [f"{block}.{lasts[name]}"]} for name in names]
        (tmp_path / "h.json").write_text(json.dumps(entries))
        return "h.json"

    return write


def leaves_nothing(*hosts: FarmHost, within_s: float = 5.0) -> None:
    """Fail unless no process of a job, and no file, is left on the hosts within the time."""
    for host in hosts:
        wait_until(lambda host=host: not host.commands_running(), within_s)  # type: ignore[misc]
        assert not [path for path in host.files_written() if "distributed_launch-" in path]


def ready(*hosts: FarmHost, each: int = 1) -> None:
    """Wait until so many ranks on each host run."""
    wait_until(lambda: all(len(list(host.shared.glob("ready-*"))) == each for host in hosts))


def sshd_sessions(host: FarmHost) -> list[int]:
    """The sshd processes that serve a connection to the host."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            root = (folder / "root" / "etc" / "farm_sshd_config").read_text()
        except OSError:
            continue
        if words.startswith(b"sshd: root") and f"Port {host.port}\n" in root:
            found.append(int(folder.name))
    return found


def test_ranks_on_two_hosts_and_one_connection_to_each(
    farm: Farm, ring: Callable[..., str], run: Run, script: Script, tmp_path: Path
) -> None:
    name = script(
        """
path = pathlib.Path(os.environ["MLX_HOSTFILE"])
mode = lambda p: oct(p.stat().st_mode & 0o777)
say(rank, os.environ["SSH_CONNECTION"].split()[2], mode(path), mode(path.parent),
    len(os.environ["RING_SECRET"]), path.read_text())
"""
    )
    one, two = farm.add("studio1"), farm.add("studio2")
    hostfile = ring(one, two)
    first, second = (entry["ips"][0] for entry in json.loads((tmp_path / hostfile).read_text()))
    ended = run("--hostfile", hostfile, "-n", "2", "-p", "31951", name)
    assert (ended.code, ended.text) == (0, "")
    addresses = f'[["{first}:31951"],["{first}:31952"],["{second}:31953"],["{second}:31954"]]'
    assert sorted(ended.out.decode().splitlines()) == [
        f"{rank} {host.address} 0o600 0o700 64 {addresses}"
        for rank, host in enumerate((one, one, two, two))
    ]
    assert [host.log.count("Accepted publickey") for host in (one, two)] == [1, 1]
    leaves_nothing(one, two)


def test_a_host_and_this_machine(farm: Farm, run: Run, script: Script, tmp_path: Path) -> None:
    host = farm.add("studio1")
    address = f"{draw_loopback_block()}.1"
    hosts = [{"ssh": "studio1", "ips": [address]}, {"ssh": "localhost"}]
    (tmp_path / "h.json").write_text(json.dumps(hosts))
    name = script('say(rank, "SSH_CONNECTION" in os.environ)')
    ended = run("--hostfile", "h.json", "--backend", "nccl", name)
    assert (ended.code, sorted(ended.out.splitlines())) == (0, [b"0 True", b"1 False"])
    leaves_nothing(host)


def test_banners_and_a_login_shell_that_is_not_posix(farm: Farm, run: Run) -> None:
    banner = {"/etc/fish/config.fish": "echo Welcome to fish; echo hm >&2\n"}
    fish = farm.add("studio1", login_shell="/usr/bin/fish", files=banner)
    ended = run("--hosts", "studio1", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.code, ended.out) == (3, b"out\n")
    assert ended.text == (
        "err\ndistributed_launch: rank 0 on studio1 exited with code 3; its last lines:\n    err\n"
    )
    leaves_nothing(fish)


def test_ten_mebibytes_in_and_out(farm: Farm, launch: Launch) -> None:
    farm.add("studio1")
    data = random.Random(8).randbytes(10 << 20)
    job = launch("--hosts", "studio1", "cat", stdin=subprocess.PIPE)
    ended = job.end(data)
    assert ended.code == 0
    assert hashlib.sha256(ended.out).digest() == hashlib.sha256(data).digest()


def test_a_rank_that_fails_there_ends_the_rest_here(
    farm: Farm, ring: Callable[..., str], run: Run, script: Script
) -> None:
    one, two = farm.add("studio1"), farm.add("studio2")
    name = script(f"if rank == 1: print('oh', file=sys.stderr); os.abort()\n{WAIT}")
    ended = run("--hostfile", ring(one, two), name)
    assert ended.code == 134
    assert ended.text == (
        "oh\n"
        "distributed_launch: rank 1 on studio2 was ended by signal 6 (SIGABRT); "
        "the other rank was ended; its last lines:\n    oh\n"
    )
    leaves_nothing(one, two)


def start(launch: Launch, script: Script, hostfile: str, *options: str) -> Job:
    name = script(f"say(rank)\n{WAIT}")
    return launch("--hostfile", hostfile, *options, name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_launcher_ends_ranks_on_hosts(
    number: signal.Signals,
    farm: Farm,
    ring: Callable[..., str],
    launch: Launch,
    script: Script,
) -> None:
    one, two = farm.add("studio1"), farm.add("studio2")
    job = start(launch, script, ring(one, two))
    ready(one, two)
    job.send(number)
    leaves_nothing(one, two)
    job.leaves_nothing()
    ended = job.end()
    assert ended.code == (-9 if number == signal.SIGKILL else 128 + number)


def test_no_secret_on_any_command_line(
    farm: Farm, ring: Callable[..., str], launch: Launch, script: Script
) -> None:
    host = farm.add("studio1")
    name = script('pathlib.Path("/shared/secret").write_text(os.environ["RING_SECRET"])\n' + WAIT)
    job = launch("--hostfile", ring(host, host), "--verbose", name)
    ready(host, each=2)
    secret = (host.shared / "secret").read_text()
    assert re.fullmatch("[0-9a-f]{64}", secret)
    commands = host.commands_running()
    assert len(commands) == 4  # a shell, the agent, two ranks
    job.send(signal.SIGTERM)
    ended = job.end()
    assert secret not in " ".join(commands) + host.log + ended.text


def test_a_connection_that_is_cut(
    farm: Farm, ring: Callable[..., str], launch: Launch, script: Script
) -> None:
    one, two = farm.add("studio1"), farm.add("studio2")
    job = start(launch, script, ring(one, two))
    ready(one, two)
    signal_all(sshd_sessions(two), signal.SIGKILL)
    ended = job.end()
    assert ended.code == 255
    assert ended.text == (
        "distributed_launch: rank 1 on studio2 was lost: the connection to its agent ended; "
        "the other rank was ended; its last lines:\n    1\n"
    )
    leaves_nothing(one, two)


def test_a_host_that_falls_silent(
    farm: Farm, ring: Callable[..., str], launch: Launch, script: Script
) -> None:
    """Both sides notice on their own, since neither hears of the other."""
    one, two = farm.add("studio1"), farm.add("studio2")
    job = start(launch, script, ring(one, two), "--lost-after", "3")
    ready(one, two)
    began = time.monotonic()
    sessions = sshd_sessions(two)
    signal_all(sessions, signal.SIGSTOP)
    ended = job.end()
    assert ended.code == 255
    assert re.search("rank 1 on studio2 was lost: nothing was heard of it for [3-9] s", ended.text)
    # The last beat may have come some time before; and it takes less than the usual minute.
    assert 1.5 < time.monotonic() - began < 25.0
    wait_until(lambda: not two.commands_running(), 25.0)
    signal_all(sessions, signal.SIGCONT)
    leaves_nothing(one, two)


def test_a_script_missing_on_one_host(farm: Farm, run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    one = farm.add("studio1", files={"/opt/job/train.py": "pass\n"})
    two = farm.add("studio2", files={"/opt/job/other.py": "pass\n"})
    ended = run("--hosts", "studio1,studio2", "--backend", "mpi", "--cwd", "/opt/job", "train.py")
    assert ended.code == 125
    assert (
        "  studio2: there is no script /opt/job/train.py\n"
        "      Copy it: ssh studio2 'mkdir -p /opt/job' && "
        f"rsync -a {tmp_path}/train.py studio2:/opt/job/\n"
    ) in ended.text
    assert "studio1: there is no script" not in ended.text
    leaves_nothing(one, two)


def test_a_python_missing_on_one_host(
    farm: Farm, ring: Callable[..., str], run: Run, script: Script
) -> None:
    hidden = [sys.executable, *(f"{folder}/python3" for folder in ("/usr/bin", "/usr/local/bin"))]
    one = farm.add("studio1")
    two = farm.add("studio2", files=dict.fromkeys(hidden, "no python here"))
    ended = run("--hostfile", ring(one, two), script("say(rank)"))
    assert (ended.code, ended.out) == (125, b"")
    tried = f"{sys.executable} /opt/homebrew/bin/python3 /usr/local/bin/python3 python3"
    assert ended.text == (
        "distributed_launch: nothing was started because of a problem:\n"
        f"  studio2: no agent could be started: no Python 3.8 or newer at any of: {tried}\n"
        "      Name one with --python.\n"
    )
    leaves_nothing(one, two)


def test_an_older_python_is_passed_over(farm: Farm, run: Run) -> None:
    old = "#!/bin/sh\nexit 1\n"
    real = os.path.realpath(sys.executable)
    new = f'#!/bin/sh\nexec {real} "$@"\n'
    host = farm.add("studio1", files={sys.executable: old, "/opt/homebrew/bin/python3": new})
    ended = run("--hosts", "studio1", "-m", "platform")
    assert ended.code == 0
    assert ended.out.startswith(b"Linux")
    leaves_nothing(host)


def test_the_python_of_the_hostfile(farm: Farm, run: Run, tmp_path: Path) -> None:
    real = os.path.realpath(sys.executable)
    new = f'#!/bin/sh\necho mine >>/shared/used; exec {real} "$@"\n'
    host = farm.add("studio1", files={"/root/v/bin/python": new})
    hosts = [{"ssh": "studio1", "python": "~/v/bin/python", "cwd": "~"}]
    (tmp_path / "h.json").write_text(json.dumps(hosts))
    (tmp_path / "print_cwd").mkdir()
    ended = run("--hostfile", "h.json", "-m", "site", "--user-base")
    assert ended.code == 0
    assert ended.out == b"/root/.local\n"
    assert host.shared_lines("used")[-1] == "mine"
    assert len(host.shared_lines("used")) == 3  # its version, the agent, the rank


def test_all_problems_of_all_hosts_together(farm: Farm, run: Run, tmp_path: Path) -> None:
    one = farm.add("studio1")
    two = farm.add("studio2", is_known=False)
    hosts = [
        {"ssh": "studio1", "ips": ["203.0.113.5"], "cwd": "/nowhere"},
        {"ssh": "studio2", "ips": ["203.0.113.6"]},
        {"ssh": "localhost", "ips": ["203.0.113.7"]},
    ]
    (tmp_path / "h.json").write_text(json.dumps(hosts))
    ended = run("--hostfile", "h.json", "true")
    assert ended.code == 125
    assert "because of 4 problems:" in ended.text
    assert "studio1: there is no folder /nowhere" in ended.text
    assert "studio1: 203.0.113.5 is not an address of this host" in ended.text
    assert "localhost: 203.0.113.7 is not an address of this host" in ended.text
    assert "studio2" in ended.text
    assert "SHA256:" in ended.text
    leaves_nothing(one)
    assert two.commands_running() == []


def test_new_host_keys_are_taken_on_demand(farm: Farm, run: Run) -> None:
    farm.add("studio1", is_known=False)
    ended = run("--hosts", "studio1", "--accept-new-host-keys", "true")
    assert ended.code == 0


def test_an_agent_that_talks_nonsense_is_refused(farm: Farm, run: Run) -> None:
    """A host is not trusted: what passes for its Python may say anything."""
    liar = "#!/bin/sh\ncase $* in *version_info*) exit 0 ;; esac\necho I am an agent\n"
    farm.add("studio1", files={sys.executable: liar})
    ended = run("--hosts", "studio1", "true")
    assert ended.code == 125
    assert "studio1: the agent there can not be understood: no frame begins with" in ended.text


def test_nothing_is_written_on_a_host_but_the_private_folder(
    farm: Farm, ring: Callable[..., str], run: Run, script: Script
) -> None:
    host = farm.add("studio1")
    before = host.files_written()
    assert "/etc/farm_sshd_config" in before
    name = script('say(open(os.environ["MLX_HOSTFILE"]).read())')
    assert run("--hostfile", ring(host, host), name).code == 0
    leaves_nothing(host)
    assert {
        path for path in host.files_written() - before if not path.startswith("/var/log")
    } == set()
