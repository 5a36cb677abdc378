"""Our standard output and error, written by threads so that a slow terminal holds up nothing else.

The threads never hold more than the ranks were allowed to send: what has been
written is reported back, and only then may as much be sent again.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

from distconfig.launch.output import Piece, Source

__all__ = ["LogFiles", "Printer", "share_surface"]


def share_surface() -> bool:
    """Whether standard output and error end up in the same place."""
    try:
        out, err = os.fstat(1), os.fstat(2)
    except OSError:
        return False
    return (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)


class Printer:
    """Writes pieces in the order given, one thread for each place they end up in.

    Args:
        is_shared: Both descriptors are one place.
        wake: A descriptor to write a byte to when there is something to collect.
    """

    def __init__(self, *, is_shared: bool, wake: int) -> None:
        self._wake = wake
        self._written: deque[tuple[Source, int]] = deque()
        self._waiting = 0
        self.is_broken = False
        out: SimpleQueue[Piece] = SimpleQueue()
        self._queues = {1: out, 2: out if is_shared else SimpleQueue()}
        for queue in {id(queue): queue for queue in self._queues.values()}.values():
            threading.Thread(target=self._write_all, args=(queue,), daemon=True).start()

    def put(self, piece: Piece) -> None:
        """Have a piece written."""
        self._waiting += 1
        self._queues[piece.fd].put(piece)

    def collect_written(self) -> list[tuple[Source, int]]:
        """How much of which source has been written since this was asked last."""
        written = []
        with contextlib.suppress(IndexError):
            while True:
                written.append(self._written.popleft())
        self._waiting -= len(written)
        return written

    @property
    def is_idle(self) -> bool:
        """Everything has been written and collected."""
        return self._waiting == 0

    def _write_all(self, queue: SimpleQueue[Piece]) -> None:
        is_broken = False
        while True:
            piece = queue.get()
            if not is_broken:
                try:
                    _write(piece.fd, piece.data)
                except OSError:
                    is_broken = True
                    self.is_broken = True
            self._written.append((piece.source, piece.taken))
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake, b"w")


def _write(fd: int, data: bytes) -> None:
    """Write all of it, also to a descriptor that somebody made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])


class LogFiles:
    """A file for each stream of each rank, with the bytes as the rank wrote them.

    A disk that takes no more does not end the job: ``problem`` then says why the
    files are not complete.

    Args:
        names: Of the ranks, to name their files by.

    Raises:
        OSError: They can not be made.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.problem = ""
        self._files = {
            (rank, fd): (folder / f"{name}.{stream}").open("wb", buffering=0)
            for rank, name in enumerate(names)
            for fd, stream in ((1, "stdout"), (2, "stderr"))
        }

    def write(self, source: Source, data: bytes) -> None:
        """Add what a rank wrote."""
        view = memoryview(data)
        try:
            while view and not self.problem:
                view = view[self._files[source].write(view) or 0 :]
        except OSError as error:
            self.problem = str(error)
