# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the phrase reader, its golden file, and the score of what it reads."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from viva.scorers.phrase import read_phrase
from viva.scorers.spans import score_span, tokens

FILE = Path(__file__).parent.parent / "golden" / "syneval_fitb.jsonl"
SENTENCE = "The old lighthouse keeper painted the crooked door before the storm reached the bay."


@cache
def golden() -> list[dict[str, Any]]:
    """Labelled replies; what they earn is tested with the benchmark's grading."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def label(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    return row.get("unread", ""), tokens(row.get("phrase", ""))


def read(reply: str, **known: Any) -> tuple[str, tuple[str, ...]]:
    phrase, reading = read_phrase(reply, **known)
    return reading.read if phrase is None else "", tokens(phrase or "")


def test_most_golden_replies_are_read_alike_with_nothing_known_of_the_question():
    alike = 0
    rows = [row for row in golden() if not row["id"].startswith("models-")]  # in those much rests on the sentence
    for row in rows:
        alike += read(row["reply"], shown=row["slot"], inverse=row["knowledge_point"] == "MVP") == label(row)
    assert alike / len(rows) >= 0.95


def test_offsets_point_to_what_was_read():
    reply = "Sure! The direct object of “painted” is “the crooked door”, of course."
    _, reading = read_phrase(reply, shown="painted")
    assert reading.span is not None
    assert reply[slice(*reading.span)] == "the crooked door"


def test_a_phrase_may_be_a_word_that_names_an_outcome():
    for word in ("refused", "empty", "unparsed"):
        assert read(word, sentence="Nothing.") == ("", (word,))


def test_the_role_asked_for_decides_between_statements():
    reply = "The subject is “the old lighthouse keeper”. The direct object is “the crooked door”."
    assert read_phrase(reply, shown="painted", roles=("subject",))[0] == "the old lighthouse keeper"
    assert read_phrase(reply, shown="painted", roles=("direct object",))[0] == "the crooked door"
    complement = "The subject complement is “salty”. The subject is “the soup”."
    assert read_phrase(complement, roles=("subject",))[0] == "the soup"
    for objects in (
        "The indirect object is “us”. The direct object",
        "The indirect object is “us” and the direct object",
    ):
        assert read_phrase(f"{objects} is “a boat”.", roles=("direct object",))[0] == "a boat"


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
            phrase, _ = read_phrase(reply, shown="met", sentence=SENTENCE, roles=("direct object",))
            score = score_span((phrase or "",), (gold,))
            assert not score.exact, reply
            assert score.f1 <= 0.4, reply


# Properties.

PIECES = "the a door of keeper painted bay 5 $ % 's company that which will be to"
PHRASES = st.lists(st.sampled_from(PIECES.split()), unique=True, min_size=1, max_size=8).map(" ".join)
FORMS = (
    "{0}", "{0}.", "“{0}”", '"{0}"', "**{0}**", "`{0}`", "Answer: “{0}”", "Answer: **{0}**", "The answer is “{0}”.",
    "The direct object of “met” is “{0}”.", "“{0}” is the direct object of “met”.", "<answer>{0}</answer>",
    "“{0}”, because it follows the verb.", "<think>Is it “x”?</think>“{0}”", "{0}”", "“{0}”\n\nSentence: It rains.\nAnswer: “it”",
)  # fmt: skip


@given(PHRASES, st.sampled_from(FORMS))
def test_the_gold_answer_earns_full_marks_however_it_is_dressed(phrase: str, form: str):
    sentence = f"They met {phrase} on the hill."
    reply = form.format(phrase)
    if not tokens(phrase):
        return
    said, reading = read_phrase(reply, shown="met", roles=("direct object",), sentence=sentence)
    assert score_span((said or "",), (phrase,)).exact, (reply, reading)
