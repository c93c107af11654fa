"""Every command on an exam card, as an outsider would type them."""

import gzip
import json
import re
from pathlib import Path

import pytest

from benchmarks.card_layouts import LAYOUTS
from cli.collected import write_jsonl
from rows import each_row, tabled, tables_beside
from servers.fixtures import QUIET, Viva

TABLES = tables_beside(__file__)

QUESTIONS = [
    {"id": 1, "q": "Which metal is liquid?", "o": ["mercury", "iron", "gold"], "a": "A", "area": "chemistry"},
    {"id": 2, "q": "What is 2 + 2?", "o": ["3", "4", "5"], "a": "B", "area": "math"},
    {"id": 3, "q": "What is 2 * 3?", "o": ["5", "6", "7"], "a": "B", "area": "math"},
    {"id": 4, "q": "What is the symbol of tin?", "o": ["Sn", "Ti", "sn"], "a": "A", "area": "chemistry"},
    {"id": 5, "q": "Which?", "o": ["x", "x"], "a": "A", "area": "math"},
]
CARD = """\
title: Own
data: questions.jsonl
format: choice
id: id
question: q
options: o
answer: a
tags: [area]
exemplars: {data: dev.jsonl, by: area, reasoning: why}
headline: {macro: area}
"""


@pytest.fixture
def folder(viva: Viva) -> Path:
    """A folder with a card, its questions, exemplars, and what two models wrote."""
    write_jsonl(viva.folder / "questions.jsonl", QUESTIONS)
    shots = [{**row, "q": f"Shown: {row['q']}", "why": "Because."} for row in QUESTIONS[:2]]
    write_jsonl(viva.folder / "dev.jsonl", shots)
    (viva.folder / "own.yaml").write_text(CARD, encoding="utf-8")
    for name, letters in (("good", "ABBAA"), ("bad", "ACCBA")):
        rows = [
            {"id": row["id"], "reply": f"So the answer is ({letter})."}
            for row, letter in zip(QUESTIONS, letters, strict=True)
        ]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        (viva.folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(content.encode()))
    return viva.folder


@pytest.mark.slow
@each_row(*TABLES["every_command_works_on_a_card"])
def test_every_command_works_on_a_card(command: tuple[str, ...], said: str, *, viva: Viva, folder: Path) -> None:
    ended = viva(*command)
    assert ended.code == (2 if "--strict" in command else 3 if command[0] == "check" else 0), ended.err
    assert said in ended.out + ended.err


def test_a_card_is_checked_and_strict_refuses(viva: Viva, folder: Path) -> None:
    ended = viva("check", "own.yaml").exits(3)  # a gold is invalid
    assert "1 gold is invalid" in ended.err.splitlines()[-1]
    assert "5 questions (5 choice), 4 sound, 1 invalid gold" in ended.out
    assert "gold is several options: 1 (invalid gold)" in ended.out
    assert "5: A, B read the same" in ended.out
    viva("run", "own.yaml", "--strict", "--model", "baseline/first").exits(
        2, "1 questions of own.yaml cannot be graded: gold is several options 1"
    )


def test_files_of_replies_are_models_named_after_them(viva: Viva, folder: Path) -> None:
    assert viva("grade", "own.yaml", "good.jsonl.gz", "bad.jsonl.gz", "--run", "g", "--scores", "g.csv").code == 0
    scores = (folder / "g.csv").read_text(encoding="utf-8")
    assert scores.count(",1,right,") == 4 + 1
    assert {line.rpartition(",")[2] for line in scores.splitlines()[1:]} == {"good", "bad"}
    whole = gzip.decompress((folder / "good.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (folder / "part1.jsonl").write_bytes(b"".join(whole[:2]))
    (folder / "part2.jsonl").write_bytes(b"".join(whole[2:]))
    parts = ("grade", "own.yaml", "part1.jsonl", "part2.jsonl")
    joined = viva(*parts, "--text-column", "reply", "--run", "p", "--tables").exits()
    assert "right 4" in joined.out
    viva(*parts).exits(2, "are they parts of one model's answers? Name the column with --text-column")


def test_a_table_becomes_an_exam_in_three_commands(viva: Viva, folder: Path) -> None:
    (folder / "mine.csv").write_text(
        "Nr,Frage,Antwort A,Antwort B,Antwort C,Answer\n1,Wie viel ist 2 + 2?,3,4,5,B\n2,Was ist flüssig?,Hg,Fe,Au,A\n",
        encoding="utf-8",
    )
    written = viva("init", "mine.csv").exits()
    assert "mine.yaml: choice, 100% of 2 sampled rows can be graded" in written.out
    assert viva("check", "mine.yaml").code == 0
    assert viva("run", "mine.yaml", "--model", "baseline/first").code == 0
    (table_, card) = re.findall(
        r"^ +viva (?:init|check) (\S+\.(?:csv|yaml))$", viva("init", "--help").out, re.MULTILINE
    )
    (folder / "mine.csv").rename(folder / table_)
    assert viva("init", table_).code == 0
    assert (folder / card).is_file(), "the help names the card that its example writes"
    (folder / table_).rename(folder / "mine.csv")
    viva("init", "mine.csv").exits(2, "name another file with --out")
    (folder / "none.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    assert "none.yaml: a draft; complete it where it says TODO" in viva("init", "none.csv").out
    viva("run", "mmlu", "--data", "mine.csv", "--model", "baseline/first").exits(
        2, "mine.csv has no column 'question'; it has 'Nr', 'Frage'"
    )


def test_bad_rows_do_not_cost_a_table_its_options_or_its_ids(viva: Viva, folder: Path) -> None:
    rows = [
        f"{1 if n == 4 else n},{'' if n == 7 else f'What is {n}?'},a,b,c,d,{'E' if n == 2 else 'B'}" for n in range(10)
    ]
    (folder / "broken.csv").write_text("\n".join(["id,question,A,B,C,D,answer", *rows]), encoding="utf-8")
    made = viva("init", "broken.csv").exits()
    assert "choice, 80% of 10" in made.out + made.err
    checked = viva("check", "broken.yaml").out
    assert "7 sound, 3 invalid gold" in checked
    for said in ("2: 'E' of 4 options", "'1' is the id of an earlier row", "7: its text is empty"):
        assert said in checked


def test_a_table_is_run_with_the_card_that_is_drafted_for_it(viva: Viva, folder: Path) -> None:
    (folder / "sums.csv").write_text("question,answer\nWhat is 2 + 2?,4\nWhat is 2 + 3?,5\n", encoding="utf-8")
    viva("run", "sums.csv", "--model", "baseline/first").exits(2, "--yes")
    assert not (folder / "sums.yaml").exists()
    ran = viva("run", "sums.csv", "--yes", "--model", "baseline/first").exits()
    assert all(shown in ran.err for shown in ("question: question", "answer: answer"))
    assert (folder / "sums.yaml").exists()
    assert "sums" in ran.out
    assert viva("run", "sums.csv", "--yes", "--model", "baseline/first").code == 0
    (folder / "unclear.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (folder / "beyond.csv").write_text(
        "question,A,B,answer\nWhich is it?,x,y,E\nWhich now?,x,y,A\nAnd?,x,y,F\n", "utf-8"
    )
    for name, shown in (("unclear", '#   {"x": "1", "y": "2"}'), ("beyond", "grades 33% of the rows")):
        drafted, unchanged = (viva("run", f"{name}.csv", "--yes", "--model", "baseline/first") for _ in range(2))
        assert (drafted.code, unchanged.code, shown in drafted.err) == (2, 2, True), drafted.err
        assert f"{name}.yaml has a TODO: complete it, then" in unchanged.err


def test_what_everybody_writes_first_is_a_table_too(viva: Viva, folder: Path) -> None:
    rows = [{"question": f"2 + {at}?", "options": [str(2 + at), "1", "0"], "answer": "A"} for at in range(9)]
    places = [{**row, "answer": 0} for row in rows]
    texts = [{**row, "answer": row["options"][0]} for row in rows]
    forms = (("mine.json", rows), ("wrapped.json", {"questions": places}), ("texts.jsonl", texts), ("own.yaml", places),
             ("sums.yml", {"title": "sums", "questions": texts}))  # fmt: skip
    for (name, content), row in tabled(*forms):
        lines = texts if name == "texts.jsonl" else [content]
        (folder / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        with row:
            checked = viva("check", name)
            assert (checked.code, "9 sound" in checked.out) == (0, True)
            assert f"`viva init {name}` writes" in checked.err
            assert len([*folder.glob(f"{name.partition('.')[0]}*")]) == 1
            ran = viva("run", name, "--yes", "--model", "baseline/first")
            assert re.search(r"^(?:mine|wrapped|texts|own-card|sums-card) +100\.00 .* 9$", ran.out, re.MULTILINE), (
                ran.err
            )
            viva("run", name.replace(".", "2."), "--model", "baseline/first").exits(2, "missing")
    (folder / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    assert "save it as CSV" in viva("run", "sheet.xlsx", "--model", "baseline/first").err
    (folder / "none.json").write_text("[]", encoding="utf-8")
    assert "there is no row in it" in viva("run", "none.json", "--yes", "--model", "baseline/first").err
    graded = [{"id": "a", "question": "2 + 2?", "grading": {"choice": {"options": ["3", "4"], "answer": "B"}}}]
    (folder / "own.json").write_text(json.dumps({"questions": [*graded, rows[0]]}), encoding="utf-8")
    assert "`options` is called part of `grading" in viva("check", "own.json").out


RIGHT = "```python\ndef double(x):\n    return 2 * x\n```"
PROGRAMS = {
    "right": RIGHT,
    "wrong": "```python\ndef double(x):\n    return x\n```",
    "first-test-alone": "```python\ndef double(x):\n    return 4 if x == 2 else 7\n```",
    "ends-early": "```python\nimport os\ndef double(x):\n    os._exit(0)\n```",
    "equals-all": "```python\nclass double:\n    def __init__(self, x):1\n    def __eq__(self, o):return 1\n```",
}


@pytest.mark.sandbox
def test_programs_run_against_the_tests_of_their_row(viva: Viva) -> None:
    """Layouts of HumanEval and MBPP, right and wrong programs, and those that would pass any test."""
    going_on = {"going-on": "    y = x\n    return x + y\n\n\ndef unasked():\n    pass\n"}
    for (layout, identity, programs), row in tabled(
        ("humaneval", "HumanEval/900", {**PROGRAMS, **going_on}),
        ("mbpp", "900", PROGRAMS),
        ("mbpp-sanitized", "901", {"right": RIGHT, "wrong": PROGRAMS["wrong"]}),
    ):
        rows = [{**LAYOUTS[layout][0][0]}]
        if layout == "humaneval":
            rows[0]["test"] += "    assert candidate(0) == 0\n"
        write_jsonl(viva.folder / f"{layout}.jsonl", rows)
        for name, text in programs.items():
            write_jsonl(viva.folder / f"{name}.jsonl", [{"question": identity, "text": text}])
        assert viva("init", f"{layout}.jsonl").code == 0
        files = [f"{name}.jsonl" for name in programs]
        viva("grade", f"{layout}.yaml", *files, "--scores", f"{layout}.csv", "--run", f"run-{layout}").exits()
        scores = (viva.folder / f"{layout}.csv").read_text(encoding="utf-8").splitlines()[1:]
        found = {line.split(",")[-1]: line.split(",")[3] for line in scores}
        with row:
            passing = {"right", "going-on"}
            assert found == {name: "right" if name in passing else "wrong" for name in programs}


def test_a_run_of_a_card_that_ships_outlives_where_viva_was_installed(viva: Viva) -> None:
    rows = [{"question": f"{n} + 1 = ?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1}"} for n in range(12)]
    write_jsonl(viva.folder / "rows.jsonl", rows)
    assert viva("run", "gsm8k", "--data", "rows.jsonl", "--model", "baseline/first", "--run", "run", *QUIET).code == 0
    folder = viva.folder / "sets" / "gsm8k"
    (folder / "gsm8k").mkdir(parents=True)  # as BIG-bench Hard's own folder has one of its name
    (folder.parent / "other").mkdir()
    write_jsonl(folder / "test.jsonl", rows)
    write_jsonl(folder.parent / "other" / "test.jsonl", [{"question": "Whose?", "gold": "theirs"}])
    plain = viva("check", "gsm8k", "--data", "rows.jsonl").out
    assert [viva("check", "gsm8k", "--data", data).out for data in ("sets", "sets/gsm8k")] == [plain, plain]
    record = viva.folder / "run" / "run.json"
    found = json.loads(record.read_text())
    card = found["exams"][0]["data"]
    assert card.endswith("viva/benchmarks/card/cards/gsm8k.yaml")
    record.write_text(record.read_text().replace(card, f"/no/such/venv/viva/{card.partition('/viva/benchmarks/')[2]}"))
    assert viva("score", "run").code != 0, "another place than a package's"
    record.write_text(json.dumps(found).replace(card, "/no/such/venv/viva/benchmarks/card/cards/gsm8k.yaml"))
    viva("score", "run").exits()
