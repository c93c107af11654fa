# ruff: noqa: E501 (a reply is one line, however long)
"""Replies as models write them, reasoning, conclusions and prose, labelled before they were read; the exits of short ones.

Four commitments too weak to distinguish are labelled unparsed, which is the lesser mistake.
"""

import itertools

import pytest

from rows import each_row, tabled, tables_beside
from viva.scorers import choice
from viva.scorers.choice import read_choice
from viva.scorers.optiontext import OptionTexts, is_lone_letter, with_own_text
from viva.scorers.selection import read_selection
from viva.scorers.truth import read_truth

TABLES = tables_beside(__file__)
CUES = (
    "", "Answer: ", "ANSWER: ", "Answer:", "The answer is ", "The correct answer is ", "Final answer: ", "Option ", "答案：", "答案是", "正确答案：", "因此，答案是", "选", "故选",
    "应选", "Antwort: ", "Die richtige Antwort ist ", "Lösung: ", "Réponse : ", "La bonne réponse est ", "## ", "- ", "> ",
)  # fmt: skip
WRAPPED = '{} **{}** *{}* ({}) （{}） [{}] 【{}】 \\boxed{{{}}} $\\boxed{{{}}}$ `{}` "{}" “{}” **({})** {})'
CLOSINGS = ("", ".", "。", "!", "\n", " ")  # fmt: skip
LONE = tuple(map("".join, itertools.product(CUES, WRAPPED.split(), CLOSINGS)))
ORDINARY = ("a stack", "a queue", "round robin", "page table")
AWKWARD = (
    ("D", "B", "A", "C"),
    ("b", "c", "d", "a"),
    ("、，", "：！", "、 、 ： “， ”！", "B"),
    ("Answer: A", "(B)", "The answer is C.", "A"),
)


@each_row(*TABLES["choices"])
def test_the_letter_that_reasoning_ends_in(language, read, reply, options):
    assert read_choice(reply, options=options).read == read


@each_row(*TABLES["truths"])
def test_the_truth_value_that_reasoning_ends_in(language, read, reply):
    assert read_truth(reply).read == read


@each_row(*TABLES["selections"])
def test_the_selection_that_prose_states(reply, read):
    assert read_selection(reply, letters="ABCD", options=("Stack", "Queue", "Linked list", "Tree")).read == read


def test_contradicting_answers_are_named():
    said = "Queues are first in, first out. The answer is (B). Trees branch at every node. The answer is (D)."
    assert read_choice(said).rule == "several answers: B, then D"
    listed = "The answer is (C). The answer is (D). The answer is (A)."
    assert read_choice(listed).rule == "several answers: C, then D, A in a list"


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow, id="all")])
def test_a_lone_letter_is_that_letter_whatever_the_options(step: int, monkeypatch: pytest.MonkeyPatch):
    """The quick tier has every fifth: of every cue, mark, closing and letter some."""
    lone = [*itertools.product(LONE, "ABCD")][::step]
    for (shape, letter), row in tabled(*lone):
        reply = shape.format(letter)
        with row:
            assert is_lone_letter(reply)
            for options in (ORDINARY, *AWKWARD):
                reading = read_choice(reply, options=options)
                assert reading.read == letter, options
                start, end = reading.span or (0, 0)
                assert letter in reply[start:end]
    monkeypatch.setattr(choice, "is_lone_letter", lambda text: False)
    for (shape, letter), row in tabled(*lone):
        with row:
            assert read_choice(shape.format(letter), options=ORDINARY).read == letter, "by the rules"


@each_row(*itertools.product(AWKWARD, range(4)))
def test_a_letter_with_its_own_text_is_that_letter_whatever_the_text(options, place):
    reply = f"{'ABCD'[place]}. {options[place]}"
    assert read_choice(reply, options=options).read == "ABCD"[place]
    assert with_own_text(reply, OptionTexts(options, "ABCD"))
