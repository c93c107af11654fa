# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the phrase reader, its golden file, and the score of what it reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.scorers.phrase import PhraseReading, read_phrase
from viva.scorers.spangrading import grade_span
from viva.scorers.spans import tokens
from viva.types import Response
from within import within

FILE = Path(__file__).parent.parent / "golden" / "syneval_fitb.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
ROLES = {
    "GS": ("subject",), "SC": ("complement", "predicative"), "DO": ("direct object",), "IO": ("indirect object",),
    "MVP": ("verb phrase", "verb", "predicate"), "ADJ": ("modifier",), "ADV": ("modifier", "adverbial"),
}  # fmt: skip
SENTENCE = "The old lighthouse keeper painted the crooked door before the storm reached the bay."


def read_row(row: dict[str, Any]) -> PhraseReading:
    point = row["knowledge_point"]
    return read_phrase(
        row["reply"], shown=row["slot"], inverse=point == "MVP", roles=ROLES.get(point, ()), sentence=row["sentence"]
    )


def label(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    return row.get("unread", ""), tokens(row.get("phrase", ""))


def test_the_golden_file_is_large_and_varied():
    assert len(ROWS) >= 150
    assert len({row["reply"] for row in ROWS}) > 0.9 * len(ROWS)
    assert {row["knowledge_point"] for row in ROWS} == {"GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA"}
    assert {row.get("unread", "") for row in ROWS} == {"", "unparsed", "empty", "refused"}


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_golden_replies_are_read_and_scored_as_labelled(row: dict[str, Any]):
    reading = read_row(row)
    assert (reading.unread, tokens(reading.phrase)) == label(row), reading
    score = grade_span(reading, row["accepted"], Response(text=row["reply"]))
    assert score.parts["f1"] == pytest.approx(row["f1"], abs=1e-6)
    assert score.parts["exact"] == row["exact"]
    assert (score.value or 0.0) == pytest.approx((row["f1"] + row["exact"]) / 2, abs=1e-6)


def test_most_golden_replies_are_read_alike_with_nothing_known_of_the_question():
    alike = 0
    for row in ROWS:
        reading = read_phrase(row["reply"], shown=row["slot"], inverse=row["knowledge_point"] == "MVP")
        alike += (reading.unread, tokens(reading.phrase)) == label(row)
    assert alike / len(ROWS) >= 0.95


def test_offsets_point_to_what_was_read():
    reply = "Sure! The direct object of “painted” is “the crooked door”, of course."
    reading = read_phrase(reply, shown="painted")
    assert reading.span is not None
    assert reply[slice(*reading.span)] == "the crooked door"


def test_words_are_never_taken_away():
    for phrase in ("the board", "a board", "to the board", "not the board", "will have been", "'s", "has n't been"):
        assert tokens(read_phrase(f"“{phrase}”").phrase) == tokens(phrase)


def test_a_phrase_may_be_a_word_that_names_an_outcome():
    for word in ("refused", "empty", "unparsed"):
        assert read_phrase(word) == PhraseReading(word, "", (0, len(word)), "first line")


def test_what_the_question_shows_is_not_the_answer_where_the_reply_repeats_it():
    for reply in (
        "The direct object of “painted” is “the crooked door”.",
        "“the crooked door” is the direct object of “painted”.",
        "“painted” has the direct object “the crooked door”.",
        "For painted, the direct object is the crooked door.",
    ):
        assert read_phrase(reply, shown="painted", sentence=SENTENCE).phrase == "the crooked door", reply


def test_the_role_asked_for_decides_between_statements():
    reply = "The subject is “the old lighthouse keeper”. The direct object is “the crooked door”."
    assert read_phrase(reply, shown="painted", roles=("subject",)).phrase == "the old lighthouse keeper"
    assert read_phrase(reply, shown="painted", roles=("direct object",)).phrase == "the crooked door"
    complement = "The subject complement is “salty”. The subject is “the soup”."
    assert read_phrase(complement, roles=("subject",)).phrase == "the soup"
    objects = "The indirect object is “us”. The direct object is “a boat”."
    assert read_phrase(objects, roles=("direct object",)).phrase == "a boat"


def test_listing_every_phrase_earns_no_exact_match():
    phrases = ["the old lighthouse keeper", "the crooked door", "the storm", "the bay", "painted", "reached the bay"]
    lists = (
        "\n".join(f"- {each}" for each in phrases),
        "\n".join(f"{at}. “{each}”" for at, each in enumerate(phrases, 1)),
        ", ".join(f"“{each}”" for each in phrases),
        " or ".join(phrases),
        "It is " + " or ".join(f"“{each}”" for each in phrases) + ".",
        "The direct object of “painted” is " + " or ".join(f"“{each}”" for each in phrases) + ".",
        json.dumps(phrases),
        json.dumps({str(at): each for at, each in enumerate(phrases)}),
        ", ".join(phrases),
        SENTENCE,
    )
    for reply in lists:
        for gold in ("the crooked door", "the bay", "painted"):
            reading = read_phrase(reply, shown="met", sentence=SENTENCE, roles=("direct object",))
            score = grade_span(reading, (gold,), Response(text=reply))
            assert score.parts["exact"] == 0, reply
            assert score.parts["f1"] <= 0.4, reply


def test_one_answer_is_read_of_many_given():
    many = "\n".join(f"Answer: {each}" for each in ("the storm", "the crooked door", "the bay"))
    assert read_phrase(many, sentence=SENTENCE).phrase == "the bay"


# The outcome of the score.


def test_the_value_is_the_mean_of_exact_match_and_f1():
    def graded(phrase: str) -> tuple[float | None, str]:
        score = grade_span(PhraseReading(phrase), ("the door", "a gate"), Response(text=phrase))
        return score.value, score.outcome

    assert graded("The door.") == (1.0, "right")
    assert graded("a gate") == (1.0, "right")
    assert graded("door") == (pytest.approx(1 / 3), "partly")
    assert graded("a window") == (pytest.approx(1 / 4), "partly")
    assert graded("windows") == (0.0, "wrong")
    assert graded("") == (0.0, "wrong")


@pytest.mark.parametrize(
    ("unread", "stop", "outcome"),
    [
        ("unparsed", "stop", "unparsed"), ("unparsed", "length", "truncated"), ("empty", "stop", "empty"),
        ("empty", "length", "truncated"), ("refused", "stop", "refused"), ("empty", "filter", "refused"),
    ],
)  # fmt: skip
def test_what_was_not_read_earns_nothing_and_says_why(unread: Any, stop: Any, outcome: str):
    score = grade_span(PhraseReading("", unread), ("the door",), Response(stop_reason=stop))
    assert (score.value, score.outcome, score.parts) == (None, outcome, {"exact": 0.0, "f1": 0.0})


def test_a_question_without_a_word_to_compare_is_unsound():
    for accepted in ((), ("%",), ("", "“”")):
        assert grade_span(PhraseReading("the door"), accepted, Response()).outcome == "unsound"


# Properties.

PHRASES = st.lists(
    st.sampled_from(
        [
            "the",
            "a",
            "door",
            "of",
            "keeper",
            "painted",
            "bay",
            "5",
            "$",
            "%",
            "'s",
            "company",
            "that",
            "which",
            "will",
            "be",
            "to",
        ]
    ),
    unique=True,
    min_size=1,
    max_size=8,
).map(" ".join)
FORMS = (
    "{0}", "{0}.", "“{0}”", '"{0}"', "**{0}**", "`{0}`", "Answer: “{0}”", "Answer: **{0}**", "The answer is “{0}”.",
    "The direct object of “met” is “{0}”.", "“{0}” is the direct object of “met”.", "<answer>{0}</answer>",
    "“{0}”, because it follows the verb.", "<think>Is it “x”?</think>“{0}”", "{0}”", "“{0}”\n\nSentence: It rains.\nAnswer: “it”",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from([
            "the answer is ", "Answer:", "“", "”", '"', "'", "**", "*", "`", "the direct object of ", " is ", "the door",
            "painted", "\n", "\n\n", ". ", ", ", " or ", "- ", "1. ", "It is ", "{", "}", "[", "\\boxed{", "<answer>",
            "</answer>", "<think>", "</think>", "not ", "because ", "Wait, ", "So ", "…", "\u200b", "Sentence:", "(", ")", "there is no ",
        ]),
        max_size=30,
    ).map("".join),
)  # fmt: skip


@given(
    TEXTS,
    st.sampled_from(["", "painted", "the door", "x", "“", "("]),
    st.booleans(),
    st.sampled_from(["", SENTENCE, '"A" b']),
)
def test_any_text_is_read_to_one_phrase_of_its_own(reply: str, shown: str, inverse: bool, sentence: str):
    reading = read_phrase(reply, shown=shown, inverse=inverse, roles=("direct object",), sentence=sentence)
    assert reading == read_phrase(reply, shown=shown, inverse=inverse, roles=("direct object",), sentence=sentence)
    assert not (reading.unread and reading.phrase)
    if reading.span is not None:
        assert 0 <= reading.span[0] <= reading.span[1] <= len(reply)
    assert len(reading.phrase) <= 3 * len(reply)
    score = grade_span(reading, ("the door",), Response(text=reply))
    assert score.value is None or 0 <= score.value <= 1


@given(PHRASES, st.sampled_from(FORMS))
def test_the_gold_answer_earns_full_marks_however_it_is_dressed(phrase: str, form: str):
    sentence = f"They met {phrase} on the hill."
    reply = form.format(phrase)
    if not tokens(phrase):
        return
    reading = read_phrase(reply, shown="met", roles=("direct object",), sentence=sentence)
    assert grade_span(reading, (phrase,), Response(text=reply)).outcome == "right", (reply, reading)


@pytest.mark.parametrize(
    "piece",
    ["“", '"', "'", "**", "*a ", "`", "“a” ", "the direct object of ", "is ", "the the ", "\n", "- a\n", "Answer: ", "a. B", "(", "[", "{",
     "<b>", "not ", "“a” or ", "it is ", "the subject of “x” is “y”. ", "wait, ", " -- ", "'a ", "_a ", "x' "],
)  # fmt: skip
def test_hostile_replies_take_no_time(piece: str):
    with within(5):
        for reply in (piece * 3_000, piece * 60_000):
            read_phrase(reply, shown="met", roles=("subject",), sentence=SENTENCE)
