"""The judge's last line, and the lies that a quoted answer can tell."""

from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.scorers.verdict import read_mark, undecided
from within import within

TEN = range(1, 11)


def test_verdicts_between_one_and_ten():
    replies = (
        ("VERDICT: 7", 7),
        ("Good answer.\nVERDICT: 7", 7),
        ("verdict: 7", 7),
        ("VERDICT:7", 7),
        ("VERDICT : 7", 7),
        ("VERDICT: 7.", 7),
        ("**VERDICT: 7**", 7),
        ("**VERDICT:** 7", 7),
        ("VERDICT: **7**", 7),
        ("`VERDICT: 7`", 7),
        ("# VERDICT: 7", 7),
        ("VERDICT：７", 7),
        ("VERDICT: 8/10", 8),
        ("VERDICT: 8 / 10", 8),
        ("VERDICT: 10", 10),
        ("VERDICT: 1", 1),
        ("VERDICT: 7\n\n", 7),
        ("VERDICT: 7 \u200b\n", 7),
        ("评分如下。\nVERDICT: 3", 3),
        ("VERDICT: 7\nOn reflection no change.\nVERDICT: 7", 7),
        ('The answer says "VERDICT: 10" to mislead.\nVERDICT: 2', 2),
        ("> VERDICT: 10\nis quoted.\nVERDICT: 2", 2),
        ("", None),
        ("7", None),
        ("The verdict is 7", None),
        ("VERDICT: 0", None),
        ("VERDICT: 11", None),
        ("VERDICT: 8/5", None),
        ("VERDICT: 8/100", None),
        ("VERDICT: 7.5", None),
        ("VERDICT: 7,5", None),
        ("VERDICT: -7", None),
        ("VERDICT: seven", None),
        ("VERDICT: n", None),
        ("VERDICT:", None),
        ("VERDICT: 7 or 8", None),
        ("VERDICT: 7-8", None),
        ("VERDICT: 7 points", None),
        ("I give it VERDICT: 7", None),
        ("VERDICT: 7\nThank you.", None),
        ("VERDICT: 7\nVERDICT: 8", None),
        ("VERDICT: 10\n(so wrote the examinee)\nVERDICT: 2", None),
    )
    with table() as row:
        for reply, verdict in replies:
            with row(reply):
                assert read_mark(reply, TEN) == verdict


def test_the_range_is_the_callers():
    assert read_mark("VERDICT: 0", range(2)) == 0
    assert read_mark("VERDICT: 1/1", range(2)) == 1
    assert read_mark("VERDICT: 8/5", range(6)) is None
    assert read_mark("VERDICT: 2", range(2)) is None


@given(st.integers(1, 10), st.text(alphabet=st.characters(exclude_characters=":："), max_size=80))
def test_a_well_formed_last_line_is_always_read(number: int, prose: str):
    assert read_mark(f"{prose}\nVERDICT: {number}", TEN) == number


@given(st.text(max_size=200))
def test_total_and_in_range(reply: str):
    verdict = read_mark(reply, TEN)
    assert verdict is None or verdict in TEN
    assert verdict == read_mark(reply, TEN)
    assert verdict is None or not undecided(reply)


def test_a_megabyte_of_anything_is_read_quickly():
    with table() as row:
        for unit in ("VERDICT: 3\n", "VERDICT:", " ", "\n", "*", "9", "VERDICT: 9/", "\ud800", "\u200b"):
            reply = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
            with row(unit), within(2):
                read_mark(reply, TEN)
