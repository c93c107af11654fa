# ruff: noqa: E501 (a reply is one line, however long)
"""The authors' script's reading and scores: their examples if available, and each rule by itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from rows import each_row, tabled
from viva.benchmarks.syneval.facts import KnowledgePoint
from viva.benchmarks.syneval.syneval import (
    NO_ANSWER,
    phrase_candidates,
    published_letter,
    published_truth,
    score_phrase,
    truth_is_right,
)
from within import within

POINTS: dict[str, KnowledgePoint] = {
    "surface_subject": "GS", "subject_complement": "SC", "direct_object": "DO", "indirect_object": "IO",
    "main_verb_phrase": "MVP", "coordinated_phrase": "CO",
}  # fmt: skip


def test_the_authors_examples_are_read_and_scored_as_they_do(published: Path):
    rows = json.loads((published / "treebank" / "scoring_examples.json").read_text(encoding="utf-8"))
    assert len(rows) == 72
    for row, tried in tabled(*rows):
        with tried:
            is_read_and_scored_as(row)


def is_read_and_scored_as(row: dict[str, Any]) -> None:
    reply = row["output"]
    if row["type"] == "fill_in_the_blank":
        point = POINTS[row["knowledge_point"]]
        assert set(phrase_candidates(reply, point)) == set(row["candidates"]), reply
        score = score_phrase(reply, point, row["gold"])
        expected = row["f1"], row["p"], row["r"]
        assert (score.f1, score.precision, score.recall) == pytest.approx(expected, abs=1e-6), reply
        assert score.exact == row["exact"], reply
    elif row["type"] == "multiple_choice":
        assert published_letter(reply) == (row["parsed"] or [None])[0], reply
    else:
        word = published_truth(reply)
        assert word == (row["parsed"] or [None])[0], reply
        for gold in ("true", "false"):
            assert truth_is_right(word, gold) == row[f"correct_if_gold_{gold}"], reply


# fmt: off
LETTERS = [
    ("C", "C"), ("C)", "C"), ("C?", "C"), ("Answer: C", "C"), ("Answer: C:", "C"), ("C. a man", "C"), ("C, since", "C"),
    ("Answer: C) a man", "C"), ("A man", "A"), ("Answer: The answer is “C.”", "C"), ("the answer is C", "C"),
    ('The answer is "C', "C"), ("The answer is A. No, the answer is B", "B"), ("The answer is Children", "C"),
    ("  \n C\nD", "C"), ("C \nD", "C"),
    ("c", None), ("[C]", None), ("C: a man", None), ("C- a man", None), ("Choice C", None), ("answer: C", None),
    ("The answer is: C", None), ("The answer is (C)", None), ("**C**", None), ("E", None), ("", None), ("CD", None),
    ("Hm.\nC", None), ("The Answer Is C", None),
]
TRUTHS = [
    ("True", "True"), ("false", "false"), ("False!", "False"), ("true, as", "true"), ("Answer: False.", "False"),
    ("Answer: The answer is “True”", "True"), ("answer is Falsehood", "False"), ("Yes", "Yes"), ("no.", "no"),
    ("The answer is True. The answer is False", "False"), ("False\nTrue", "False"),
    ("FALSE", None), ("tRUE", None), ("_True_", None), ("That is true", None), ("The answer is: True", None),
    ("The answer is not true", None), ("Nothing", None), ("Truely", None), ("", None), ("T", None),
]
CANDIDATES: list[tuple[str, KnowledgePoint, set[str]]] = [
    ("A Man ", "GS", {"a man"}),
    ("a man\na dog", "GS", {"a man"}),
    ("", "GS", {""}),
    # Sentences that name the role, either way round; for MVP the other phrase is the answer.
    ("The subject of “ran” is “a man”.", "GS", {"the subject of “ran” is “a man”.", "a man"}),
    ("The subject of “ran” is “a man”.", "MVP", {"the subject of “ran” is “a man”.", "ran"}),
    ("the indirect object of the verb phrase \"gave\" is \"us\"", "IO", {"the indirect object of the verb phrase \"gave\" is \"us\"", "us"}),
    ("“us” is the indirect object of “gave”", "IO", {"“us” is the indirect object of “gave”", "us"}),
    ("“us” is the indirect object of “gave”", "MVP", {"“us” is the indirect object of “gave”", "gave"}),
    # Otherwise what stands in quotes behind "is", "the phrase" or "the word", the last of it.
    ("It is “the phrase “a “man”", "GS", {"it is “the phrase “a “man”", "a “man"}),
    ("the phrase “a” and the words “b c”", "ADV", {"the phrase “a” and the words “b c”", "b c"}),
    ("is “a” then is “b”", "ADJ", {"is “a” then is “b”", "b"}),
    ("It is “the ”big” one”", "GS", {"it is “the ”big” one”", "the "}),               # cut at the first closing quote
    ("It is “a man", "GS", {"it is “a man"}),
    ("“a man”", "GS", {"“a man”"}),
    ("verb: “ran”", "MVP", {"verb: “ran”"}),
    # Either conjunct is accepted; without "the" nothing is seen.
    ("the verb phrase “ran” is coordinated with the verb phrase “hid”", "CO", {"the verb phrase “ran” is coordinated with the verb phrase “hid”", "ran", "hid"}),
    ("“ran” is coordinated with the verb phrase “hid”", "CO", {"“ran” is coordinated with the verb phrase “hid”"}),
    # No answer, only where no sentence was known.
    ("There is no subject", "GS", {NO_ANSWER}),
    ("there is no doubt", "SC", {NO_ANSWER}),
    ("There is no doubt that it is “a man”", "GS", {"there is no doubt that it is “a man”", "a man"}),
    ("There isn't one", "GS", {"there isn't one"}),
    # Variants: brackets left out, single quotes as double ones; an apostrophe is none.
    ("a man (tall) here", "GS", {"a man (tall) here", "a man here"}),
    ("it is 'a man'", "GS", {"it is 'a man'", "it is \" a man \""}),
    ("the men's dogs' food", "GS", {"the men's dogs' food"}),
]
# fmt: on


@each_row(*LETTERS)
def test_letters(reply, expected):
    assert published_letter(reply) == expected


@each_row(*TRUTHS)
def test_truth_words(reply, expected):
    assert published_truth(reply) == expected


@each_row(*CANDIDATES)
def test_candidates(reply, point, expected):
    assert set(phrase_candidates(reply, point)) == expected


def test_the_best_candidate_is_scored():
    assert score_phrase("It is “a man”, I think", "GS", "a man").exact
    assert score_phrase("It is a man", "GS", "a man").f1 == pytest.approx(2 / 3)
    assert score_phrase("There is no doubt", "SC", "no doubt").f1 == 0


@each_row('"', "“", "'", "(", "“a” is the x of ", "is “", "a, b. ", "answer is ", " of of")
def test_long_hostile_lines_are_read_in_linear_time(piece):
    with within(10):
        score_phrase('"x" is the ' + piece * 20_000, "MVP", "the board")
        published_letter(piece * 20_000)
