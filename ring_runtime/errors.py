"""Every way the runtime can fail on purpose.

A class exists only if the reader must do something different.

    RingError
    ├── HostfileError(path, where)     also ValueError; names the JSON path
    ├── UsageError                     also ValueError; before the first byte; Group stays usable
    ├── RendezvousError(rank, peer, address)
    │   ├── RendezvousTimeout          who was waiting for whom
    │   └── HandshakeMismatch          version, size or hostfile digest: both values shown
    ├── PeerError(peer)                the Group is broken; every later call raises the same
    │   ├── PeerLost                   which neighbour, closed / reset / silent past the deadline
    │   └── CollectiveMismatch         ours and theirs: sequence number, collective, dtype, nbytes
    └── GroupClosed

`str()` of each is: what happened -- where -- what to try.
"""

from __future__ import annotations

__all__ = [
    "CollectiveMismatch",
    "GroupClosed",
    "HandshakeMismatch",
    "HostfileError",
    "PeerError",
    "PeerLost",
    "RendezvousError",
    "RendezvousTimeout",
    "RingError",
    "UsageError",
]


class RingError(Exception):
    """Something failed that a person can act on.

    Args:
        what: What happened, one clause without a final stop.
        where: The place: a path, a rank, an address.
        hint: What to try, a full sentence.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return " -- ".join(part for part in (self.what, self.where, self.hint) if part)


class UsageError(RingError, ValueError):
    """The call can not be done as written; nothing was sent and the group stays usable."""


class HostfileError(RingError, ValueError):
    """A hostfile is not one; ``path`` is the file, ``where`` the JSON path in it."""

    def __init__(self, what: str, *, path: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(what, where=": ".join(p for p in (path, where) if p), hint=hint)
        self.path = path


class RendezvousError(RingError):
    """The ring could not be formed.

    Args:
        rank: Our rank.
        peer: The rank we were about to join with, if known.
        address: The address in question, as ``ip:port``.
    """

    def __init__(
        self,
        what: str,
        *,
        rank: int | None = None,
        peer: int | None = None,
        address: str = "",
        hint: str = "",
    ) -> None:
        place = [] if rank is None else [f"rank {rank}"]
        if peer is not None:
            place.append(f"peer rank {peer}")
        if address:
            place.append(address)
        super().__init__(what, where=", ".join(place), hint=hint)
        self.rank = rank
        self.peer = peer
        self.address = address


class RendezvousTimeout(RendezvousError):
    """A rank did not show up in time; says who was waiting for whom."""


class HandshakeMismatch(RendezvousError):
    """Both sides are there but do not belong together; shows both values."""


class PeerError(RingError):
    """The group is broken for ever: every later call on it raises the same error.

    Args:
        peer: The rank the error is about, or None if unknown.
        origin: The rank that noticed first, if another rank told us.
    """

    def __init__(
        self,
        what: str,
        *,
        peer: int | None = None,
        origin: int | None = None,
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.peer = peer
        self.origin = origin


class PeerLost(PeerError):
    """A neighbour's connection closed, was reset, or stayed silent past the deadline."""


class CollectiveMismatch(PeerError):
    """Two ranks called different things; ``ours`` and ``theirs`` say who called what."""

    def __init__(
        self,
        what: str,
        *,
        ours: str = "",
        theirs: str = "",
        peer: int | None = None,
        origin: int | None = None,
        hint: str = "",
    ) -> None:
        views = "; ".join(view for view in (ours, theirs) if view)
        super().__init__(what, peer=peer, origin=origin, where=views, hint=hint)
        self.ours = ours
        self.theirs = theirs


class GroupClosed(RingError):
    """The group was closed before this call."""
