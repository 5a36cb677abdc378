"""Real sshd processes on loopback, each in a file system of its own that can pretend to be a Mac.

A host of the farm is an sshd in its own mount and process namespaces, chrooted
to an overlay of this machine's root. What is written there, what runs there
and what it left running is gone with the namespaces. Nothing in the product
knows of this: its client settings come from an ``ssh`` on PATH that adds
``-F``, which any user could put there too.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SSHD = "/usr/sbin/sshd"

_BOOT = """\
set -e
folder=$1
mount --make-rprivate /
mount -t tmpfs farm "$folder/mnt"
mkdir "$folder/mnt/upper" "$folder/mnt/work" "$folder/mnt/root"
cp -a "$folder/files/." "$folder/mnt/upper/"
mount -t overlay overlay \\
    -o "lowerdir=/,upperdir=$folder/mnt/upper,workdir=$folder/mnt/work" "$folder/mnt/root"
mount --rbind /dev "$folder/mnt/root/dev"
mount -t proc proc "$folder/mnt/root/proc"
mount --bind "$folder/shared" "$folder/mnt/root/shared"
exec chroot "$folder/mnt/root" /usr/sbin/sshd -D -e -f /etc/farm_sshd_config
"""


def wait_until(condition: Callable[[], bool], timeout_s: float = 90.0) -> None:
    """Return once a condition holds; fail if it does not within the time."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition did not hold within {timeout_s:g} s")
        pause.wait(0.01)


@dataclass
class FarmHost:
    """One sshd of the farm.

    Args:
        name: Its alias in the client's configuration.
        shared: A folder that the host sees as ``/shared``.
        host_key: The private half of its host key.
    """

    name: str
    address: str
    port: int
    folder: Path
    host_key: Path
    process: subprocess.Popen[bytes] | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    @property
    def known_hosts_name(self) -> str:
        return f"[{self.address}]:{self.port}"

    @property
    def public_key(self) -> str:
        """Type and base64 of its host key."""
        return " ".join(Path(f"{self.host_key}.pub").read_text().split()[:2])

    @property
    def log(self) -> str:
        """What sshd wrote so far."""
        return (self.folder / "sshd.log").read_text(errors="replace")

    def shared_lines(self, name: str) -> list[str]:
        """The lines of a file that the host's commands wrote to ``/shared``."""
        path = self.shared / name
        return path.read_text().splitlines() if path.exists() else []

    def pids(self) -> list[int]:
        """Every process of the host, its sshd first."""
        return _descendants(self.process.pid) if self.process else []

    def files_written(self) -> set[str]:
        """The paths of all files that differ from this machine's, wherever on the host."""
        sshd = self.pids()[0]
        upper = f"{self.folder}/mnt/upper"
        argv = ["nsenter", f"--target={sshd}", "--mount", "find", upper, "!", "-type", "d"]
        found = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        return {line.removeprefix(upper) for line in found.splitlines()}

    def commands_running(self) -> list[str]:
        """The command lines of all processes in the host, but not the sshd itself."""
        found = []
        for pid in self.pids():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            found.append(b" ".join(words).decode().strip())
        return [line for line in found if line and not line.startswith(("sshd:", SSHD))]

    def stop(self) -> None:
        """End the sshd and everything in its namespaces."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


class Farm:
    """Hosts, and a client configuration in which each is known by its name.

    Args:
        folder: An empty folder for everything.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: dict[str, FarmHost] = {}
        self.home = folder / "home"
        self.known_hosts = folder / "known_hosts"
        self.config = folder / "config"
        self.identity = folder / "id_ed25519"
        self.bin = folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        make_key(self.identity)
        ssh = shutil.which("ssh") or "/usr/bin/ssh"
        wrapper = self.bin / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {self.config} "$@"\n')
        wrapper.chmod(0o755)
        self._extra_config = ""
        self._write_config()

    def add(
        self,
        name: str,
        *,
        files: Mapping[str, str] | None = None,
        login_shell: str = "/bin/sh",
        key_type: str = "ed25519",
        second_key_type: str = "",
        sshd: str = "",
        options: Mapping[str, str] | None = None,
        is_known: bool = True,
    ) -> FarmHost:
        """Start a host.

        Args:
            files: Absolute path on the host to content; executable if it begins with ``#!``.
            login_shell: Of its users.
            second_key_type: Of one more host key, ``host_key_2`` in its folder.
            sshd: Lines for its sshd_config, which win over the farm's.
            options: More settings for it in the client's configuration.
            is_known: Its host key is put in the client's known_hosts.
        """
        folder = self.folder / name
        for each in ("mnt", "shared", "files/shared", "files/run/sshd", "files/root/.ssh"):
            (folder / each).mkdir(parents=True)
        (folder / "files/run/sshd").chmod(0o755)
        address, port = free_loopback_address()
        host = FarmHost(name, address, port, folder, folder / "host_key", None, dict(options or {}))
        make_key(host.host_key, key_type)
        lines = [
            sshd,  # sshd takes the first value it finds
            f"ListenAddress {address}",
            f"Port {port}",
            "AuthorizedKeysFile /etc/farm_authorized_keys",
            "PermitRootLogin prohibit-password",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "PidFile none",
            "LogLevel VERBOSE",
            "MaxStartups 10:100:10",
        ]
        secret = {"/etc/farm_host_key": host.host_key.read_text()}
        if second_key_type:
            make_key(folder / "host_key_2", second_key_type)
            secret["/etc/farm_host_key_2"] = (folder / "host_key_2").read_text()
        lines += [f"HostKey {path}" for path in secret]
        written = {
            "/etc/farm_sshd_config": "\n".join(lines) + "\n",
            "/etc/farm_authorized_keys": Path(f"{self.identity}.pub").read_text(),
            "/etc/passwd": _passwd(login_shell),
            **(files or {}),
            **secret,
        }
        for path, content in written.items():
            target = folder / "files" / path.lstrip("/")
            # /bin and /sbin are links on this machine, so the files go where they lead.
            target = folder / "files" / str(Path(path).parent.resolve()).lstrip("/") / target.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
            target.chmod(0o600 if path in secret else 0o755 if content[:2] == "#!" else 0o644)
        self.hosts[name] = host
        self.start(host)
        if is_known:
            self.know(host)
        self._write_config()
        return host

    def start(self, host: FarmHost) -> None:
        """Run the host's sshd and wait until it answers."""
        with (host.folder / "sshd.log").open("ab") as log:
            namespaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--")
            host.process = subprocess.Popen(
                [*namespaces, "/bin/sh", "-c", _BOOT, "boot", str(host.folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        process = host.process

        def answers() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"the sshd of {host.name} ended: {host.log}")
            return _greets(host.address, host.port)

        wait_until(answers)

    def know(self, host: FarmHost, *, name: str = "", key: str = "") -> None:
        """Add a line for the host to the client's known_hosts."""
        with self.known_hosts.open("a") as file:
            file.write(f"{name or host.known_hosts_name} {key or host.public_key}\n")

    def configure(self, text: str) -> None:
        """Put lines at the beginning of the client's configuration."""
        self._extra_config = text
        self._write_config()

    def close(self) -> None:
        """Stop every host."""
        for host in self.hosts.values():
            host.stop()

    def _write_config(self) -> None:
        blocks = [self._extra_config]
        for host in self.hosts.values():
            settings = {"HostName": host.address, "Port": str(host.port), **host.options}
            lines = [f"  {key} {value}" for key, value in settings.items() if value]
            blocks.append("\n".join([f"Host {host.name}", *lines]))
        blocks.append(
            "Host *\n"
            "  User root\n"
            f"  IdentityFile {self.identity}\n"
            "  IdentitiesOnly yes\n"
            "  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.known_hosts}\n"
            "  GlobalKnownHostsFile /dev/null\n"
            "  HashKnownHosts no\n"
        )
        self.config.write_text("\n".join(blocks))


def _passwd(shell: str) -> str:
    """This machine's accounts, with another login shell for root and for a user ada."""
    lines = [f"root:x:0:0:root:/root:{shell}", f"ada:x:4321:4321:Ada:/tmp:{shell}"]
    for line in Path("/etc/passwd").read_text().splitlines():
        if not line.startswith(("root:", "ada:")):
            lines.append(line)
    return "\n".join(lines) + "\n"


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "", *more: str) -> None:
    """Write a new key pair; RSA keys are short, since making long ones takes seconds."""
    size = ("-b", "2048") if kind == "rsa" else ()
    argv = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", path.name, "-f", str(path)]
    subprocess.run([*argv, *size, *more], check=True, stdin=subprocess.DEVNULL)


def free_loopback_address() -> tuple[str, int]:
    """An address of 127/8 drawn at random and a TCP port that is free on it."""
    octets = [str(random.randint(1, 254)) for _ in range(3)]
    address = ".".join(["127", *octets])
    with socket.socket() as probe:
        probe.bind((address, 0))
        return address, probe.getsockname()[1]


def _greets(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def may_run() -> str:
    """Why no farm can be made here; empty if one can."""
    if os.uname().sysname != "Linux" or os.geteuid() != 0:
        return "namespaces need root on Linux"
    return "" if Path(SSHD).exists() else f"{SSHD} is not installed"
