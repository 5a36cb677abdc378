"""How long cables take: numbers worked out by hand, and the closed form of docs/speed.md."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ring_runtime.errors import UsageError
from ring_runtime.speed import Cables, expected_seconds
from tests.conftest import ROOT

KIB, MIB = 1024, 1024**2
# A byte takes a nanosecond and a hop 100 microseconds.
SPEED, HOP = 1e9, 1e-4
# Of the examples on the page.
THUNDERBOLT = {"Thunderbolt 5": 6.5e9, "Thunderbolt 4": 2e9}
PAGE = (ROOT / "docs" / "speed.md").read_text()


@pytest.mark.parametrize(
    ("operation", "nbytes", "size", "width", "microseconds"),
    [
        ("barrier", 0, 2, 1, 100),
        ("barrier", 0, 5, 1, 200),
        ("barrier", 0, 8, 2, 400),
        # Small: whole arrays, size // 2 hops, one cable.
        ("all_sum", 100_000, 2, 2, 200),
        ("all_max", 100_000, 3, 1, 200),
        ("all_sum", 100_000, 8, 2, 800),
        ("sum_scatter", 100_000, 8, 1, 800),
        ("broadcast", 100_000, 4, 1, 400),
        ("all_gather", 400_000, 4, 1, 400),
        # One chunk for each strand: 2 * 3 steps of an eighth, and of a sixteenth.
        ("all_sum", 600_000, 4, 1, 6 * (100 + 75)),
        ("all_sum", 600_000, 4, 2, 6 * (100 + 37.5)),
        ("sum_scatter", 600_000, 4, 1, 3 * (100 + 75)),
        ("all_gather", 2_400_000, 4, 2, 3 * (100 + 150)),
        # Two steps of 256 chunks of half a mebibyte with nothing in between, and the last hop.
        ("all_sum", 256 * MIB, 2, 1, 256 * 1024**2 / 1000 + 100),
        ("sum_scatter", 256 * MIB, 2, 2, 64 * 1024**2 / 1000 + 100),
        # To agree, two hops; then half of it over three hops, in chunks of half a mebibyte.
        ("broadcast", 8 * MIB, 4, 1, 200 + 300 + (4 + 2 * 0.5) * 1024**2 / 1000),
        ("send", 50_000, 4, 2, 150),
        ("send", 1_000_000, 4, 2, 600),
    ],
)
def test_times(operation: str, nbytes: int, size: int, width: int, microseconds: float) -> None:
    cables = Cables(size, SPEED, HOP, width)
    assert expected_seconds(operation, nbytes, cables) == pytest.approx(microseconds * 1e-6)


@pytest.mark.parametrize(
    ("operation", "size", "sent_in_eighths_of_a_segment"),
    # Contributions and results count half of a partial sum in float32: c + 2 p + r.
    [("all_sum", 4, 1 + 2 * 2 + 3), ("sum_scatter", 4, 1 + 2 * 2), ("all_max", 4, 3 + 3)],
)
def test_partial_sums_of_16_bit_floats_are_twice_as_large(
    operation: str, size: int, sent_in_eighths_of_a_segment: int
) -> None:
    nbytes = 256 * MIB
    seconds = expected_seconds(operation, nbytes, Cables(size, SPEED, 0), dtype="bfloat16")
    assert seconds == pytest.approx(
        sent_in_eighths_of_a_segment * nbytes / size / 2 / SPEED, rel=0.02
    )


@given(
    size=st.integers(2, 16),
    width=st.integers(1, 3),
    nbytes=st.integers(2 * MIB, 512 * MIB),
    hop_us=st.floats(1, 2000),
    gigabytes_per_second=st.floats(0.01, 10),
)
def test_the_closed_form_is_within_a_quarter(
    size: int, width: int, nbytes: int, hop_us: float, gigabytes_per_second: float
) -> None:
    """That of an all_sum on docs/speed.md, with the chunks counted as it says."""
    hop, speed = hop_us * 1e-6, gigabytes_per_second * 1e9
    cables = width if size == 2 else 2 * width
    steps = 2 * (size - 1)
    share = nbytes / size / cables
    most = min(512 * KIB, 8 * MIB // (cables * (4 * size - 7)))
    chunks = max(math.ceil(share / most), min(share // (128 * KIB), 3))
    chunk = share / chunks / speed
    lag = 4 if size == 2 else 2
    closed = max(steps * share / speed + hop, (steps + (chunks - 1) / lag) * (hop + chunk))
    exact = expected_seconds("all_sum", nbytes, Cables(size, speed, hop, width))
    assert 0.75 < exact / closed < 1.25


@pytest.mark.parametrize("operation", ["all_sums", "split", ""])
def test_other_operations_are_refused(operation: str) -> None:
    with pytest.raises(UsageError, match="is not an operation"):
        expected_seconds(operation, 4, Cables(4, SPEED, HOP))


@pytest.mark.parametrize(
    "numbers", [(1, 1e9, 0), (2, 0, 0), (2, float("nan"), 0), (2, 1e9, -1), (2, 1e9, 0, 0)]
)
def test_impossible_cables_are_refused(numbers: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError, match=r"no ring has|no cable carries"):
        Cables(*numbers)


# docs/speed.md


def on_thunderbolt(generation: int, size: int, nbytes: float, *, width: int = 1) -> float:
    """Milliseconds of an all_sum over the cables of the page."""
    speed = THUNDERBOLT[f"Thunderbolt {generation}"]
    return 1e3 * expected_seconds("all_sum", int(nbytes), Cables(size, speed, 250e-6, width))


def test_the_table_of_the_page() -> None:
    rows = re.findall(r"^\| Thunderbolt (\d) \| (\d) \| (\d) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 12
    for generation, size, width, cells in rows:
        for nbytes, cell in zip(
            (4, 64 * KIB, 4 * MIB, 32 * MIB, 256 * MIB, 1024 * MIB), cells.split(" | "), strict=True
        ):
            exact = on_thunderbolt(int(generation), int(size), nbytes, width=int(width))
            digits = len(cell.partition(".")[2])
            assert f"{exact:.{digits}f}" == cell, (generation, size, width, nbytes)


def test_the_bucket_sizes_of_the_page() -> None:
    """With a tenth less an all_sum takes over 1.25 times as long as its bytes alone."""
    rows = re.findall(r"^\| (\d+) \| (\d+) MB \| (\d+) MB \|$", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for size, *megabytes in rows:
        for generation, each in zip((5, 4), megabytes, strict=True):
            speed, share = THUNDERBOLT[f"Thunderbolt {generation}"], 1 - 1 / int(size)
            for factor, is_enough in ((1.05, True), (0.9, False)):
                nbytes = factor * float(each) * 1e6
                ratio = on_thunderbolt(generation, int(size), nbytes) / (
                    1e3 * share * nbytes / speed
                )
                assert (ratio <= 1.25) == is_enough, (size, generation, ratio)


def test_the_numbers_in_the_text_of_the_page() -> None:
    assert "600 KiB on four ranks take 1.6 ms where 512 KiB take 0.7" in PAGE
    assert round(on_thunderbolt(5, 4, 600 * KIB), 1) == 1.6
    assert round(on_thunderbolt(5, 4, 512 * KIB), 1) == 0.7
    assert "128 × 0.5 ms = 65 ms" in PAGE
    assert round(128 * on_thunderbolt(5, 4, 16 * KIB)) == 65
    assert re.search(
        r"takes 526 ms in buckets\nof 8 MiB, 193 .* of 32 MiB, 156 ms .* 128 MiB", PAGE
    )
    buckets = {8: 526, 32: 193, 128: 156}
    for mebibytes, milliseconds in buckets.items():
        assert round(1024 / mebibytes * on_thunderbolt(5, 8, mebibytes * MIB)) == milliseconds
    assert "234 ms on two hosts, 151 on four, 143 on eight" in PAGE
    for size, milliseconds in {2: 234, 4: 151, 8: 143}.items():
        assert round(200 / size + on_thunderbolt(4, size, 256 * MIB)) == milliseconds
    assert "one more cable between them makes it 167" in PAGE
    assert round(100 + on_thunderbolt(4, 2, 256 * MIB, width=2)) == 167
