"""What the ranks write, on its way to our terminal, to log files, and into the closing report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from distconfig.launch.accounts import Accounts
from distconfig.launch.output import LineMerger, Piece, Source
from distconfig.launch.printer import LogFiles, Printer

__all__ = ["Display"]

_TAIL = 4096


class Display:
    """Takes what ranks wrote, shows it in whole lines, and remembers the end of it.

    Args:
        share_surface: Our standard output and error end up in the same place.
        wake: A descriptor to write a byte to when something has been written.
    """

    def __init__(
        self, merger: LineMerger, logs: LogFiles | None, *, share_surface: bool, wake: int
    ) -> None:
        self._merger = merger
        self._logs = logs
        self._printer = Printer(is_shared=share_surface, wake=wake)
        self._accounts = Accounts()
        self._tails: defaultdict[Source, bytes] = defaultdict(bytes)

    @property
    def is_idle(self) -> bool:
        """Everything has been written."""
        return self._printer.is_idle

    @property
    def is_broken(self) -> bool:
        """Nobody reads what we write any more."""
        return self._printer.is_broken

    def take(self, source: Source, data: bytes, now: float) -> None:
        """A rank wrote this.

        Raises:
            FrameError: It is more than its agent may send.
        """
        self._accounts.receive(source, len(data))
        self._tails[source] = (self._tails[source] + data[-_TAIL:])[-_TAIL:]
        if self._logs is not None:
            self._logs.write(source, data)
        self._print(self._merger.feed(source, data, now))

    def finish(self, rank: int, now: float) -> None:
        """A rank will write no more."""
        for fd in (1, 2):
            self._print(self._merger.finish((rank, fd), now))

    def tail(self, source: Source) -> bytes:
        """The end of what a rank wrote."""
        return self._tails[source]

    def pass_on(self, now: float) -> None:
        """Show what has been held back long enough."""
        self._print(self._merger.pass_on(now))

    def next_deadline(self) -> float | None:
        """When `pass_on` will have something to do."""
        return self._merger.next_deadline()

    def grant(self) -> Iterator[tuple[Source, int]]:
        """How much more of which source may be sent, since as much has been written."""
        for source, nbytes in self._printer.collect_written():
            granted = self._accounts.write(source, nbytes)
            if granted:
                yield source, granted

    def _print(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self._printer.put(piece)
