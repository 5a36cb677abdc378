"""What all ranks write, made into the lines of one terminal: pure bytes.

Lines of different ranks are never mixed. A line that is not finished is held
back until its rank has been silent for a moment, so that a prompt appears, and
whoever writes next begins on a new line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LARGEST_HELD", "SILENCE_S", "LineMerger", "Piece", "Source", "tag_of"]

SILENCE_S = 0.05
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
class _Stream:
    """What is known of one stream of one rank.

    Args:
        held: The beginning of a line that has not been passed on.
        pass_on_at: When to pass it on all the same.
    """

    held: bytes = b""
    pass_on_at: float = 0.0


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
        >>> [piece.data for piece in merger.pass_on_silent(now=0.05)]
        [b'tw']
        >>> [piece.data for piece in merger.feed((1, 1), b"x\\n", now=0.1)]
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
        self._streams = {(rank, fd): _Stream() for rank in ranks for fd in (1, 2)}

    def feed(self, source: Source, data: bytes, now: float) -> list[Piece]:
        """What to write now that a rank wrote this."""
        stream = self._streams[source]
        surface = self._surfaces[source[1]]
        data = stream.held + data
        at_once = surface.unfinished == source[0] or self._is_alone(source[0])
        cut = len(data) if at_once else data.rfind(b"\n") + 1
        if len(data) - cut > LARGEST_HELD:
            cut = len(data)
        stream.held = data[cut:]
        stream.pass_on_at = now + SILENCE_S
        return self._show(source, data[:cut])

    def finish(self, source: Source) -> list[Piece]:
        """What to write now that a rank will write no more."""
        stream = self._streams.pop(source, None)
        return self._show(source, stream.held) if stream else []

    def pass_on_silent(self, now: float) -> list[Piece]:
        """The unfinished lines whose ranks have been silent long enough."""
        pieces = []
        for source, stream in self._streams.items():
            if stream.held and stream.pass_on_at <= now:
                pieces += self._show(source, stream.held)
                stream.held = b""
        return pieces

    def next_deadline(self) -> float | None:
        """When `pass_on_silent` will have something to do, unless more is fed before."""
        times = [stream.pass_on_at for stream in self._streams.values() if stream.held]
        return min(times, default=None)

    def _is_alone(self, rank: int) -> bool:
        return all(other == rank for other, _ in self._streams)

    def _show(self, source: Source, data: bytes) -> list[Piece]:
        if not data:
            return []
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
