"""CMMLU's tags of wording, against questions that people labelled."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cli.collected import read_csv
from viva.benchmarks.cmmlu.cmmlu import _EXCEPT, _negation, has_negation, has_sub_options

LABELS = Path(__file__).with_name("cmmlu.csv")
REVIEWED = Path(__file__).with_name("cmmlu_sub_options.txt")
"""The candidates that have sub-options, an id a line."""


def test_questions_are_tagged_as_people_tag_them(published: Path) -> None:
    questions: dict[str, tuple[str, list[str]]] = {}
    for path in (published / "cmmlu" / "test").glob("*.csv"):
        for number, row in enumerate(read_csv(path)):
            questions[f"{path.stem}/{number}"] = row["Question"], [row[letter] for letter in "ABCD"]
    wrong = {"negation": 0, "sub_options": 0}
    labels = read_csv(LABELS)
    for label in labels:
        text, options = questions[label["question"]]
        wrong["negation"] += has_negation(text) != (label["negation"] == "yes")
        wrong["sub_options"] += has_sub_options(text, options) != (label["sub_options"] == "yes")
    assert len(labels) >= 390
    assert wrong["negation"] <= 8
    assert wrong["sub_options"] <= 2
    reviewed = REVIEWED.read_text(encoding="utf-8").split()
    assert {name for name, question in questions.items() if has_sub_options(*question)} == set(reviewed)
    assert has_sub_options(*questions["high_school_geography/100"]), "the paper's own example"


@given(st.data())
def test_all_that_asks_by_negation_has_one_of_the_signs_that_are_looked_for_first(data: st.DataObject) -> None:
    signs, _, words = _negation()
    for pattern in (words, _EXCEPT):
        assert signs.search(data.draw(st.from_regex(pattern, fullmatch=True)))


def test_sub_options_however_labels_and_options_are_written() -> None:
    statements = ("甲为真", "乙为真", "丙为真", "丁为真")
    for labels, options in (
        ("（1）（2）（3）（4）", ("（1）（2）是正确的", "只有（2）是正确的", "（3）和（4）是正确的", "（1）是正确的")),
        ("(1)|(2)|(3)|(4)", ("$(1)(2)$", "$(1)(3)(4)$", "$(2)(3)$", "(1) (4)")),
        ("A |B |C |D ", ("AB", "BC", "CD", "AD")),
        ("a|b|c|d", ("ab", "bc", "cd", "ad")),
        ("①|②|③|④", ("①②", "①③", "②③", "①②③")),
    ):
        marks = labels.split("|") if "|" in labels else ["（1）", "（2）", "（3）", "（4）"]
        text = "下列正确的有" + " ".join(map("".join, zip(marks, statements, strict=True)))
        assert has_sub_options(text, options), text
    for text, options in (
        ("设 $A， B， C$ 独立，则不独立的是", ("$A， B， A C$", "$A， B， A-C$", "$A， B， C$", "$A， B， A+C$")),
        ("下列正确的是", ("A", "B", "C", "D")),
        ("f(1)2 与 f(2)3 之和是", ("1", "2", "3", "4")),
    ):
        assert not has_sub_options(text, options), text
