# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the readers of letters and truth values: commitments, and what only looks like one."""

import functools
import json
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled, tables_beside
from viva.scorers.choice import read_choice
from viva.scorers.reading import EMPTY, KEPT_HEAD, KEPT_TAIL, REFUSED, UNPARSED
from viva.scorers.truth import read_truth

TABLES = tables_beside(__file__)
REPLIES: dict[str, tuple[str, ...]] = TABLES["replies"]

WITH_OPTIONS: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = dict(TABLES["with_options"])

STATEMENTS = (
    "Answer: {}", "The answer is {}.", "The correct option is {}", "({})", "{}.", "{}) because of that", "I choose {}.", "\\boxed{{{}}}",
    "答案：{}", "答案是{}。", "故选{}", "{}选项正确", "选项{}是正确的", "正确答案为{}。",
    "Antwort: {}", "Die richtige Antwort ist {}.", "Ich wähle {}.", "Option {} ist korrekt.",
    "Réponse : {}", "La bonne réponse est {}.", "Je choisis l'option {}.", "C'est {}.",
)  # fmt: skip
FULL_WIDTH = str.maketrans(
    {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F) if chr(code) not in "\\{}*_<>`$"}
)


@each_row(*((reply, read) for read, all_ in REPLIES.items() for reply in all_))
def test_the_letter_that_a_reply_commits_to(reply, read):
    assert read_choice(reply).read == read


@each_row(*((options, *each) for options, all_ in WITH_OPTIONS.items() for each in all_))
def test_options_repeated_in_full_count_as_their_letter(options, reply, read):
    assert read_choice(reply, options=options).read == read


@given(
    st.sampled_from(STATEMENTS), st.sampled_from("ABCD"),
    st.text(alphabet=" \t\n\u3000", max_size=5), st.text(alphabet=" \t\n\u200b", max_size=5), st.sampled_from(["", "**", "__", "***"]),
)  # fmt: skip
def test_white_space_and_emphasis_do_not_matter(statement: str, letter: str, before: str, after: str, mark: str):
    assert read_choice(before + statement.format(letter) + after).read == letter
    assert read_choice(before + statement.format(mark + letter + mark) + after).read == letter


@each_row(*(each for each in STATEMENTS if "\\" not in each))
def test_width_does_not_matter(statement):
    assert read_choice(statement.format("C").translate(FULL_WIDTH)).read == "C"


def test_the_span_is_the_evidence_in_the_original_reply():
    reply = "<think>A or B?</think>\n推理……因此，**正确答案是（Ｂ）**。"
    start, end = read_choice(reply).span or (0, 0)
    assert "Ｂ" in reply[start:end]
    assert "答案" in reply[start:end]


def test_letters_outside_the_question_are_not_read():
    assert read_choice("Answer: E").read == "unparsed"
    assert read_choice("Answer: E", letters="ABCDE").read == "E"
    assert read_choice("D", letters="ABC").read == "unparsed"


def test_a_text_that_two_options_share_decides_nothing():
    assert read_choice("one", options=("one", "one ", "two", "three")).read == "unparsed"
    assert read_choice("ONE", options=("one", "One", "two", "three")).read == "unparsed"
    assert read_choice("bb", options=("BB", "Bb", "bb", "bB")).read == "C"
    own_texts = ("红字更正法", "*p", "Ack und Nak")  # a correction, a part of another's text, two things
    assert [read_choice(f"B. {own}", options=("p", own, "&p", "Ack")).read for own in own_texts] == ["B"] * 3


def test_of_a_very_long_reply_head_and_tail_are_read():
    filler = "the stack holds things and " * (KEPT_HEAD + KEPT_TAIL)
    assert read_choice(filler + "\nThe answer is C.").read == "C"
    assert read_choice("Answer: B\n" + filler).read == "B"
    reading = read_choice(filler + "\nThe answer is C.")
    start, end = reading.span or (0, 0)
    assert (filler + "\nThe answer is C.")[start:end] == "answer is C"


TRUTHS = tomllib.loads(Path(__file__).with_name("truth.toml").read_text(encoding="utf-8"))


@each_row(*((reply, read) for read, all_ in TRUTHS.items() for reply in all_))
def test_the_truth_value_that_a_reply_commits_to(reply, read):
    assert read_truth(reply).read == read


# Replies labelled independently of the readers: the rate of agreement, and no wrong guesses


GOLDEN = Path(__file__).parent.parent / "golden" / "replies.jsonl"
Pair = tuple[dict[str, str], str]


def read(row: dict[str, str]) -> str:
    if row["kind"] == "truth":
        return read_truth(row["reply"]).read  # type: ignore[arg-type]
    options = row.get("options") or ()
    letters = "ABCDEFGHIJ"[: len(options)] if options else "ABCD"
    return read_choice(row["reply"], letters=letters, options=options).read


@functools.cache
def pairs() -> list[Pair]:
    """Every labelled reply and how it is read."""
    rows = (json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines() if line.strip())
    return [(row, read(row)) for row in rows]


def differing(rows: list[Pair]) -> str:
    return "\n".join(f"{row['id']}: {row['label']} read as {got}" for row, got in rows if row["label"] != got)


def test_readings_agree_with_the_labels_in_every_language_and_none_is_of_another_answer() -> None:
    for (language, least), case in tabled(("", 0.99), *((language, 0.97) for language in ("en", "zh", "de", "fr"))):
        rows = [pair for pair in pairs() if language in ("", pair[0]["language"])]
        with case:
            assert sum(row["label"] == got for row, got in rows) / len(rows) >= least, differing(rows)
    wrong = [pair for pair in pairs() if pair[1] not in {UNPARSED, EMPTY, REFUSED, pair[0]["label"]}]
    assert not wrong, differing(wrong)
