# ruff: noqa: E501 (tables)
"""Near misses and properties of the comparison of terms and numbers."""

import functools
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thorough
import viva.benchmarks.clrbench
from rows import each_row, tabled, tables_beside
from viva.scorers.reading.parsers import read_term
from viva.scorers.term import LONGEST, LONGEST_TERM, normal_form, same_term
from within import within

TABLES = tables_beside(__file__)
SAME: dict[str, tuple[str, ...]] = TABLES["same"]
DIFFERENT: dict[str, tuple[str, ...]] = TABLES["different"]


@each_row(*((wanted, answer) for wanted, all_ in SAME.items() for answer in all_))
def test_the_same_however_it_is_written(wanted: str, answer: str) -> None:
    assert same_term(answer, [wanted]) == wanted, (normal_form(answer), normal_form(wanted))


@each_row(*((wanted, answer) for wanted, all_ in DIFFERENT.items() for answer in all_))
def test_not_the_same(wanted: str, answer: str) -> None:
    assert same_term(answer, [wanted]) is None, (normal_form(answer), normal_form(wanted))


def test_any_accepted_answer_will_do_and_the_first_that_fits_is_named() -> None:
    accepted = ("closure", "lexical closure", "The Closure")
    assert same_term("Lexical closure.", accepted) == "lexical closure"
    assert same_term("the closure", accepted) == "closure"
    assert same_term("function", accepted) is None
    assert same_term("closure", ()) is None


@functools.cache
def sample_golds() -> tuple[tuple[str, ...], ...]:
    """The accepted answers of every question of the sample that has a gap to fill."""
    folder = Path(viva.benchmarks.clrbench.__file__).parent / "sample"
    return tuple(
        tuple(str(one) for one in record.get("answers") or [record["answer"]])
        for name in ("test.jsonl", "exemplars.jsonl")
        for record in map(json.loads, (folder / name).read_text(encoding="utf-8").splitlines())
        if record["type"] == "FB"
    )


def test_the_samples_golds_are_accepted() -> None:
    forms = ("{}", "**{}**", "“{}”.", "the answer is {}", "  {}\n")
    prose = (
        "So the answer is {}.",
        "Thus, the blank should be filled with “{}”.",
        "Therefore the missing term is **{}**",
    )
    for golds, row in tabled(*sample_golds(), ("unknown", "NULL", "unknown (NULL)", "NULL (unknown)")):
        with row:
            for gold in golds:
                for said in (gold.upper(), *(form.format(gold) for form in forms)):
                    assert same_term(said, golds), said
                for end in prose[:: 1 if thorough.THOROUGH else 2]:
                    found, _ = read_term(f"{LONG}.\n{end.format(gold)}", golds)
                    assert found is not None, end
                    assert found.same is not None, found


@pytest.mark.slow
def test_the_samples_golds_of_other_questions_are_not_accepted() -> None:
    forms = {gold: normal_form(gold) for golds in sample_golds() for gold in golds}
    for golds, row in tabled(*sample_golds()):
        with row:
            taken = {forms[gold] for gold in golds}
            assert not [gold for gold, form in forms.items() if form not in taken and same_term(gold, golds)]


TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from([
            "a", "the", "stack", "25", "1,024", "-", "–", "(", ")", "[", "]", "{", "}", "*", "**", "_", "__", "'", '"', "`", "$", "\\frac", "\\log", "\\boxed{",
            "^", "/", ".", ",", ":", "!", "?", "½", "²", "n", "twenty", "one", "minus", "%", " ", "\n", "\ud800", "\x00", "İ", "ß", "栈", "answer is ", "____",
            "0", "00", "1", "+", "=", "\\", "~~",
        ]),
        max_size=14,
    ).map("".join),
)  # fmt: skip


@given(TEXTS)
def test_a_text_is_itself_and_its_form_is_always_the_same(text: str) -> None:
    assert normal_form(text) == normal_form(text)
    if any(map(str.isalnum, normal_form(text))):
        assert same_term(text, [text]) == text


@given(TEXTS, TEXTS)
def test_sameness_has_no_direction(one: str, other: str) -> None:
    assert (same_term(one, [other]) is None) == (same_term(other, [one]) is None) or not (one.strip() and other.strip())


@given(st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: f"{value:.6f}"))
def test_decimals_are_compared_by_value(written: str) -> None:
    assert same_term(written, [str(float(written))]) or "e" in str(float(written))


UNITS = (
    "{", "}", "(", ")", "((", "[", "*", "**a", "_", "a_", "'", "' a", "`", "\\", "\\boxed{", "\\frac{", "1", "1,", "1,000", "0.", "a ", "the ", "twenty ", "-",
    "a-", "^2", "²", " ", "\n", "$", "½", "1/", "(a+", "ß", "\ud800", "ﷺ",
)  # fmt: skip


def test_a_long_answer_is_read_quickly_and_beyond_all_terms_is_none() -> None:
    for (unit, size), row in tabled(*itertools.product(UNITS, (LONGEST, 1_000_000))):
        answer = (unit * (size // len(unit) + 1))[:size]
        with row, within(1):
            same_term(answer, ["stack", answer[:LONGEST], "25"])
            normal_form(answer)
    assert same_term("x" * (LONGEST + 1), ["x" * (LONGEST + 1)]) is None


# Prose that states what belongs in the gap

LONG = (
    "Elements are added at one end and taken from the same end, so that the one that came last is the first to go, " * 2
)
# fmt: off
STATED: dict[str, dict[str | None, tuple[str, ...]]] = {
    "9": {"9": ("It is obvious. So the answer is 9.", "So the answer is nine", "Thus, the correct answer is **9**.", "Therefore the missing word is “9”.",
                "It holds, so the blank should be filled with 9.", "Since it is odd, 9 is the answer.", "So 9 is the correct term.", "The answer is the number 9.",
                "It may be large, but the answer is 9.", "The answer is:\n\n9", "the answer is 9 because it is odd", "I would fill in the blank with 9.", "Done.\n\\boxed{9}",
                "The answer: 9", "Final answer: 9.", "So the word that fits is 9.", "So it should be filled with 9.", "The correct term to fill in the blank is 9.",
                "显然，所以答案是9。", "此处应填9。", "答案：9"),
          None: ("So the answer is 3.9.", "So the answer is 9 or 10.", "So the answer is not 9.", "So 3.9 is the answer.", "So 1,9 is the answer", "So the answer is 90.", "9 is mentioned.",
                 "If it were odd, the answer is 9.", "The answer is 9. But that is wrong.", "Some claim: the answer is 9.", "So the answer is 9?!1", "It is 9", "9 is not the answer.",
                 "不填9。", "答案不是9。")},
    "stack": {"stack": ("…, so the blank should be filled with stack.", "Therefore, stack is the missing word.", "I would answer stack.", "The gap is filled by a stack.",
                        "So the answer is the term “stack”.", "Because it is LIFO, the answer is a Stack."),
              None: ("So the answer is a stack or a queue.", "So the answer is stack overflow.", "A stack is mentioned.", "It is like a stack.", "Is the answer stack?")},
    "word alignment": {"word alignment": ("So the answer is word alignment.",), None: ("So the answer is alignment.",)},
}
# fmt: on


def test_the_end_of_a_long_reply_is_compared() -> None:
    stated = [(gold, same, end) for gold, all_ in STATED.items() for same, ends in all_.items() for end in ends]
    befores = {"sentence": LONG + ". ", "line": LONG + "\n", "long": LONG * 50 + "\n"}
    for ((gold, same, end), (_name, before)), row in tabled(*itertools.product(stated, befores.items())):
        with row:
            said, _ = read_term(before + end, [gold])
            assert (said.same if said else None) == same


@each_row(
    (LONG + ".", False),
    ("word " * LONGEST_TERM, True),
    ("word " * (LONGEST_TERM + 1), False),
    (LONG + ". So the answer is a queue.", True),  # wrong, and no less an answer
    (LONG + ". The answer is a queue. It is hard to say more.", True),
    ("栈" * 2 * LONGEST_TERM, False),
    ("栈", True),
    ("queue", True),
)
def test_a_long_reply_that_states_nothing_is_no_answer(reply, states) -> None:
    said, _ = read_term(reply, ["stack"])
    assert (said is not None) == states
    assert said is None or said.same is None


@given(TEXTS, TEXTS)
def test_whatever_is_the_same_as_a_whole_stays_the_same(reply: str, gold: str) -> None:
    said, _ = read_term(reply, [gold])
    if same_term(reply, [gold]) is not None:
        assert said is not None
        assert said.same == gold
