"""Whether a host's own Python may talk to its neighbours, and whether Apple's ``nc`` may.

macOS may refuse local addresses to a process with EHOSTUNREACH (errno 65) while
the programs that come with it reach them: Local Network privacy (Apple
technote TN3179). Only the two answers side by side tell it from a lost route.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from distconfig.probes.parsed import Parsed, misunderstood, parse_address, split_lines

__all__ = ["Reach", "parse_reach", "render_reach_program"]

_LINE = re.compile(r"(?P<address>\S+) (?P<python>[A-Z0-9]+) (?P<nc>yes|no)")

_PROGRAM = """
import errno, socket, subprocess
def ask(address):
    try:
        socket.create_connection((address, 22), 2).close()
        return "OK"
    except socket.timeout:
        return "ETIMEDOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno, "UNKNOWN")
def nc(address):
    words = ["/usr/bin/nc", "-z", "-G", "2", "-w", "2", address, "22"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return "no"
    return "yes" if done.returncode == 0 else "no"
"""


@dataclass(frozen=True)
class Reach:
    """How a connection to TCP port 22 of a neighbour went.

    Args:
        python: ``OK``, or the name of the error a Python process got.
        nc: Apple's ``nc`` was answered.
    """

    address: IPv4Address
    python: str
    nc: bool


def render_reach_program(addresses: Sequence[IPv4Address]) -> str:
    """A program for any Python from 3.8 on that tries these addresses and prints a line for each.

    ``nc`` is tried only where Python was told that there is no route.
    """
    words = [str(address) for address in addresses]
    return (
        f"{_PROGRAM}for address in {words!r}:\n"
        "    answer = ask(address)\n"
        '    print(address, answer, nc(address) if answer == "EHOSTUNREACH" else "no")\n'
    )


def parse_reach(stdout: bytes) -> Parsed[tuple[Reach, ...]]:
    """What the program printed.

    Raises:
        UnexpectedOutput: A line is something else.

    Example:
        >>> parse_reach(b"10.231.0.2 EHOSTUNREACH yes\\n").value
        (Reach(address=IPv4Address('10.231.0.2'), python='EHOSTUNREACH', nc=True),)
    """
    found = []
    for line in split_lines(stdout):
        match = _LINE.fullmatch(line)
        if match is None:
            raise misunderstood("not an address and two answers", line)
        found.append(
            Reach(parse_address(match["address"], line), match["python"], match["nc"] == "yes")
        )
    return Parsed(tuple(found))
