"""A shell on a model Mac: does what the scripts for hosts say, and fails where a test wants it.

It follows only the lines those scripts are made of; that real shells follow them too is
proved on simulated Macs.
"""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from distconfig.errors import ProbeError, Unreachable
from distconfig.hosts.shell import Completed
from tests.model_mac import ModelLab, ModelMac

__all__ = ["ModelShell"]

_SUDO = "/usr/bin/sudo -n -- "
_STEP = re.compile(
    r"(?:routed (?P<peer>\S+) (?P<name>\S+) \|\| )?do_step (?P<index>\d+) "
    rf"{_SUDO}(?P<command>.*?)(?: \|\| return)?"
)
_UNROUTED = re.compile(
    r"routed (?P<peer>\S+) (?P<name>\S+) \|\| \{ say unrouted (?P<index>\d+); .*"
)
_REACH = re.compile(r"reach (?P<index>\d+) (?P<source>\S+) (?P<peer>\S+)")
_ROUTED = re.compile(r"routed (?P<peer>\S+) (?P<name>\S+) && say routed (?P<index>\d+)")
_UNDO = re.compile(rf"run (?P<index>\d+) {_SUDO}(?P<command>.*)")
_ASK = re.compile(r"run (?P<index>\d+) /usr/bin/sudo -n -l -- (?P<command>.*)")


@dataclass
class ModelShell:
    """The shell of one Mac of a lab.

    Args:
        lost_in: The round in which the connection is lost: ``check``, ``apply``,
            ``commit`` or ``undo``; in ``apply`` after the steps were run.
        failing_step: The number of the step whose command fails.
        failing_undo: The number of the command that fails when all is undone.
        may: Commands that sudo allows; everything if None.
        dead_man: The commands of the armed dead-man.
    """

    lab: ModelLab
    host: str
    lost_in: str = ""
    failing_step: int | None = None
    failing_undo: int | None = None
    may: frozenset[tuple[str, ...]] | None = None
    dead_man: list[list[str]] = field(default_factory=list)
    rounds: list[str] = field(default_factory=list)
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def mac(self) -> ModelMac:
        return self.lab.macs[self.host]

    def fire_dead_man(self) -> None:
        for argv in self.dead_man:
            self.mac.run(argv)
        self.dead_man.clear()

    def run(self, script: str, *, timeout_s: float) -> Completed:
        """Do what a script for hosts says, after any script that runs there now."""
        with self._busy:
            return self._run(script)

    def _run(self, script: str) -> Completed:
        kind = self._kind(script)
        self.rounds.append(kind)
        if self.lost_in == kind != "apply":
            raise self._lost()
        lines = {"check": self._check, "apply": self._apply}.get(kind, self._disarm)(script)
        text = "\n".join([*lines, "@ snapshot", *self._ifconfig(), "@ end", ""])
        if self.lost_in == kind:
            raise self._lost()
        return Completed(("/bin/sh",), 0, text.encode())

    def _is_called_off(self) -> bool:
        """Whether the setup was undone here before its steps ran, and its dead-man fired."""
        earlier = [each for each in self.rounds[:-1] if each in ("check", "undo")]
        return bool(earlier) and earlier[-1] == "undo"

    def _kind(self, script: str) -> str:
        if "set_up() {" in script:
            return "apply"
        if "say sudo all" in script:
            return "check"
        return "undo" if f"run 0 {_SUDO}" in script else "commit"

    def _lost(self) -> ProbeError:
        return Unreachable("the connection ended", host=self.host)

    def _check(self, script: str) -> Iterator[str]:
        if self.may is None:
            yield "@ sudo all"
            return
        yield "@ sudo some"
        for line in script.splitlines():
            if found := _ASK.fullmatch(line):
                allowed = tuple(shlex.split(found["command"])) in self.may
                yield f"@ step {found['index']} {0 if allowed else 1}"

    def _apply(self, script: str) -> Iterator[str]:
        if self._is_called_off():
            yield "@ unwatched 0"
            return
        armed = re.search(r"^dead_man=\$\((.*?)^watched", script, re.MULTILINE | re.DOTALL)
        if armed:
            lines = [line for line in armed[1].splitlines() if line.startswith(_SUDO)]
            self.dead_man = [shlex.split(line.removeprefix(_SUDO)) for line in lines]
        for line in script.splitlines():
            if found := _STEP.fullmatch(line):
                if found["peer"] and self._leads(found["peer"], found["name"]):
                    continue
                is_failing = int(found["index"]) == self.failing_step
                code = 1 if is_failing else self.mac.run(shlex.split(found["command"]))
                yield f"@ step {found['index']} {code}"
                if code and not found["peer"]:
                    return
            elif (found := _UNROUTED.fullmatch(line)) and not self._leads(
                found["peer"], found["name"]
            ):
                yield f"@ unrouted {found['index']}"
                return
        yield "@ done"
        for line in script.splitlines():
            if (found := _REACH.fullmatch(line)) and self._is_cabled(found["source"]):
                yield f"@ reached {found['index']} ping"
            elif (found := _ROUTED.fullmatch(line)) and self._leads(found["peer"], found["name"]):
                yield f"@ routed {found['index']}"

    def _disarm(self, script: str) -> Iterator[str]:
        self.dead_man.clear()
        for line in script.splitlines():
            if found := _UNDO.fullmatch(line):
                is_failing = int(found["index"]) == self.failing_undo
                code = 1 if is_failing else self.mac.run(shlex.split(found["command"]))
                yield f"@ step {found['index']} {code}"

    def _leads(self, peer: str, name: str) -> bool:
        return self.mac.way_to(IPv4Address(peer)) == name

    def _is_cabled(self, source: str) -> bool:
        ports = {
            port
            for plug in self.lab.plugged
            for host, port in (plug[:2], plug[2:])
            if host == self.host
        }
        return any(
            str(address.ip) == source
            for port in ports
            for address in self.mac.interfaces[port].addresses
        )

    def _ifconfig(self) -> Iterator[str]:
        for name, interface in self.mac.interfaces.items():
            flags = "8863<UP>" if interface.up else "8822<BROADCAST>"
            yield f"{name}: flags={flags} mtu {interface.mtu}"
            for address in interface.addresses:
                yield f"\tinet {address.ip} netmask {int(address.netmask):#010x}"
            if name in self.mac.bridges:
                yield "\tConfiguration:"
            for member in sorted(self.mac.bridges.get(name, ())):
                yield f"\tmember: {member} flags=3<LEARNING,DISCOVER>"
