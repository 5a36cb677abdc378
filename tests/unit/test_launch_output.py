"""Lines of many ranks on one surface: never mixed, never lost, tagged on demand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distconfig.launch.output import LARGEST_HELD, LineMerger, Piece, tag_of


def shown(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


def test_a_rank_alone_is_passed_on_at_once() -> None:
    merger = LineMerger({0})
    assert merger.feed((0, 1), b"name? ", 0.0) == [Piece((0, 1), b"name? ", 6)]
    assert merger.next_deadline() is None


def test_the_last_rank_that_is_left_is_alone() -> None:
    merger = LineMerger({0, 1})
    assert merger.feed((0, 1), b"name? ", 0.0) == []
    assert merger.finish((1, 1), 0.0) == []
    assert merger.feed((0, 1), b"again? ", 0.0) == []
    assert merger.finish((1, 2), 0.0) == [Piece((0, 1), b"name? again? ", 13)]
    assert merger.feed((0, 1), b"now? ", 0.0) == [Piece((0, 1), b"now? ", 5)]


def test_finished_lines_are_passed_on_at_once() -> None:
    merger = LineMerger({0, 1})
    assert merger.feed((0, 1), b"a\nb\nc", 0.0) == [Piece((0, 1), b"a\nb\n", 4)]
    assert merger.feed((1, 1), b"x\n", 0.0) == [Piece((1, 1), b"x\n", 2)]
    assert merger.feed((0, 1), b"\n", 0.0) == [Piece((0, 1), b"c\n", 2)]


def test_an_unfinished_line_waits_until_its_rank_is_silent() -> None:
    merger = LineMerger({0, 1})
    assert merger.feed((1, 1), b"half", 1.0) == []
    assert merger.next_deadline() == 1.05
    assert merger.feed((1, 1), b" more", 1.04) == []
    assert merger.next_deadline() == 1.09
    assert merger.pass_on(1.08) == []
    assert merger.pass_on(1.09) == [Piece((1, 1), b"half more", 9)]
    assert merger.next_deadline() is None


def test_several_unfinished_lines_wait_longer() -> None:
    """All ranks of ``print(rank, x)`` have written their rank while ``x`` is computed."""
    merger = LineMerger({0, 1, 2})
    assert merger.feed((0, 1), b"0 ", 1.0) == []
    assert merger.feed((1, 1), b"1 ", 1.04) == []
    assert merger.next_deadline() == 2.0
    assert merger.pass_on(1.9) == []
    assert merger.feed((1, 1), b"x\n", 1.9) == [
        Piece((1, 1), b"1 x\n", 4),
        Piece((0, 1), b"0 ", 2),
    ]


def test_unfinished_lines_on_other_surfaces_do_not_count() -> None:
    merger = LineMerger({0, 1})
    assert merger.feed((0, 1), b"0 ", 1.0) == []
    assert merger.feed((1, 2), b"1 ", 1.0) == []
    assert merger.next_deadline() == 1.05


def prompt(merger: LineMerger) -> None:
    """Have rank 0 leave a line unfinished on standard output, at time 1."""
    merger.feed((0, 1), b"name? ", 0.0)
    assert shown(merger.pass_on(1.0)) == b"name? "


def test_a_line_that_is_shown_gets_time_to_be_finished() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    assert merger.feed((1, 1), b"x\n", 1.0) == []
    assert merger.next_deadline() == 2.0
    assert merger.feed((0, 1), b"bob\n", 1.1) == [
        Piece((0, 1), b"bob\n", 4),
        Piece((1, 1), b"x\n", 2),
    ]


def test_then_another_rank_begins_on_a_new_line() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    merger.feed((1, 1), b"x\n", 1.0)
    assert merger.pass_on(2.0) == [Piece((1, 1), b"\nx\n", 2)]
    # What follows of the broken line stands on a line of its own.
    assert merger.feed((0, 1), b"bob\n", 2.5) == [Piece((0, 1), b"bob\n", 4)]


def test_the_rank_that_prompts_goes_on_in_its_line() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    assert merger.feed((0, 1), b"again? ", 1.0) == [Piece((0, 1), b"again? ", 7)]


def test_standard_output_and_error_stay_apart() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    assert merger.feed((1, 2), b"err\n", 1.0) == [Piece((1, 2), b"err\n", 4)]


def test_on_one_terminal_they_share_the_line() -> None:
    merger = LineMerger({0, 1}, share_surface=True)
    prompt(merger)
    assert merger.feed((1, 2), b"err\n", 1.0) == []
    assert merger.pass_on(2.0) == [Piece((1, 2), b"\nerr\n", 4)]


def test_a_rank_may_go_on_in_its_own_line_on_either_stream() -> None:
    merger = LineMerger({0, 1}, share_surface=True)
    prompt(merger)
    assert merger.feed((0, 2), b"warning", 1.0) == [Piece((0, 2), b"warning", 7)]


def test_a_very_long_line_is_not_held() -> None:
    merger = LineMerger({0, 1})
    assert merger.feed((1, 1), b"b" * LARGEST_HELD, 0.0) == []
    assert shown(merger.feed((1, 1), b"c", 0.0)) == b"b" * LARGEST_HELD + b"c"


def test_much_output_does_not_wait_for_an_unfinished_line() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    assert merger.feed((1, 1), b"b\n" * (LARGEST_HELD // 2), 1.0) == []
    assert len(shown(merger.feed((1, 1), b"c\n", 1.0))) == LARGEST_HELD + 3


def test_the_end_of_a_rank_passes_on_what_it_left() -> None:
    merger = LineMerger({0, 1, 2})
    merger.feed((1, 1), b"last words", 0.0)
    assert merger.finish((1, 1), 0.0) == [Piece((1, 1), b"last words", 10)]
    assert merger.finish((1, 1), 0.0) == []


def test_tags_stand_before_every_line() -> None:
    tags = {1: {0: b"[0] ", 1: b"[1] "}, 2: {}}
    merger = LineMerger({0, 1}, tags=tags)
    assert shown(merger.feed((0, 1), b"a\n\nb", 0.0)) == b"[0] a\n[0] \n"
    assert shown(merger.pass_on(1.0)) == b"[0] b"
    assert shown(merger.feed((0, 1), b"c\n", 1.0)) == b"c\n"
    assert shown(merger.feed((1, 1), b"x\ny", 1.0)) == b"[1] x\n"
    assert shown(merger.pass_on(2.0)) == b"[1] y"
    assert shown(merger.feed((0, 1), b"d\n", 2.0)) == b""
    assert shown(merger.pass_on(3.0)) == b"\n[0] d\n"
    assert shown(merger.feed((1, 1), b"z\n", 3.0)) == b"[1] z\n"
    assert shown(merger.feed((0, 2), b"e\n", 3.0)) == b"e\n"


def test_a_tag() -> None:
    assert tag_of(0, 1, is_coloured=False) == b"[0] "
    assert tag_of(7, 64, is_coloured=False) == b"[ 7] "
    assert tag_of(1, 4, is_coloured=True) == b"\x1b[33m[1]\x1b[0m "


writes = st.lists(
    st.tuples(
        st.tuples(st.integers(0, 3), st.sampled_from([1, 2])),
        st.lists(st.sampled_from([b"ab", b"\n", b"c\n", b"\xff"]), min_size=1).map(b"".join),
        st.sampled_from([0.0, 0.01, 0.06, 0.3, 1.1]),
    ),
    max_size=30,
)


@given(writes)
def test_no_byte_is_lost_and_no_two_ranks_share_a_line(
    written: list[tuple[tuple[int, int], bytes, float]],
) -> None:
    """Each rank's bytes come in order, only line ends are added, all bytes are accounted for."""
    tags = {fd: {rank: b"<%d>" % rank for rank in range(4)} for fd in (1, 2)}
    merger = LineMerger(range(4), tags=tags)
    now = 0.0
    pieces = []
    sent: dict[tuple[int, int], bytes] = {}
    for source, data, pause in written:
        now += pause
        pieces += merger.pass_on(now)
        pieces += merger.feed(source, data, now)
        sent[source] = sent.get(source, b"") + data
    for source in sent:
        pieces += merger.finish(source, now)
    for source, data in sent.items():
        assert sum(piece.taken for piece in pieces if piece.source == source) == len(data)
    for fd in (1, 2):
        surface = shown([piece for piece in pieces if piece.fd == fd])
        got: dict[int, list[bytes]] = {}
        for line in surface.split(b"\n"):
            if line:
                assert line[:1] == b"<"
                assert line.count(b"<") == 1
                got.setdefault(int(line[1:2]), []).append(line[3:])
        for rank in range(4):
            wanted = sent.get((rank, fd), b"").replace(b"\n", b"")
            assert b"".join(got.get(rank, [])) == wanted


@given(writes)
def test_nothing_is_held_for_longer_than_it_says(
    written: list[tuple[tuple[int, int], bytes, float]],
) -> None:
    merger = LineMerger(range(4))
    now = taken = 0.0
    for source, data, pause in written:
        now += pause
        pieces = merger.pass_on(now) + merger.feed(source, data, now)
        taken += sum(piece.taken for piece in pieces)
    for _ in range(20):
        deadline = merger.next_deadline()
        if deadline is None:
            break
        assert deadline <= now + 1.0
        now = max(now, deadline)
        pieces = merger.pass_on(now)
        assert pieces
        taken += sum(piece.taken for piece in pieces)
    assert taken == sum(len(data) for _, data, _ in written)
