"""How much of each rank's output is under way to us, so that memory stays bounded: pure."""

from __future__ import annotations

from collections import defaultdict

from distconfig.launch.frames import FrameError
from distconfig.launch.output import Source

__all__ = ["WINDOW", "Accounts"]

#: How many bytes of one stream of one rank may be under way to us.
WINDOW = 1 << 18


class Accounts:
    """What agents may still send, by source.

    Example:
        >>> accounts = Accounts()
        >>> accounts.receive((0, 1), WINDOW)
        >>> accounts.write((0, 1), WINDOW // 2)
        131072
        >>> accounts.receive((0, 1), WINDOW // 2)
    """

    def __init__(self) -> None:
        self._owed: defaultdict[Source, int] = defaultdict(int)
        self._written: defaultdict[Source, int] = defaultdict(int)

    def receive(self, source: Source, nbytes: int) -> None:
        """Note bytes that came.

        Raises:
            FrameError: They are more than the agent was allowed to send.
        """
        self._owed[source] += nbytes
        if self._owed[source] > WINDOW:
            raise FrameError(f"it sent more of rank {source[0]}'s output than it may")

    def write(self, source: Source, nbytes: int) -> int:
        """Note bytes that have been written, and return how many more may be sent.

        They are saved up, so that not every line is answered.
        """
        self._written[source] += nbytes
        if self._written[source] < WINDOW // 4:
            return 0
        granted = self._written.pop(source)
        self._owed[source] -= granted
        return granted
