"""What all ranks write, made into the lines of one terminal: pure bytes.

Lines of different ranks are never mixed. A line that is not finished is held
back until its rank has been silent for a moment, so that a prompt appears, and
whoever writes next begins on a new line.

A program that prints its parts one by one, and takes its time between them,
looks as if it prompted: ``print(rank, x)`` where ``x`` has yet to be computed
by all ranks together. So the moment is longer while several ranks are in the
middle of a line, and a line that is already shown gets a little time to be
finished before another rank's line breaks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LARGEST_HELD", "LineMerger", "Piece", "Source", "tag_of"]

#: Silence after which an unfinished line is shown, if no other rank has one.
SILENCE_S = 0.05
#: The same while others have one too.
CROWDED_SILENCE_S = 1.0
#: How long finished lines wait for the end of one that is shown unfinished.
COURTESY_S = 1.0
LARGEST_HELD = 1 << 16
_COLOURS = (36, 33, 35, 32, 34, 31)

#: A rank and the file descriptor it writes to, 1 or 2.
Source = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Bytes to write to our own file descriptor 1 or 2.

    Args:
        taken: How many bytes of the source it disposes of.
    """

    source: Source
    data: bytes
    taken: int

    @property
    def fd(self) -> int:
        """Where it goes."""
        return self.source[1]


@dataclass
class _Held:
    """What a source wrote and what has not been shown.

    Args:
        since: When the first of it came.
        fed_at: When the last of it came.
    """

    data: bytes
    since: float
    fed_at: float

    @property
    def is_unfinished(self) -> bool:
        """It ends within a line."""
        return not self.data.endswith(b"\n")


@dataclass
class _Surface:
    """A place where bytes become visible: a terminal, or a file.

    Args:
        unfinished: The rank whose line there has no end yet.
    """

    unfinished: int | None = None


def tag_of(rank: int, world_size: int, *, is_coloured: bool) -> bytes:
    """What stands before each line of a rank.

    Example:
        >>> tag_of(3, 12, is_coloured=False)
        b'[ 3] '
    """
    tag = f"[{rank:{len(str(world_size - 1))}}]"
    if is_coloured:
        tag = f"\x1b[{_COLOURS[rank % len(_COLOURS)]}m{tag}\x1b[0m"
    return f"{tag} ".encode()


class LineMerger:
    """Decides what of the bytes that ranks wrote is shown now, and what comes before it.

    Args:
        ranks: Those that may write.
        share_surface: Our descriptors 1 and 2 show up in the same place.
        tags: For each of them, what to put before each line of a rank; empty for nothing.

    Example:
        >>> merger = LineMerger({0, 1})
        >>> [piece.data for piece in merger.feed((0, 1), b"one\\ntw", now=0.0)]
        [b'one\\n']
        >>> [piece.data for piece in merger.pass_on(now=0.05)]
        [b'tw']
        >>> [piece.data for piece in merger.feed((1, 1), b"x\\n", now=0.1)]
        []
        >>> [piece.data for piece in merger.pass_on(now=1.1)]
        [b'\\nx\\n']
    """

    def __init__(
        self,
        ranks: Iterable[int],
        *,
        share_surface: bool = False,
        tags: dict[int, dict[int, bytes]] | None = None,
    ) -> None:
        out = _Surface()
        self._surfaces = {1: out, 2: out if share_surface else _Surface()}
        self._tags = tags or {1: {}, 2: {}}
        self._open = {(rank, fd) for rank in ranks for fd in (1, 2)}
        self._held: dict[Source, _Held] = {}  # in the order in which it came

    def feed(self, source: Source, data: bytes, now: float) -> list[Piece]:
        """What to write now that a rank wrote this."""
        held = self._held.setdefault(source, _Held(b"", now, now))
        held.data += data
        held.fed_at = now
        return self._show_due(source, now) + self.pass_on(now)

    def finish(self, source: Source, now: float) -> list[Piece]:
        """What to write now that a rank will write no more."""
        self._open.discard(source)
        held = self._held.pop(source, None)
        return (self._show(source, held.data) if held else []) + self.pass_on(now)

    def pass_on(self, now: float) -> list[Piece]:
        """What has been held back long enough."""
        pieces: list[Piece] = []
        while shown := [
            piece for source in list(self._held) for piece in self._show_due(source, now)
        ]:
            pieces += shown
        return pieces

    def next_deadline(self) -> float | None:
        """When `pass_on` will have something to do, unless more is fed before."""
        return min((self._look(source)[0] for source in self._held), default=None)

    def _show_due(self, source: Source, now: float) -> list[Piece]:
        due_at, nbytes = self._look(source)
        if now < due_at:
            return []
        held = self._held[source]
        shown, held.data, held.since = held.data[:nbytes], held.data[nbytes:], now
        if not held.data:
            del self._held[source]
        return self._show(source, shown)

    def _look(self, source: Source) -> tuple[float, int]:
        """When some of what is held of a source is to be shown, and how much of it."""
        rank, fd = source
        held = self._held[source]
        writing = self._surfaces[fd].unfinished
        if writing == rank or self._is_alone(rank) or len(held.data) > LARGEST_HELD:
            return held.since, len(held.data)
        finished = held.data.rfind(b"\n") + 1
        if finished:
            return held.since + (0.0 if writing is None else COURTESY_S), finished
        is_crowded = writing is not None or any(
            other[0] != rank
            and self._surfaces[other[1]] is self._surfaces[fd]
            and its.is_unfinished
            for other, its in self._held.items()
        )
        return held.fed_at + (CROWDED_SILENCE_S if is_crowded else SILENCE_S), len(held.data)

    def _is_alone(self, rank: int) -> bool:
        return all(other == rank for other, _ in self._open)

    def _show(self, source: Source, data: bytes) -> list[Piece]:
        rank, fd = source
        surface = self._surfaces[fd]
        tag = self._tags[fd].get(rank, b"")
        shown = data
        if tag:
            shown = data.replace(b"\n", b"\n" + tag, data.count(b"\n", 0, -1))
        if surface.unfinished != rank:
            shown = tag + shown
            if surface.unfinished is not None:
                shown = b"\n" + shown
        surface.unfinished = None if data.endswith(b"\n") else rank
        return [Piece(source, shown, len(data))]
