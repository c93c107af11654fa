"""Answers to mathematical problems: equal and unequal pairs by value, labelled by hand."""

import csv
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rows import table, tables_beside
from viva.scorers.formula import values_of
from viva.scorers.mathanswer import same_answer
from within import within

TABLES = tables_beside(__file__)
SAME = TABLES["same"]
OTHER = TABLES["other"]
PIECES = st.lists(
    st.sampled_from([
        *"0123456789xyi+-*/^_(){}[]|!,;=.% $\\", "\\frac", "\\sqrt", "\\pm", "\\text{", "\\cup", "12", "\\left(",
        "\\pi", "\\boxed{", "\\in", "\\le", "<", "and", "\\{", "\\}", "\\sin", "cm", "(x,y)=", "\u2248",
        "\\begin{pmatrix}", "\\end{pmatrix}",
    ]),
    max_size=24,
).map("".join)  # fmt: skip


def test_answers_are_the_same_by_value() -> None:
    with table() as row:
        for gold, *others in SAME:
            for said in (gold, *others):
                with row(f"{gold} and {said}"):
                    assert same_answer(said, [gold]) == gold
                    assert same_answer(gold, [said]) == said


def test_other_answers_are_not() -> None:
    with table() as row:
        for gold, *others in OTHER:
            for said in others:
                with row(f"{gold} and {said}"):
                    assert same_answer(said, [gold]) is None


def test_a_number_may_be_off_by_the_tolerance() -> None:
    assert same_answer("3.14", [r"\pi"], 0.01) == r"\pi"
    assert same_answer("3.1", [r"\pi"], 0.01) is None
    assert same_answer("0.333", ["1/3"], 0.001) == "1/3"


@given(PIECES, PIECES)
def test_any_two_texts_are_compared(one: str, other: str) -> None:
    assert same_answer(one, [other]) in (None, other)
    assert (same_answer(one, [other]) is None) == (same_answer(other, [one]) is None)
    if one.strip():
        assert same_answer(one, [one]) == one


def test_no_reply_recurses_without_end() -> None:
    reply = r"The solution to the inequality is \( x \in (-6, 10) \)."
    assert same_answer(reply, ["(-6, 10)"]) == "(-6, 10)"
    assert same_answer(r"x \in (-6, 10)", ["(-6, 10)"]) is not None
    for text in (r"x \in", r"\in x \in y", "=" * 300, r"\in " * 200, "x=" * 300, "(a=" * 100, r"\{" * 300, "<(" * 200):
        with within(1):
            same_answer(text, [reply])
            same_answer(text + "1", [text + "2"])


def test_the_pairs_that_math_verify_publishes() -> None:
    """Its test cases at 0.9.0, those that are about finding an answer in a reply left out."""
    with (Path(__file__).parent / "mathverify.csv").open(encoding="utf-8") as file, table() as row:
        for pair in csv.DictReader(file):
            with row(f"{pair['gold']} and {pair['answer']}"):
                same = same_answer(pair["answer"], [pair["gold"]]) is not None
                assert same == ((pair["same"] == "yes") ^ bool(pair["not_followed"]))


def test_a_hostile_formula_costs_little() -> None:
    for text in (
        "(" * 390,
        "9^" * 190 + "9",
        "-" * 390 + "1",
        r"\frac" * 70,
        "1!" + "!" * 380,
        "1 " + "km^9 " * 76,
        "1 " + "m/" * 190,
        "|" * 391,
        r"\pm" * 300,
        "2000!" * 60,
        "1000!/999!+" * 35 + "1",
        "*".join(["(7/3)^999"] * 40),
        ",".join(["x"] * 500),
        r"\cup".join(["(1,2)"] * 90),
        r"\{" * 12 + "1" + r",2\}" * 12,
        "a" * 1000 + " cm",
        " ".join(["x"] * 500),
        "1,000," * 160,
        r"\{" + ",".join(r"\{" + ",".join(f"{6 * at + one}" for one in range(6)) + r"\}" for at in range(6)) + r"\}",
    ):
        with within(1):
            same_answer(text, ["1"])
            same_answer(text, [text[::-1]])
            assert values_of(text) != values_of("7")
