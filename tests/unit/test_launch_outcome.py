"""How a job ended: exit code, the rank to blame, and the closing report."""

from __future__ import annotations

import pytest

from distconfig.launch.outcome import (
    HOST_LOST,
    FirstFailure,
    RankEnd,
    describe_end,
    exit_code_of,
    last_lines,
    looks_like_victim,
    render_failure,
    report_failure,
)

LOST_PEER = b"""Traceback (most recent call last):
  File "train.py", line 3, in <module>
ring_runtime.errors.PeerLost: rank 2 closed its connection -- Look at that rank's output.
"""


@pytest.mark.parametrize(("returncode", "code"), [(0, 0), (7, 7), (-9, 137), (-11, 139)])
def test_exit_codes_are_those_of_a_shell(returncode: int, code: int) -> None:
    assert exit_code_of(returncode) == code


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (RankEnd(0, "a", 7), "exited with code 7"),
        (RankEnd(0, "a", -15), "was ended by signal 15 (SIGTERM)"),
        (RankEnd(0, "a", -64 - 900), "was ended by signal 964"),
        (RankEnd(0, "a", 127, unstartable="x: not there"), "could not be started: x: not there"),
        (RankEnd(0, "a", HOST_LOST, lost="nothing was heard"), "was lost: nothing was heard"),
    ],
)
def test_an_end_in_words(end: RankEnd, said: str) -> None:
    assert describe_end(end) == said


def test_the_first_failure_is_to_blame() -> None:
    failures = FirstFailure()
    assert failures.decide(9.0, is_last=True) is None
    first = RankEnd(3, "d", 1, stderr=b"ValueError: x\n")
    failures.note(first, 10.0)
    failures.note(RankEnd(1, "b", 2), 10.0)
    assert failures.decide(10.0, is_last=False) is first


def test_a_rank_that_says_it_lost_its_peer_is_a_victim() -> None:
    victim, culprit = RankEnd(1, "b", 1, stderr=LOST_PEER), RankEnd(2, "c", -9)
    assert looks_like_victim(victim)
    assert not looks_like_victim(culprit)
    failures = FirstFailure()
    failures.note(victim, 10.0)
    assert failures.settle_until == 10.5
    assert failures.decide(10.4, is_last=False) is None
    failures.note(culprit, 10.4)
    assert failures.decide(10.4, is_last=False) is culprit


def test_a_victim_is_blamed_when_nobody_else_fails() -> None:
    victim = RankEnd(1, "b", 1, stderr=LOST_PEER)
    failures = FirstFailure()
    failures.note(victim, 10.0)
    failures.note(RankEnd(0, "a", 1, stderr=LOST_PEER), 10.3)
    assert failures.settle_until == 10.5
    assert failures.decide(10.3, is_last=True) is victim
    assert failures.decide(10.5, is_last=False) is victim


def test_a_rank_that_only_mentions_a_lost_peer_is_no_victim() -> None:
    text = b"PeerLost handled\nValueError: after PeerLost\n"
    assert not looks_like_victim(RankEnd(0, "a", 1, stderr=text))


def test_last_lines_are_those_of_standard_error_if_there_are_any() -> None:
    assert last_lines(RankEnd(0, "a", 1, stderr=b"e\n", stdout=b"o\n")) == "e"
    assert last_lines(RankEnd(0, "a", 1, stderr=b"\n", stdout=b"o\n")) == "o"
    assert last_lines(RankEnd(0, "a", 1)) == ""
    many = b"".join(b"%d\n" % number for number in range(9))
    assert last_lines(RankEnd(0, "a", 1, stderr=many)) == "4\n5\n6\n7\n8"


def test_last_lines_can_not_rewrite_the_screen() -> None:
    end = RankEnd(0, "a", 1, stderr=b"\x1b[2Jgone \xff\n" + b"w" * 1000)
    assert last_lines(end) == "\\x1b[2Jgone \N{REPLACEMENT CHARACTER}\n" + "w" * 300


@pytest.mark.parametrize(
    ("others", "first_line"),
    [
        (0, "rank 2 on studio3 exited with code 7"),
        (1, "rank 2 on studio3 exited with code 7; the other rank was ended"),
        (3, "rank 2 on studio3 exited with code 7; 3 others were ended"),
    ],
)
def test_the_closing_report(others: int, first_line: str) -> None:
    error = report_failure(RankEnd(2, "studio3", 7), others)
    assert render_failure(error) == first_line
    assert (error.rank, error.host, error.returncode) == (2, "studio3", 7)
    error = report_failure(RankEnd(2, "studio3", 7, stderr=b"a\nb\n"), others)
    assert render_failure(error) == f"{first_line}; its last lines:\n    a\n    b"


def test_a_signal_in_the_report() -> None:
    assert report_failure(RankEnd(0, "a", -11), 0).returncode == 139
