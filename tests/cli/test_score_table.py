"""`viva score TABLE`: the leaderboard from item scores, and unusable tables."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.collected import csv_rows, dangerous, refused
from cli.told import all_refused
from servers.fixtures import Ended, Viva

HEADER = "model,case,sample,score\n"


def item_scores(*rows: tuple[object, ...], header: str = HEADER) -> bytes:
    return (header + "".join(",".join(map(str, row)) + "\n" for row in rows)).encode()


def suite(model: str, scores: dict[str, list[object]]) -> list[tuple[object, ...]]:
    return [
        (model, question, sample, "" if score is None else score)
        for question, given in scores.items()
        for sample, score in enumerate(given)
    ]


def reduced(viva: Viva, content: bytes, *arguments: object, name: str = "t.csv") -> Ended:
    (viva.folder / name).write_bytes(content)
    ended = viva("score", name, "--benchmark", "infibench", *arguments, "--all").exits()
    assert not dangerous(ended.out)
    return ended


def standings(ended: Ended) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in json.loads(ended.out)["tables"][0]["rows"]}


def parts_of(ended: Ended) -> list[dict[str, Any]]:
    _, *parts = json.loads(ended.out)["tables"]
    return [row | {"model": table["title"].split(" · ")[1]} for table in parts for row in table["rows"]]


def percents(row: dict[str, Any]) -> tuple[str, str]:
    """The grouped best and its sd, as a table prints them."""
    return f"{100 * row['best']['mean']:.2f}", f"{100 * row['best']['sd']:.2f}"


# The published figures


def test_the_authors_item_scores_give_their_leaderboard(viva: Viva, published: Path) -> None:
    scores = published / "infibench" / "item_scores.csv.gz"
    ended = viva("score", scores, "--benchmark", "infibench", "--all").exits()
    for model, score, beside in (
        ("gpt-4-0613", "70.50 ± 0.66", "70.64 ± 0.82"),
        ("gpt-3.5-turbo", "56.19 ± 1.58", ""),
        ("codestral-22b", "62.55 ± 0.56", "62.98 ± 0.56"),
    ):
        (line,) = (line for line in ended.out.splitlines() if line.startswith(f"│ {model} "))
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        assert cells[1:3] == ["234", "30"]
        assert cells[4] == score, "the interval is on the next line"
        assert cells[-2] == beside
    assert "--published 'gpt-3.5-turbo=GPT-3.5-turbo-0613'" in ended.out
    options = ("--published", "gpt-3.5-turbo=GPT-3.5-turbo-0613", "--format", "json")
    chosen = viva("score", scores, "--benchmark", "infibench", *options)
    assert standings(chosen)["gpt-3.5-turbo"]["published"] == pytest.approx(0.5647)
    shown = viva("score", scores, "--benchmark", "infibench", "--k", "1", "--k", "10").out
    assert "70.64 ± 0.82" in shown, "however many k there are"
    assert "published best@10" not in next(line for line in shown.splitlines() if line.startswith("not shown"))


def test_the_levels_that_were_graded_alike_are_as_published(viva: Viva, published: Path) -> None:
    """The item scores are another grading than the leaderboard's: Python unit tests of levels 1, 2 and 5 differ."""
    data = published / "infibench"
    ended = viva(
        *("score", data / "item_scores.csv.gz", "--benchmark", "infibench", "--format", "json"),
        *("--levels", data / "difficulty_levels.yaml", "--by", "level"),
    ).exits()
    found = {(part["model"], part["value"]): part for part in parts_of(ended)}
    assert [found["gpt-4-0613", level]["questions"] for level in "12345"] == [93, 55, 44, 18, 24]
    for model, level in [("gpt-4-0613", "3"), ("gpt-4-0613", "4"), *(("codestral-22b", level) for level in "1345")]:
        part = found[model, level]
        assert part["best"]["mean"] == pytest.approx(part["published"], abs=6e-5), (model, level)
    assert found["gpt-4-0613", "5"]["best"]["mean"] == pytest.approx(1 / 24)
    assert found["gpt-4-0613", "5"]["published"] == 0.0


# By hand

A = {"q1": [1, 0, 0.5, 0.5], "q2": [0, 0, 0.6, 0.2]}
B = {"q1": [0, 0, 0, 0], "q2": [1, 1, 1, 1]}


def test_a_small_table_has_each_measure_that_was_asked_for(viva: Viva) -> None:
    """That the figures are those by hand: analysis/test_best.py."""
    content = item_scores(*suite("A", A), *suite("B", B))
    found = standings(reduced(viva, content, "--group", 2, "--k", 1, "--k", 4, "--format", "json"))
    assert [percents(row) for row in found.values()] == [("52.50", "3.54"), ("50.00", "0.00")]
    means = [found["A"][name]["mean"] for name in ("mean", "best@1", "best@4", "pass@4", "pass^4")]
    assert means == pytest.approx([0.35, 0.35, 0.8, 0.5, 0.0])
    assert found["B"]["pass^4"]["mean"] == 0.5
    assert (found["A"]["questions"], found["A"]["answers"]) == (2, 8)
    named = item_scores(*suite("gpt-4-0613", A))
    rows = csv_rows(reduced(viva, named, "--group", 2, "--format", "csv").out)
    assert [row["measure"] for row in rows] == ["mean", "best_grouped", "best", "pass", "pass", "pass^"]
    assert (rows[1]["k"], rows[1]["published_as"]) == ("2", "GPT-4-0613")
    numbers = [float(rows[1][name]) for name in ("estimate", "published", "published_sd")]
    assert numbers == pytest.approx([0.525, 0.7064, 0.0082])
    below = item_scores(*suite("A", {"q1": [-1, -0.5], "q2": [0, -0.25]}))
    row = standings(reduced(viva, below, "--group", 2, "--format", "json"))["A"]
    assert (row["best"]["mean"], row["mean"]["mean"], row["pass@1"]["mean"]) == (-0.25, -0.4375, 0.0)
    rows = [("A", "q", 0, "", "unparsed"), ("A", "q", 1, 1, "right"), ("A", "q", 2, "", "error")]
    outage = item_scores(*rows, header="model,question,sample,score,outcome\n")
    row = standings(reduced(viva, outage, "--format", "json"))["A"]
    assert (row["mean"]["mean"], row["mean"]["outcomes"]["ungraded"]) == (0.5, 1), "an outage is no zero"


def test_every_kind_of_file_is_the_same_table(viva: Viva) -> None:
    rows = suite("A", A)
    plain = item_scores(*rows)
    names = ("model", "question", "sample", "value")
    lines = [json.dumps(dict(zip(names, row, strict=True)) | {"tags": {"area": "x"}}) for row in rows]
    files = {
        "a.csv": plain,
        "b.csv.gz": gzip.compress(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")),
        "c.jsonl": "\n".join(lines).encode(),
        "d.jsonl.gz": gzip.compress(("\n\n".join(reversed(lines)) + "\n").encode()),
        "e.csv": item_scores(*(row[1:] for row in rows), header="case,sample,score\n"),
        "f.csv": item_scores(*((row[0], row[1], row[2] % 2, row[2] // 2, row[3]) for row in reversed(rows)),  # type: ignore[operator]
                       header="model,case,sample,repeat,score\n"),
    }  # fmt: skip
    found = []
    for name, content in files.items():
        ((model, row),) = standings(reduced(viva, content, "--group", 2, "--format", "json", name=name)).items()
        assert model == ("e.csv" if name == "e.csv" else "A")
        found.append((percents(row), {name: cell for name, cell in row.items() if isinstance(cell, dict)}))
    assert all(each == found[0] for each in found)


def test_tables_break_down_by_any_column_and_by_levels(viva: Viva) -> None:
    content = item_scores(
        *((*row, "back-end" if row[1] == "q1" else "", 1) for row in suite("A", A)),
        header="model,case,sample,score,area,n\n",
    )
    (viva.folder / "levels.yaml").write_text("level-1:\n  - cases/eval_q1.yaml\nlevel-2:\n", encoding="utf-8")
    arguments = ("--group", 2, "--by", "area", "--by", "level", "--levels", "levels.yaml")
    printed = reduced(viva, content, *arguments).out
    assert re.search(r"^│ back-end +│ +1 │ +4 │.* 75.00 ± 35.36( \[|  )", printed, re.MULTILINE)
    assert re.search(r"^│ \(none\) +│ +1 │", printed, re.MULTILINE)
    parts = parts_of(reduced(viva, content, *arguments, "--format", "json"))
    assert [(part["tag"], part["value"]) for part in parts] == [
        *(("area", ""), ("area", "back-end"), ("level", ""), ("level", "1"))
    ]
    assert [part["best"]["mean"] for part in parts] == pytest.approx([0.3, 0.75, 0.3, 0.75])


def test_what_is_unscored_is_left_out_counted_and_bounded(viva: Viva) -> None:
    """The first of q1's four answers is unscored: best of all 0.5, or 1; its mean of three is 1/3."""
    rows = suite("A", {"q1": [None, 0, 0.5, 0.5], "q2": [0, 0, 0.6, 0.2], "q3": [None, None, None, None]})
    content = item_scores(*rows)
    ended = reduced(viva, content, "--group", 4, "--format", "json")
    best = standings(ended)["A"]["best"]
    more = 0.6 - (0.6 + 0.6 + 0.6 + 0.2) / 4  # what a fourth answer adds on q2
    bounds = pytest.approx([(0.5 + more + 0.6) / 2, (0.5 + 0.6) / 3, (1 + 0.6 + 1) / 3])
    assert [best[name] for name in ("mean", "floor", "ceiling")] == bounds
    parts = item_scores(*((*row, row[1]) for row in rows), header="model,case,sample,score,area\n")
    first = parts_of(reduced(viva, parts, "--group", 4, "--by", "area", "--format", "json"))[0]
    assert first["best"]["mean"] == pytest.approx(0.5 + more), "what q2 tells holds for q1's part, too"
    printed = reduced(viva, content, "--group", 4).out
    assert "60.00†" in printed
    assert "± 0.00" not in printed  # there is one group: nothing scatters
    nothing = reduced(viva, item_scores(*suite("A", {"q1": [None, None]})), "--group", 2).out
    assert "none of its 2 answers has a score" in nothing
    assert "5 of 12 answers have no score" in printed
    assert "36.67–86.67" in printed


def test_uneven_tables_say_so(viva: Viva) -> None:
    content = item_scores(*suite("A", {"q1": [1, 0, 0], "q2": [1]}), *suite("B", {"q1": [1, 1, 1]}))
    printed = reduced(viva, content, "--group", 2, "--k", 2, "--k", 9).out
    assert "A: not all questions have the same number of answers: 1 to 3." in printed
    rows = standings(reduced(viva, content, "--group", 2, "--k", 2, "--k", 9, "--format", "json"))
    assert rows["A"]["best@2"]["mean"] == pytest.approx((2 / 3 + 1) / 2), "q2 has full marks already"
    assert rows["A"]["best@9"]["mean"] is None
    assert rows["B"]["mean"]["outcomes"] == {"right": 3, "not asked": 3}, "q2 is of the set"


# Tables that nobody can use

GOOD = item_scores(*suite("A", A))
BROKEN: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty.csv": (b"", ("", "no scores")),
    "empty.jsonl": (b"\n \n", ("", "no scores")),
    "text.csv": (item_scores(("A", "q", 0, 1), ("A", "q", 1, "good")), (", line 3", "'good'")),
    "nan.csv": (item_scores(("A", "q", 0, "nan")), (", line 2", "'nan'")),
    "percent.csv": (item_scores(("A", "q", 0, 80)), (", line 2", "'80'", "above 1")),
    "underscore.csv": (item_scores(("A", "q", 0, "0_1")), (", line 2", "'0_1'")),
    "true.jsonl": (b'{"model": "A", "case": "q", "sample": 0, "score": true}\n', (", line 1", "True")),
    "list.jsonl": (b'{"model": "A", "case": "q", "sample": 0, "score": [1]}\n', (", line 1", "[1]")),
    "twice.csv": (
        item_scores(("A", "q", 0, 1), ("A", "q", 1, 1), ("A", "q", 0, 0)),
        (", line 4", "'A'", "'q'", "sample 0", "line 2"),
    ),
    "sample.csv": (item_scores(("A", "q", "first", 1)), (", line 2", "'first'")),
    "minus.csv": (item_scores(("A", "q", -1, 1)), (", line 2", "'-1'")),
    "half.jsonl": (b'{"model": "A", "case": "q", "sample": 0.5, "score": 1}\n', (", line 1", "0.5")),
    "nameless.csv": (item_scores(("", "q", 0, 1)), (", line 2", "model")),
    "mixed.jsonl": (
        b'{"case": "q", "sample": 0, "score": 1}\n{"model": "A", "case": "q", "sample": 1, "score": 1}\n',
        (", line 2", "'A'"),
    ),
    "modelless.jsonl": (
        b'{"model": "A", "case": "q", "sample": 1, "score": 1}\n{"case": "r", "sample": 0, "score": 1}',
        (", line 2", "'model'"),
    ),
    "scoreless.csv": (
        item_scores(("A", "q", 0, 1), header="model,case,sample,points\n"),
        (", line 2", "'score'", "'points'"),
    ),
    "caseless.csv": (
        item_scores(("A", "q", 0, 1), header="model,task,sample,score\n"),
        (", line 2", "no column 'case' or 'question' or 'question_id' or 'id'; it has: ", "'task'"),
    ),
    "sampleless.csv": (
        item_scores(("A", "q", 0, 1), header="model,case,seed,score\n"),
        (", line 2", "'sample'", "'seed'"),
    ),
    "exams.csv": (
        item_scores(("A", "q", 0, 1, 1, 7), ("A", "r", 0, 1, 1, 8), header="model,id,sample,score,benchmark,exam\n"),
        (", line 3", "'8'", "'7'"),
    ),
    "semicolon.csv": (GOOD.replace(b",", b";"), ("", "separated by ';'")),
}
"""A file → what is in it, and what is said of it: what follows its name, and more. What no table may be:
tests/test_tables.py."""
FILES = {name: content for name, (content, _) in BROKEN.items()} | {
    "good.csv": GOOD,
    "tags.csv": item_scores(("A", "q", 0, 1, "x"), ("A", "q", 1, 1, "y"), header="model,case,sample,score,area\n"),
    "bad.yaml": b"levels: none\n",
}
SAID: dict[tuple[str, ...], tuple[str, ...]] = {
    **{(name,): (name + said[0], *said[1:]) for name, (_, said) in BROKEN.items()},
    ("nowhere.csv",): ("--benchmark", "table of item scores"),
    (".",): ("--benchmark", "table of item scores"),
    ("tags.csv", "--by", "area"): ("tags.csv, line 3", "'x'", "'y'"),
    ("good.csv", "--by", "area"): ("good.csv, line 2", "'area'", "'sample'"),
    ("good.csv", "--by", "level"): ("good.csv, line 2", "'level'"),
    ("good.csv", "--levels", "nowhere.yaml"): ("nowhere.yaml",),
    ("good.csv", "--levels", "bad.yaml"): ("bad.yaml, line 1",),
    ("good.csv", "--k", "0"): ("0",),
    ("good.csv", "--group", "0"): ("0",),
    ("good.csv", "--published", "A"): ("'A'", "MODEL=ROW"),
    ("good.csv", "--published", "C=GPT-4-0613"): ("'C=GPT-4-0613'", "'A'"),
    ("good.csv", "--published", "A=GPT-4"): ("'GPT-4'", "'GPT-4-0613'"),
    ("good.csv", "--out", "nowhere/x.csv"): ("nowhere/x.csv",),
    ("good.csv", "--nonsense"): ("--nonsense",),
    (): ("RUN|TABLE",),
}


def test_what_cannot_be_reduced_is_named_with_the_line_and_the_value(viva: Viva) -> None:
    all_refused(viva, {("score", *given, "--benchmark", "infibench"): words for given, words in SAID.items()}, FILES)


def test_without_a_benchmark_nothing_published_stands_beside(viva: Viva) -> None:
    (viva.folder / "t.csv").write_bytes(item_scores(*suite("gpt-4-0613", A)))
    ended = viva("score", "t.csv")
    assert (ended.code, "published" in ended.out) == (0, False), ended.err
    assert not re.search(r"†|not all", ended.out), "nothing is missing"
    assert ended.out.startswith("Leaderboard · item scores · t.csv")
    refused(viva("score", "t.csv", "--published", "gpt-4-0613=GPT-4-0613"), "--benchmark NAME")
    refused(viva("score", "t.csv", "--benchmark", "mmlu"), "'mmlu'", "infibench")


def test_a_published_figure_needs_nearly_all_questions(viva: Viva) -> None:
    full: dict[str, list[object]] = {f"q{number}": [1] for number in range(40)}
    for lost, shown in ((0, True), (2, True), (3, False)):
        scores = full | {f"q{number}": [None] for number in range(lost)}
        printed = reduced(viva, item_scores(*suite("gpt-4-0613", scores)), "--group", 1).out
        assert ("70.64" in printed) == shown
        assert ("too many questions have no score" in printed) != shown
        assert "The published rows are about 234 questions, this table about 40" in printed
