"""One simulated Mac as a test holds it: programs to run there, state to read, cables to move."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.simulated_macs.layout import Layout
from tests.simulated_macs.root import USER_ID

__all__ = ["Counters", "SimulatedMac", "run_to_end"]

_LINK_STATE = re.compile(r"NO-CARRIER,|,LOWER_UP| state \w+")
_MAC_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


class _Lab(Protocol):
    """What a host needs of the whole."""

    layout: Layout
    folder: Path
    facts: dict[str, Any]

    def order(self, verb: str, **words: Any) -> None: ...


def run_to_end(
    process: subprocess.Popen[str], argv: Sequence[str], input: str | None, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Wait for a program and return what it printed; kill it if it takes too long."""
    with process:
        try:
            stdout, stderr = process.communicate(input, timeout_s)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)


@dataclass(frozen=True)
class Counters:
    """What an interface has carried since it appeared."""

    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int


class SimulatedMac:
    """One running host."""

    def __init__(self, macs: _Lab, name: str) -> None:
        self._macs = macs
        self.name = name
        self.mac = macs.layout[name]
        self.lan_address = str(macs.layout.lan_address(name).ip)

    @property
    def pid(self) -> int:
        """Process 1 of the host, as seen from here; another one after a reboot."""
        pid: int = self._macs.facts["hosts"][self.name]
        return pid

    # Programs

    def popen(
        self,
        argv: Sequence[str],
        *,
        user: str = "",
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a program on the host, not over ssh; ``options`` are those of ``Popen``.

        Args:
            user: ``root``, or the user of the host, which is the default.
        """
        is_root = user == "root"
        home = "/var/root" if is_root else f"/Users/{self.mac.user}"
        name = user or self.mac.user
        settings = {"PATH": _MAC_PATH, "HOME": home, "USER": name, "LANG": "C.UTF-8"}
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--uts", "--ipc", "--pid"]
        enter += [f"--root=/proc/{self.pid}/root", f"--wd=/proc/{self.pid}/root{home}"]
        if not is_root:
            enter += [f"--setuid={USER_ID}", "--setgid=20"]
        # With --pid nsenter waits for a child, which should not outlive it.
        enter += ["--", "setpriv", "--pdeathsig", "KILL", "--"]
        return subprocess.Popen([*enter, *argv], env={**settings, **(env or {})}, **options)

    def run(
        self,
        argv: Sequence[str],
        *,
        user: str = "",
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the host, not over ssh, and return what it printed."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        return run_to_end(
            self.popen(argv, user=user, env=env, stdin=stdin, **pipes), argv, input, timeout_s
        )

    def _ip(self, *words: str) -> str:
        """The Linux tool, which no Mac has."""
        done = self.run(["/usr/sbin/ip", *words], user="root")
        if done.returncode:
            raise RuntimeError(f"ip {words}: {done.stderr}")
        return done.stdout

    def _simulation(self, *words: str) -> str:
        """Ask the helper something that no Mac command asks."""
        with socket.socket(socket.AF_UNIX) as helper:
            helper.settimeout(90)
            helper.connect(f"/proc/{self.pid}/root/private/simulation/socket")
            request = "".join(f"{word}\0" for word in ("simulation", *words))
            helper.sendall(f"{len(request)}\n{request}".encode())
            helper.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: helper.recv(65536), b"")).decode()
        head, _, text = answer.partition("\n")
        if not head.startswith("0 "):
            raise RuntimeError(f"simulation {words}: {text}")
        return text

    # What is there

    def state(self) -> str:
        """Addresses, routes and membership, equal if and only if nothing changed.

        Left out is what means nothing: the order in which a bridge lists its ports, and what
        the kernel finds out about a link some time after the other end has come up.
        """
        parts = [
            _LINK_STATE.sub("", self._ip("addr", "show")),
            self._ip("route", "show", "table", "main"),
        ]
        for line in self._simulation("members").splitlines():
            bridge, state, *ports = line.split()
            parts.append(" ".join([bridge, state, *sorted(ports)]))
        return "\n".join(parts)

    def members(self) -> dict[str, list[str]]:
        """Bridge -> its ports; a bridge that is down has them too."""
        lines = self._simulation("members").splitlines()
        return {line.split()[0]: line.split()[2:] for line in lines}

    def bridge_is_up(self, bridge: str = "bridge0") -> bool:
        """Whether a bridge is up; KeyError if there is none."""
        states = dict(line.split()[:2] for line in self._simulation("members").splitlines())
        return states[bridge] == "up"

    def addresses(self) -> dict[str, list[str]]:
        """Interface -> its IPv4 addresses in CIDR notation, loopback left out."""
        entries = json.loads(self._ip("-j", "-4", "addr", "show"))
        return {
            entry["ifname"]: [f"{a['local']}/{a['prefixlen']}" for a in entry["addr_info"]]
            for entry in entries
            if entry and entry["ifname"] != "lo"
        }

    def counters(self) -> dict[str, Counters]:
        """What each interface has carried so far."""
        entries = json.loads(self._ip("-j", "-s", "link", "show"))
        return {
            entry["ifname"]: Counters(
                entry["stats64"]["rx"]["bytes"],
                entry["stats64"]["rx"]["packets"],
                entry["stats64"]["tx"]["bytes"],
                entry["stats64"]["tx"]["packets"],
            )
            for entry in entries
        }

    def ssh_log(self) -> str:
        """What sshd has logged, at level VERBOSE, since the host was first started."""
        return (self._macs.folder / self.name / "sshd.log").read_text(errors="replace")

    def exec_channels(self) -> list[str]:
        """The line that sshd logged for each session a client started."""
        return [line for line in self.ssh_log().splitlines() if "Starting session:" in line]

    def commands(self) -> list[tuple[int, str, int]]:
        """Every fake command run since the host was first started: user id, words, status."""
        lines = (self._macs.folder / self.name / "log").read_text(errors="replace").splitlines()
        entries = [json.loads(each[8:]) for each in lines if each.startswith("command ")]
        return [(each["uid"], " ".join(each["words"]), each["status"]) for each in entries]

    def processes(self) -> list[str]:
        """The command lines of all that runs there, sshd and the simulation left out."""
        host = Path(f"/proc/{self.pid}/ns/pid").stat().st_ino
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "ns/pid").stat().st_ino == host:
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        ours = ("sshd", "-m tests.simulated_macs serve")
        return sorted(line.strip() for line in found if line and not any(o in line for o in ours))

    # What happens to it

    def cut(self, interface: str) -> None:
        """Pull the cable out of a receptacle."""
        self._macs.order("cut", end=[self.name, interface])

    def plug(self, interface: str, other: str, other_interface: str) -> None:
        """Put a cable into a receptacle and into one of another host."""
        ends = {"one": [self.name, interface], "two": [other, other_interface]}
        self._macs.order("plug", **ends)

    def shape(self, interface: str, rate: str) -> None:
        """Let the cable in a receptacle carry at most ``rate`` (``500mbit``) each way."""
        self._macs.order("shape", end=[self.name, interface], rate=rate)

    def lan_down(self) -> None:
        """Pull the LAN cable."""
        self._macs.order("lan", host=self.name, is_up=False)

    def lan_up(self) -> None:
        """Plug the LAN cable in again."""
        self._macs.order("lan", host=self.name, is_up=True)

    def reboot(self) -> None:
        """Switch the host off and on, and wait until it answers ssh."""
        self._macs.order("reboot", host=self.name)

    def switch_off(self) -> None:
        """Take its power."""
        self._macs.order("switch_off", host=self.name)

    def switch_on(self) -> None:
        """Give it power again, and wait until it answers ssh."""
        self._macs.order("switch_on", host=self.name)

    def drop_ssh(self) -> None:
        """End every ssh session on the host at once, as if sshd had crashed under them."""
        self.run(["/usr/bin/pkill", "-KILL", "-f", "^sshd: [^/]"], user="root")

    def drop_pings(self) -> None:
        """Answer no ping from now on: the stealth mode of the firewall."""
        self._simulation("stealth")

    def break_command(self, pattern: str, message: str = "simulated failure\n") -> None:
        """Let commands fail: ``ifconfig en3 inet *`` in the manner of fnmatch."""
        self._simulation("break", pattern, message)

    def say(self, words: str, stdout: str) -> None:
        """Let a command print this from now on, whatever is so."""
        self._simulation("say", words, stdout)

    def repair_commands(self) -> None:
        """Let all commands work again."""
        self._simulation("repair")

    @contextmanager
    def holding(self, pattern: str) -> Iterator[None]:
        """Keep matching commands waiting, until the block ends or they are released.

        A command whose process has ended meanwhile is not carried out.
        """
        self._simulation("hold", pattern)
        try:
            yield
        finally:
            self.release(pattern)

    def await_held(self, pattern: str) -> None:
        """Return once a command with this pattern waits."""
        if not self._simulation("await-held", pattern, "60"):
            raise TimeoutError(f"nobody ran {pattern} on {self.name}")

    def release(self, pattern: str) -> None:
        """Let the commands that wait go on, and do not hold others."""
        self._simulation("release", pattern)

    def configd_put_back(self) -> list[str]:
        """Have configd put free ports back into the automatic bridge; which they were."""
        return self._simulation("put-back").split()

    def set_sudo(self, mode: str) -> None:
        """Change what sudo allows, until the next reboot; see ``layout.Mac.sudo``."""
        self._simulation("sudo", mode)
