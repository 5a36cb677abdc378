"""Which error a broken connection or a wrong header is, and how to say so.

An error claims only what its process can know: without an abort from elsewhere it
names the connection that failed, whose far end may itself be a victim.
"""

from __future__ import annotations

import sys

from ring_runtime.causes import explain_loss
from ring_runtime.connection import Connection
from ring_runtime.errors import CollectiveMismatch, PeerError, PeerLost, RendezvousTimeout
from ring_runtime.notices import Goodbye
from ring_runtime.suspects import Suspects
from ring_runtime.wire import decode_header

__all__ = [
    "describe_exception",
    "garbled_error",
    "leaver_error",
    "lost_error",
    "mismatch_error",
    "never_closed_error",
    "silent_error",
]

_LATER = "Start the job again; this group can not be used any more."


def describe_exception(error: BaseException) -> str:
    """An exception in one line.

    Example:
        >>> describe_exception(ValueError("bad")), describe_exception(KeyboardInterrupt())
        ('ValueError: bad', 'KeyboardInterrupt')
    """
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def lost_error(
    connection: Connection, error: OSError | None, goodbye: Goodbye | None, view: str
) -> PeerLost:
    """A connection that failed or ended.

    Args:
        error: None if the stream ended.
        goodbye: What the peer said before, if it left in good order.
        view: Who we are and which call we are in.
    """
    peer = connection.peer
    if goodbye is not None:
        reason = f" ({goodbye.reason})" if goodbye.reason else ""
        return PeerLost(
            f"rank {peer} left after {goodbye.sequence} collectives{reason}",
            peer=peer,
            where=view,
            hint=f"All ranks have to make the same calls. {_LATER}",
        )
    cause = "closed: its process has ended"
    if error is not None:
        cause = explain_loss(error.errno or 0, platform=sys.platform)
    what = f"the connection to rank {peer} at {connection.address} is lost: {cause}"
    return PeerLost(what, peer=peer, where=view, hint=_LATER)


def leaver_error(rank: int, error: BaseException, view: str) -> PeerLost:
    """Our own exception in the middle of a collective."""
    what = f"rank {rank} left a collective midway: {describe_exception(error)}"
    return PeerLost(what, peer=rank, where=view, hint=_LATER)


def garbled_error(connection: Connection, error: PeerError, view: str) -> PeerError:
    """Bytes that can not be what they should be."""
    return PeerError(
        f"rank {connection.peer} at {connection.address} {error.what}",
        peer=connection.peer,
        where=view,
        hint=f"Check that all ranks run the same version. {_LATER}",
    )


def silent_error(suspects: Suspects, timeout: float, view: str) -> PeerLost:
    """Nothing came from these ranks, or nothing was taken by them, for so many seconds."""
    flow = "no byte taken by" if suspects.take_nothing else "no byte from"
    hint = "If it was only busy, raise RING_TIMEOUT (seconds; 0 waits for ever)."
    if suspects.wait_too:
        hint = "See that all ranks make the same calls in the same order."
    return PeerLost(
        f"{flow} {suspects.names()} for {timeout:g} s{suspects.aside()}",
        peer=suspects.ranks[0],
        where=view,
        hint=f"{hint} {_LATER}",
    )


def never_closed_error(rank: int, suspects: Suspects) -> RendezvousTimeout:
    """Our neighbours are there, and some rank beyond them is not."""
    return RendezvousTimeout(
        f"the ring did not close: we are joined, and {suspects.names()} waited in vain for "
        "somebody else",
        rank=rank,
        peer=suspects.ranks[0],
        hint="See why a rank did not start; if it is only slow, raise RING_INIT_TIMEOUT (seconds).",
    )


def mismatch_error(
    rank: int, connection: Connection, ours: bytes, theirs: bytes, view: str
) -> PeerError:
    """A header that differs from ours."""
    try:
        header = decode_header(theirs)
    except PeerError as error:
        return garbled_error(connection, error, view)
    peer = connection.peer
    return CollectiveMismatch(
        f"rank {rank} and rank {peer} do not make the same call",
        ours=f"rank {rank} is in {decode_header(ours)}",
        theirs=f"rank {peer} is in {header}",
        peer=peer,
        origin=rank,
        hint="All ranks have to make the same calls in the same order.",
    )
