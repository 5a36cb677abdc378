"""How a job ended: which rank failed first, what is said about it, and our exit code."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from distconfig.errors import RankFailed
from distconfig.printable import escape_controls

__all__ = [
    "HOST_LOST",
    "FirstFailure",
    "RankEnd",
    "describe_end",
    "exit_code_of",
    "last_lines",
    "looks_like_victim",
    "render_failure",
    "report_failure",
]

#: The exit code for a rank whose host was lost, which is what ssh gives.
HOST_LOST = 255
#: How long a victim's failure waits for the one of which it speaks.
SETTLE_S = 0.5
_LINES_SHOWN = 5
_WIDEST_LINE = 300
_PEER_LOST = re.compile(rb"^(?:[\w.]+\.)?PeerLost\b")


@dataclass(frozen=True)
class RankEnd:
    """How one rank ended.

    Args:
        returncode: Its exit code, or minus the signal that ended it.
        unstartable: Why it could not be started, if it could not.
        lost: Why its host counts as lost, if it does.
        stderr: The end of what it wrote to standard error.
        stdout: The end of what it wrote to standard output.
    """

    rank: int
    host: str
    returncode: int
    unstartable: str = ""
    lost: str = ""
    stderr: bytes = b""
    stdout: bytes = b""


def exit_code_of(returncode: int) -> int:
    """The exit code a shell gives: 128 + number for a signal.

    Example:
        >>> exit_code_of(7), exit_code_of(-11)
        (7, 139)
    """
    return returncode if returncode >= 0 else 128 - returncode


def describe_end(end: RankEnd) -> str:
    """How it ended, in words that follow the rank's name.

    Example:
        >>> describe_end(RankEnd(0, "studio1", -11))
        'was ended by signal 11 (SIGSEGV)'
    """
    if end.lost:
        return f"was lost: {end.lost}"
    if end.unstartable:
        return f"could not be started: {end.unstartable}"
    if end.returncode >= 0:
        return f"exited with code {end.returncode}"
    try:
        name = f" ({signal.Signals(-end.returncode).name})"
    except ValueError:
        name = ""
    return f"was ended by signal {-end.returncode}{name}"


def looks_like_victim(end: RankEnd) -> bool:
    """Whether a rank says that it failed only because another one did.

    A rank whose neighbour dies may be gone sooner than the neighbour, whose
    interpreter has yet to be taken down.
    """
    lines = end.stderr.rstrip().splitlines()
    return bool(lines) and _PEER_LOST.match(lines[-1]) is not None


class FirstFailure:
    """Finds the rank to blame: the first that failed and does not say that another one did.

    Example:
        >>> failures = FirstFailure()
        >>> failures.decide(0.0, is_last=False)
        >>> failures.note(RankEnd(1, "b", 1, stderr=b"PeerLost: rank 2 is gone"), now=0.0)
        >>> failures.decide(0.1, is_last=False)
        >>> failures.note(RankEnd(2, "c", -9), now=0.2)
        >>> failures.decide(0.2, is_last=False).rank
        2
    """

    def __init__(self) -> None:
        self._failures: list[RankEnd] = []
        self.settle_until: float | None = None

    def note(self, end: RankEnd, now: float) -> None:
        """A rank has failed."""
        self._failures.append(end)
        if self.settle_until is None:
            self.settle_until = now + SETTLE_S

    def decide(self, now: float, *, is_last: bool) -> RankEnd | None:
        """The failure to blame; None while there is none, or a victim waits for another's.

        Args:
            is_last: No rank is left that could fail.
        """
        for end in self._failures:
            if not looks_like_victim(end):
                return end
        if self.settle_until is not None and (is_last or now >= self.settle_until):
            return self._failures[0]
        return None


def last_lines(end: RankEnd) -> str:
    """The last lines a rank wrote, to standard error if it wrote there, fit to be shown."""
    text = (end.stderr.strip() and end.stderr) or end.stdout
    lines = text.decode(errors="replace").rstrip().splitlines()[-_LINES_SHOWN:]
    return "\n".join(escape_controls(line[:_WIDEST_LINE]) for line in lines)


def report_failure(end: RankEnd, others: int) -> RankFailed:
    """The error that names the rank that failed first.

    Args:
        others: How many ranks were still running and were ended.
    """
    what = describe_end(end)
    if others:
        what += "; the other rank was ended" if others == 1 else f"; {others} others were ended"
    return RankFailed(
        what,
        rank=end.rank,
        host=end.host,
        returncode=exit_code_of(end.returncode),
        last_lines=last_lines(end),
    )


def render_failure(error: RankFailed) -> str:
    """The closing report on a job that failed, for a person.

    Where the error names no rank, it is mpirun that failed, which has its own words on ranks.

    Example:
        >>> print(render_failure(RankFailed("exited with code 7", rank=2, host="studio3")))
        rank 2 on studio3 exited with code 7
    """
    who = f"rank {error.rank}" if error.rank >= 0 else "mpirun"
    text = f"{who} on {error.host} {escape_controls(error.what)}"
    if not error.last_lines:
        return text
    lines = "\n    ".join(error.last_lines.splitlines())
    return f"{text}; its last lines:\n    {lines}"
