"""The alignment against the specification as plain loops."""

import itertools
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.scorers.rubric import alignment
from viva.scorers.rubric.alignment import AlignmentError, align
from within import within

Table = list[list[int]]


def fill_table(template: str, text: str) -> tuple[Table, Table]:
    """Specification 4.1, cell by cell: lengths and pointers."""
    f = [[0] * len(text) for _ in template]
    s = [[0] * len(text) for _ in template]
    for i, wanted in enumerate(template):
        for j, given_ in enumerate(text):
            if wanted == given_:
                f[i][j] = f[i - 1][j - 1] + 1 if i and j else 1
                s[i][j] = j
            elif i and j:
                left, up = f[i][j - 1], f[i - 1][j]
                f[i][j] = max(left, up)
                if left == up:
                    s[i][j] = max(s[i][j - 1], s[i - 1][j])
                else:
                    s[i][j] = s[i][j - 1] if left > up else s[i - 1][j]
    return f, s


def trace_back(template: str, text: str, s: Table) -> tuple[int, ...]:
    """Specification 4.2."""
    positions = [0] * len(template)
    p = s[-1][-1]
    for i in range(len(template) - 1, -1, -1):
        if template[i] == text[p]:
            positions[i] = p
            if i > 0:
                p = s[i - 1][p - 1]
        else:
            positions[i] = p + 1
    return tuple(positions)


def check(template: str, text: str) -> None:
    f, s = fill_table(template, text)
    aligned = align(template, text)
    assert aligned.length == f[-1][-1]
    assert aligned.positions == trace_back(template, text, s)
    bits = alignment.fill_table(template, text)[1]
    columns = range(len(text))
    assert [[alignment.pointer(template, text, bits, i, j) for j in columns] for i in range(len(template))] == s


PIECES = ["a", "b", "c", " ", "\n", "é", "e\u0301", "😀", "\ud83d", "[blank]", "the ", "ab", "abc", ", "]


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, str]:
    """A template, and an answer that repeats it with the blanks filled in, talk around it and mistakes in it."""
    pieces = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12)
    template = "".join(draw(pieces))
    text = list(template)
    while "[blank]" in "".join(text) and draw(st.booleans()):
        whole = "".join(text)
        text = list(whole.replace("[blank]", "".join(draw(pieces)), 1))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(PIECES), max_size=3))
    return template, "".join(text) or " "


@given(answers())
def test_answers_that_repeat_the_template(pair: tuple[str, str]):
    check(*pair)


def test_larger_random_texts_of_every_density():
    rng = random.Random(7)
    for letters, others in itertools.product(("ab", "abcd", "abcdefghijklmnopqrstuvwxyz"), ("", "#", "#" * 300)):
        template = "".join(rng.choices(letters, k=rng.randint(40, 80)))
        text = "".join(rng.choices(letters + others, k=rng.randint(40, 170)))
        check(template, text)
        check(template, text[:60] + template + text[60:])


@each_row(("a", "a"), ("a", "b"), ("ab", " "), ("a" * 40, "a"), ("a", "a" * 40), ("😀", "😀" * 9), ("\x00a", "a\x00"))
def test_the_smallest_tables(template, text):
    check(template, text)


@pytest.mark.parametrize("length", [50_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_an_absurd_answer_costs_neither_minutes_nor_gigabytes(length: int):
    rng = random.Random(2)
    template = "".join(rng.choices("ab", k=200))
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(400)]
    prose = " ".join(rng.choices([*words, "so.\n"], k=length))[:length]
    for text, row in tabled("".join(rng.choices("ab", k=length)), prose, "a" * length):
        with row:
            tracemalloc.start()
            with within(length / 20_000):
                align(template, text)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 100 * len(text) + len(text) * len(template) // 8 + 10_000_000


def test_what_is_too_long_for_a_table_is_refused():
    with pytest.raises(AlignmentError, match="shorten the template"):
        align("ab" * 5_000, "ab" * 250_000)
