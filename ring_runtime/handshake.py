"""One connection from its first byte to the moment both ends know whom they speak to.

The connecting side sends its hello, the accepting side answers with its own, and
with a secret each then proves that it holds it, the connecting side first:

    connector ----- hello -----> acceptor
    connector <---- hello ------ acceptor
    connector ----- proof -----> acceptor     only with RING_SECRET
    connector <---- proof ------ acceptor     only with RING_SECRET

Both are state machines that never block; `rendezvous` drives them.
"""

from __future__ import annotations

import errno
import hmac
import os
import socket
import sys
import time

from ring_runtime.causes import explain_connect
from ring_runtime.errors import HandshakeMismatch, PeerError
from ring_runtime.hostfile import Endpoint
from ring_runtime.job import Job, Slot, describe_mismatch
from ring_runtime.sockets import configure, is_dead, resolve
from ring_runtime.wire import (
    HELLO_NBYTES,
    PROOF_NBYTES,
    decode_hello,
    encode_hello,
    prove,
)

__all__ = ["Call", "Caller"]

ATTEMPT_S = 5.0
_FIRST_RETRY_S = 0.01
_LAST_RETRY_S = 0.25
_PROOF_ATTEMPTS = 3


class _Reader:
    """Collects exactly so many bytes; what follows them stays in the socket."""

    def __init__(self, nbytes: int) -> None:
        self.data = b""
        self.nbytes = nbytes

    def read(self, sock: socket.socket) -> bytes | None:
        """The bytes once they are all there, else None.

        Raises:
            EOFError: The stream ended before.
            OSError: The connection failed.
        """
        try:
            data = sock.recv(self.nbytes - len(self.data))
        except BlockingIOError:
            return None
        if not data:
            raise EOFError
        self.data += data
        return self.data if len(self.data) == self.nbytes else None


class Caller:
    """Somebody who connected to us: our left neighbour, or an intruder.

    Args:
        sock: Accepted.
        left: The rank we expect.
    """

    def __init__(self, sock: socket.socket, job: Job, left: int, address: str) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.job = job
        self.left = left
        self.address = address
        self.deadline = time.monotonic() + ATTEMPT_S
        self.slot: Slot | None = None
        self.complaint = ""
        self._reader = _Reader(HELLO_NBYTES)
        self._hellos = b""

    def advance(self) -> bool:
        """Take the next step; whether it has joined.

        Raises:
            PeerError: It is an intruder; ``complaint`` says more if it spoke our protocol.
            EOFError: It hung up.
            OSError: The connection failed.
        """
        data = self._reader.read(self.sock)
        if data is None:
            return False
        if self._hellos:
            return self._check_proof(data)
        theirs = decode_hello(data)
        slot = theirs.kind, theirs.index
        ours = self.job.hello(self.left, slot)
        answer = encode_hello(ours)
        self.sock.send(answer)
        self.complaint = describe_mismatch(ours, theirs)
        if self.complaint:
            raise PeerError(self.complaint)
        self.slot = slot
        configure(self.sock, theirs.kind)
        if self.job.secret is None:
            return True
        self._hellos = data + answer
        self._reader = _Reader(PROOF_NBYTES)
        return False

    def _check_proof(self, proof: bytes) -> bool:
        connector, acceptor = self._hellos[:HELLO_NBYTES], self._hellos[HELLO_NBYTES:]
        secret = self.job.secret or b""
        if not hmac.compare_digest(proof, prove(secret, "connector", connector, acceptor)):
            self.complaint = "the other's RING_SECRET is not ours"
            raise PeerError(self.complaint)
        self.sock.send(prove(secret, "acceptor", connector, acceptor))
        return True


class Call:
    """Our attempts to make one connection to the right neighbour, until one succeeds.

    Args:
        right: Its rank.
    """

    def __init__(self, job: Job, right: int, slot: Slot, endpoint: Endpoint) -> None:
        self.job = job
        self.right = right
        self.slot = slot
        self.endpoint = endpoint
        self.sock: socket.socket | None = None
        self.joined = False
        self.cause = ""
        self.next_at = 0.0
        self._pause = _FIRST_RETRY_S
        self._deadline = 0.0
        self.is_connected = False
        self._refusals = 0
        self._hello = b""
        self._answer = b""
        self._reader = _Reader(HELLO_NBYTES)

    def give_up(self, cause: str) -> None:
        """Close this attempt; the next one comes after a pause."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        self.cause = cause
        self.next_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 1.5, _LAST_RETRY_S)

    def _begin(self) -> None:
        """Start a new attempt."""
        self.is_connected = False
        self._deadline = time.monotonic() + ATTEMPT_S
        self._reader = _Reader(HELLO_NBYTES)
        self._answer = b""
        try:
            family, address = resolve(self.endpoint)
            self.sock = socket.socket(family, socket.SOCK_STREAM)
            self.sock.setblocking(False)
            number = self.sock.connect_ex(address)
        except OSError as error:
            self.give_up(self._explain(error))
            return
        if number not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
            self.give_up(explain_connect(number, platform=sys.platform))

    def _explain(self, error: OSError) -> str:
        if isinstance(error, socket.gaierror):
            return f"the name {self.endpoint.host} is unknown here: {error.strerror}"
        return explain_connect(error.errno or 0, platform=sys.platform)

    def check_time(self) -> None:
        """Begin an attempt when one is due; give up one that takes too long or has died."""
        now = time.monotonic()
        if self.sock is None:
            if now >= self.next_at:
                self._begin()
        elif self.joined:
            if is_dead(self.sock):
                self.joined = False
                self.give_up(f"rank {self.right} joined and went away again")
        elif now > self._deadline:
            cause = "somebody accepts the connection there and does not answer"
            if not self.is_connected:
                cause = explain_connect(errno.ETIMEDOUT, platform=sys.platform)
            self.give_up(cause)

    def advance(self) -> None:
        """Take the next step of the current attempt; sets ``joined`` at the end.

        Raises:
            HandshakeMismatch: The one who answers does not belong to this job.
        """
        try:
            self._step()
        except EOFError:
            self._hung_up()
        except PeerError as error:
            self.give_up(f"somebody answers there who {error.what}")
        except OSError as error:
            self.give_up(self._explain(error))

    def _step(self) -> None:
        sock = self.sock
        if sock is None:
            return
        if not self.is_connected:
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if number:
                raise OSError(number, os.strerror(number))
            if sock.getsockname() == sock.getpeername():
                raise EOFError  # nobody listens, and TCP has connected the socket to itself
            self.is_connected = True
            configure(sock, self.slot[0])
            self._hello = encode_hello(self.job.hello(self.right, self.slot))
            sock.send(self._hello)
            return
        data = self._reader.read(sock)
        if data is None:
            return
        if self._answer:
            self._check_proof(data)
            return
        ours, theirs = decode_hello(self._hello), decode_hello(data)
        complaint = describe_mismatch(ours, theirs)
        if complaint:
            raise self._mismatch(complaint)
        if self.job.secret is None:
            self.joined = True
            return
        self._answer = data
        self._reader = _Reader(PROOF_NBYTES)
        sock.send(prove(self.job.secret, "connector", self._hello, data))

    def _check_proof(self, proof: bytes) -> None:
        expected = prove(self.job.secret or b"", "acceptor", self._hello, self._answer)
        if not hmac.compare_digest(proof, expected):
            raise self._mismatch("the other's RING_SECRET is not ours")
        self.joined = True

    def _hung_up(self) -> None:
        if self._answer:
            self._refusals += 1
            if self._refusals >= _PROOF_ATTEMPTS:
                raise self._mismatch("the other refuses our RING_SECRET")
        self.give_up("somebody accepts the connection there and closes it at once")

    def _mismatch(self, complaint: str) -> HandshakeMismatch:
        return HandshakeMismatch(
            complaint,
            rank=self.job.rank,
            peer=self.right,
            address=str(self.endpoint),
            hint="Start all ranks with the same version, hostfile and secret, and end old jobs.",
        )
