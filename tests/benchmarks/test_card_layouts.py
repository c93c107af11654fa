"""The cards that come with Viva, and those that `viva init` writes, on rows in the published layouts."""

import json
from pathlib import Path

import polars as pl
import pytest

from benchmarks.card_layouts import FILES, LAYOUTS
from rows import tabled
from viva.benchmarks import CARD, CARDS, open_exam
from viva.benchmarks.card.cardmodel import read_card
from viva.benchmarks.card.draft import init_card, shipped
from viva.runs.checks import failures
from viva.types import ExamSpec, Question


def written(folder: Path, name: str) -> Path:
    called, rows, _ = FILES[name] if name in FILES else (f"{name}.jsonl", *LAYOUTS[name])
    path = folder / called
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def golds(questions: list[Question], *, shuffled: bool) -> list[str | None]:
    if not shuffled:
        return [question.answer for question in questions]
    return [question.options["ABCD".index(str(question.answer))] for question in questions]


def test_every_card_grades_rows_in_its_layout(tmp_path: Path) -> None:
    for path, row in tabled(*sorted(CARDS.glob("*.yaml"))):
        if path.stem == "mmlu-csv":
            continue  # below: it has no header
        with row:
            data = written(tmp_path, path.stem)
            if path.stem == "bbh":
                (tmp_path / "cot-prompts").mkdir()
                (tmp_path / "cot-prompts" / "metals.txt").write_text("canary\n-----\nA task.\n\nQ: a\nA: b\n")
            exam = open_exam(ExamSpec(benchmark=CARD, name=path.stem), path, {"data": str(data)})
            shuffled = path.stem in ("gpqa", "truthfulqa-mc1")
            assert golds(list(exam.questions()), shuffled=shuffled) == {**LAYOUTS, **FILES}[path.stem][-1]
            assert not [defect for defect in exam.defects if defect.action == "unsound"]
            assert failures(exam) == []
            assert read_card(path).title


def test_init_writes_a_card_that_grades_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, row in tabled(*LAYOUTS):
        with row:
            card, _ = init_card(written(tmp_path, name))
            exam = open_exam(ExamSpec(benchmark=CARD, name=name), card)
            shuffled = name in ("gpqa", "truthfulqa-mc1")
            assert golds(list(exam.questions()), shuffled=shuffled) == LAYOUTS[name][1], card.read_text()
            assert failures(exam) == []
            assert read_card(card).format == shipped()[name].format
            assert read_card(card).language == shipped()[name].language


def test_parquet_csv_and_folders_of_splits_are_the_same_exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows, expected = LAYOUTS["mmlu"]
    lines = 'Which metal is liquid?,mercury,iron,gold,tin,A\n"Which is, of these, a gas?",mercury,neon,gold,tin,B\n'
    for split in ("test", "dev"):
        (tmp_path / "set" / "data").mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows).write_parquet(tmp_path / "set" / "data" / f"{split}-00000-of-00001.parquet")
        (tmp_path / "csv" / split).mkdir(parents=True)
        for subject in ("chemistry", "arithmetic"):
            (tmp_path / "csv" / split / f"{subject}_{split}.csv").write_text(lines, encoding="utf-8")
    asked, *others = ([row["question"], row["choices"]] for row in rows[:2])
    cells = (asked[0], json.dumps(asked[1]), "0"), (others[0][0], str(others[0][1]), "3")
    pl.DataFrame(cells, schema=("question", "choices", "answer"), orient="row").write_csv(tmp_path / "flat.csv")
    found = {}
    for name, shots in (("set", 1), ("csv", 1), ("flat.csv", 0)):
        exam = open_exam(ExamSpec(benchmark=CARD, shots=shots), init_card(tmp_path / name)[0])
        found[name] = [(question.answer, question.tags.get("$file")) for question in exam.questions()]
    assert [gold for gold, _ in found["set"]] == [gold for gold, _ in found["flat.csv"]] == expected
    assert found["csv"] == [(gold, subject) for subject in ("arithmetic", "chemistry") for gold in "AB"]
