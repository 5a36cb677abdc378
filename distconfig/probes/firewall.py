"""``socketfilterfw``: the application firewall of macOS and its stealth mode.

The wording changed over the years; both forms are from public captures of
macOS 10.15 to 26: ``Firewall is enabled. (State = 1)``, ``Block all DISABLED!``
or ``Firewall has block all state set to disabled.``, ``Stealth mode enabled``
or ``Firewall stealth mode is on``. State 2 means that everything is blocked.
"""

from __future__ import annotations

import re

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_firewall_block_all", "parse_firewall_state", "parse_firewall_stealth"]

_STATE = re.compile(r"Firewall is (?:enabled|disabled)\.? \(State = (?P<state>[0-2])\)")
_SWITCHES = {
    "Block all ENABLED!": True,
    "Block all DISABLED!": False,
    "Firewall is set to block all non-essential incoming connections": True,
    "Firewall has block all state set to enabled.": True,
    "Firewall has block all state set to disabled.": False,
    "Stealth mode enabled": True,
    "Stealth mode disabled": False,
    "Firewall stealth mode is on": True,
    "Firewall stealth mode is off": False,
}


def _only_line(stdout: bytes) -> str:
    lines = [line.strip() for line in split_lines(stdout) if line.strip()]
    if len(lines) != 1:
        raise misunderstood("not one line about the firewall", "\n".join(lines[:2]))
    return lines[0]


def parse_firewall_state(stdout: bytes) -> Parsed[int]:
    """0 for off, 1 for on, 2 for on and blocking everything.

    Raises:
        UnexpectedOutput: It printed anything else.

    Example:
        >>> parse_firewall_state(b"Firewall is enabled. (State = 1)\\n").value
        1
    """
    line = _only_line(stdout)
    found = _STATE.fullmatch(line)
    if found is None:
        raise misunderstood("not a state of the firewall", line)
    return Parsed(int(found["state"]))


def _parse_switch(stdout: bytes) -> Parsed[bool]:
    line = _only_line(stdout)
    if line not in _SWITCHES:
        raise misunderstood("not a switch of the firewall", line)
    return Parsed(_SWITCHES[line])


def parse_firewall_block_all(stdout: bytes) -> Parsed[bool]:
    """Whether every incoming connection is blocked, once the firewall is on.

    Raises:
        UnexpectedOutput: It printed anything else.
    """
    return _parse_switch(stdout)


def parse_firewall_stealth(stdout: bytes) -> Parsed[bool]:
    """Whether pings are not answered, once the firewall is on.

    Raises:
        UnexpectedOutput: It printed anything else.

    Example:
        >>> parse_firewall_stealth(b"Firewall stealth mode is off\\n").value
        False
    """
    return _parse_switch(stdout)
