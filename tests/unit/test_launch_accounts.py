"""What is under way to us stays within the window, whatever is written when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.launch.accounts import WINDOW, Accounts
from distconfig.launch.frames import FrameError


def test_an_agent_that_sends_too_much_is_refused() -> None:
    accounts = Accounts()
    accounts.receive((0, 1), WINDOW)
    accounts.receive((0, 2), WINDOW)
    with pytest.raises(FrameError, match="rank 0"):
        accounts.receive((0, 1), 1)


def test_small_amounts_are_saved_up() -> None:
    accounts = Accounts()
    accounts.receive((0, 1), WINDOW)
    assert accounts.write((0, 1), WINDOW // 4 - 1) == 0
    assert accounts.write((0, 1), 1) == WINDOW // 4
    assert accounts.write((0, 1), 1) == 0


@given(st.lists(st.tuples(st.integers(1, WINDOW // 2), st.integers(0, WINDOW)), max_size=40))
def test_an_agent_that_keeps_to_its_credit_is_never_refused_nor_starved(
    turns: list[tuple[int, int]],
) -> None:
    accounts = Accounts()
    credit, unwritten = WINDOW, 0
    for wants, writes in turns:
        sent = min(wants, credit)
        accounts.receive((0, 1), sent)
        credit -= sent
        unwritten += sent
        written = min(writes, unwritten)
        unwritten -= written
        credit += accounts.write((0, 1), written)
        assert credit + unwritten <= WINDOW
    credit += accounts.write((0, 1), unwritten)
    assert credit > WINDOW * 3 // 4
