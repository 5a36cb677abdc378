"""What a check finds, as values: a `Kind` for each thing that can be wrong, a `Finding` for one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Finding", "Kind", "Severity"]


class Severity(Enum):
    """How much a finding matters, worst first.

    A PROBLEM keeps a ring from working, a WARNING may do so or slow it down,
    a NOTE is only good to know.
    """

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Args:
        id: Its short name, under which ``docs/doctor.md`` explains it.
        host: The host or hosts it is about, as the user typed them, separated by commas.
        text: What is so, a sentence.
        cause: Why it matters, a sentence or two.
        fix: What to do about it, with the commands to run; we run none of them.
    """

    id: str
    severity: Severity
    host: str
    text: str
    cause: str
    fix: str


@dataclass(frozen=True)
class Kind:
    """Something that can be wrong, and what is always true of it.

    Args:
        id: Lower-case words joined by hyphens.
    """

    id: str
    severity: Severity
    cause: str
    fix: str

    def at(self, host: str, text: str, *, fix: str = "") -> Finding:
        """This kind of thing, found on a host.

        Args:
            fix: What to do, where it can be said more exactly than for all of this kind.
        """
        return Finding(self.id, self.severity, host, text, self.cause, fix or self.fix)
