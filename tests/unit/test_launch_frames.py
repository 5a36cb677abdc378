"""Frames: bytes in any split are the same frames, and bytes that are none are an error."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.launch import frames
from distconfig.launch.frames import Decoder, Frame, FrameError

some_frames = st.lists(
    st.builds(
        Frame,
        kind=st.integers(frames.CHECK, frames.CLOSED),
        rank=st.integers(-1, 2**31 - 1),
        payload=st.binary(max_size=40),
    ),
    max_size=6,
)


@given(some_frames, st.data())
def test_any_split_of_the_bytes_gives_the_same_frames(
    sent: list[Frame], data: st.DataObject
) -> None:
    wire = b"".join(frames.encode(*frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    decoder = Decoder()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        received += decoder.feed(wire[start:end])
    assert received == sent


def test_the_bytes_of_a_frame() -> None:
    assert frames.encode(frames.STDIN, payload=b"ab") == (b"\x03\xff\xff\xff\xff\x00\x00\x00\x02ab")


def test_json_comes_back() -> None:
    [frame] = Decoder().feed(frames.encode_json(frames.EXIT, {"returncode": -9}, 3))
    assert frame == Frame(frames.EXIT, 3, b'{"returncode":-9}')
    assert frames.decode_json(frame) == {"returncode": -9}


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(b"Last login: Mon", id="a banner"),
        pytest.param(b"\x00" + bytes(8), id="kind 0"),
        pytest.param(b"\x10" + bytes(8), id="an unknown kind"),
        pytest.param(b"\x08\xff\xff\xff\xfe" + bytes(4), id="rank -2"),
        pytest.param(b"\x08" + bytes(4) + b"\x01\x00\x00\x01", id="larger than any frame"),
    ],
)
def test_bytes_that_are_no_frame(wire: bytes) -> None:
    with pytest.raises(FrameError):
        Decoder().feed(wire)


@pytest.mark.parametrize("payload", [b"{", b"\xff", b"[" * 100_000])
def test_a_payload_that_is_no_json(payload: bytes) -> None:
    with pytest.raises(FrameError):
        frames.decode_json(Frame(frames.HELLO, -1, payload))


@given(st.binary(max_size=60))
def test_garbage_gives_frames_or_a_frame_error(garbage: bytes) -> None:
    with contextlib.suppress(FrameError):
        Decoder().feed(garbage)
