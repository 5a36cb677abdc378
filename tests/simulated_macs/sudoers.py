"""What a sudoers file allows, as far as rules about commands of root go; after sudoers(5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby

__all__ = ["Rule", "SudoersError", "list_entries", "list_rules", "parse_sudoers"]

_FREE = "ALL ALL=(ALL) NOPASSWD: ALL"
_WITH_PASSWORD = "%admin ALL=(ALL) ALL"


class SudoersError(ValueError):
    """A line that sudo would not take; sudo then allows nothing at all."""


@dataclass(frozen=True)
class Rule:
    """One command that is allowed.

    Args:
        command: Absolute path, or ``ALL``; wildcards as in fnmatch.
        arguments: None allows any; wildcards match across blanks.
    """

    command: str
    arguments: str | None
    needs_password: bool
    run_as: str = "root"

    def allows(self, argv: Sequence[str]) -> bool:
        """Whether this rule is about this command."""
        if self.command == "ALL":
            return True
        if not fnmatchcase(argv[0], self.command):
            return False
        return self.arguments is None or fnmatchcase(" ".join(argv[1:]), self.arguments)

    def __str__(self) -> str:
        if self.arguments is None:
            return self.command
        arguments = re.sub(r"([,:=\\])", r"\\\1", self.arguments)
        return " ".join((self.command, arguments or '""'))


def parse_sudoers(text: str, user: str) -> list[Rule]:
    """The rules about this user, in order; where several match, the last one counts.

    Args:
        text: The words ``free`` and ``password`` stand for the usual cases.

    Example:
        >>> rules = parse_sudoers("ada ALL=(root) NOPASSWD: /sbin/ifconfig en[0-9]* up", "ada")
        >>> [rules[0].allows(("/sbin/ifconfig", name, "up")) for name in ("en2", "lo0")]
        [True, False]
    """
    text = {"free": _FREE, "password": _WITH_PASSWORD}.get(text, text)
    aliases: dict[str, list[str]] = {}
    rules: list[Rule] = []
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if not line or line.startswith(("#", "Defaults")):
            continue
        if line.startswith("Cmnd_Alias "):
            name, _, commands = line.removeprefix("Cmnd_Alias ").partition("=")
            aliases[name.strip()] = _split(commands)
            continue
        match = re.fullmatch(r"(\S+)\s+(\S+?)\s*=\s*(?:\(([^)]*)\))?\s*(.*)", line)
        if match is None:
            raise SudoersError(line)
        who, _, run_as, commands = match.groups()
        if who in (user, "ALL", "%admin", "%staff") and run_as in (None, "root", "ALL", "ALL:ALL"):
            rules += _rules(_split(commands), aliases, run_as or "root", line)
    return rules


def _split(commands: str) -> list[str]:
    return [each.strip() for each in re.split(r"(?<!\\),", commands)]


def list_rules(rules: Sequence[Rule]) -> str:
    """The rules as ``sudo -l`` lists them: those of one line together, up to the next tag."""
    groups = groupby(rules, key=lambda rule: (rule.run_as, rule.needs_password))
    lines = []
    for (run_as, needs_password), members in groups:
        tag = "" if needs_password else "NOPASSWD: "
        lines.append(f"    ({run_as}) {tag}{', '.join(str(rule) for rule in members)}\n")
    return "".join(lines)


def list_entries(rules: Sequence[Rule]) -> str:
    """The rules as ``sudo -l -l`` lists them: an entry for each run of rules that are alike."""
    lines = []
    for (run_as, needs_password), members in groupby(
        rules, key=lambda rule: (rule.run_as, rule.needs_password)
    ):
        lines.append(f"\nSudoers entry:\n    RunAsUsers: {run_as}\n")
        if not needs_password:
            lines.append("    Options: !authenticate\n")
        commands = "".join(f"\t{rule}\n" for rule in members)
        lines.append(f"    Commands:\n{commands}")
    return "".join(lines)


def _rules(
    commands: Sequence[str], aliases: dict[str, list[str]], run_as: str, line: str
) -> list[Rule]:
    rules = []
    needs_password = True
    for command in commands:
        while tag := re.match(r"(NOPASSWD|PASSWD|SETENV|NOSETENV|EXEC|NOEXEC):\s*", command):
            if tag[1].endswith("PASSWD"):
                needs_password = tag[1] == "PASSWD"
            command = command[tag.end() :]
        for each in aliases.get(command, [command]):
            path, _, arguments = each.partition(" ")
            if path != "ALL" and not path.startswith("/"):
                raise SudoersError(line)
            if re.search(r"(?<!\\)[:=]", arguments):
                raise SudoersError(line)
            rules.append(Rule(path, _unescape(arguments.strip()), needs_password, run_as))
    return rules


def _unescape(arguments: str) -> str | None:
    if arguments == '""':
        return ""
    return re.sub(r"\\([,:=\\ ])", r"\1", arguments) or None
