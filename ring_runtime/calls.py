"""The calls of one group: their numbers and headers, and what small ones keep for the next.

To set up an exchange takes longer than a small array travels, so what carried one is
kept, and found again by operation, dtype and shape.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ring_runtime.arrays import Array
from ring_runtime.connection import Connection
from ring_runtime.pair import Pair
from ring_runtime.reduction import Reduction
from ring_runtime.relay import Relay, RelayedReduction, Route, relay_nbytes
from ring_runtime.ring import Ring
from ring_runtime.whole import Whole
from ring_runtime.wire import encode_header, set_sequence

__all__ = ["Calls", "ReadyReduction"]

_KEPT = 256
_NOTHING: Array = np.zeros((), np.uint8)


class ReadyReduction(Protocol):
    """An all-reduce of small arrays, set up once to be run any number of times."""

    header: bytearray

    def run(self, ours: Array, result: Array) -> None:
        """Write the combination of all ranks' arrays to ``result``.

        Args:
            ours: Contiguous.
            result: Contiguous and as large, in other memory.

        Raises:
            PeerError: The ring is broken.
        """


class Calls:
    """The calls of one group, in order. All but `find_ready` need a turn of the ring.

    Args:
        ring: The connections.
        position: Our place in the direction of flow "right".
        order: The rank at each position.
        routes: To the right and, with more than two ranks, to the left.
        identity: Of the group, the same number on all members.

    Attributes:
        sequence: How many collectives have begun.
    """

    def __init__(
        self,
        ring: Ring,
        position: int,
        order: tuple[int, ...],
        routes: tuple[Route, ...],
        identity: int,
    ) -> None:
        self._ring = ring
        self._position = position
        self._order = order
        self._routes = routes
        self._identity = identity
        self.sequence = 0
        self._message_numbers: dict[tuple[int, bool], int] = {}
        self._relays: dict[tuple[object, ...], Relay] = {}
        self._ready: dict[tuple[object, ...], ReadyReduction] = {}
        self._messages: dict[tuple[object, ...], Whole] = {}
        self._shared_nbytes = 0

    def stamp(self, header: bytearray) -> None:
        """Give a header the next number, and show it in errors."""
        set_sequence(header, self.sequence)
        self.sequence += 1
        self._ring.header = header

    def next_header(self, operation: str, array: Array, name: str, *, root: int = 0) -> bytearray:
        """The header of the next collective.

        Args:
            array: Of the shape and size of every contribution.
            name: Of its dtype.
        """
        header = self._encode(operation, name, array.shape, root, array.nbytes)
        self.stamp(header)
        return header

    def _encode(
        self, operation: str, name: str, shape: tuple[int, ...], root: int, nbytes: int
    ) -> bytearray:
        return encode_header(self._identity, 0, operation, name, shape, root, nbytes)

    def agree(self, header: bytearray) -> None:
        """Return once every rank has begun the collective of this header."""
        self._make_relay(header, np.dtype(np.uint8), ()).run(_NOTHING)

    def relay(
        self, operation: str, array: Array, name: str, *, root: int = 0, nbytes: int | None = None
    ) -> Relay:
        """The next collective, as a relay of arrays like this one.

        Args:
            array: Of the shape and dtype of every contribution.
            name: Of its dtype.
            nbytes: What the header says; default: what the array has.
        """
        key = operation, name, array.shape, root
        relay = self._relays.get(key)
        if relay is None:
            size = array.nbytes if nbytes is None else nbytes
            header = self._encode(operation, name, array.shape, root, size)
            relay = self._make_relay(header, array.dtype, array.shape)
            self._relays[key] = relay
        self.stamp(relay.header)
        return relay

    def _make_relay(self, header: bytearray, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Relay:
        size = len(self._order)
        memory = self._shared_memory(relay_nbytes(size, math.prod(shape) * dtype.itemsize))
        return Relay(
            self._ring, self._routes, self._order, self._position, header, dtype, shape, memory
        )

    def _shared_memory(self, nbytes: int) -> NDArray[np.uint8]:
        """Scratch memory; what was set up with memory that is replaced by more is forgotten."""
        if nbytes > self._shared_nbytes or len(self._relays) >= _KEPT:
            self._relays.clear()
            self._ready.clear()
            self._shared_nbytes = max(nbytes, self._shared_nbytes)
        return self._ring.scratch(self._shared_nbytes)

    def find_ready(self, operation: str, array: Array) -> ReadyReduction | None:
        """What reduced arrays like this one before."""
        return self._ready.get((operation, array.dtype, array.shape))

    def make_ready(self, operation: str, array: Array, reduction: Reduction) -> ReadyReduction:
        """What reduces contiguous arrays like this one, made if none is kept."""
        found = self.find_ready(operation, array)
        if found is not None:
            return found
        if len(self._ready) >= _KEPT:
            self._ready.clear()
        header = self._encode(operation, reduction.name, array.shape, 0, array.nbytes)
        ready: ReadyReduction
        if len(self._order) == 2:
            connection, is_first = self._routes[0].outs[0], self._order[self._position] == 0
            ready = Pair(self._ring, connection, is_first, header, reduction, array.nbytes)
        else:
            ready = RelayedReduction(self._make_relay(header, array.dtype, array.shape), reduction)
        self._ready[operation, array.dtype, array.shape] = ready
        return ready

    def message(
        self, peer: int, connection: Connection, array: Array, name: str, *, sends: bool
    ) -> Whole:
        """The next message to or from a neighbour, if it is small.

        Args:
            connection: To or from that neighbour, always the same one.
            array: What to send, or where it lands.
            name: Of its dtype.
        """
        key = peer, sends, name, array.shape
        message = self._messages.get(key)
        if message is None:
            if len(self._messages) >= _KEPT:
                self._messages.clear()
            header = self._encode_message(peer, array, name, sends=sends)
            message = Whole(self._ring, connection, header, array.nbytes)
            self._messages[key] = message
        self._stamp_message(message.header, peer, sends=sends)
        return message

    def message_header(self, peer: int, array: Array, name: str, *, sends: bool) -> bytearray:
        """The header of the next message to or from a neighbour."""
        header = self._encode_message(peer, array, name, sends=sends)
        self._stamp_message(header, peer, sends=sends)
        return header

    def _encode_message(self, peer: int, array: Array, name: str, *, sends: bool) -> bytearray:
        destination = peer if sends else self._order[self._position]
        return self._encode("send", name, array.shape, destination, array.nbytes)

    def _stamp_message(self, header: bytearray, peer: int, *, sends: bool) -> None:
        """Give a header the next number of messages to or from this rank, and show it in errors."""
        number = self._message_numbers.get((peer, sends), 0)
        self._message_numbers[peer, sends] = number + 1
        set_sequence(header, number)
        self._ring.header = header
