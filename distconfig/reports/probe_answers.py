"""A host's answers, read probe by probe; one that is not understood costs only its facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from distconfig.errors import ReportError, UnexpectedOutput
from distconfig.hosts.shell import Completed
from distconfig.probes import PROBES
from distconfig.probes.parsed import Parsed
from distconfig.recordings.recording import HostRecording

__all__ = ["ProbeAnswers"]

_Value = TypeVar("_Value")

# What is not known when a probe did not answer. The others are a second source, or their
# absence is itself an answer: no RDMA before macOS 26.2, no $SSH_CONNECTION without ssh.
_MISSED = {
    "networksetup_ports": "the names of its network ports are not known",
    "networksetup_services": "its network services are not known",
    "ifconfig": "its addresses, bridges and links are not known",
    "netstat": "its routes are not known",
    "hw_model": "its model is not known",
    "sw_vers": "its version of macOS is not known",
    "hardware": "which machine it is can not be told",
    "sudo": "what sudo allows is not known",
}


def _last_words(completed: Completed) -> str:
    lines = completed.stderr.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else f"exit {completed.returncode}"


class ProbeAnswers:
    """The probes of one host, read one after the other.

    What is to be said about them gathers in ``notes`` (lines that carry no fact
    we use), ``problems`` (sentences) and ``unread`` (names of probes).
    """

    def __init__(self, recording: HostRecording) -> None:
        self.host = recording.host
        self.probes = recording.probes
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.unread: list[str] = []

    def _take(self, probe: str, parsed: Parsed[_Value]) -> _Value:
        self.notes += [f"{probe}: {note}" for note in parsed.notes]
        return parsed.value

    def miss(self, probe: str, reason: str) -> None:
        """Keep in mind that a probe did not answer, and say so if its facts are needed."""
        self.unread.append(probe)
        if probe in _MISSED:
            self.problems.append(f"{probe}: {reason}; {_MISSED[probe]}.")

    def read(self, probe: str, parse: Callable[[bytes], Parsed[_Value]]) -> _Value | None:
        """What a probe said, or None if it did not answer or was not understood."""
        completed = self.probes.get(probe)
        if completed is None:
            self.miss(probe, "not recorded")
            return None
        if completed.returncode != 0:
            self.miss(probe, _last_words(completed))
            return None
        try:
            return self._take(probe, parse(completed.stdout))
        except UnexpectedOutput as error:
            self.unread.append(probe)
            self.problems.append(f"{probe} was not understood: {error.what}: {error.at!r}.")
            return None

    def require(self, probe: str, parse: Callable[[bytes], Parsed[_Value]]) -> _Value:
        """What a probe said that nothing can be done without.

        Raises:
            ReportError: It did not answer, or was not understood.
        """
        completed = self.probes.get(probe)
        if completed is None or completed.returncode != 0:
            reason = _last_words(completed) if completed is not None else "it was not recorded"
            raise ReportError(
                f"{probe} did not answer: {reason}",
                host=self.host,
                probe=probe,
                hint=f"Run it there: {' '.join(_argv_of(probe))}",
            )
        try:
            return self._take(probe, parse(completed.stdout))
        except UnexpectedOutput as error:
            error.host, error.probe = self.host, probe
            raise


def _argv_of(probe: str) -> tuple[str, ...]:
    return next(each.argv for each in PROBES if each.name == probe)
