"""`viva grade` and `viva extract`: files of other tools, with any defects."""

import json
from collections import Counter

from cli.collected import answers, dangerous, gold, questions, read_csv, write_jsonl, wrong
from cli.told import all_refused
from servers.fixtures import QUIET, Viva
from web.hostile import assert_no_formula

SCORES = ("--out", "scores.csv")
COLUMNS = ["question", "sample", "score", "outcome", "read", "cluster", "points", "model"]


def test_partial_answers_are_graded_and_the_missing_are_no_zeros(viva: Viva) -> None:
    given = answers("csbench", "en")[::2]
    write_jsonl(viva.folder / "answers.jsonl", given)
    ended = viva("grade", "csbench", "answers.jsonl", *SCORES, "--format", "json", "--run", "run", *QUIET).exits(3)
    rows = {row["question"]: row for row in read_csv(viva.folder / "scores.csv")}
    assert len(rows) == 76, "a row for every question"
    assert list(rows["1"]) == COLUMNS
    assert {(row["sample"], row["model"].rpartition("/")[2]) for row in rows.values()} == {("0", "answers.jsonl")}
    asked = {question.id: question for question in questions("csbench", "en")}
    named = {row["question"] for row in given}
    for identity, row in rows.items():
        if identity not in named:
            assert (row["score"], row["points"], row["outcome"]) == ("", "", "error")
        elif asked[identity].kind in ("blank", "open"):
            assert (row["score"], row["points"], row["outcome"]) == ("", "", "ungraded")
        else:
            assert (row["score"], row["points"], row["outcome"]) == ("1", "1", "right")
            assert row["read"] == asked[identity].answer
    assert ended.overall["outcomes"]["error"] == 38
    assert ended.overall["mean"] == 1.0
    assert ended.overall["floor"] < 0.5
    assert "38" in ended.err
    evil = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://127.0.0.1")']
    write_jsonl(viva.folder / "=1.jsonl", answers("csbench", "en", lambda one: evil[int(one.id) % len(evil)]))
    viva("grade", "csbench", "=1.jsonl", *SCORES, *QUIET)
    for row in read_csv(viva.folder / "scores.csv"):
        assert None not in row.values()
        assert_no_formula([*row.values()])


def test_the_ids_tell_the_language_of_cs_bench(viva: Viva) -> None:
    write_jsonl(viva.folder / "answers.jsonl", answers("csbench", "zh"))
    part = ("--only", "comprehension", "--limit", 10)
    ended = viva("grade", "csbench", "answers.jsonl", *part, "--format", "json", *QUIET)
    (result,) = ended.report["results"]
    assert (result["language"], result["overall"]["mean"], result["overall"]["n"]) == ("zh", 1.0, 10)
    write_jsonl(viva.folder / "both.jsonl", answers("csbench", "zh") + answers("csbench", "en", wrong))
    both = viva("grade", "csbench", "both.jsonl", "--format", "json", *QUIET)
    means = {result["language"]: result["overall"]["mean"] for result in both.report["results"]}
    assert means == {"en": 0.0, "zh": 1.0}


def test_a_sample_that_no_question_has_counts_as_missing(viva: Viva) -> None:
    rows = [row | {"sample": sample} for sample in (0, 2) for row in answers("cmmlu", "zh", wrong if sample else gold)]
    write_jsonl(viva.folder / "answers.jsonl", rows)
    viva("grade", "cmmlu", "answers.jsonl", *SCORES).exits(
        3, "no question has an answer with sample 1: counted as missing"
    )
    found = read_csv(viva.folder / "scores.csv")
    assert Counter((row["sample"], row["outcome"]) for row in found) == {
        ("0", "right"): 96, ("1", "error"): 96, ("2", "wrong"): 96,
    }  # fmt: skip


# Files that cannot be graded

GOOD = '{"question": "1", "text": "A"}\n'
BROKEN: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "true.jsonl": (b'{"question": "1", "sample": true, "text": "A"}\n', (", row 1", "True")),
    "hole.jsonl": (b'{"question": "1", "sample": 50, "text": "A"}\n', ("", "sample 0")),
    "from-one.jsonl": (
        b"".join(b'{"question": "%d", "sample": %d, "text": "A"}\n' % (q, s) for q in (1, 2) for s in (1, 2)),
        ("", "sample 0"),
    ),
    "strangers.jsonl": (
        (GOOD + '{"question": "4711", "text": "A"}\n{"question": "4712", "text": "B"}\n').encode(),
        ("", "'4711'", "1 more", "look like"),
    ),
}
"""A file → what is in it, and what is said of it: what follows its name, and more. More: models/test_replay.py."""
FILES = {name: content for name, (content, _) in BROKEN.items()} | {
    "cmmlu.jsonl": b'{"question": "agronomy/0", "text": "A"}\n',
    "good.jsonl": GOOD.encode(),
    "\udcff.jsonl": GOOD.encode(),
    "words.jsonl": b'{"kind": "choice", "reply": "A"}\nThe answer is A\n',
    "kind.jsonl": b'{"kind": "essay", "reply": "A"}\n',
    "replyless.jsonl": b'{"kind": "choice"}\n',
    "latin.jsonl": '{"kind": "choice", "reply": "où"}\n'.encode("latin-1"),
    "options.jsonl": b'{"kind": "choice", "reply": "A", "options": "abc"}\n',
    "empty.jsonl": b"\n",
}
EXTRACTED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("empty.jsonl",): ("empty.jsonl", "no rows"),
    ("words.jsonl",): ("words.jsonl, line 2",),
    ("kind.jsonl",): ("kind.jsonl, line 1", "essay"),
    ("replyless.jsonl",): ("replyless.jsonl, line 1", "reply"),
    ("latin.jsonl",): ("latin.jsonl, line 1",),
    ("options.jsonl",): ("options.jsonl, line 1", "options"),
    ("nowhere.jsonl",): ("no file nowhere.jsonl",),
    (".",): ("irectory",),
    (): ("FILE",),
}
SAID: dict[tuple[str, ...], tuple[str, ...]] = {
    **{("csbench", name): (name + said[0], *said[1:]) for name, (_, said) in BROKEN.items()},
    ("csbench", "cmmlu.jsonl"): ("'agronomy/0'", "look like"),
    ("cmmlu", "good.jsonl"): ("'1'", "look like", "/"),
    ("csbench", "nowhere.jsonl"): ("nowhere.jsonl",),
    ("csbench", "\udcff.jsonl"): ("not UTF-8",),
    ("csbench", "good.jsonl", "--out", "good.jsonl"): ("written over what it is made from",),
    ("csbench", "."): ("folder", "holds no answers"),
    ("csbench",): ("ANSWERS",),
    ("mmmlu", "good.jsonl"): ("'mmmlu'", "did you mean mmlu?", "viva list"),
    ("csbench", "good.jsonl", "--nonsense"): ("--nonsense",),
    ("csbench", "good.jsonl", "--language", "es"): ("'es'",),
    ("csbench", "good.jsonl", "--language", "zh"): ("'1'", "look like"),
    ("csbench", "good.jsonl", "--data", "nowhere"): ("nowhere",),
    ("csbench", "good.jsonl", "--judge", "nobody"): ("'nobody'",),
}


def test_what_cannot_be_graded_is_named_with_the_place_and_leaves_nothing(viva: Viva) -> None:
    said = {("grade", *given, "--progress", "quiet"): words for given, words in SAID.items()}
    said |= {("extract", *given): words for given, words in EXTRACTED.items()}
    all_refused(viva, said, FILES)


# Extraction alone


def extracted(viva: Viva, rows: list[dict[str, object]], *arguments: str) -> list[dict[str, object]]:
    write_jsonl(viva.folder / "replies.jsonl", rows)
    ended = viva("extract", "replies.jsonl", *arguments).exits()
    out = (viva.folder / arguments[1]).read_text(encoding="utf-8") if arguments else ended.out
    assert not dangerous(ended.out)
    return [json.loads(line) for line in out.splitlines()]


def test_extraction_reads_letters_and_truth_values_and_passes_the_rest_through(viva: Viva) -> None:
    rows: list[dict[str, object]] = [
        {"kind": "choice", "reply": "The answer is (B).", "mine": [1, {"a": None}]},
        {"kind": "truth", "reply": "Das ist falsch.", "language": "de"},
        {"kind": "choice", "reply": "选 C", "language": "zh"},
        {"kind": "choice", "reply": "I like the blue one best: a whale", "options": ["a whale", "a shark"]},
        {"kind": "choice", "reply": "Who knows?"},
        {"kind": "choice", "reply": ""},
        {"kind": "choice", "reply": "Answer: E", "letters": "ABCDE"},
    ]
    found = extracted(viva, rows)
    assert [row["read"] for row in found][:3] == ["B", "false", "C"]
    assert [row["read"] for row in found][4:] == ["unparsed", "empty", "E"]
    for row, given in zip(found, rows, strict=True):
        assert given.items() <= row.items()
        assert set(row) == set(given) | {"read", "span", "evidence", "rule"}
        if row["span"]:
            start, end = row["span"]  # type: ignore[misc]
            assert row["evidence"] == str(given["reply"])[start:end]
    assert extracted(viva, rows, "--out", "read.jsonl") == found
