"""How the ranks of a job find each other.

A rank first listens on its own addresses, and on no other, then calls its right
neighbour until that answers; so ranks may start in any order. Whoever does not
belong to the job is dropped and the waiting goes on. A barrier at the end makes
sure that the whole ring is there: either every rank gets its group, or none does.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import socket
import time
from collections.abc import Callable
from functools import partial

from ring_runtime.aborts import make_abort, make_error
from ring_runtime.connection import Connection
from ring_runtime.errors import HandshakeMismatch, PeerError, RendezvousTimeout, RingError
from ring_runtime.group import Group, make_world
from ring_runtime.handshake import Call
from ring_runtime.hostfile import AddressList, digest_address_list
from ring_runtime.job import Job, find_exposed
from ring_runtime.neighbour import Neighbour
from ring_runtime.notices import Abort, decode_notices, encode_notice
from ring_runtime.reception import Reception
from ring_runtime.ring import Ring

__all__ = ["join_ring"]

_LOG = logging.getLogger("ring_runtime")
_READ_NBYTES = 4096
_TICK_S = 0.05
_LINGER_S = 2.0
_FIRST_REPORT_S = 5.0


def join_ring(
    addresses: AddressList,
    rank: int,
    *,
    secret: bytes | None = None,
    init_timeout: float = 300,
    timeout: float = 600,
) -> Group:
    """The group of all ranks, once every one of them is there.

    Args:
        addresses: Where each rank listens; the same on all of them.
        rank: Ours.
        secret: What ranks prove to each other; None for no proof.
        init_timeout: Seconds until the whole ring has to be there.
        timeout: Seconds without any byte after which a collective gives up; 0 for never.

    Raises:
        RendezvousTimeout: Somebody did not come; says who was waiting for whom.
        HandshakeMismatch: Somebody came who belongs to another job.
        RendezvousError: We can not listen on our own addresses.
    """
    size = len(addresses)
    if size == 1:
        return make_world(Ring(0, 1, None, None))
    exposed = find_exposed(addresses) if secret is None and rank == 0 else None
    if exposed is not None:
        _LOG.warning(
            "no RING_SECRET is set: whoever reaches %s can join this job in place of a rank "
            "(distributed_launch sets one for you)",
            exposed,
        )
    deadline = time.monotonic() + init_timeout
    job = Job(digest_address_list(addresses), size, rank, secret)
    left, right = _Rendezvous(addresses, job, deadline, init_timeout).run()
    ring = Ring(rank, size, left, right, may_spin=_has_core_each(addresses, rank))
    world = make_world(ring, min(len(endpoints) for endpoints in addresses))
    ring.patience.is_forming = True
    ring.patience.timeout = max(0.1, deadline - time.monotonic())
    world.barrier()
    ring.patience.is_forming = False
    ring.patience.timeout = timeout
    _LOG.debug(
        "rank %d of %d: joined rank %d and rank %d, %d connections on each side",
        *(rank, size, left.rank, right.rank, len(world.routes[0].outs)),
    )
    return world


def _has_core_each(addresses: AddressList, rank: int) -> bool:
    """Whether the ranks that seem to be on this machine have a core each."""
    ours = {endpoint.host for endpoint in addresses[rank]}
    here = sum(
        any(e.host in ours or e.host.startswith("127.") or e.host == "::1" for e in endpoints)
        for endpoints in addresses
    )
    affinity = getattr(os, "sched_getaffinity", None)
    return here <= (len(affinity(0)) if affinity else os.cpu_count() or 1)


class _Rendezvous:
    """Everything in the air until both neighbours are joined."""

    def __init__(
        self, addresses: AddressList, job: Job, deadline: float, init_timeout: float
    ) -> None:
        self.job = job
        self.deadline = deadline
        self.init_timeout = init_timeout
        self.right = (job.rank + 1) % job.size
        self.calls = [
            Call(job, self.right, (kind, index), endpoint)
            for kind in ("control", "data")
            for index, endpoint in enumerate(addresses[self.right])
        ]
        self.reception = Reception(job, (job.rank - 1) % job.size, addresses[job.rank])
        self.inboxes = {"left": b"", "right": b""}
        self.started = time.monotonic()
        self.report_at = self.started + _FIRST_REPORT_S
        self.abort: Abort | None = None
        self.told: set[socket.socket] = set()

    def run(self) -> tuple[Neighbour, Neighbour]:
        """Both neighbours, left and right.

        Raises:
            RingError: See `join_ring`; every socket is closed and the neighbours are told.
        """
        try:
            while not self._is_complete():
                self._check_time()
                self._step()
        except BaseException as error:
            if isinstance(error, RingError):
                self.abort = self.abort or make_abort(error, self.job.rank)
                self._tell()
            if isinstance(error, HandshakeMismatch):
                self._linger()
            self._hang_up()
            raise
        finally:
            self.reception.close()
        return self._left(), self._right()

    def _is_complete(self) -> bool:
        return all(call.joined for call in self.calls) and self.reception.is_complete()

    def _left(self) -> Neighbour:
        rank = self.reception.left
        left = Neighbour(rank, [], [], self.inboxes["left"])
        for (kind, _), guest in sorted(self.reception.guests.items()):
            connections = left.control if kind == "control" else left.data
            connections.append(Connection(guest.sock, rank, guest.address))
        return left

    def _right(self) -> Neighbour:
        right = Neighbour(self.right, [], [], self.inboxes["right"])
        for call in self.calls:
            assert call.sock is not None
            connections = right.control if call.slot[0] == "control" else right.data
            connections.append(Connection(call.sock, self.right, str(call.endpoint)))
        return right

    # Time.

    def _check_time(self) -> None:
        now = time.monotonic()
        waited = now - self.started
        if now > self.deadline:
            raise RendezvousTimeout(
                f"rank {self.job.rank} waited {self.init_timeout:g} s {self._missing()}",
                rank=self.job.rank,
                peer=self._missing_rank(),
                hint="See why that rank did not start; if it is only slow, raise "
                "RING_INIT_TIMEOUT (seconds).",
            )
        if now >= self.report_at:
            self.report_at = now + 2 * waited
            _LOG.warning("rank %d has waited %.0f s %s", self.job.rank, waited, self._missing())
        self.reception.check_time()
        for call in self.calls:
            call.check_time()

    def _missing(self) -> str:
        parts = []
        waiting = [call for call in self.calls if not call.joined]
        if waiting:
            call = waiting[0]
            cause = f" (last attempt: {call.cause})" if call.cause else ""
            parts.append(f"for rank {self.right} to answer at {call.endpoint}{cause}")
        if not self.reception.is_complete():
            where = self.reception.missing()
            parts.append(f"for rank {self.reception.left} to connect to {where}")
        return "; ".join([*parts, *sorted(self.reception.complaints)])

    def _missing_rank(self) -> int:
        is_joined = all(call.joined for call in self.calls)
        return self.reception.left if is_joined else self.right

    # One round of waiting.

    def _step(self) -> None:
        poller = select.poll()
        actions: dict[int, Callable[[], None]] = {}

        def watch(sock: socket.socket, mask: int, action: Callable[[], None]) -> None:
            poller.register(sock, mask)
            actions[sock.fileno()] = action

        for listener in self.reception.listeners:
            watch(listener, select.POLLIN, partial(self.reception.accept, listener))
        for caller in self.reception.callers:
            watch(caller.sock, select.POLLIN, partial(self.reception.advance, caller))
        for call in self.calls:
            if call.sock is not None and not call.joined:
                mask = select.POLLIN if call.is_connected else select.POLLOUT
                watch(call.sock, mask, call.advance)
        for side, sock in self._control_sockets():
            watch(sock, select.POLLIN, partial(self._hear, side, sock))
        now = time.monotonic()
        pause = min([_TICK_S, *(call.next_at - now for call in self.calls if call.sock is None)])
        for fd, _ in poller.poll(max(0.0, pause) * 1000 + 0.5):
            actions[fd]()

    def _control_sockets(self) -> list[tuple[str, socket.socket]]:
        found = []
        guest = self.reception.guests.get(("control", 0))
        if guest is not None:
            found.append(("left", guest.sock))
        call = self.calls[0]
        if call.joined and call.sock is not None:
            found.append(("right", call.sock))
        return found

    def _hear(self, side: str, sock: socket.socket) -> None:
        """Take in what a joined neighbour says; an abort ends the rendezvous here too."""
        try:
            data = sock.recv(_READ_NBYTES)
            notices, self.inboxes[side] = decode_notices(self.inboxes[side] + data)
        except (OSError, PeerError):
            return
        for notice in notices:
            if isinstance(notice, Abort):
                self.abort = self.abort or notice
                raise make_error(notice)

    # Endings.

    def _tell(self) -> None:
        """Send the abort to the neighbours that are joined and do not know it."""
        for _, sock in self._control_sockets():
            if self.abort is not None and sock not in self.told:
                self.told.add(sock)
                with contextlib.suppress(OSError):
                    sock.send(encode_notice(self.abort))

    def _linger(self) -> None:
        """Answer callers a little longer, so that they learn of the mismatch too."""
        until = time.monotonic() + _LINGER_S
        for call in self.calls:
            if not call.joined:
                call.give_up("")
                call.next_at = math.inf
        while time.monotonic() < until:
            with contextlib.suppress(RingError):
                self._step()
            self.reception.check_time()
            self._tell()

    def _hang_up(self) -> None:
        for guest in self.reception.guests.values():
            guest.sock.close()
        for call in self.calls:
            if call.sock is not None:
                call.sock.close()
