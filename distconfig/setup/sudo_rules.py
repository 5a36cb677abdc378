"""Whether sudo would ask for a password, from its own list of rules.

``sudo -n -l COMMAND`` succeeds for what is allowed, be it only with a password, as soon
as any rule of the user has ``NOPASSWD``: on a Mac an administrator may run everything
with the password, so one such rule for another program is enough. The long list
tells the rules apart. Source: sudoers(5), options ``listpw`` and ``authenticate``; seen
with sudo 1.9.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["SudoRule", "asks_for_password", "parse_sudo_rules"]

_LONGEST = 1 << 14
_MEMBERS = r"(?:\][^\]]*|[^\]]+)"
_CLASS = rf"\[(?:[!^]{_MEMBERS}|(?![!^]){_MEMBERS})\]"
_TOKEN = re.compile(rf"\\(?P<escaped>.)|(?P<wild>[*?]|{_CLASS})|(?P<plain>.)", re.DOTALL)
_NAMED_CLASS = re.compile(r"\[[^\]]*\[:")


@dataclass(frozen=True)
class SudoRule:
    """One command that a user may run as root, or with ``!`` may not.

    Args:
        command: As listed: a path with wildcards, and perhaps arguments with wildcards.
    """

    command: str
    needs_password: bool


def parse_sudo_rules(listing: str) -> tuple[SudoRule, ...]:
    """The rules about commands of root in the output of ``sudo -l -l``, in their order.

    None of a list of over 16 KiB, which only a host would print that wants us to be busy.

    Example:
        >>> parse_sudo_rules('''User ada may run the following commands on studio1:
        ...
        ... Sudoers entry:
        ...     RunAsUsers: root
        ...     Options: !authenticate
        ...     Commands:
        ... \\t/sbin/ifconfig en2 up
        ... ''')
        (SudoRule(command='/sbin/ifconfig en2 up', needs_password=False),)
    """
    return tuple(_rules(listing)) if len(listing) <= _LONGEST else ()


def _rules(listing: str) -> Iterator[SudoRule]:
    by_default = needs_password = True
    is_about_root = is_default = False
    for line in listing.splitlines():
        key, _, rest = line.strip().partition(": ")
        if line and not line[0].isspace():  # the head of an entry, or of the defaults
            is_default = line.startswith("Matching Defaults")
            needs_password, is_about_root = by_default, False
        elif line.startswith("\t"):
            if is_about_root:
                yield SudoRule(line.strip(), needs_password)
        elif is_default and "!authenticate" in re.split(r",\s*", line.strip()):
            by_default = False
        elif key == "RunAsUsers":
            users = rest.split(", ")
            is_about_root = "!root" not in users and not {"root", "ALL", "#0"}.isdisjoint(users)
        elif key == "Options":
            options = rest.split(", ")
            if "!authenticate" in options or "authenticate" in options:
                needs_password = "authenticate" in options


def asks_for_password(rules: Sequence[SudoRule], argv: Sequence[str]) -> bool:
    """Whether the last rule about a command wants a password; False where that is not known.

    Example:
        >>> rules = [SudoRule("ALL", True), SudoRule("/sbin/ifconfig en2 *", False)]
        >>> [asks_for_password(rules, ("/sbin/ifconfig", name, "up")) for name in ("en2", "en3")]
        [False, True]
    """
    for rule in reversed(rules):
        is_about = _is_about(rule.command, argv)
        if is_about is None or (is_about and rule.command.startswith("!")):
            return False
        if is_about:
            return rule.needs_password
    return False


def _is_about(command: str, argv: Sequence[str]) -> bool | None:
    """Whether a rule is about a command; None for what only sudo itself can tell."""
    path, _, arguments = command.removeprefix("!").partition(" ")
    if path == "ALL":
        return True
    if not path.startswith("/") or arguments.startswith("^") or _NAMED_CLASS.search(command):
        return None
    if path.endswith("/"):
        path += "*"
    if not _matches(path, argv[0], barrier="/"):
        return False
    if not arguments:
        return True
    if arguments == '""':
        return len(argv) == 1
    return _matches(arguments, " ".join(argv[1:]))


def _matches(pattern: str, text: str, *, barrier: str = "") -> bool:
    """Whether wildcards match a text, as fnmatch(3) has it; in at most their product of steps.

    Args:
        barrier: What ``*`` does not reach across.
    """
    tokens = [
        (match["escaped"] or match["plain"] or match["wild"], match["wild"] is not None)
        for match in _TOKEN.finditer(pattern)
    ]
    place = at = mark = 0
    star = -1
    while at < len(text):
        if place < len(tokens) and tokens[place] == ("*", True):
            star, mark = place, at
            place += 1
        elif place < len(tokens) and _is_one(*tokens[place], text[at]):
            place += 1
            at += 1
        elif star >= 0 and text[mark] not in barrier:
            mark += 1
            place, at = star + 1, mark
        else:
            return False
    return all(token == ("*", True) for token in tokens[place:])


def _is_one(token: str, is_wild: bool, character: str) -> bool:
    if not is_wild:
        return token == character
    return fnmatchcase(character, token.replace("[^", "[!", 1))
