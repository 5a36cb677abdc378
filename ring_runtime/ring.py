"""A rank's place in the ring: its two neighbours, and what is known about their health.

A `Ring` is open, broken or closed. It breaks when a neighbour is lost, when ranks
turn out to call different things, or when anything else leaves a collective
midway; then it tells both neighbours why, closes every socket, and raises the same
error at every later call. It closes with a goodbye, so that the others can tell a
rank that has finished from one that died.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ring_runtime.aborts import make_abort, make_error
from ring_runtime.connection import Connection, Inflow, Outflow
from ring_runtime.diagnosis import (
    describe_exception,
    garbled_error,
    leaver_error,
    lost_error,
    mismatch_error,
    never_closed_error,
    silent_error,
)
from ring_runtime.errors import GroupClosed, PeerError, RingError, UsageError
from ring_runtime.neighbour import Neighbour
from ring_runtime.notices import Abort, Goodbye, Notice, Waiting
from ring_runtime.patience import Patience
from ring_runtime.reduction import Reduction, find_reduction
from ring_runtime.suspects import Suspects, find_suspects
from ring_runtime.wire import decode_header

__all__ = ["Ring"]

_LOG = logging.getLogger("ring_runtime")
_EXPLANATION_S = 0.5
_ALIGNMENT = 64


class Ring:
    """The connections of one rank to its two neighbours, and the one state they share.

    Args:
        rank: Ours.
        size: Number of ranks.
        left: The neighbour that connected to us; None in a ring of one.
        right: The neighbour we connected to.
        timeout: Seconds without any byte after which a collective gives up; 0 for never.
        may_spin: Whether every rank on this machine has a core of its own.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        left: Neighbour | None,
        right: Neighbour | None,
        *,
        timeout: float = 0,
        may_spin: bool = False,
    ) -> None:
        self.rank = rank
        self.size = size
        self.left = left
        self.right = right
        self.patience = Patience(timeout, may_spin)
        self.header: bytearray | None = None
        self.sequence = 0
        self._scratch = np.empty(0, np.uint8)
        self._reductions: dict[tuple[str, np.dtype[Any]], Reduction] = {}
        self._pollers: dict[tuple[tuple[int, int], ...], select.poll] = {}
        self._watched: dict[int, tuple[Neighbour, Connection]] = {}
        self.error: RingError | None = None
        self._lock = threading.Lock()
        reference = weakref.ref(self)
        self._at_exit = lambda: _close_at_exit(reference)
        if size > 1:
            atexit.register(self._at_exit)
            os.register_at_fork(after_in_child=lambda: _leave_to_parent(reference))

    def neighbours(self) -> Iterator[Neighbour]:
        """The left one, then the right one, if there are any."""
        for neighbour in (self.left, self.right):
            if neighbour is not None:
                yield neighbour

    def scratch(self, nbytes: int) -> NDArray[np.uint8]:
        """So many bytes of memory, good until the next call; kept, because new pages cost time."""
        if nbytes > len(self._scratch):
            self._scratch = np.empty(0, np.uint8)
            room = np.empty(nbytes + _ALIGNMENT, np.uint8)
            start = -room.ctypes.data % _ALIGNMENT
            self._scratch = room[start : start + nbytes]
        return self._scratch[:nbytes]

    def reduction(self, operation: str, dtype: np.dtype[Any]) -> Reduction:
        """How this operation combines arrays of this dtype; kept with the memory it needs."""
        key = operation, dtype
        reduction = self._reductions.get(key)
        if reduction is None:
            reduction = self._reductions[key] = find_reduction(operation, dtype)
        return reduction

    # A turn: one collective, from the first byte to the last.

    def __enter__(self) -> Ring:
        """Begin a collective; refused when broken, closed or busy in another thread."""
        if not self._lock.acquire(blocking=False):
            raise UsageError(
                "this group is in a collective already",
                hint="Use one thread at a time per group.",
            )
        if self.error is not None:
            self._lock.release()
            raise self.error.with_traceback(None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End a collective; whatever leaves it midway breaks the ring."""
        if error is None:
            self.sequence += 1
            self._lock.release()
            return
        try:
            if isinstance(error, RingError):
                self.fail(error)
            else:
                self.fail(leaver_error(self.rank, error, self._view()))
        finally:
            self._lock.release()

    # What `exchange` asks of us.

    def moved(self) -> None:
        """Note that bytes moved after a wait."""
        if self.patience.moved():
            self._say(Waiting(still=False))

    def wait(self, outs: Sequence[Outflow], ins: Sequence[Inflow]) -> None:
        """Return when something may move again.

        For the first moments it returns at once, if the last waits were short and
        there are cores enough; then it sleeps until a socket is ready.

        Raises:
            PeerError: An abort came, a neighbour died, or nothing moved for too long.
        """
        patience = self.patience
        if not any(out.has_next() for out in outs) and patience.is_spinning():
            return  # to receive costs no more than to ask whether that is possible
        poller = self._poller(_interest(outs, ins))
        while patience.is_spinning():
            if self._heed(poller.poll(0)):
                return
        since = {each.rank: each.waiting_since for each in self.neighbours() if each.waiting_since}
        suspects = find_suspects(outs, ins, since)
        knows_who = suspects.are_late and not patience.is_forming
        told_at = max(since.values()) if suspects.wait_too else 0.0
        until = patience.until(knows_who=knows_who, told_at=told_at)
        if not self._heed(poller.poll(patience.pause(until) * 1000 + 1)):
            self._speak(suspects, until)

    def _speak(self, suspects: Suspects, until: float | None) -> None:
        """Give up if it is time, tell the neighbours that we wait, or a person for whom."""
        patience = self.patience
        if until is not None and time.monotonic() >= until:
            if patience.is_forming:
                raise never_closed_error(self.rank, suspects)
            raise silent_error(suspects, patience.timeout, self._view())
        if patience.should_tell():
            self._say(Waiting())
        waited = patience.report()
        if waited:
            where = f"rank {self.rank}, which has joined," if patience.is_forming else self._view()
            _LOG.warning("%s has waited %.0f s for %s", where, waited, suspects)

    def _say(self, notice: Notice) -> None:
        for neighbour in self.neighbours():
            neighbour.say(notice)

    def _heed(self, ready: list[tuple[int, int]]) -> bool:
        """Whether anything is ready; notices are read on the way."""
        for fd, _ in ready:
            if fd in self._watched:
                self._listen(*self._watched[fd])
        return bool(ready)

    def _poller(self, interest: dict[int, int]) -> select.poll:
        """What waits for these and for notices; kept, as making it takes longer than using it."""
        key = tuple(interest.items())
        poller = self._pollers.get(key)
        if poller is not None:
            return poller
        poller = self._pollers[key] = select.poll()
        for fd, mask in key:
            poller.register(fd, mask)
        for neighbour in self.neighbours():
            for connection in neighbour.control if not neighbour.ended else ():
                fd = connection.sock.fileno()
                poller.register(fd, select.POLLIN)
                self._watched[fd] = neighbour, connection
        return poller

    def _listen(self, neighbour: Neighbour, connection: Connection) -> None:
        """Read what a control connection has to say.

        Raises:
            RingError: It brought an abort, or failed.
        """
        try:
            abort = neighbour.hear(connection, time.monotonic())
        except OSError as error:
            raise self._lost(connection, error) from error
        except PeerError as error:
            raise garbled_error(connection, error, self._view()) from error
        if neighbour.ended:
            self._pollers.clear()
        if abort is not None:
            failure = make_error(abort)
            self.fail(failure, abort)
            raise failure

    # Which error it is.

    def lost(self, connection: Connection, error: OSError | None) -> RingError:
        """The error for a failed connection, after hearing out what the neighbours say about it.

        Args:
            error: None if the stream ended.
        """
        neighbour = self._at(connection)
        until = time.monotonic() + _EXPLANATION_S
        while not neighbour.ended and neighbour.goodbye is None:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                self._heed(self._poller({}).poll(left * 1000 + 1))
            except RingError as explanation:
                return explanation
        return self._lost(connection, error)

    def _lost(self, connection: Connection, error: OSError | None) -> PeerError:
        return lost_error(connection, error, self._at(connection).goodbye, self._view())

    def mismatch(self, connection: Connection, ours: bytes, theirs: bytes) -> RingError:
        """The error for a header that differs from ours, unless a neighbour has told of another."""
        try:
            self._heed(self._poller({}).poll(1))
        except RingError as explanation:
            return explanation
        return mismatch_error(self.rank, connection, ours, theirs, self._view())

    def _at(self, connection: Connection) -> Neighbour:
        for neighbour in self.neighbours():
            if connection in neighbour.connections():
                return neighbour
        raise AssertionError("a connection of no neighbour")

    def _view(self) -> str:
        if self.header is None:
            return ""
        return f"rank {self.rank} in {decode_header(bytes(self.header))}"

    # Endings.

    def fail(self, error: RingError, abort: Abort | None = None) -> None:
        """Break for ever: tell both neighbours once, close every socket.

        Args:
            abort: What another rank told us, to be passed on as it is.
        """
        if self.error is None:
            self.error = error
            self._shut(abort or make_abort(error, self.rank))

    def close(self, reason: str = "") -> None:
        """Leave in good order; later calls raise `GroupClosed`. Closing twice is fine."""
        if self.error is None:
            self.error = GroupClosed(
                f"rank {self.rank} has closed this group", hint="Do not close it before the end."
            )
            self._shut(Goodbye(self.sequence, reason))

    def _shut(self, notice: Notice) -> None:
        for neighbour in self.neighbours():
            neighbour.take_leave(notice)
        self.release()

    def release(self) -> None:
        """Close every socket without a word."""
        atexit.unregister(self._at_exit)
        for neighbour in self.neighbours():
            neighbour.close()


def _interest(outs: Sequence[Outflow], ins: Sequence[Inflow]) -> dict[int, int]:
    """What to wait for, by file descriptor."""
    interest: dict[int, int] = {}
    for out in outs:
        if out.has_next():
            fd = out.connection.sock.fileno()
            interest[fd] = interest.get(fd, 0) | select.POLLOUT
    for inflow in ins:
        if inflow.view is not None:
            fd = inflow.connection.sock.fileno()
            interest[fd] = interest.get(fd, 0) | select.POLLIN
    return interest


def _close_at_exit(reference: weakref.ref[Ring]) -> None:
    ring = reference()
    if ring is not None:
        error = getattr(sys, "last_value", None)
        ring.close("" if error is None else f"raised {describe_exception(error)}")


def _leave_to_parent(reference: weakref.ref[Ring]) -> None:
    """Close a forked child's copies of the sockets, so that a dead parent is seen to be dead."""
    ring = reference()
    if ring is not None and ring.error is None:
        ring.error = GroupClosed(
            "this group belongs to the process that was forked",
            hint="Start ranks with distributed_launch instead of forking.",
        )
        ring.release()
