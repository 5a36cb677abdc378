"""The bytes of aborts and goodbyes, however they are cut."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_runtime.errors import PeerError
from ring_runtime.notices import (
    ABORT_KINDS,
    NOTICE_LIMIT,
    Abort,
    Goodbye,
    Notice,
    Waiting,
    decode_notices,
    encode_notice,
)

ABORT = Abort("mismatch", 2, 3, "no", "a", "")
ABORT_BYTES = b"\x01\x00\x12\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x02no\x00\x01a\x00\x00"
GOODBYE_BYTES = b"\x02\x00\x0e\x00\x00\x00\x00\x00\x00\x01\x00\x00\x04done"

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80)
ABORTS = st.builds(
    Abort,
    st.sampled_from(ABORT_KINDS),
    st.integers(0, 2**32 - 1),
    st.none() | st.integers(0, 2**31 - 1),
    TEXTS,
    TEXTS,
    TEXTS,
)
GOODBYES = st.builds(Goodbye, st.integers(0, 2**64 - 1), TEXTS)
NOTICES = ABORTS | GOODBYES | st.builds(Waiting, st.booleans())


def test_the_bytes_of_notices() -> None:
    assert encode_notice(ABORT) == ABORT_BYTES
    assert encode_notice(Goodbye(256, "done")) == GOODBYE_BYTES
    assert encode_notice(Waiting()) == b"\x03\x00\x01\x01"
    assert encode_notice(Waiting(still=False)) == b"\x03\x00\x01\x00"
    assert decode_notices(ABORT_BYTES + GOODBYE_BYTES) == ([ABORT, Goodbye(256, "done")], b"")


@given(st.lists(NOTICES, max_size=4), st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_of_the_stream_gives_the_same_notices(
    notices: list[Notice], cuts: list[int]
) -> None:
    stream = b"".join(map(encode_notice, notices))
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    heard: list[Notice] = []
    rest = b""
    for low, high in itertools.pairwise(places):
        found, rest = decode_notices(rest + stream[low:high])
        heard += found
    assert (heard, rest) == (notices, b"")


def test_long_texts_are_cut_and_control_characters_shown() -> None:
    notice = Abort("lost", 0, None, "x" * 5000, "\x1b[2Jgone", "ok\n")
    data = encode_notice(notice)
    assert len(data) <= NOTICE_LIMIT
    assert decode_notices(data) == (
        [Abort("lost", 0, None, "x" * 600, "\\x1b[2Jgone", "ok\\x0a")],
        b"",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x10",  # no such type
        b"\x01\x00\x01",  # too short for an abort
        b"\x01\xff\xff",  # too long for anything
        b"\x02\x00\x0a" + bytes(8) + b"\x00\x05",  # a text longer than the notice
        GOODBYE_BYTES[:1] + b"\x00\x0f" + GOODBYE_BYTES[3:] + b"!",  # a byte left over
        ABORT_BYTES[:3] + b"\x09" + ABORT_BYTES[4:],  # no such kind
        ABORT_BYTES[:8] + b"\xff\xff\xff\xfe" + ABORT_BYTES[12:],  # rank -2
    ],
)
def test_what_can_not_become_a_notice_is_refused(data: bytes) -> None:
    with pytest.raises(PeerError):
        decode_notices(data)


def test_fifty_thousand_random_streams_raise_nothing_but_peer_errors() -> None:
    generator = random.Random(7)
    refused = 0
    for number in range(50_000):
        if number % 2:
            data = generator.randbytes(generator.randrange(64))
        else:
            changed = bytearray(generator.choice((ABORT_BYTES, GOODBYE_BYTES)))
            changed[generator.randrange(len(changed))] = generator.randrange(256)
            data = bytes(changed)
        try:
            _, rest = decode_notices(data)
            assert len(rest) < 3 + NOTICE_LIMIT
        except PeerError:
            refused += 1
    assert refused > 20_000
