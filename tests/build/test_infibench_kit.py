"""From a pool to kits: experts' files, their checks, approval, and places in the set."""

from __future__ import annotations

import re
import tracemalloc
import unicodedata
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from build.clrbench_project import reviewed
from build.infibench_pool import FLATTEN, HIDDEN, SORTED, asked
from rows import each_row, tabled, tables_beside
from viva.benchmarks.custom.positions import Listing, Scalar, read_yaml
from viva.benchmarks.custom.questionloading import read_content, read_questions
from viva.benchmarks.infibench.infibench import SAMPLE
from viva.build.stackexchange.coverage import (
    Exposure,
    State,
    Status,
    exposed,
    holders,
    places,
    read_cutoffs,
    read_day,
    standing,
)
from viva.build.stackexchange.export import emit, licence_of, misread, question_node
from viva.build.stackexchange.kit import accepted_text, block, digest, names, original, template
from viva.build.stackexchange.kitchecks import at, check_kit
from viva.build.stackexchange.pilots import REPLIES, findings, tried
from viva.build.stackexchange.plaintext import one_title, plain, shared_text
from viva.engine.reviews import Review
from viva.errors import DataError
from within import within

TABLES = tables_beside(__file__)

HERE = Path("question.yaml")


TAGS = [
    ("<p>1 < 2 <b>and</b> 3 > 2</p>", "1 < 2 and 3 > 2"),
    ("<p>a<!-- <p>no</p> -->b</p>", "ab"),
    ("<p>a<!-- b</p>", "a<!-- b"),
    ("<p><a href=\"https://x.org/?a=1&amp;b\" rel='n' data-x>y</a><br/>z</p>", "y (https://x.org/?a=1&b)\nz"),
]
"""What is a tag and what only looks like one."""


@each_row(*TABLES["posts"], *TAGS)
def test_a_post_becomes_harmless_text(html: str, text: str) -> None:
    assert plain(html) == text


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["<p>", "</p>", "<pre>", "</pre>", "<", "&#0;", "\0", "x\n", "<a href='", "```"])).map(
        "".join
    )
)
def test_any_post_becomes_a_kit_that_can_be_read(body: str) -> None:
    question = asked(7, title=body[:80] or "t", body=body, answers=(body, "b", "c"))
    shown = original(question)
    assert all(char in "\n\t" or unicodedata.category(char)[0] != "C" for char in shown)
    read = read_content(template(question, body[:50]).encode("utf-8", "replace"), HERE)
    assert all(re.search(r"grading|question|earn", problem.where + problem.text) for problem in read.errors), (
        read.errors
    )


@given(st.text(max_size=200))
def test_a_block_reads_as_its_text(text: str) -> None:
    node = at(read_yaml(f"questions:\n  - answer: {block(text, 6)}\n"), "questions", 0, "answer")
    assert isinstance(node, Scalar)
    kept = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    lines = [line if line.strip() else "" for line in kept.rstrip("\n").split("\n")]
    wanted = "\n".join(lines) if any(lines) else ""
    assert node.value.rstrip("\n") == wanted.rstrip("\n")


def test_the_accepted_answer_is_fenced_as_models_answer() -> None:
    question = asked(1, answers=("<p>So:</p><pre><code>a\n\n  b</code></pre><p>Done.</p>",))
    assert accepted_text(question) == "So:\n\n```\na\n\n  b\n```\n\nDone."
    assert one_title("a &lt; b\n\x1b") == "a < b <U+001B>"


COPIED = [
    ("How to sort a dict by its values?", "<>How to sort a dict by its values?", 1.0, 8),
    ("Order a mapping after what it maps to.", "How to sort a dict by its values?", 0.0, 1),
    ("", "anything", 0.0, 0),
    ("sort it", "please sort it", 1.0, 2),
    ("```\nhow to sort a dict\n```\nWhich?", "how to sort a dict", 0.0, 0),
    ("HOW TO SORT, a dict: now then you", "how to sort a dict", 2 / 5, 5),
]


@each_row(*COPIED)
def test_how_much_of_a_prompt_is_copied(prompt: str, source: str, share: float, longest: int) -> None:
    found = shared_text(prompt, source)
    assert found.share == pytest.approx(share)
    assert found.longest == longest


def said(text: str, number: int = 101, **changed: object) -> list[str]:
    """What is wrong with a question.yaml, as LINE: SEVERITY: TEXT."""
    found = check_kit(asked(number, **changed), text.encode("utf-8", "surrogateescape"), HERE)
    return [f"{one.line}: {one.severity}: {one.text}" for one in found.problems]


def test_a_good_kit_has_no_problem() -> None:
    assert said(FLATTEN) == []
    found = check_kit(asked(101), FLATTEN.encode(), HERE)
    assert found.question is not None


@each_row(*TABLES["wrong"])
def test_what_is_wrong_with_a_kit_is_told_with_its_line(old: str, new: str, wrong: str) -> None:
    assert old in FLATTEN
    assert any(re.search(wrong, one) for one in said(FLATTEN.replace(old, new, 1))), said(FLATTEN.replace(old, new, 1))


@each_row("", " \n", "\udcff", "a: \0b", "[" * 5000, "x" * 1_000_001, "&a [*a]", "- 1", "null")
def test_hostile_kits_are_told_and_nothing_more(text: str) -> None:
    assert any("error" in one for one in said(text))


def test_a_pattern_that_hangs_keeps_a_question_out() -> None:
    slow = HIDDEN.replace(r"'ls\s+(-A|--almost-all)'", r"'(\w|\w\w)*(\w|\w\w)*!ls'")
    assert any("error" in one and "forever" in one for one in said(slow, 104, language="bash")), said(slow, 104)


# --- decisions ---


def event(who: str, decision: str, seen: str = "A", made: str | None = None, **more: Any) -> Review:
    texts = {"text_before": seen, "text_after": seen if made is None else made}
    return reviewed(digest("q", seen), who, decision, **texts, **more)


EDIT = event("Bob", "approve", "A", "B")


DECISIONS = [
    ("A", ["Ada"], [], "waiting"),
    ("A", ["Ada"], [event("Bob", "approve")], "approved"),
    ("A", ["Ada"], [event("Ada", "approve")], "waiting"),
    ("A", ["Ada & Bob"], [event("bob ", "approve")], "waiting"),
    ("A", ["Ada"], [event("Bob", "reject")], "rejected"),
    ("A", ["Ada"], [event("Ada", "reject")], "rejected"),
    ("A", ["Ada"], [event("Bob", "reject"), event("Bob", "approve")], "approved"),
    ("A", ["Ada"], [event("Bob", "reject"), event("Cy", "approve")], "disputed"),
    ("A", ["Ada"], [event("Bob", "approve"), event("Bob", "none")], "waiting"),
    ("B", ["Ada"], [event("Bob", "approve")], "waiting"),  # the file was changed in an editor
    ("B", ["Ada"], [EDIT], "waiting"),  # who edited it is an author now
    ("B", ["Ada"], [EDIT, event("Cy", "approve", "B")], "approved"),
    ("B", ["Ada"], [event("Cy", "approve"), EDIT], "waiting"),  # an approval was of the text before
    ("A", ["Ada"], [EDIT, event("Bob", "none", "B", "A", undoes="x")], "waiting"),
    ("A", ["Ada"], [EDIT, event("Bob", "none", "B", "A", undoes="x"), event("Bob", "approve")], "approved"),
    ("C", ["Ada"], [EDIT, event("Cy", "approve", "B", "C"), event("Bob", "approve", "C")], "waiting"),
    ("A ", ["Ada"], [event("Bob", "approve", "A\r\n")], "approved"),
]


@each_row(*DECISIONS)
def test_an_approval_is_of_one_text_and_by_somebody_else(
    text: str, authors: list[str], events: list[Review], status: str
) -> None:
    assert standing("q", text, authors, events).status == status


def test_remarks_on_earlier_texts_stay_in_sight() -> None:
    found = standing("q", "B", [], [event("Bob", "reject", comment="no"), EDIT])
    assert found.earlier == ("Bob: no",)
    assert found.edited_by == ("Bob",)
    assert names(["Ada and  Alan"]) == {"ada", "alan"}


# --- places ---


def test_a_rejected_question_gives_its_place_to_the_reserve_and_gets_it_back() -> None:
    pool = [asked(1, rank=1), asked(2, rank=2), asked(3, rank=3, reserve=True), asked(4, rank=4, reserve=True)]

    def held(*status: Status) -> list[int]:
        states = [State(about=one, status=how) for one, how in zip(pool, status, strict=True)]
        return list(holders(places(states, {"python": 2}, {})))

    assert held("approved", "waiting", "approved", "approved") == [1, 2]
    assert held("approved", "rejected", "waiting", "approved") == [1, 3]
    assert held("rejected", "rejected", "waiting", "approved") == [3, 4]
    assert held("rejected", "approved", "rejected", "rejected") == [2]
    old = State(about=asked(3, rank=3, reserve=True, created="2020-01-01"), status="waiting")
    (cell,) = places([State(about=pool[0], status="approved"), old], {"python": 3}, {}, date(2020, 1, 2))
    assert (cell.missing, len(cell.holders), cell.left) == (2, 1, 0)
    lone = places([], {"go": 2}, {"go": "back-end"})[0]
    assert (lone.area, lone.missing, lone.left) == ("back-end", 2, 0)


# --- dates ---


@pytest.mark.parametrize(("text", "day"), [("2024-02", date(2024, 2, 29)), ("2023-10-01", date(2023, 10, 1))])
def test_a_cut_off_is_a_day_or_the_last_of_a_month(text: str, day: date) -> None:
    assert read_day(text, "x") == day
    assert read_cutoffs(f'"openai/x" = "{text}"'.encode(), "c.toml") == {"openai/x": day}
    pool = [asked(1, created=day.isoformat()), asked(2, created="2030-01-01")]
    assert exposed(pool, {"m": day}) == {"m": Exposure(day.isoformat(), 1, 1)}


@each_row("2024-13", "2024-02-30", "soon", "", "24-01-01", "２０２４-01-01", "2024-01-01T00")
def test_what_is_no_day_is_told(text: str) -> None:
    with pytest.raises(DataError, match="is no day"):
        read_day(text, "--after")


@each_row(b"", b"a = 1", b"a = [", b"\xff", b'a = "x"', b"[a]\nb = 1")
def test_a_table_of_cut_offs_that_is_none_is_told(content: Any) -> None:
    with pytest.raises(DataError, match=r"c\.toml"):
        read_cutoffs(content, "c.toml")


LICENCES = [("2011-04-07", "2.5"), ("2011-04-08", "3.0"), ("2018-05-01", "3.0"),
                                          ("2018-05-02", "4.0"), ("2026-01-01T00:00:00", "4.0")]  # fmt: skip


@each_row(*LICENCES)
def test_the_licence_is_that_of_the_day(day: str, licence: str) -> None:
    assert licence_of(day) == f"CC BY-SA {licence}"


# --- calibration ---


PILOTS = [
    ({"a": [1.0, 0.0]}, None, []),
    ({"a": [0.9], "b": [0.0]}, 0.5, ["nobody"]),
    ({"a": [0.0, 0.0]}, None, ["nobody"]),
    ({"a": [1.0], "b": [1.0]}, None, ["everybody"]),
    ({"a": [None, 1.0], "b": [0.0]}, None, ["unscored"]),
    ({"a": [None]}, None, ["unscored"]),
    ({"a": [1.0], "b": [0.0]}, -0.2, ["against the rest"]),
]


@each_row(*PILOTS)
def test_what_pilot_runs_tell(scores: Any, discrimination: float | None, kinds: list[str]) -> None:
    replies = [("q", model, score, "", "") for model, given in scores.items() for score in given]
    (question,) = tried(pl.DataFrame(replies, REPLIES, orient="row"))
    if discrimination is not None:
        question = replace(question, discrimination=discrimination)
    assert [one.kind for one in findings([question])] == kinds


# --- what is written ---


def test_questions_of_the_sample_are_written_as_they_are_read() -> None:
    for path, row in tabled(*sorted(SAMPLE.glob("*.yaml"))[::3]):
        with row:
            entries = at(read_yaml(path.read_text(encoding="utf-8")), "questions")
            assert isinstance(entries, Listing)
            owns = read_questions(path).questions
            for blocks in (True, False):
                assert not misread(emit("sample", list(entries.items), blocks=blocks), owns, "sample.yaml")
            assert misread(emit("sample", list(entries.items)[:-1]), owns, "sample.yaml")
            assert misread(emit("sample", list(entries.items[::-1])), owns, "sample.yaml")


def test_tags_of_the_set_take_the_place_of_the_kits_own() -> None:
    content = emit("t", [question_node(SORTED, {"a": "yes", "b": "1.0", "c": "x: y"})])
    (own,) = read_content(content, HERE).questions
    assert own.tags == {"a": "yes", "b": "1.0", "c": "x: y"}


UNENDING = ["<!--", "<a ", "<![", "<!", "</", "<a b='", "<?", "<br", "<a x=", "<script></p>"]


@each_row(*UNENDING)
def test_markup_that_never_ends_takes_no_time_and_stays_text(piece: str) -> None:
    with within(1):
        text = plain("<p>before</p>" + piece * (60_000 // len(piece)))
        assert text.startswith("before")


def test_long_texts_are_compared_in_little_time_and_memory() -> None:
    tracemalloc.start()
    found = shared_text("a b " * 3_000, "c " + "a b " * 2_500 + "d")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.longest == 5000
    assert peak < 2_000_000
