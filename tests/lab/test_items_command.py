"""`viva item-analysis` on the published item scores, on runs and on faulty files; `viva run --questions` with its
choice.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.responders import subjects, world
from cli.collected import csv_rows, dangerous
from cli.told import command_of, rows_of, told
from rows import each_row, tabled, tables_beside
from servers.fixtures import QUIET
from viva.cli.ask.run import run_command
from viva.cli.look.show import show_command
from viva.engine.folder import RunFolder
from viva.errors import DataError, VivaError
from viva.render.result import signature

TABLES = tables_beside(__file__)

pytestmark = pytest.mark.usefixtures("elsewhere")


def items(*arguments: object) -> str:
    return told(command_of("item-analysis"), *arguments, "--all")


def exams(text: str) -> set[str]:
    """What the rows of a study's JSON are of."""
    return {row["exam"] for row in json.loads(text)["rows"]}


def item_scores(scores: Any, name: str = "scores.csv") -> Path:
    lines = [
        f"model-{model},q{question},0,{score:g}"
        for model, row in enumerate(scores)
        for question, score in enumerate(row)
        if np.isfinite(score)
    ]
    Path(name).write_text("\n".join(["model,question,sample,score", *lines]) + "\n")
    return Path(name)


def run(name: str, seed: int, *arguments: object, benchmark: str = "cmmlu") -> str:
    asked = (benchmark, "--model", "baseline/random", "--seed", seed, "--run", name, *QUIET)
    return told(run_command, *asked, *arguments)


def test_the_published_item_scores_at_a_glance(published: Path) -> None:
    text = items(published / "infibench" / "item_scores.csv.gz", "--irt", "2pl", "--chart", "map.svg")
    for said in ("gpt-4-0613", "56.59", "234", "Cronbach's alpha", "2PL", "chance alone", "no likelihood"):
        assert said in text
    assert b"Models beside questions" in Path("map.svg").read_bytes()


def test_the_papers_difficulty_rule_gives_the_papers_levels_but_for_three_questions(published: Path) -> None:
    folder = published / "infibench"
    given = ("--levels", "--weaker", "gpt-3.5-turbo", "--stronger", "gpt-4-0613")
    asked = (folder / "item_scores.csv.gz", *given, "--given", folder / "difficulty_levels.yaml")
    text = items(*asked)
    assert "231 of 234 questions agree" in text
    assert "--warm MODEL" in text
    found = {row["question"]: row for row in csv_rows(items(*asked, "--format", "csv"))}
    assert [sum(row["level"] == level for row in found.values()) for level in ("1", "2")] == [92, 54]
    against = {name: row["possible"] for name, row in found.items() if row["given"] not in row["possible"]}
    assert against == {"1-3-211": "3 4 5", "1-3-218": "3 4 5", "1-3-223": "3 4"}


def test_without_the_warm_run_what_cannot_be_told_stays_open() -> None:
    """One question of each level, in the examiners' scores."""
    scores = {
        "weak": {"q1": [1] * 10, "q2": [0] * 10, "q3": [0] * 10, "q4": [0] * 10, "q5": [0] * 10},
        "cool": {"q1": [0] * 10, "q2": [1] * 10, "q3": [0] * 10, "q4": [0] * 9 + [0.1], "q5": [0] * 10},
        "warm": {"q3": [0] * 9 + [0.5], "q4": [0] * 10, "q5": [0.1] * 10},
    }
    lines = [f"{model},{name},{sample},{score}" for model, own in scores.items() for name, given in own.items()
             for sample, score in enumerate(given)]  # fmt: skip
    Path("t.csv").write_text("\n".join(["model,question,sample,score", *lines]) + "\n")
    roles = ("t.csv", "--levels", "--weaker", "weak", "--stronger", "cool")
    warm = csv_rows(items(*roles, "--warm", "warm", "--trials", 10, "--format", "csv"))
    assert [row["level"] for row in warm] == ["1", "2", "3", "4", "5"]
    found = [(row["level"], row["possible"]) for row in csv_rows(items(*roles, "--format", "csv"))]
    assert found == [("1", "1"), ("2", "2"), ("", "3 4 5"), ("", "3 4"), ("", "3 4 5")]
    Path("levels.yaml").write_text("level-2:\n  - q1\n  - q2\nlevel-4:\n  - q5\n  - q9\n")
    printed = items(*roles, "--given", "levels.yaml")
    assert "2 questions decided, 3 open." in printed
    assert "2 of 3 questions agree with the other grouping, or may." in printed
    assert "They disagree about q1 (1, there 2)." in printed
    assert "2 questions are not in the other grouping: q3, q4." in printed
    assert "1 questions are not in this table: q9." in printed
    assert re.search(r"^│ 3, 4 or 5 +│ +2 │ +0 │ +1 │ +1 │", printed, re.MULTILINE)


def test_anchors_predict_a_model_that_had_no_part_and_the_order_of_rows_decides_nothing() -> None:
    scores = subjects(13, 400, 4)
    scores[2, :30] = np.nan
    item_scores(scores[:12], "known.csv")
    lines = Path("known.csv").read_text().splitlines()
    turn = np.random.default_rng(0).permutation(len(lines) - 1)
    Path("turned.csv").write_text("\n".join([lines[0], *(lines[1 + place] for place in turn)]) + "\n")
    Path("families.csv").write_text("model,family\nmodel-0,A\nmodel-1,A\nmodel-2,B\n")
    for name in ("known", "turned"):
        given = ("--anchors", 60, "--families", "families.csv", "--out", f"{name}-anchors.csv")
        text = items(f"{name}.csv", *given)
        assert "12 models of 11 families" in text
        assert "Without a score on some questions: model-2 30." in text
        assert "has no family of model-10, model-11, model-3" in text
    files = [Path(f"{name}-anchors.csv").read_text().replace("turned.csv", "known.csv") for name in ("known", "turned")]
    assert files[0] == files[1]
    item_scores(np.vstack([np.full((12, 400), np.nan), scores[12:]]), "new.csv")
    (found,) = csv_rows(items("--predict", "new.csv", "--anchors-file", "known-anchors.csv", "--format", "csv"))
    assert float(found["low"]) <= float(found["full"]) <= float(found["high"])
    assert float(found["full"]) == pytest.approx(scores[12].mean())
    assert float(found["high"]) - float(found["low"]) < 0.3
    asked = [row["question"] for row in csv_rows(files[0])][:50]
    Path("part.csv").write_text(
        "\n".join([lines[0], *(f"new,{one},0,{scores[12, int(one[1:])]:g}" for one in asked)]) + "\n"
    )
    text = items("--predict", "part.csv", "--anchors-file", "known-anchors.csv", "--exam", "part.csv")
    assert "10 anchors have no score" in text


def test_from_anchors_to_a_cheap_run_to_a_prediction() -> None:
    for seed in range(4):
        run(f"runs/r{seed}", seed)
    items("runs", "--anchors", 12, "--out", "anchors.csv", "--items", 0)
    listed = [row["question"] for row in csv_rows(Path("anchors.csv").read_text())]
    text = run("cheap", 9, "--questions", "anchors.csv")
    assert "only the 12 questions listed" in text
    record = RunFolder.open(Path("cheap")).record
    (exam,) = record.exams
    assert exam.questions == 12
    assert sorted(exam.spec.questions) == sorted(listed)
    assert "|questions:12." in signature(record, exam, "baseline/random")
    scored = [json.loads(line)["question"] for line in Path("cheap/scores.jsonl").read_text().splitlines()]
    whole = [json.loads(line)["question"] for line in Path("runs/r0/scores.jsonl").read_text().splitlines()]
    assert scored == [question for question in whole if question in listed], "in the order of the set"
    (found,) = csv_rows(items("--predict", "cheap", "--anchors-file", "anchors.csv", "--format", "csv"))
    assert found["anchors"] == found["answered"] == "12"
    assert found["full"] == "", "nobody knows it"
    assert float(found["low"]) <= float(found["predicted"]) <= float(found["high"])
    assert "--- reply" in told(show_command, "cheap", "--limit", 3), "a run like any other"
    text = items("runs", "cheap", "--anchors", 12, "--items", 0)
    assert "lack more than 20% of the questions: baseline/random (cheap)" in text


def test_a_list_of_questions_is_a_file_of_any_kind() -> None:
    Path("ids.txt").write_text("nutrition/2\n\nastronomy/1\nnutrition/2\n")
    Path("ids.jsonl").write_text('{"question": "nutrition/2"}\n{"case": "astronomy/1"}\n')
    signatures = set()
    for number, name in enumerate(("ids.txt", "ids.jsonl")):
        run(f"r{number}", 0, "--questions", name)
        record = RunFolder.open(Path(f"r{number}")).record
        signatures.add(signature(record, record.exams[0], "m"))
        assert record.exams[0].questions == 2
    assert len(signatures) == 1, "the order of the list changes nothing"
    with pytest.raises(VivaError, match="no question 'nutrition/3' with these options"):
        told(command_of("show"), "cmmlu", "--prompt", "--questions", "ids.txt", "--question", "nutrition/3")


@each_row(
    ("astronomy/0\nnowhere/7\n", (), "no question 'nowhere/7'.*its ids look like 'astronomy/0'"),
    ("astronomy/0\n", ("--limit", 3), "--questions and --limit"),
    ("\n", (), "lists no questions"),
)
def test_lists_that_cannot_be_asked_are_refused_by_name(content: str, arguments: tuple[object, ...], said: str) -> None:
    Path("ids.txt").write_text(content)
    with pytest.raises(VivaError, match=said):
        run("r", 0, "--questions", "ids.txt", *arguments)
    assert not Path("r").exists()


def test_a_csv_without_ids_is_refused_with_its_line() -> None:
    Path("ids.csv").write_text("name\nx\n")
    with pytest.raises(DataError, match="line 2: no id"):
        run("r", 0, "--questions", "ids.csv")
    with pytest.raises(DataError, match="no list of questions"):
        run("r", 0, "--questions", "nowhere.txt")


def test_abilities_and_difficulties_come_out_as_data() -> None:
    made = world(30, 60, 3)
    found = json.loads(items(item_scores(made.scores), "--irt", "2pl", "--format", "json"))
    ability = {model["model"]: model["ability"] for model in rows_of(found, "Models")}
    assert np.corrcoef([ability[f"model-{number}"] for number in range(30)], made.ability)[0, 1] > 0.93
    fits = rows_of(found, "Item-response models")
    assert [fit["model"] for fit in fits] == ["2pl", "1pl"]
    assert all(fit["converged"] for fit in fits)
    flat = csv_rows(items("scores.csv", "--irt", "2pl", "--format", "csv"))
    assert [float(row["difficulty"]) for row in flat] == [question["difficulty"] for question in found["rows"]]
    whole = {row["figure"]: row["value"] for row in rows_of(found, "The questions as a set")}
    assert whole["KR-20"]["binary"] is True


@pytest.mark.slow
def test_what_is_guessed_and_a_second_ability_are_said() -> None:
    one = items(item_scores(world(100, 100, 5, guessing=0.25).scores), "--irt", "3pl")
    assert re.search(r"│ 3PL +│[^│]+│ +201 │[^│]+│[^│]+│ +2\d\.\d\d │", one)
    assert re.search(r"│ 2PL +│[^│]+│ +200 │[^│]+│[^│]+│ +0\.00 │", one)
    assert "more than one ability" not in one
    dice = np.random.default_rng(3)
    two = 1 / (1 + np.exp(-3 * dice.normal(size=(16, 2))[:, np.arange(400) % 2]))  # of two kinds of questions
    several = items(item_scores((dice.random(two.shape) < two).astype(float), "two.csv"), "--irt", "2pl")
    assert "two.csv: the models differ in more than one ability" in " ".join(several.split())


def test_wrong_gold_answers_are_listed_first() -> None:
    made = world(40, 120, 5)
    wrong = int(np.argmax(made.discrimination * (np.abs(made.difficulty) < 0.7)))
    made.scores[:, wrong] = 1 - made.scores[:, wrong]
    text = items(item_scores(made.scores), "--irt", "2pl")
    listed = text.split("Questions to look at")[1]
    assert f"q{wrong} " in next(line for line in listed.splitlines() if "more than chance" in line)


def test_two_tables_are_one_exam_and_the_same_model_twice_is_told_apart() -> None:
    scores = subjects(4, 30, 1)
    item_scores(scores[:2], "a.csv")
    item_scores(scores[2:], "b.csv")
    found = json.loads(items("a.csv", "b.csv", "--format", "json"))
    assert sorted(model["model"] for model in rows_of(found, "Models")) == [
        "model-0",
        "model-0 (b.csv)",
        "model-1",
        "model-1 (b.csv)",
    ]
    assert any("counts as several models" in note for note in found["notes"])


def test_unscored_answers_are_missing_and_questions_without_any_are_left_out() -> None:
    Path("t.csv").write_text(
        "model,question,sample,score\na,q1,0,1\na,q2,0,\na,q3,0,\nb,q1,0,0\nb,q2,0,1\nb,q3,0,\nc,q1,0,1\nc,q2,0,0\nd,q1,0,\n"
    )
    found = json.loads(items("t.csv", "--format", "json"))
    assert [(question["question"], question["models"]) for question in found["rows"]] == [("q1", 3), ("q2", 2)]
    assert any("left out, as they have no score at all: d" in note for note in found["notes"])


def test_several_exams_are_told_one_by_one_and_chosen_by_name() -> None:
    run("r", 1)
    run("s", 0, "--only", "comprehension", benchmark="csbench")
    assert exams(items("r", "s", "--format", "json")) == {"cmmlu-zh", "csbench-en"}
    with pytest.raises(VivaError, match="choose one by --exam: cmmlu-zh, csbench-en"):
        items("r", "s", "--anchors", 5)
    assert exams(items("r", "s", "--exam", "csbench-en", "--format", "json")) == {"csbench-en"}
    with pytest.raises(DataError, match="no such exam; they have: 'cmmlu-zh', 'csbench-en'"):
        items("r", "s", "--exam", "cmmlu")


def test_what_cannot_be_is_one_sentence() -> None:
    item_scores(subjects(4, 30, 1), "t.csv")
    item_scores(subjects(2, 30, 1), "two.csv")
    Path("f.csv").write_text("model,family\nnobody,A\n")
    for (arguments, said), row in tabled(*TABLES["what_cannot_be_is_one_sentence"]):
        with row, pytest.raises(VivaError, match=said):
            items(*arguments)


def test_a_damaged_file_of_anchors_is_refused_with_its_line() -> None:
    source = item_scores(subjects(5, 30, 1), "t.csv")
    items(source, "--anchors", 5, "--out", "anchors.csv")
    good = Path("anchors.csv").read_text().splitlines()
    for bad, said in (
        ([*good, good[1]], "there twice"),
        ([good[0]], "lists no anchors"),
        ([good[0], good[1].replace("t.csv", "u.csv"), *good[2:]], "line 3: exam 't.csv', and 'u.csv' above"),
        (
            [good[0], good[1].replace(good[1].split(",")[1], "heavy", 1), *good[2:]],
            "line 2: share 'heavy' is no number",
        ),
    ):
        Path("bad.csv").write_text("\n".join(bad) + "\n")
        with pytest.raises(DataError, match=said):
            items("--predict", source, "--anchors-file", "bad.csv")
    item_scores(subjects(2, 3, 1), "few.csv")
    with pytest.raises(DataError, match="of the 5 anchors: too few"):
        items("--predict", "few.csv", "--anchors-file", "anchors.csv", "--exam", "few.csv")


def test_names_that_want_to_run_do_not() -> None:
    name = "=cmd|'/c calc'!A1\u202e\x1b[31m<script>"
    lines = [["model", "question", "sample", "score"]]
    lines += [
        [f"{name}{model}", f"-{question}<b>\x1b", "0", str((model + question) % 2)]
        for model in range(4)
        for question in range(6)
    ]
    with gzip.open("t.csv.gz", "wt", newline="") as out:
        csv.writer(out).writerows(lines)
    for form in ("terminal", "csv", "markdown", "latex"):
        items("t.csv.gz", "--format", form)  # told() looks for what drives a terminal
    assert all(row["question"].startswith("'-") for row in csv_rows(items("t.csv.gz", "--format", "csv")))
    items("t.csv.gz", "--chart", "c.json")
    assert not dangerous(json.dumps(json.loads(Path("c.json").read_text()), ensure_ascii=False))
    items("t.csv.gz", "--anchors", 3, "--out", "anchors.csv")
    assert "<U+001B>" in Path("anchors.csv").read_text()


def test_anchors_of_the_published_scores_predict_and_say_how_well(published: Path) -> None:
    source = published / "infibench" / "item_scores.csv.gz"
    text = items(source, "--anchors", 40, "--out", "anchors.csv")
    assert "random questions, plain mean" in text
    assert "known to a factor of 6.3" in text
    anchors = csv_rows(Path("anchors.csv").read_text())
    assert len(anchors) == 40
    assert sum(float(row["share"]) for row in anchors) == pytest.approx(40 / 234)
    text = items("--predict", source, "--anchors-file", "anchors.csv")
    assert "A model that the anchors were chosen by is predicted too far from the middle" in text
