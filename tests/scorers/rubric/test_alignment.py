"""The alignment against the specification as plain loops."""

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


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=15).map("".join),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=25).map("".join) | st.text("ab#", min_size=1, max_size=40),
)
def test_words_marks_and_every_kind_of_character(template: str, text: str):
    check(template, text)


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
    for letters in ("ab", "abcd", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"):
        for others in ("", "#", "#" * 30, "#" * 300):
            template = "".join(rng.choice(letters) for _ in range(rng.randint(40, 80)))
            text = "".join(rng.choice(letters + others) for _ in range(rng.randint(40, 170)))
            check(template, text)
            check(template, text[:60] + template + text[60:])
            check(template[:40] + text[:30], template)


@each_row(
    ("a", "a"),
    ("a", "b"),
    ("ab", " "),
    ("a" * 40, "a"),
    ("a", "a" * 40),
    ("ab", "ba"),
    ("😀", "😀" * 9),
    ("\x00a", "a\x00"),
)
def test_the_smallest_tables(template, text):
    check(template, text)


def prose(rng: random.Random, length: int) -> str:
    words = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randint(1, 9))) for _ in range(400)]
    text = ""
    while len(text) < length:
        text += " ".join(rng.choice(words) for _ in range(rng.randint(3, 14))) + rng.choice(
            (". ", ", ", ".\n", "();\n")
        )
    return text[:length]


@pytest.mark.parametrize("length", [50_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_an_absurd_answer_costs_neither_minutes_nor_gigabytes(length: int):
    rng = random.Random(2)
    template = "".join(rng.choice("ab") for _ in range(200))
    texts = {"worst": "".join(rng.choice("ab") for _ in range(length)), "prose": prose(rng, length), "a": "a" * length}
    for (_name, text), row in tabled(*texts.items()):
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
