"""SynEval's scores: the gold answer, near-misses, base and chat forms, and the authors' readings on request."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import opened
from benchmarks.handmade_syneval import exam, write
from rows import each_row, tabled
from viva.benchmarks.syneval.facts import Item
from viva.benchmarks.syneval.syneval import behind_quote, grade, shown_phrase
from viva.contracts import Exam
from viva.scorers.spans import tokens
from viva.types import Response, Score

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("set"))


def score(sat: Exam, part: str, text: str, stop: str = "stop") -> Score:
    question = next(question for question in sat.questions() if part in question.id)
    return sat.score(question, Response(text=text, stop_reason=stop))  # type: ignore[arg-type]


BASE: dict[str, Any] = {"form": "base"}
PUBLISHED: dict[str, Any] = {"as_published": True}
TRUE, SUBJECT, VERB = "0-GS-TF-0", "0-GS-FITB", "0-MVP-FITB"
"""The gold answers are true, "the gardener", "gave"; and of 0-GS-MC it is A."""


READ: list[tuple[dict[str, Any], str, str, float | None, str]] = [
    ({}, TRUE, "TRUE.", 1.0, "right"),
    ({}, TRUE, "The answer is “True”", 1.0, "right"),
    ({}, TRUE, "False", 0.0, "wrong"),
    ({}, TRUE, "Maybe.", None, "unparsed"),
    ({}, TRUE, " \n", None, "empty"),
    ({}, "0-GS-MC", "(A)", 1.0, "right"),
    ({}, "0-GS-MC", "The gardener", 1.0, "right"),
    ({}, "0-GS-MC", "A lantern", 0.0, "wrong"),
    ({}, "0-GS-MC", "The answer is “B.”", 0.0, "wrong"),
    ({}, "0-GS-MC", "A or B", None, "unparsed"),
    ({}, SUBJECT, "“The gardener” is the grammatical subject of “gave”.", 1.0, "right"),
    ({}, SUBJECT, "The grammatical subject of “gave” is “the gardener”.", 1.0, "right"),
    ({}, SUBJECT, "gardener", 1 / 3, "partly"),
    ({}, SUBJECT, "ripe pears", 0.0, "wrong"),
    ({}, VERB, "The gardener is the subject of “gave”.", 1.0, "right"),
    # base models go on inside a quotation mark, and are read up to the mark or the line's end
    (BASE, TRUE, "True”", 1.0, "right"),
    (BASE, TRUE, "False”\n\nSentence: It rained.\nAnswer: The answer is “True”", 0.0, "wrong"),
    (BASE, "0-GS-MC", "A.”", 1.0, "right"),
    (BASE, "0-GS-MC", "B.” because A. is wrong", 0.0, "wrong"),
    (BASE, SUBJECT, "The gardener”", 1.0, "right"),
    (BASE, SUBJECT, "The gardener”. The direct object is “ripe pears”", 1.0, "right"),
    (BASE, SUBJECT, "The gardener\nSentence: Next.", 1.0, "right"),
    (BASE, SUBJECT, "The answer is “the gardener”", 1.0, "right"),
    (PUBLISHED, TRUE, "true.", 1.0, "right"),  # the readings are in test_syneval_published.py
    (PUBLISHED, TRUE, "Yes", 0.0, "wrong"),
    (PUBLISHED, TRUE, "TRUE", None, "unparsed"),
    (PUBLISHED, "0-GS-MC", "A lantern", 1.0, "right"),
    (PUBLISHED, "0-GS-MC", "(A)", None, "unparsed"),
    (PUBLISHED, SUBJECT, "The subject of “gave” is “the gardener”.", 1.0, "right"),
    (PUBLISHED, SUBJECT, "Sure.\nthe gardener", 0.0, "wrong"),
    (PUBLISHED, SUBJECT, " \n", None, "empty"),
    # a base model is read with the words before its own; where nothing is quoted, the line is: two words of six
    (BASE | PUBLISHED, TRUE, "True”", 1.0, "right"),
    (BASE | PUBLISHED, "0-GS-MC", "A.”", 1.0, "right"),
    (BASE | PUBLISHED, SUBJECT, "The gardener”", 1.0, "right"),
    (BASE | PUBLISHED, SUBJECT, "The gardener", 0.25, "partly"),
]


def test_what_a_reply_commits_to(folder: Path) -> None:
    for (settings, part, text, value, outcome), row in tabled(*READ):
        with row:
            found = score(exam(folder, **settings), part, text)
            assert found.outcome == outcome
            assert found.value == (value if value is None else pytest.approx(value))
            assert "as_published" not in settings or "as published" in found.explanation


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


DRESSES = (
    "{0}", "{0}.", "“{0}”", '"{0}"', "**{0}**", "Answer: {0}", "Answer: The answer is “{0}”", "The answer is “{0}”.",
    "It is “{0}”.", "“{0}”, because it is so.", "{0}”.", "“{0}” is the answer.", "<answer>{0}</answer>",
)  # fmt: skip


def test_gold_phrases_of_the_sample_are_read_in_every_dress() -> None:
    sat = opened("syneval")
    asked = [question for question in sat.questions() if question.kind == "span"][::5]
    said = [(one, dress.format(one.answer)) for one in asked for dress in DRESSES]
    missed = [reply for one, reply in said if sat.score(one, Response(text=reply)).value != 1.0]
    assert len(missed) <= 0.005 * len(said), missed
