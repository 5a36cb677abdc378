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
    assert merger.finish((1, 1)) == []
    assert merger.feed((0, 1), b"again? ", 0.0) == []
    merger.finish((1, 2))
    assert merger.feed((0, 1), b"now? ", 0.0) == [Piece((0, 1), b"name? again? now? ", 18)]


def test_an_unfinished_line_waits_until_its_rank_is_silent() -> None:
    merger = LineMerger({0, 1})
    merger.feed((0, 1), b"a\n", 0.0)
    assert merger.feed((1, 1), b"half", 1.0) == []
    assert merger.next_deadline() == 1.05
    assert merger.feed((1, 1), b" more", 1.04) == []
    assert merger.next_deadline() == 1.09
    assert merger.pass_on_silent(1.08) == []
    assert merger.pass_on_silent(1.09) == [Piece((1, 1), b"half more", 9)]
    assert merger.next_deadline() is None


def test_another_rank_begins_on_a_new_line() -> None:
    merger = LineMerger({0, 1})
    merger.feed((0, 1), b"a\n", 0.0)
    merger.feed((1, 1), b"name? ", 0.0)
    merger.pass_on_silent(1.0)
    assert merger.feed((0, 1), b"b\n", 1.0) == [Piece((0, 1), b"\nb\n", 2)]
    # What follows of the interrupted line stands on a line of its own.
    assert merger.feed((1, 1), b"bob\n", 2.0) == [Piece((1, 1), b"bob\n", 4)]


def test_the_rank_that_prompts_goes_on_in_its_line() -> None:
    merger = LineMerger({0, 1})
    merger.feed((0, 1), b"a\n", 0.0)
    merger.feed((1, 1), b"name? ", 0.0)
    merger.pass_on_silent(1.0)
    assert merger.feed((1, 1), b"again? ", 1.0) == [Piece((1, 1), b"again? ", 7)]


def prompt(merger: LineMerger) -> None:
    """Have rank 0 leave a line unfinished on standard output."""
    merger.feed((0, 1), b"name? ", 0.0)
    assert shown(merger.pass_on_silent(1.0)) == b"name? "


def test_standard_output_and_error_stay_apart() -> None:
    merger = LineMerger({0, 1})
    prompt(merger)
    assert merger.feed((1, 2), b"err\n", 1.0) == [Piece((1, 2), b"err\n", 4)]


def test_on_one_terminal_they_share_the_line() -> None:
    merger = LineMerger({0, 1}, share_surface=True)
    prompt(merger)
    assert merger.feed((1, 2), b"err\n", 1.0) == [Piece((1, 2), b"\nerr\n", 4)]


def test_a_rank_may_go_on_in_its_own_line_on_either_stream() -> None:
    merger = LineMerger({0, 1}, share_surface=True)
    prompt(merger)
    assert merger.feed((0, 2), b"warning", 1.0) == [Piece((0, 2), b"warning", 7)]


def test_a_very_long_line_is_not_held() -> None:
    merger = LineMerger({0, 1})
    merger.feed((0, 1), b"a\n", 0.0)
    merger.feed((1, 1), b"b" * LARGEST_HELD, 0.0)
    assert shown(merger.feed((1, 1), b"c", 0.0)) == b"b" * LARGEST_HELD + b"c"


def test_the_end_of_a_rank_passes_on_what_it_left() -> None:
    merger = LineMerger({0, 1})
    merger.feed((0, 1), b"a\n", 0.0)
    merger.feed((1, 1), b"last words", 0.0)
    assert merger.finish((1, 1)) == [Piece((1, 1), b"last words", 10)]
    assert merger.finish((1, 1)) == []


def test_tags_stand_before_every_line() -> None:
    tags = {1: {0: b"[0] ", 1: b"[1] "}, 2: {}}
    merger = LineMerger(range(4), tags=tags)
    assert shown(merger.feed((0, 1), b"a\n\nb", 0.0)) == b"[0] a\n[0] \n"
    assert shown(merger.pass_on_silent(1.0)) == b"[0] b"
    assert shown(merger.feed((0, 1), b"c\n", 0.0)) == b"c\n"
    assert shown(merger.feed((1, 1), b"x\ny", 0.0)) == b"[1] x\n"
    assert shown(merger.pass_on_silent(1.0)) == b"[1] y"
    assert shown(merger.feed((0, 1), b"d\n", 1.0)) == b"\n[0] d\n"
    assert shown(merger.feed((1, 1), b"z\n", 1.0)) == b"[1] z\n"
    assert shown(merger.feed((0, 2), b"e\n", 1.0)) == b"e\n"


def test_a_tag() -> None:
    assert tag_of(0, 1, is_coloured=False) == b"[0] "
    assert tag_of(7, 64, is_coloured=False) == b"[ 7] "
    assert tag_of(1, 4, is_coloured=True) == b"\x1b[33m[1]\x1b[0m "


writes = st.lists(
    st.tuples(
        st.tuples(st.integers(0, 3), st.sampled_from([1, 2])),
        st.lists(st.sampled_from([b"ab", b"\n", b"c\n", b"\xff"]), min_size=1).map(b"".join),
        st.sampled_from([0.0, 0.01, 0.06]),
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
        pieces += merger.pass_on_silent(now)
        pieces += merger.feed(source, data, now)
        sent[source] = sent.get(source, b"") + data
    for source in sent:
        pieces += merger.finish(source)
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
