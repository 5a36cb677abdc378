"""What stands before data on a connection: the hello of a rank, the header of a collective.

Pure: bytes in, values out. All integers are big-endian.

* The *hello*, 128 bytes, comes first on every connection, followed by a 32-byte
  proof when both sides hold a secret.
* The *header*, 112 bytes, comes before the data of a collective on every data
  connection it uses. On ranks that call the same thing all its bytes are equal, so
  checking one is a comparison of bytes.

A decoder raises `PeerError` for bytes that can not be what they should be, and
nothing else. docs/wire-format.md describes each field.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from functools import lru_cache

from ring_runtime.errors import PeerError

__all__ = [
    "DTYPES",
    "HEADER_NBYTES",
    "HELLO_NBYTES",
    "OPERATIONS",
    "PROOF_NBYTES",
    "VERSION",
    "Header",
    "Hello",
    "decode_header",
    "decode_hello",
    "encode_header",
    "encode_hello",
    "prove",
    "set_sequence",
]

VERSION = 1
OPERATIONS = (
    "barrier",
    "all_sum",
    "all_max",
    "all_min",
    "all_gather",
    "sum_scatter",
    "broadcast",
    "send",
    "split",
)
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
KINDS = ("data", "control")

_MAGIC = b"RINGRT\r\n"
_HELLO = struct.Struct("!8sH B B I I I H 32s 32s 38x")
_HEADER = struct.Struct("!4s I Q BBBx i Q 8Q 8s 8s")
_HEADER_MAGIC = b"RnG\x01"
_HEADER_TAIL = b"\xe5.ok\x9c!\r\n"
_SEQUENCE = struct.Struct("!Q")
_SEQUENCE_AT = 8
_INLINE_DIMS = 8

HELLO_NBYTES = _HELLO.size
HEADER_NBYTES = _HEADER.size
PROOF_NBYTES = 32


@dataclass(frozen=True)
class Hello:
    """Who is calling whom, for which job.

    Args:
        digest: SHA-256 of the address list, see `digest_address_list`.
        rank: The speaker.
        peer: The rank it believes it is speaking to.
        kind: "data" or "control".
        index: Which of the parallel connections between the two.
        has_secret: Whether a proof follows.
        nonce: 32 random bytes.
    """

    digest: bytes
    size: int
    rank: int
    peer: int
    kind: str
    index: int
    has_secret: bool
    nonce: bytes
    version: int = VERSION


def encode_hello(hello: Hello) -> bytes:
    """The 128 bytes of a hello.

    Example:
        >>> len(encode_hello(Hello(bytes(32), 2, 0, 1, "data", 0, False, bytes(32))))
        128
    """
    return _HELLO.pack(
        _MAGIC,
        hello.version,
        hello.has_secret,
        KINDS.index(hello.kind),
        hello.size,
        hello.rank,
        hello.peer,
        hello.index,
        hello.digest,
        hello.nonce,
    )


def decode_hello(data: bytes) -> Hello:
    """The hello in these 128 bytes, of any version.

    Of a version other than ours only ``version`` is to be believed.

    Raises:
        PeerError: This is no hello.
    """
    if len(data) != HELLO_NBYTES or not data.startswith(_MAGIC):
        raise PeerError("sent what is not a hello of ring_runtime")
    _, version, secret, kind, size, rank, peer, index, digest, nonce = _HELLO.unpack(data)
    if version == VERSION:
        if data[-38:] != bytes(38) or secret > 1 or kind >= len(KINDS):
            raise PeerError("sent a hello with values out of range")
    else:
        kind = 0
    return Hello(digest, size, rank, peer, KINDS[kind], index, bool(secret), nonce, version)


def prove(secret: bytes, role: str, connector: bytes, acceptor: bytes) -> bytes:
    """The proof that we hold the secret: HMAC-SHA256 over our role and both hellos.

    Args:
        role: "connector" or "acceptor", so that a proof can not be sent back to its maker.
        connector: The 128 bytes of the connecting side.
        acceptor: The 128 bytes of the accepting side.
    """
    return hmac.new(secret, role.encode() + connector + acceptor, hashlib.sha256).digest()


@dataclass(frozen=True)
class Header:
    """One rank's view of a collective.

    Args:
        group: Which group, by the identifier all its members derive alike.
        sequence: How many collectives of this group (or messages to this neighbour) came before.
        root: Of a broadcast its root, of a send its destination, else 0.
        nbytes: Of one rank's array.
        digest: Of a shape with more than eight dimensions, else eight zero bytes.
    """

    group: int
    sequence: int
    operation: str
    dtype: str
    shape: tuple[int, ...]
    root: int
    nbytes: int
    ndim: int
    digest: bytes = bytes(8)

    def __str__(self) -> str:
        more = f", ... {self.ndim} dimensions" if self.ndim > _INLINE_DIMS else ""
        shape = ", ".join(map(str, self.shape)) + ("," if self.ndim == 1 else more)
        root = {"broadcast": f" root {self.root}", "send": f" to rank {self.root}"}
        return (
            f"{self.operation}{root.get(self.operation, '')} of {self.dtype} ({shape}), "
            f"{self.nbytes} bytes, number {self.sequence} of group {self.group:08x}"
        )


def encode_header(
    group: int,
    sequence: int,
    operation: str,
    dtype: str,
    shape: tuple[int, ...],
    root: int,
    nbytes: int,
) -> bytearray:
    """The 112 bytes of a header, writable for `set_sequence`.

    Example:
        >>> str(decode_header(bytes(encode_header(1, 7, "all_sum", "float32", (2, 3), 0, 24))))
        'all_sum of float32 (2, 3), 24 bytes, number 7 of group 00000001'
    """
    header = bytearray(_encode(group, operation, dtype, shape, root, nbytes))
    set_sequence(header, sequence)
    return header


@lru_cache(maxsize=256)
def _encode(
    group: int, operation: str, dtype: str, shape: tuple[int, ...], root: int, nbytes: int
) -> bytes:
    inline = shape[:_INLINE_DIMS] + (0,) * (_INLINE_DIMS - len(shape))
    digest = bytes(8)
    if len(shape) > _INLINE_DIMS:
        digest = hashlib.sha256(repr(shape).encode()).digest()[:8]
    return _HEADER.pack(
        *(_HEADER_MAGIC, group, 0, OPERATIONS.index(operation), DTYPES.index(dtype)),
        *(len(shape), root, nbytes, *inline, digest, _HEADER_TAIL),
    )


def set_sequence(header: bytearray, sequence: int) -> None:
    """Write another sequence number into an encoded header."""
    _SEQUENCE.pack_into(header, _SEQUENCE_AT, sequence)


def decode_header(data: bytes) -> Header:
    """The header in these 112 bytes.

    Raises:
        PeerError: These are not the bytes of a header.
    """
    if len(data) != HEADER_NBYTES:
        raise PeerError(f"sent {len(data)} bytes where a header has {HEADER_NBYTES}")
    magic, group, sequence, operation, dtype, ndim, root, nbytes, *rest = _HEADER.unpack(data)
    dims, digest, tail = rest[:_INLINE_DIMS], rest[-2], rest[-1]
    if magic != _HEADER_MAGIC or tail != _HEADER_TAIL:
        raise PeerError("sent bytes that are not a header where a collective begins")
    if operation >= len(OPERATIONS) or dtype >= len(DTYPES) or data[19] or any(dims[ndim:]):
        raise PeerError("sent a header with values out of range")
    return Header(
        group,
        sequence,
        OPERATIONS[operation],
        DTYPES[dtype],
        tuple(dims[:ndim]),
        root,
        nbytes,
        ndim,
        digest,
    )
