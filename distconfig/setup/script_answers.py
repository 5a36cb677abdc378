"""What the scripts of `host_scripts` answered, read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from distconfig.errors import UnexpectedOutput
from distconfig.probes.ifconfig import parse_ifconfig
from distconfig.reports.report import InterfaceState
from distconfig.setup.sudo_rules import SudoRule, parse_sudo_rules

__all__ = ["HostAnswer", "StepResult", "parse_answer"]

_RANGE = re.compile(r"([0-9]{1,6})\s*-\s*([0-9]{1,6})")
_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True)
class StepResult:
    """How one command ended, and what it printed."""

    index: int
    returncode: int
    output: str


@dataclass(frozen=True)
class HostAnswer:
    """One host after a script.

    Args:
        steps: The commands that were run, in order.
        facts: Other lines of the answer, word by word, such as ``("reached", "0", "ping")``.
        mtu_ranges: Interface to the smallest and largest mtu, as far as understood.
        interfaces: The state at the end.
        sudo_rules: Those that sudo listed, if it was asked.
    """

    steps: tuple[StepResult, ...]
    facts: frozenset[tuple[str, ...]]
    mtu_ranges: Mapping[str, tuple[int, int]]
    interfaces: tuple[InterfaceState, ...]
    sudo_rules: tuple[SudoRule, ...] = ()

    def interface(self, name: str) -> InterfaceState | None:
        """The state of an interface at the end, None if it is gone."""
        return next((each for each in self.interfaces if each.name == name), None)


def parse_answer(stdout: bytes, host: str) -> HostAnswer:
    """The answer of a script that ran to its end.

    Raises:
        UnexpectedOutput: It has no end, or the state of the interfaces can not be read.
    """
    steps: list[StepResult] = []
    facts: set[tuple[str, ...]] = set()
    ranges: dict[str, tuple[int, int]] = {}
    rules: tuple[SudoRule, ...] = ()
    snapshot: str | None = None
    for words, body in _sections(stdout.decode("utf-8", errors="replace")):
        match words:
            case ("snapshot",):
                snapshot = body
            case ("step", index, code) if _NUMBER.fullmatch(index) and _NUMBER.fullmatch(code):
                steps.append(StepResult(int(index), int(code), body.strip()))
            case ("rules",):
                rules = parse_sudo_rules(body)
            case ("mtu", name):
                if found := _RANGE.search(body):
                    ranges[name] = (int(found[1]), int(found[2]))
            case _:
                facts.add(words)
    if snapshot is None or ("end",) not in facts:
        raise UnexpectedOutput(
            "a script did not run to its end",
            host=host,
            probe="setup",
            hint="See whether the host restarted or ended the session.",
        )
    interfaces = _read_interfaces(snapshot, host)
    return HostAnswer(tuple(steps), frozenset(facts), ranges, interfaces, rules)


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each line that begins with ``@`` as words, with the lines up to the next."""
    words: tuple[str, ...] | None = None
    body: list[str] = []
    for line in text.split("\n"):
        if line.startswith("@ "):
            if words is not None:
                yield words, "\n".join(body)
            words, body = tuple(line[2:].split()), []
        else:
            body.append(line)
    if words is not None:
        yield words, "\n".join(body)


def _read_interfaces(snapshot: str, host: str) -> tuple[InterfaceState, ...]:
    try:
        return parse_ifconfig(f"{snapshot}\n".encode()).value
    except UnexpectedOutput as error:
        error.host, error.probe = host, "ifconfig"
        raise
