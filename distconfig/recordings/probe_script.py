"""One script that runs every probe of a round, and its output taken apart again.

Nothing is written on the host: the two streams carry markers with a nonce
before and after each command, and what is between them is what it printed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distconfig.hosts.shell import Completed
from distconfig.probes import Probe

__all__ = ["Answers", "platform_of", "render_probe_script", "split_answers"]

# The shell leads its own process group, since sshd and `LocalChannel` make it
# so. Reading file descriptor 3 ends when the channel does: then the group,
# with whatever command hangs, goes too.
_PROLOGUE = """\
n={nonce}
mark() {{ printf %s "$n:$1;"; printf %s "$n:$1;" >&2; }}
probe() {{ number=$1; shift; mark "b:$number:0"; "$@"; mark "e:$number:$?"; }}
{{ read -r _ <&3; kill -s KILL -- "-$$"; }} >/dev/null 2>&1 &
watcher=$!
"""
_EPILOGUE = 'kill "$watcher" 2>/dev/null\n'


def render_probe_script(probes: Sequence[Probe], nonce: str) -> str:
    """A POSIX script that runs the probes that fit the host's platform, in order.

    Args:
        probes: The first one has to print the platform as its first word.
        nonce: Text that no output contains.
    """
    middle = len(nonce) // 2
    lines = [_PROLOGUE.format(nonce=f"{nonce[:middle]}''{nonce[middle:]}")]
    platform_probe = shlex.join(probes[0].argv)
    lines.append(
        f'mark b:0:0\nplatform=$({platform_probe})\nset -- "$?"\n'
        'if [ -n "$platform" ]; then printf "%s\\n" "$platform"; fi\nmark "e:0:$1"\n'
    )
    for number, probe in enumerate(probes[1:], 1):
        patterns = "|".join(f"{platform}' '*" for platform in probe.platforms)
        lines.append(
            f"case $platform in {patterns}) probe {number} {shlex.join(probe.argv)};; esac\n"
        )
    return "".join(lines) + _EPILOGUE


@dataclass(frozen=True)
class Answers:
    """What a round brought, and the probe it hung in if it did not come to its end."""

    completed: dict[str, Completed]
    unfinished: Probe | None


def split_answers(
    probes: Sequence[Probe],
    nonce: str,
    stdout: bytes,
    stderr: bytes,
    seconds_at: Callable[[int], float],
) -> Answers:
    """The answer to each probe of a script that was given these probes and this nonce.

    Args:
        seconds_at: When the byte of stdout at an offset arrived.
    """
    output, begun = _between_markers(stdout, nonce)
    complaints, _ = _between_markers(stderr, nonce)
    completed = {}
    for number, (returncode, begin, end) in output.items():
        if number >= len(probes):
            continue
        _, first, last = complaints.get(number, (0, 0, 0))
        completed[probes[number].name] = Completed(
            probes[number].argv,
            returncode,
            stdout[begin:end],
            stderr[first:last],
            round(max(0.0, seconds_at(end) - seconds_at(begin - 1)), 3),
        )
    unfinished = next((number for number in begun if number not in output), None)
    hung = probes[unfinished] if unfinished is not None and unfinished < len(probes) else None
    return Answers(completed, hung)


def _between_markers(
    stream: bytes, nonce: str
) -> tuple[dict[int, tuple[int, int, int]], tuple[int, ...]]:
    """Returncode, begin and end of each probe's bytes; and all probes that began."""
    begins: dict[int, int] = {}
    found = {}
    for match in re.finditer(rb"%s:([be]):(\d+):(\d+);" % nonce.encode(), stream):
        number = int(match[2])
        if match[1] == b"b":
            begins[number] = match.end()
        elif number in begins:
            found[number] = (int(match[3]), begins[number], match.start())
    return found, tuple(begins)


def platform_of(answer: Completed | None) -> str:
    """The platform that the first probe printed, such as ``Darwin``; empty if it did not.

    Example:
        >>> platform_of(Completed(("uname",), 0, b"Darwin 27.0.0 arm64\\n"))
        'Darwin'
    """
    words = answer.stdout.split() if answer else []
    return words[0].decode("utf-8", "replace") if words else ""
