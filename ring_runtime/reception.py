"""The listening side of a rendezvous: callers come in, the left neighbour stays."""

from __future__ import annotations

import logging
import socket
import time
from dataclasses import dataclass

from ring_runtime.errors import PeerError
from ring_runtime.handshake import Caller
from ring_runtime.hostfile import Endpoint
from ring_runtime.job import Job, Slot
from ring_runtime.sockets import is_dead, listen

__all__ = ["Guest", "Reception"]

_LOG = logging.getLogger("ring_runtime")
_UNFINISHED_LIMIT = 64
_COMPLAINT_LIMIT = 4


@dataclass(frozen=True)
class Guest:
    """A connection from the left neighbour, which has said who it is."""

    sock: socket.socket
    address: str


class Reception:
    """Our listeners, the callers who have not yet said who they are, and the guests who have.

    Whoever does not belong to the job is dropped, and so is who takes too long or is one
    too many; none of this is an error.

    Args:
        left: The rank that has to call us.
        endpoints: Our own addresses, and the only ones we listen on.

    Raises:
        RendezvousError: We can not listen there.
    """

    def __init__(self, job: Job, left: int, endpoints: tuple[Endpoint, ...]) -> None:
        self.job = job
        self.left = left
        self.endpoints = endpoints
        self.callers: list[Caller] = []
        self.guests: dict[Slot, Guest] = {}
        self.complaints: set[str] = set()
        self.listeners: list[socket.socket] = []
        for endpoint in endpoints:
            self.listeners.append(listen(endpoint, job.rank))
        self._expected = {
            (kind, index) for kind in ("control", "data") for index in range(len(endpoints))
        }

    def is_complete(self) -> bool:
        """Whether the left neighbour has made all its connections."""
        return len(self.guests) == len(self._expected)

    def missing(self) -> str:
        """The first of our addresses the left neighbour has not connected to."""
        return str(self.endpoints[min(i for _, i in self._expected - set(self.guests))])

    def accept(self, listener: socket.socket) -> None:
        """Take in one more caller."""
        try:
            sock, address = listener.accept()
        except OSError:
            return
        if len(self.callers) >= _UNFINISHED_LIMIT:
            self._drop(self.callers[0], "too many unfinished handshakes")
        self.callers.append(Caller(sock, self.job, self.left, f"{address[0]}:{address[1]}"))

    def advance(self, caller: Caller) -> None:
        """Let a caller take its next step."""
        if caller not in self.callers:
            return
        try:
            joined = caller.advance()
        except (EOFError, OSError):
            self._drop(caller, "it hung up")
        except PeerError as error:
            self._drop(caller, error.what)
        else:
            if joined:
                self._welcome(caller)

    def _welcome(self, caller: Caller) -> None:
        slot = caller.slot
        old = self.guests.get(slot) if slot is not None else None
        if slot not in self._expected or (old is not None and not is_dead(old.sock)):
            self._drop(caller, f"rank {self.left} is connected already")
            return
        if old is not None:
            old.sock.close()
        self.callers.remove(caller)
        self.guests[slot] = Guest(caller.sock, caller.address)

    def _drop(self, caller: Caller, why: str) -> None:
        _LOG.debug("rank %d drops a caller from %s: %s", self.job.rank, caller.address, why)
        if caller.complaint and len(self.complaints) < _COMPLAINT_LIMIT:
            address = caller.address.rpartition(":")[0]
            self.complaints.add(f"dropped a caller from {address}: {caller.complaint}")
        caller.sock.close()
        self.callers.remove(caller)

    def check_time(self) -> None:
        """Drop callers who take too long, and forget guests that went away."""
        now = time.monotonic()
        for caller in [caller for caller in self.callers if now > caller.deadline]:
            self._drop(caller, "it did not finish the handshake in time")
        for slot, guest in list(self.guests.items()):
            if is_dead(guest.sock):
                guest.sock.close()
                del self.guests[slot]

    def close(self) -> None:
        """Stop listening and drop all callers; guests stay."""
        for listener in self.listeners:
            listener.close()
        for caller in self.callers:
            caller.sock.close()
