"""Waiting, against a clock that a test moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ring_runtime import patience as module
from ring_runtime.patience import Patience

Move = Callable[[float], None]


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    clock = [1000.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return clock[0]

    def forward(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(module, "time", Time)
    return forward


def test_spinning_begins_after_a_short_wait_and_ends_after_a_long_one(move: Move) -> None:
    patience = Patience(0, may_spin=True)
    assert not patience.is_spinning()
    move(50e-6)
    patience.moved()
    assert patience.is_spinning()
    move(99e-6)
    assert patience.is_spinning()
    move(2e-6)
    assert not patience.is_spinning()
    move(1.0)
    patience.moved()
    assert not patience.is_spinning()


def test_ranks_that_share_cores_let_each_other_run(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    yields = []
    monkeypatch.setattr(module, "_let_others_run", lambda: yields.append(1))
    patience = Patience(0, may_spin=False)
    assert not patience.is_spinning()
    move(5e-3)
    patience.moved()
    assert patience.is_spinning()
    move(3.01e-3)
    assert not patience.is_spinning()
    assert len(yields) == 1
    move(1.0)
    patience.moved()
    assert not patience.is_spinning()


def test_the_end_of_a_wait(move: Move) -> None:
    patience = Patience(10, may_spin=False)
    patience.is_spinning()
    move(4)
    assert not patience.is_spinning()
    assert patience.until(knows_who=True) == 1010
    assert patience.until(knows_who=False) == 1011
    assert patience.pause(1010) == 1
    move(1)
    assert patience.should_tell()
    assert patience.pause(1010) == 5
    move(20)
    assert patience.pause(1010) == 0
    patience.moved()
    patience.is_spinning()
    assert patience.until(knows_who=True) == 1035
    assert Patience(0, may_spin=False).until(knows_who=True) is None


@pytest.mark.parametrize(("timeout", "half"), [(10, 5), (0, 30), (600, 30)])
def test_neighbours_are_told_once_when_half_of_a_wait_is_over(
    move: Move, timeout: float, half: float
) -> None:
    patience = Patience(timeout, may_spin=False)
    assert not patience.should_tell()
    patience.is_spinning()
    assert patience.pause(None) == half
    move(half - 1)
    assert not patience.should_tell()
    move(1)
    assert patience.should_tell()
    assert not patience.should_tell()
    assert patience.moved()
    assert not patience.moved()
    patience.is_spinning()
    assert patience.pause(None) == half


def test_who_forms_a_ring_tells_nobody(move: Move) -> None:
    patience = Patience(10, may_spin=False)
    patience.is_forming = True
    patience.is_spinning()
    move(100)
    assert not patience.should_tell()


def test_neighbours_that_wait_as_well_may_give_up_first(move: Move) -> None:
    patience = Patience(10, may_spin=False)
    patience.is_spinning()  # at 1000, so we give up at 1010
    assert patience.until(knows_who=False, told_at=1004) == 1012
    assert patience.until(knows_who=False, told_at=1008) == 1015  # it gives up at 1013 or 1014


@pytest.mark.parametrize(("is_forming", "first"), [(False, 60), (True, 5)])
def test_reports_come_twice_as_far_apart_each_time(
    move: Move, is_forming: bool, first: float
) -> None:
    patience = Patience(0, may_spin=False)
    patience.is_forming = is_forming
    patience.is_spinning()
    assert patience.report() == 0
    move(first / 2)
    assert patience.should_tell() is not is_forming
    assert patience.pause(None) == first / 2
    move(first / 2)
    assert patience.report() == first
    assert patience.report() == 0
    assert patience.pause(None) == first
    move(first)
    assert patience.report() == 2 * first
    assert patience.pause(None) == 2 * first
    patience.moved()
    assert not patience.is_spinning()
    assert patience.pause(None) == (first if is_forming else first / 2)
