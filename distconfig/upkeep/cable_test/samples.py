"""What a long load shows second by second: dips in a stream, links that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from distconfig.reports.report import InterfaceState

__all__ = ["LinkWatch", "Sample", "find_dips"]

_DIP = 0.5
_SHORTEST_S = 0.5


@dataclass(frozen=True)
class Sample:
    """What came in a stretch of time.

    Args:
        at: When the stretch ended, in seconds since the beginning of the load.
        seconds: How long it was.
    """

    at: float
    seconds: float
    nbytes: int


def find_dips(samples: Sequence[Sample]) -> tuple[float, ...]:
    """When less than half of the usual came; the first and last moments do not count.

    Example:
        >>> find_dips([Sample(t, 1.0, 10 if t == 3 else 100) for t in range(1, 7)])
        (3,)
    """
    whole = [each for each in samples if each.seconds >= _SHORTEST_S]
    if len(whole) < 3:
        return ()
    rates = [each.nbytes / each.seconds for each in whole]
    usual = median(rates)
    return tuple(
        each.at for each, rate in zip(whole[1:], rates[1:], strict=True) if rate < _DIP * usual
    )


class LinkWatch:
    """Links of interfaces, looked at again and again; each change becomes a sentence.

    Both methods return what is new since the last look.

    Args:
        ends: (host, interface) of those that matter.
    """

    def __init__(self, ends: Iterable[tuple[str, str]]) -> None:
        self._ends = sorted(ends)
        self._had_link: dict[tuple[str, str], bool] = {}
        self._silent: set[str] = set()

    def look(self, host: str, interfaces: Sequence[InterfaceState], at: float) -> list[str]:
        """Take what a host's interfaces are now."""
        events = []
        if host in self._silent:
            self._silent.discard(host)
            events.append(f"second {at:.0f}: {host} answers again")
        states = {state.name: state for state in interfaces}
        for end in self._ends:
            if end[0] != host:
                continue
            state = states.get(end[1])
            has_link = state is not None and state.is_active is not False
            if self._had_link.setdefault(end, has_link) != has_link:
                what = "has its link again" if has_link else "lost its link"
                events.append(f"second {at:.0f}: {host} {end[1]} {what}")
                self._had_link[end] = has_link
        return events

    def miss(self, host: str, reason: str, at: float) -> list[str]:
        """Take that a host gave no answer."""
        if host in self._silent:
            return []
        self._silent.add(host)
        return [f"second {at:.0f}: {host} did not answer ({reason})"]
