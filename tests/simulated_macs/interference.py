"""Commands that fail, or wait, because a test wants to see what the product makes of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

__all__ = ["Interference"]


@dataclass
class Interference:
    """What is to happen to commands whose words, joined by blanks, match a pattern.

    Args:
        broken: Pattern -> what the command prints before it exits with 1.
        sayings: Words of a command -> what it prints, successfully, whatever is so.
    """

    broken: dict[str, str] = field(default_factory=dict)
    sayings: dict[str, str] = field(default_factory=dict)
    _holds: dict[str, bool] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def hold(self, pattern: str) -> None:
        """From now on let matching commands wait."""
        with self._changed:
            self._holds[pattern] = False

    def release(self, pattern: str) -> None:
        """Let the commands that wait go on, and those to come."""
        with self._changed:
            self._holds.pop(pattern, None)
            self._changed.notify_all()

    def await_held(self, pattern: str, seconds: float) -> bool:
        """Wait until a command waits; whether one does."""
        with self._changed:
            return self._changed.wait_for(lambda: self._holds.get(pattern, False), seconds)

    def meet(self, words: str) -> str | None:
        """Keep a command waiting as long as it is held; how it fails, or None if it does not."""
        with self._changed:
            for pattern in self._holds:
                if fnmatchcase(words, pattern):
                    self._holds[pattern] = True
                    self._changed.notify_all()
            self._changed.wait_for(
                lambda: not any(fnmatchcase(words, pattern) for pattern in self._holds)
            )
        for pattern, message in self.broken.items():
            if fnmatchcase(words, pattern):
                return message
        return None
