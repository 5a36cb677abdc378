"""Trying neighbours from a host: by which interface, how fast a ping comes back, or TCP alone.

Nothing here needs rights or a Python on the host.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from distconfig.errors import UnexpectedOutput
from distconfig.probes.parsed import is_interface_name

__all__ = ["Try", "TryResult", "parse_tries", "render_tries"]

# Apple's ping: -t ends it after so many seconds, -i 0.1 is the shortest pause without root.
# All tries run side by side; each prints its one line at once, so that lines do not mix.
_SCRIPT = """\
try() {{
  way=$(/sbin/route -n get "$3" 2>/dev/null | sed -n 's/^ *interface: //p')
  if [ -n "$2" ]; then set -- "$1" "-S $2" "$3" "-s $2"; else set -- "$1" "" "$3" ""; fi
  pinged=$(/sbin/ping -c {count} -i 0.1 -t {seconds} $2 "$3" 2>/dev/null)
  time=$(printf '%s\\n' "$pinged" | sed -n 's|^round-trip [^=]*= [0-9.]*/\\([0-9.]*\\)/.*|\\1|p')
  how=none
  if [ -n "$time" ]; then
    how=ping
  elif /usr/bin/nc -z -G {seconds} -w {seconds} $4 "$3" 22 >/dev/null 2>&1 </dev/null; then
    how=tcp
  fi
  printf '@ try %s %s %s %s\\n' "$1" "${{way:--}}" "${{time:--}}" "$how"
}}
"""
_LINE = re.compile(
    r"@ try (?P<index>[0-9]{1,6}) (?P<way>\S+) (?P<time>[0-9]{1,9}(\.[0-9]{1,6})?|-) "
    r"(?P<how>ping|tcp|none)"
)


@dataclass(frozen=True)
class Try:
    """An address to be tried.

    Args:
        source: The own address to send from; None to let the host choose.
    """

    target: IPv4Address
    source: IPv4Address | None = None


@dataclass(frozen=True)
class TryResult:
    """What came of a try.

    Args:
        interface: The one that packets to the target leave by; empty if there is no route.
        rtt_ms: Mean time of a ping; None if none came back.
        is_reached: A ping came back, or TCP port 22 was answered.
    """

    interface: str
    rtt_ms: float | None
    is_reached: bool


def render_tries(tries: Sequence[Try], *, count: int = 1, seconds: int = 1) -> str:
    """A script that makes all tries at once.

    Args:
        count: Pings for each.
        seconds: How long to wait for them, and for TCP after that.
    """
    lines = [_SCRIPT.format(count=count, seconds=seconds)]
    for index, each in enumerate(tries):
        source = str(each.source) if each.source else ""
        lines.append(shlex.join(("try", str(index), source, str(each.target))) + " &\n")
    return "".join(lines) + "wait\n"


def parse_tries(stdout: bytes, count: int, host: str) -> tuple[TryResult, ...]:
    """The results of a script of so many tries, in their order.

    Raises:
        UnexpectedOutput: One is missing or can not be read.
    """
    found: dict[int, TryResult] = {}
    for line in stdout.decode("utf-8", errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        way = match["way"] if is_interface_name(match["way"]) else ""
        time = None if match["time"] == "-" else float(match["time"])
        found[int(match["index"])] = TryResult(way, time, match["how"] != "none")
    missing = [index for index in range(count) if index not in found]
    if missing:
        raise UnexpectedOutput("a try of a neighbour gave no answer", host=host, probe="try")
    return tuple(found[index] for index in range(count))
