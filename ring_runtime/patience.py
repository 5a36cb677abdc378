"""How long a rank waits: spinning, sleeping, saying so, giving up."""

from __future__ import annotations

import math
import os
import time

__all__ = ["Patience"]

_SPIN_S = 100e-6
_YIELD_S = 3e-3
_SUSPICION_S = 1.0
_FIRST_REPORT_S = 60.0
_FIRST_REPORT_FORMING_S = 5.0


_let_others_run = getattr(os, "sched_yield", lambda: None)


class Patience:
    """The clock of one wait after the other.

    Args:
        timeout: Seconds without any byte after which a wait is given up; 0 for never.
        may_spin: Whether every rank on this machine has a core of its own. If not, a rank
            that looks again lets the others run first.
    """

    def __init__(self, timeout: float, may_spin: bool) -> None:
        self.timeout = timeout
        self.may_spin = may_spin
        self._longest_spin = _SPIN_S if may_spin else _YIELD_S
        self.is_forming = False
        self._spin = 0.0
        self._since = 0.0
        self._report_at = 0.0
        self._tell_at = math.inf
        self._has_told = False

    def moved(self) -> bool:
        """Something moved after a wait; from how long it took learn whether spinning pays.

        Returns:
            Whether the neighbours were told of that wait.
        """
        idle = time.monotonic() - self._since
        self._spin = self._longest_spin if idle < 2 * self._longest_spin else 0.0
        self._since = 0.0
        told, self._has_told = self._has_told, False
        return told

    def is_spinning(self) -> bool:
        """Whether to look again at once; the first call begins the wait."""
        now = time.monotonic()
        if not self._since:
            self._since = now
            self._report_at = now + (
                _FIRST_REPORT_FORMING_S if self.is_forming else _FIRST_REPORT_S
            )
            self._tell_at = math.inf if self.is_forming else now + self._half()
        if now - self._since >= self._spin:
            return False
        if not self.may_spin:
            _let_others_run()
        return True

    def _half(self) -> float:
        return min(self.timeout or math.inf, _FIRST_REPORT_S) / 2

    def until(self, *, knows_who: bool, told_at: float = 0.0) -> float | None:
        """When the wait is given up, or None.

        Args:
            knows_who: Whether we can name a rank that is late. If not, those who can get a
                moment more to tell us.
            told_at: When the last of those we wait for told that it waits as well: it gives up
                first. 0 if they do not.
        """
        if not self.timeout:
            return None
        end = self._since + self.timeout
        if knows_who:
            return end
        if told_at:
            end = max(end, told_at + self.timeout - self._half()) + _SUSPICION_S
        return end + _SUSPICION_S

    def pause(self, until: float | None) -> float:
        """Seconds to sleep: until the end, or until it is time to say something."""
        wake = min(self._report_at, self._tell_at, math.inf if until is None else until)
        return max(0.0, wake - time.monotonic())

    def should_tell(self) -> bool:
        """Whether to tell the neighbours now that we wait: once in a wait, when half is over."""
        if time.monotonic() < self._tell_at:
            return False
        self._tell_at = math.inf
        self._has_told = True
        return True

    def report(self) -> float:
        """Seconds waited if it is time to say so, else 0; the next time is twice as far away."""
        now = time.monotonic()
        if now < self._report_at:
            return 0.0
        waited = now - self._since
        self._report_at = now + waited
        return waited
