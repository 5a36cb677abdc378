"""A point in time by which something has to be done."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    """A point in time, ``timeout_s`` seconds from now.

    Example:
        >>> Deadline(0).left()
        0.0
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._at = time.monotonic() + timeout_s

    def left(self) -> float:
        """The seconds left; 0 once it has passed."""
        return max(0.0, self._at - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """No time is left."""
        return self.left() == 0.0

    def at_most(self, timeout_s: float | None) -> Deadline:
        """The earlier one of this deadline and ``timeout_s`` from now; None changes nothing."""
        if timeout_s is None or self.left() <= timeout_s:
            return self
        return Deadline(timeout_s)
