"""The bytes of hellos and headers, pinned and shuffled."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_runtime.errors import PeerError
from ring_runtime.wire import (
    DTYPES,
    HEADER_NBYTES,
    HELLO_NBYTES,
    OPERATIONS,
    Header,
    Hello,
    decode_header,
    decode_hello,
    encode_header,
    encode_hello,
    prove,
    set_sequence,
)

HELLO = Hello(
    digest=bytes(range(32)),
    size=4,
    rank=1,
    peer=2,
    kind="control",
    index=1,
    has_secret=True,
    nonce=bytes(range(100, 132)),
)
HELLO_BYTES = (
    b"RINGRT\r\n"  # magic
    b"\x00\x01"  # version
    b"\x01"  # has a secret
    b"\x01"  # control
    b"\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02"  # size, rank, peer
    b"\x00\x01" + bytes(range(32)) + bytes(range(100, 132)) + bytes(38)  # index
)
HEADER_BYTES = (
    b"RnG\x01"  # magic
    b"\x00\x00\x00\x09"  # group
    b"\x00\x00\x00\x00\x00\x00\x01\x02"  # sequence
    b"\x01\x0b\x02\x00"  # all_sum, float32, two dimensions, zero
    b"\xff\xff\xff\xff"  # root
    b"\x00\x00\x00\x00\x00\x00\x00\x18"  # nbytes
    b"\x00\x00\x00\x00\x00\x00\x00\x02"
    b"\x00\x00\x00\x00\x00\x00\x00\x03"
    + bytes(48)  # shape
    + bytes(8)  # no digest
    + b"\xe5.ok\x9c!\r\n"
)


def test_the_bytes_of_a_hello() -> None:
    assert encode_hello(HELLO) == HELLO_BYTES
    assert decode_hello(HELLO_BYTES) == HELLO
    assert len(HELLO_BYTES) == HELLO_NBYTES <= 256


def test_the_bytes_of_a_header() -> None:
    assert bytes(encode_header(9, 258, "all_sum", "float32", (2, 3), -1, 24)) == HEADER_BYTES
    assert decode_header(HEADER_BYTES) == Header(9, 258, "all_sum", "float32", (2, 3), -1, 24, 2)
    assert len(HEADER_BYTES) == HEADER_NBYTES


def test_a_header_says_what_a_person_wants_to_know() -> None:
    assert str(decode_header(bytes(encode_header(1, 7, "broadcast", "int8", (5,), 3, 5)))) == (
        "broadcast root 3 of int8 (5,), 5 bytes, number 7 of group 00000001"
    )
    assert str(decode_header(bytes(encode_header(0, 0, "send", "bool", (), 1, 1)))) == (
        "send to rank 1 of bool (), 1 bytes, number 0 of group 00000000"
    )


def test_a_shape_of_many_dimensions_is_compared_whole() -> None:
    shape = (1, 2, 1, 2, 1, 2, 1, 2, 3)
    other = (1, 2, 1, 2, 1, 2, 1, 2, 1, 3)
    first = decode_header(bytes(encode_header(0, 0, "all_sum", "int8", shape, 0, 48)))
    second = decode_header(bytes(encode_header(0, 0, "all_sum", "int8", other, 0, 48)))
    assert first.shape == second.shape == (1, 2, 1, 2, 1, 2, 1, 2)
    assert first.digest != second.digest
    assert "(1, 2, 1, 2, 1, 2, 1, 2, ... 9 dimensions)" in str(first)


def test_only_the_sequence_changes() -> None:
    header = encode_header(9, 0, "all_sum", "float32", (2, 3), -1, 24)
    set_sequence(header, 258)
    assert bytes(header) == HEADER_BYTES


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.sampled_from(OPERATIONS),
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 2**63), max_size=12),
    st.integers(-1, 2**31 - 1),
    st.integers(0, 2**64 - 1),
)
def test_headers_round_trip(
    group: int, sequence: int, operation: str, dtype: str, shape: list[int], root: int, nbytes: int
) -> None:
    dims = tuple(shape)
    data = bytes(encode_header(group, sequence, operation, dtype, dims, root, nbytes))
    header = decode_header(data)
    assert header == Header(
        group, sequence, operation, dtype, dims[:8], root, nbytes, len(dims), header.digest
    )
    assert (header.digest == bytes(8)) == (len(dims) <= 8)


def test_a_hello_of_another_version_is_still_a_hello() -> None:
    newer = HELLO_BYTES[:8] + b"\x00\x07" + bytes(range(118))
    assert decode_hello(newer).version == 7


@pytest.mark.parametrize("at", range(HELLO_NBYTES))
def test_a_changed_byte_of_a_hello_is_another_hello_or_none(at: int) -> None:
    changed = bytearray(HELLO_BYTES)
    changed[at] ^= 0x40
    try:
        hello = decode_hello(bytes(changed))
    except PeerError:
        return
    assert hello != HELLO


@pytest.mark.parametrize("at", range(HEADER_NBYTES))
def test_a_changed_byte_of_a_header_is_another_header_or_none(at: int) -> None:
    changed = bytearray(HEADER_BYTES)
    changed[at] ^= 0x40
    try:
        header = decode_header(bytes(changed))
    except PeerError:
        return
    assert header != decode_header(HEADER_BYTES)


def test_a_proof_depends_on_secret_role_and_both_hellos() -> None:
    first, second = HELLO_BYTES, bytes(HELLO_NBYTES)
    proofs = {
        prove(b"s", "connector", first, second),
        prove(b"s", "acceptor", first, second),
        prove(b"t", "connector", first, second),
        prove(b"s", "connector", second, first),
    }
    assert len(proofs) == 4
    assert prove(b"key", "connector", b"a", b"b").hex() == (
        "edb5d43d7d3c972a02c05196245b4b513ce1ed8d399aa8006e4a17f1cdb7a370"
    )


def test_a_hundred_thousand_random_inputs_raise_nothing_but_peer_errors() -> None:
    generator = random.Random(20240607)
    accepted = 0
    for number in range(100_000):
        source, nbytes, decode = (
            (HELLO_BYTES, HELLO_NBYTES, decode_hello)
            if number % 2
            else (HEADER_BYTES, HEADER_NBYTES, decode_header)
        )
        if number % 8 < 4:
            data = generator.randbytes(nbytes)
        else:
            changed = bytearray(source)
            for _ in range(generator.randint(1, 4)):
                changed[generator.randrange(nbytes)] = generator.randrange(256)
            data = bytes(changed)[: generator.choice((nbytes, nbytes, nbytes - 1))]
        try:
            decode(data)
            accepted += 1
        except PeerError:
            pass
    assert 0 < accepted < 50_000
