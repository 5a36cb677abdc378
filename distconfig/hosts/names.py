"""Names of hosts as people type them: which are allowed, and which mean this machine."""

from __future__ import annotations

import re

from distconfig.errors import UsageError

__all__ = ["check_host_name", "is_this_machine", "parse_host_list"]

_HOST_NAME = re.compile(r"[A-Za-z0-9_.:%@\[\]-]+")
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def check_host_name(host: str) -> str:
    """The same name, if it is one that is safe to hand to ssh.

    Raises:
        UsageError: It is empty, begins with ``-``, or has a character no host name has.

    Example:
        >>> check_host_name("ada@studio1.local")
        'ada@studio1.local'
    """
    if not host:
        raise UsageError(
            "a host name is empty", hint="Separate names by single commas: studio1,studio2."
        )
    if host.startswith("-"):
        raise UsageError(
            f"{host!r} is not a host name: it begins with '-'",
            hint="An option may be missing its value.",
        )
    if not _HOST_NAME.fullmatch(host):
        raise UsageError(
            f"{host!r} is not a host name",
            hint="Use a name or alias that ssh knows: letters, digits and . _ - : % @ [ ] only.",
        )
    return host


def parse_host_list(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list, in the order given.

    Blanks around a name are dropped.

    Raises:
        UsageError: A name is empty, given twice, or not one that ssh could reach.

    Example:
        >>> parse_host_list("studio1, studio2")
        ('studio1', 'studio2')
    """
    hosts = tuple(check_host_name(part.strip()) for part in text.split(","))
    for index, host in enumerate(hosts):
        if host in hosts[:index]:
            raise UsageError(
                f"host {host!r} is given twice", hint="Name each host once, in any order."
            )
    return hosts


def is_this_machine(host: str) -> bool:
    """Whether the word, exactly as typed, means this machine without ssh.

    Example:
        >>> is_this_machine("localhost"), is_this_machine("LOCALHOST"), is_this_machine("::1")
        (True, False, True)
    """
    return host in _THIS_MACHINE
