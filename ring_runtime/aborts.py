"""Errors as they travel around the ring: an error here, an abort on the way, an error there."""

from __future__ import annotations

from ring_runtime.errors import (
    CollectiveMismatch,
    HandshakeMismatch,
    PeerError,
    PeerLost,
    RendezvousError,
    RendezvousTimeout,
    RingError,
)
from ring_runtime.notices import Abort

__all__ = ["make_abort", "make_error"]

_HINT = "Look at the output of that rank; this group can not be used again."


def make_error(abort: Abort) -> RingError:
    """The error every rank raises for this abort.

    Example:
        >>> str(make_error(Abort("lost", 1, 2, "rank 2 closed the connection"))).split(" -- ")[0]
        'rank 1 reports: rank 2 closed the connection'
    """
    what = f"rank {abort.origin} reports: {abort.what}"
    if abort.kind == "timeout":
        return RendezvousTimeout(what, peer=abort.peer)
    if abort.kind == "handshake":
        return HandshakeMismatch(what, peer=abort.peer)
    if abort.kind == "mismatch":
        return CollectiveMismatch(
            what,
            ours=abort.ours,
            theirs=abort.theirs,
            peer=abort.peer,
            origin=abort.origin,
            hint=_HINT,
        )
    kind = PeerError if abort.kind == "garbled" else PeerLost
    return kind(what, peer=abort.peer, origin=abort.origin, hint=_HINT)


def make_abort(error: RingError, rank: int) -> Abort:
    """What rank ``rank`` tells its neighbours about an error it noticed itself."""
    peer = error.peer if isinstance(error, PeerError | RendezvousError) else None
    if isinstance(error, CollectiveMismatch):
        return Abort("mismatch", rank, peer, error.what, error.ours, error.theirs)
    what = f"{error.what} ({error.where})" if error.where else error.what
    if isinstance(error, HandshakeMismatch):
        return Abort("handshake", rank, peer, what)
    if isinstance(error, RendezvousError):
        return Abort("timeout", rank, peer, what)
    return Abort("lost" if isinstance(error, PeerLost) else "garbled", rank, peer, what)
