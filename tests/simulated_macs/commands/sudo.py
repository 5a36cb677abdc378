"""``sudo``: asks the rules of this Mac, and never for a password, since nobody could type it.

Compared with what sudo 1.9.13 answers to the same rules.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.sudoers import (
    Rule,
    SudoersError,
    list_entries,
    list_rules,
    parse_sudoers,
)

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["sudo"]

_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_PASSWORD_NEEDED = Answer(1, "", "sudo: a password is required\n")


def sudo(host: Host, args: list[str], caller: Caller) -> Answer:
    """``sudo [-n] [-l [-l]] [--] [COMMAND ...]``."""
    mac = host.network.mac
    rest = list(args)
    lists = 0
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word not in ("-n", "-l", "-ll", "-nl", "-ln"):
            return Answer(1, "", f"sudo: the simulation does not know {word}\n")
        lists += word.count("l")
    try:
        rules = parse_sudoers(host.sudo, mac.user)
    except SudoersError as error:
        return Answer(1, "", f"/etc/sudoers: syntax error\n{error}\n")
    if caller.is_root:
        rules = parse_sudoers("free", mac.user)
    if lists:
        return _list(rules, rest, mac.user, mac.name, is_long=lists > 1)
    if not rest:
        return Answer(1, "", "usage: sudo -h | -K | -k | -V\n")
    argv = _resolved(rest)
    matching = [rule for rule in rules if rule.allows(argv or rest)]
    if not matching or matching[-1].needs_password:
        return _PASSWORD_NEEDED
    if argv is None:
        return _not_found(rest[0])
    return Answer(run=_as_root(argv, mac.user))


def _not_found(command: str) -> Answer:
    return Answer(1, "", f"sudo: {command}: command not found\n")


def _is_free_of_password(rules: Sequence[Rule]) -> bool:
    """Listing needs no password if any rule has NOPASSWD: sudo's default ``listpw=any``."""
    return any(not rule.needs_password for rule in rules)


def _list(
    rules: Sequence[Rule], command: list[str], user: str, host: str, *, is_long: bool
) -> Answer:
    """Listing a command succeeds if a rule allows it, be it only with a password."""
    if not _is_free_of_password(rules):
        return _PASSWORD_NEEDED
    if not command:
        heading = f"User {user} may run the following commands on {host}:\n"
        return Answer(0, heading + (list_entries(rules) if is_long else list_rules(rules)))
    argv = _resolved(command)
    if argv is None:
        return _not_found(command[0])
    if not any(rule.allows(argv) for rule in rules):
        return Answer(1)
    return Answer(0, " ".join(argv) + "\n")


def _resolved(command: Sequence[str]) -> tuple[str, ...] | None:
    path = shutil.which(command[0], path=_PATH)
    return (path, *command[1:]) if path else None


def _as_root(argv: Sequence[str], user: str) -> list[str]:
    """Words for a setuid copy of setpriv: become root with the environment that sudo gives."""
    identity = ["as-root", "--reuid=0", "--regid=0", "--clear-groups", "--"]
    settings = {
        "PATH": _PATH,
        "HOME": f"/Users/{user}",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "SUDO_USER": user,
        "SUDO_COMMAND": " ".join(argv),
    }
    words = [f"{name}={value}" for name, value in settings.items()]
    return [*identity, "/usr/bin/env", "-i", *words, *argv]
