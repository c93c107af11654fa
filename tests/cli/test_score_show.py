"""`viva score` and `viva show`: a run's results from its files, for people and programs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.handmade import cmmlu, rows
from cli.collected import answers, dangerous, gold, questions, refused, write_jsonl
from cli.told import all_refused
from rows import table, tables_beside
from servers.fixtures import QUIET, Viva, Warm
from viva.types import Question

EVIL = "\x1b]0;title\x07 \x1b[2J \u202e Answer: A \x9b31m \u200b"


def reply(question: Question) -> str:
    """Right, wrong, unreadable, empty, hostile, by turns."""
    turn = int(question.id) % 5
    other = "B" if question.answer == "A" else "A"
    return [gold(question), f"Answer: {other}", "I cannot tell which.", "", EVIL][turn]


@pytest.fixture(scope="module")
def sat(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Viva:
    """A run of one benchmark with every kind of reply; nobody changes it."""
    viva = Viva(tmp_path_factory.mktemp("sat"), warm)
    rows = [row for row in answers("csbench", "en", reply) if int(row["question"]) % 7]
    write_jsonl(viva.folder / "a.jsonl", rows)
    ended = viva("run", "csbench", "--model", "replay/a.jsonl", "--run", "runs/x", "--format", "json", *QUIET).exits(
        3
    )  # some questions have no answer
    (viva.folder / "report.json").write_text(ended.out, encoding="utf-8")
    return viva


def test_scoring_again_gives_the_same_report_and_the_same_rows(sat: Viva) -> None:
    path = sat.folder / "runs" / "x" / "scores.jsonl"
    before = path.read_bytes()
    path.unlink()
    ended = sat("score", "runs/x", "--format", "json").exits(3)
    assert ended.out == (sat.folder / "report.json").read_text(encoding="utf-8")
    assert path.read_bytes() == before


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex"])
def test_every_form_is_printed_and_drives_nothing(sat: Viva, form: str) -> None:
    ended = sat("score", "runs", "--format", form, "--all").exits(3)
    for part in ("OS: Processes and Threads", "signature: benchmark:csbench", "not judged"):
        assert part in ended.out
    assert not dangerous(ended.out)
    shown = sat("show", "runs/x", "--limit", 100, "--prompt")
    assert all(spelt in shown.out for spelt in ("<U+001B>]0;title<U+0007>", "<U+202E>"))
    assert not dangerous(shown.out + shown.err)
    refused(sat("score", "runs/x", "--out", "runs"), "--out runs")
    refused(sat("score", "runs/x", "--out", "nowhere/tables.csv"), "nowhere")
    (newest := sat.folder / "runs/y").mkdir()
    (newest / "run.json").write_text("{}", encoding="utf-8")
    assert "viva: runs/y: the newest of 2 runs in runs" in sat("score", "runs").err
    shutil.rmtree(newest)


FORMS = {
    "a.csv": r"[\w ]+(,[\w ]+)+\n", "a.JSON": r"\{", "a.md": r"### .+\n\n\|", "a.tex": r"[^,]*\\begin\{tab",
    "a.txt": r".+\n┏",
}  # fmt: skip
PAGES = {name: form for name, form in FORMS.items() if name != "a.txt"} | {"a.html": "<!doctype"}


def test_what_a_file_is_called_says_what_is_in_it(viva: Viva) -> None:
    asked = ("run", "cmmlu", "--model", "baseline/first", "--limit", "20", *QUIET)
    viva(*asked, "--run", "runs/x")
    (viva.folder / "marks.csv").write_text("item,rater,value\n" + "".join(f"{n},a,1\n{n},b,0\n" for n in range(9)))
    (viva.folder / "items.jsonl").write_bytes((viva.folder / "runs/x/scores.jsonl").read_bytes())
    commands: tuple[tuple[str, ...], ...] = (
        ("score", "runs/x"), ("score", "items.jsonl"), ("resume", "runs/x"), ("agreement", "marks.csv"),
        ("report", "runs/x"), ("runs",), ("breakdown", "runs/x", "--by", "home"), ("published", "cmmlu"), asked,
    )  # fmt: skip
    refused(viva("report", "runs/x", "--out", "runs/x/run.json"), "written over what it is made from")
    with table() as row:
        for at, words in enumerate(commands):
            forms = [*(PAGES if words[0] == "report" else FORMS).items()]
            for name, form in forms if not at else [forms[at % 5]]:  # all have them from one place
                with row((*words, name)):
                    assert viva(*words, "--out", name).code == 0
                    text = (viva.folder / name).read_text(encoding="utf-8")
                    assert re.match(form, text), text[:200]
            with row((*words, "--format")):
                form, begins = (("json", r"\{"), ("terminal", FORMS["a.txt"]))[at % 2]
                assert viva(*words, "--out", "b.csv", "--format", form).code == 0
                assert re.match(begins, (viva.folder / "b.csv").read_text(encoding="utf-8"))


NO_RUN: dict[tuple[str, ...], tuple[int, tuple[str, ...]]] = dict(tables_beside(__file__)["no run"])


def test_what_is_no_run_is_refused(viva: Viva) -> None:
    said = {command: words for command, (_, words) in NO_RUN.items()}
    all_refused(viva, said, {"file": b"x"}, lambda command: NO_RUN[command][0])


def test_show_prints_prompt_reply_reading_and_reason_of_one_question(sat: Viva) -> None:
    asked = next(q for q in questions("csbench", "en") if q.kind == "choice" and int(q.id) % 35 == 5)
    ended = sat("show", "runs/x", "--question", asked.id).exits()
    parts = (f"csbench-en {asked.id}", asked.text, f"(A) {asked.options[0]}", gold(asked), f"gold: {asked.answer}")
    for part in (*parts, "why"):
        assert part in ended.out
    assert f"read: {asked.answer} " in ended.out
    assert ": right" in ended.out
    assert "1 of 1 answer shown" in ended.err
    refused(sat("show", "runs/x", "--question", "4711"), "'4711'")


@pytest.mark.parametrize(
    ("option", "outcomes"),
    [
        (("--wrong",), {"wrong"}),
        (("--unparsed",), {"unparsed", "empty", "truncated", "refused"}),
        (("--wrong", "--unparsed"), {"wrong", "unparsed", "empty", "truncated", "refused"}),
        (("--outcome", "error"), {"error"}),
    ],
)
def test_show_chooses_by_outcome_and_counts(sat: Viva, option: tuple[str, ...], outcomes: set[str]) -> None:
    wanted = [row for row in sat.scores("runs/x") if row["outcome"] in outcomes]
    ended = sat("show", "runs/x", *option, "--limit", 3)
    heads = [line for line in ended.out.splitlines() if line.startswith("=== ")]
    assert len(heads) == min(3, len(wanted))
    assert all(head.rpartition(": ")[2] in outcomes for head in heads)
    assert f"{len(heads)} of {len(wanted)} answers shown" in ended.err
    assert "--- prompt" not in ended.out


def test_changed_data_is_noticed(viva: Viva) -> None:
    one = ("天空是什么颜色？", "蓝", "绿", "红", "黄")
    cmmlu(viva.folder / "data", {"arts": rows((*one, "A"))})
    asking = ("run", "cmmlu", "--data", "data", "--model", "baseline/first", "--run", "run", *QUIET)
    assert viva(*asking).code == 0
    cmmlu(viva.folder / "data", {"arts": rows((*one, "B"))})
    refused(viva("score", "run"), "has changed", "data")


def test_which_questions_are_refused_and_how_often(viva: Viva, tmp_path: Path) -> None:
    first, second, third = [question.id for question in questions("cmmlu", "zh")][:3]
    texts = {first: ["I cannot help with that."] * 2, second: ["I cannot help with that.", "x"], third: ["x", "x"]}
    rows = [
        {"question": name, "sample": at, "text": text} for name, said in texts.items() for at, text in enumerate(said)
    ]
    viva("grade", "cmmlu", write_jsonl(tmp_path / "a.jsonl", rows), "--run", "run", "--progress", "quiet")
    ended = viva("show", "run", "--outcome", "refused", "--by-question").exits()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in ended.out.splitlines() if "│" in line]
    assert cells == [[first, "replay/a.jsonl", "2", "2"], [second, "replay/a.jsonl", "1", "2"]]
    assert "2 of" in ended.out
    assert "3 of 3 answers shown" in ended.err


def test_one_exam_and_one_answer_of_each_question(viva: Viva) -> None:
    asked = ("--model", "baseline/random", "--limit", "3", "--samples", "2", "--temperature", "1")
    viva("run", "cmmlu", "csbench", *asked, "--run", "run")
    for given, lines in (((), 12), (("--exam", "cmmlu"), 6), (("--exam", "cs", "--sample", "1"), 3)):
        told = [json.loads(line) for line in viva("show", "run", "--all", "--json", *given).out.splitlines()]
        assert len(told) == lines
    assert {(one["exam"], one["sample"]) for one in told} == {("csbench-en", 1)}
    refused(viva("show", "run", "--exam", "nowhere"), "--exam", "no part of an exam's name", "csbench-en")
