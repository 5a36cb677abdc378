"""``dscl . -list /Groups`` and ``id -Gn``: who may log in over ssh.

While Remote Login is open to all users there is no group
``com.apple.access_ssh``; macOS renames it ``com.apple.access_ssh-disabled``.
Where it exists, only its members may log in.
"""

from __future__ import annotations

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_groups"]


def parse_groups(stdout: bytes) -> Parsed[frozenset[str]]:
    """The names of groups, separated by blanks or line ends.

    Raises:
        UnexpectedOutput: It printed none.

    Example:
        >>> sorted(parse_groups(b"staff everyone admin\\n").value)
        ['admin', 'everyone', 'staff']
    """
    names = frozenset(word for line in split_lines(stdout) for word in line.split())
    if not names:
        raise misunderstood("no group is named")
    return Parsed(names)
