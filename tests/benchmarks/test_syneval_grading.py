"""SynEval's scores: the gold answer, near-misses, base and chat forms, and the authors' readings on request."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade_syneval import exam, write
from rows import each_row, tabled
from viva.benchmarks.syneval.facts import Item
from viva.benchmarks.syneval.syneval import behind_quote, grade, shown_phrase
from viva.contracts import Exam
from viva.scorers.spans import tokens
from viva.types import SCORED, Response, Score

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("set"))


def score(sat: Exam, part: str, text: str, stop: str = "stop") -> Score:
    question = next(question for question in sat.questions() if part in question.id)
    return sat.score(question, Response(text=text, stop_reason=stop))  # type: ignore[arg-type]


TRUE, SUBJECT, VERB = "0-GS-TF-0", "0-GS-FITB", "0-MVP-FITB"
"""The gold answers are true, "the gardener", "gave"; and of 0-GS-MC it is A."""
READ: list[tuple[str, str, float | None, str]] = [
    (TRUE, "TRUE.", 1.0, "right"),
    (TRUE, "The answer is “True”", 1.0, "right"),
    (TRUE, "False", 0.0, "wrong"),
    (TRUE, "Maybe.", None, "unparsed"),
    (TRUE, " \n", None, "empty"),
    ("0-GS-MC", "(A)", 1.0, "right"),
    ("0-GS-MC", "The gardener", 1.0, "right"),
    ("0-GS-MC", "A lantern", 0.0, "wrong"),
    ("0-GS-MC", "The answer is “B.”", 0.0, "wrong"),
    ("0-GS-MC", "A or B", None, "unparsed"),
    (SUBJECT, "“The gardener” is the grammatical subject of “gave”.", 1.0, "right"),
    (SUBJECT, "The grammatical subject of “gave” is “the gardener”.", 1.0, "right"),
    (SUBJECT, "gardener", 1 / 3, "partly"),
    (SUBJECT, "ripe pears", 0.0, "wrong"),
    (VERB, "The gardener is the subject of “gave”.", 1.0, "right"),
]


def test_what_a_reply_commits_to(folder: Path) -> None:
    sat = exam(folder)
    for (part, text, value, outcome), row in tabled(*READ):
        with row:
            found = score(sat, part, text)
            assert found.outcome == outcome
            assert found.value == (value if value is None else pytest.approx(value))


def blank(reply: str, *golds: str, stop: str = "stop", **over: Any) -> Score:
    """What a reply to a fill-in-the-blank question earns."""
    item = {"id": "x", "knowledge_point": "DO", "sentence": "", "question": "What did Ann see?", **over}
    asked = Item(format="FITB", answer=golds[0], accepted=golds[1:], category="", file="", tree=0, **item)
    return grade(asked, Response(text=reply, stop_reason=stop), base=False)  # type: ignore[arg-type]


def test_golden_replies_are_read_and_scored_as_labelled() -> None:
    known = [json.loads(line) for line in (GOLDEN / "syneval_fitb.jsonl").read_text("utf-8").splitlines()]
    for one_of, row in tabled(*known):
        with row:
            about = {name: one_of[name] for name in ("knowledge_point", "sentence")}
            question = f"____ goes with “{one_of['slot']}”."
            found = blank(one_of["reply"], *one_of["accepted"], question=question, **about)
            if "unread" in one_of:
                assert (found.outcome, found.value, found.parts) == (one_of["unread"], None, {})
                assert one_of["f1"] == one_of["exact"] == 0
            else:
                assert tokens(found.answer or "") == tokens(one_of["phrase"]), found
                assert found.parts == {"exact": one_of["exact"], "f1": pytest.approx(one_of["f1"], abs=1e-6)}
                assert found.value == pytest.approx((one_of["f1"] + one_of["exact"]) / 2, abs=1e-6)


def test_what_was_not_read_earns_nothing_and_says_why() -> None:
    unread = "I do not know."
    for (reply, stop, outcome), row in tabled(
        (unread, "stop", "unparsed"),
        (unread, "length", "truncated"),
        ("", "stop", "empty"),
        ("", "length", "truncated"),
        ("I'm sorry, but I cannot help with that.", "stop", "refused"),
        ("", "filter", "refused"),
    ):
        with row:
            found = blank(reply, "the door", stop=stop)
            assert (found.value, found.outcome, found.parts) == (None, outcome, {})


# Base models go on inside a quotation mark


BASE: list[tuple[str, str, float]] = [
    (TRUE, "True”", 1.0),
    (TRUE, "False”\n\nSentence: It rained.\nQuestion: “It” is true.\nAnswer: The answer is “True”", 0.0),
    ("0-GS-MC", "A.”", 1.0),
    ("0-GS-MC", "B.” because A. is wrong", 0.0),
    (SUBJECT, "The gardener”", 1.0),
    (SUBJECT, "The gardener”. The direct object is “ripe pears”", 1.0),
    (SUBJECT, "The gardener\nSentence: Next.", 1.0),
    (SUBJECT, "The answer is “the gardener”", 1.0),
]


def test_what_a_base_model_writes_up_to_the_mark_or_the_line_end(folder: Path) -> None:
    sat = exam(folder, form="base")
    for (part, text, value), row in tabled(*BASE):
        with row:
            assert score(sat, part, text).value == value


@given(st.text())
def test_what_stands_behind_the_quote_is_part_of_one_line(text: str) -> None:
    inside = behind_quote(text)
    assert inside in text
    assert "\n" not in inside
    assert inside.strip() or not text.strip() or not text.strip().split("\n")[0].strip()


@each_row(
    ("____ is the grammatical subject of “gave”.", "gave"),
    ("What does “near the mill” modify?", "near the mill"),
    ("In this sentence, the prepositional phrase “on nectar” modifies “____”.", "on nectar"),
    ("“a” goes with “b”: ____", ""),
    ("Which is the verb?", ""),
)
def test_the_phrase_that_a_question_shows(question: str, shown: str) -> None:
    assert shown_phrase(question) == shown


# As published


PUBLISHED: list[tuple[str, str, float | None]] = [  # the readings are in test_syneval_published.py
    (TRUE, "true.", 1.0),
    (TRUE, "Yes", 0.0),
    (TRUE, "TRUE", None),
    ("0-GS-MC", "A lantern", 1.0),
    ("0-GS-MC", "(A)", None),
    (SUBJECT, "The subject of “gave” is “the gardener”.", 1.0),
    (SUBJECT, "Sure.\nthe gardener", 0.0),
    (SUBJECT, " \n", None),
]


def test_the_authors_readings_on_request(folder: Path) -> None:
    sat = exam(folder, as_published=True)
    for (part, text, value), row in tabled(*PUBLISHED):
        with row:
            found = score(sat, part, text)
            assert found.value == value
            assert found.outcome in SCORED or value is None
            assert "as published" in found.explanation


def test_as_published_a_base_model_is_read_with_the_words_before_its_own(folder: Path) -> None:
    sat = exam(folder, as_published=True, form="base")
    for part, text in ((TRUE, "True”"), ("0-GS-MC", "A.”"), (SUBJECT, "The gardener”")):
        assert score(sat, part, text).value == 1.0, text
    # Without a closing mark nothing is quoted, and the whole line is compared: two words of six.
    assert score(sat, SUBJECT, "The gardener").parts == {"exact": 0.0, "f1": 0.5}
