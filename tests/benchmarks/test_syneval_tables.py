"""SynEval's tables: OA by its formula, MVP's pooled truth values, several strata, and chance as in the paper."""

from __future__ import annotations

import asyncio
import gzip
import json
import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import convert
from msgspec.structs import replace

from benchmarks import explaining
from benchmarks.handmade_syneval import changed, exam, rows, write
from viva.benchmarks.syneval.facts import Item
from viva.benchmarks.syneval.syneval import tags_of
from viva.contracts import Exam
from viva.engine.stages import parts_shown
from viva.providers import Endpoint, connect
from viva.published import table
from viva.types import Question, Response, Sampling, Score, ScoreRow

if TYPE_CHECKING:  # polars takes a while
    from viva.analysis.breakdown import Breakdown, Table
    from viva.analysis.estimate import Estimate

POOLED = ("GS", "SC", "DO", "IO")
"""The knowledge points whose TF questions count as MVP's."""
Reply = Callable[[Question], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


def graded(sat: Exam, reply: Reply, samples: int = 1) -> list[ScoreRow]:
    """As the engine makes them: parts that no table shows left out."""

    def kept(score: Score) -> Score:
        return replace(score, parts={name: part for name, part in score.parts.items() if name in parts_shown(sat)})

    return [
        explaining.row(sat, question, kept(sat.score(question, Response(text=reply(question)))), sample)
        for question in sat.questions()
        for sample in range(samples)
    ]


def mixed(question: Question) -> str:
    """Some right, some wrong, of every format."""
    number = int(question.id.rpartition("-")[2])
    if question.kind == "truth":
        return "True" if number % 3 else "False"
    if question.kind == "choice":
        return "ABCD"[number % 3]
    return str(question.answer).split()[-1] if number % 2 else str(question.answer)


def cells(sat: Exam, reply: Reply = mixed) -> dict[str, dict[str, Estimate]]:
    """The table by knowledge point: row → column → cell."""
    found = {table.name: table for table in tables(sat, reply)}["points"]
    return {row: dict(zip(found.columns, line, strict=True)) for row, line in zip(found.rows, found.cells, strict=True)}


def broken_down(scored: list[ScoreRow]) -> Breakdown:
    from viva.analysis.breakdown import Breakdown, frame

    return Breakdown(frame(scored))


def tables(sat: Exam, reply: Reply = mixed) -> list[Table]:
    breakdown = broken_down(graded(sat, reply))
    return [breakdown.table(layout, "exam", "m") for layout in sat.layouts()]


def mean(values: list[float | None]) -> float:
    return statistics.fmean(value or 0.0 for value in values)


def test_columns_are_means_over_questions_and_oa_is_the_papers_formula_in_every_row(folder: Path) -> None:
    scored, found = graded(exam(folder), mixed), cells(exam(folder))
    assert list(found) == ["GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA", "Overall"]
    alike: list[float] = []
    for row, columns in found.items():
        means = {name: cell.mean or 0.0 for name, cell in columns.items()}
        for column, form, part in (
            ("TF", "TF", ""), ("MC", "MC", ""), ("FITB accuracy", "FITB", "exact"), ("FITB F1", "FITB", "f1"),
        ):  # fmt: skip
            points = POOLED if (row, form) == ("MVP", "TF") else (row,)
            of = [one for one in scored if row == "Overall" or one.tags["knowledge_point"] in points]
            values = [one.parts.get(part) if part else one.value for one in of if one.tags["format"] == form]
            assert (means[column], columns[column].n) == (pytest.approx(mean(values)), len(values)), (row, column)
        blanks = (means["FITB accuracy"] + means["FITB F1"]) / 2
        assert means["OA"] == pytest.approx((means["TF"] + means["MC"] + blanks) / 3), row
        alike += [means["MC"], blanks, *([] if row == "MVP" else [means["TF"]])] if row != "Overall" else []
    assert 0.0 < means["FITB accuracy"] < means["FITB F1"] < 1.0
    assert found["Overall"]["TF"].n == 32, "each pooled one once in the whole"
    over_points = {table.name: table for table in tables(exam(folder))}["formats"].cells[0][-1].mean
    assert over_points == pytest.approx(statistics.fmean(alike)), "every point and format counts alike"


def test_what_was_not_read_counts_as_nothing_and_categories_are_listed_by_knowledge_point(folder: Path) -> None:
    unread = cells(exam(folder), lambda question: "" if question.kind == "span" else mixed(question))["Overall"]
    right = cells(exam(folder), lambda question: str(question.answer))["Overall"]
    for column in ("FITB accuracy", "FITB F1"):
        assert (unread[column].mean, right[column].mean) == (0.0, 1.0)
        assert unread[column].n == right[column].n
    categories = next(table for table in tables(exam(folder)) if table.name == "categories")
    assert categories.detail
    assert categories.rows[:3] == ("GS: noun_phrase", "SC: adjective_phrase", "SC: noun_phrase")
    assert sum(line[-1].n for line in categories.cells) == 68


def test_pooling_is_of_true_and_false_and_of_four_points_only() -> None:
    pooled = {(row["knowledge_point"], row["format"]) for row in rows() if tags_of(convert(row, Item))["mvp"] == "yes"}
    assert pooled == {*((point, "TF") for point in POOLED), ("MVP", "MC"), ("MVP", "FITB")}


def test_a_question_of_several_strata_counts_in_each(tmp_path: Path) -> None:
    once = rows([0])
    blank = next(row for row in once if row["format"] == "FITB")
    twice = [*once, changed(blank, stratum="b"), changed(blank, stratum="c")]
    sat = exam(write(tmp_path, twice))
    found = cells(sat, lambda question: str(question.answer) if question.id == blank["id"] else "nothing at all")
    total = sum(1 for row in twice if row["format"] == "FITB")
    assert found["Overall"]["FITB accuracy"].n == total == 8
    assert found["Overall"]["FITB accuracy"].mean == pytest.approx(3 / 8)


def test_an_outage_takes_nothing_from_the_formats(folder: Path) -> None:
    sat = exam(folder)
    kept = [row for row in graded(sat, mixed) if row.tags["format"] != "MC"]
    cell = broken_down(kept).cell(sat.headline())
    assert cell.n == 50
    assert cell.mean is not None


def test_tables_across_models_have_the_papers_columns(folder: Path) -> None:
    across = {table.name: table for table in tables(exam(folder)) if table.across}
    assert across["formats"].columns == ("TF", "MC", "FITB accuracy", "FITB F1", "OA", "OA over points")
    assert across["oa"].columns == ("GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA", "All")
    assert set(across) == {"formats", "oa", "TF", "MC", "FITB accuracy", "FITB F1"}
    assert all(len(table.rows) == 1 for table in across.values())
    by_point = cells(exam(folder))
    for name in ("TF", "MC", "FITB accuracy", "FITB F1"):
        for point, cell in zip(across[name].columns, across[name].cells[0], strict=True):
            assert cell == by_point["Overall" if point == "All" else point][name]
    assert [cell.mean for cell in across["oa"].cells[0]] == [columns["OA"].mean for columns in by_point.values()]


# The authors' facts of the Penn Treebank, asked as blanks: gold answers score 1, and chance is the paper's


@pytest.fixture(scope="module")
def blanks(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of one blank a fact. Nothing of the treebank is in the repository."""
    with gzip.open(published / "treebank" / "facts_wsj_0001-0040.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = [json.loads(line) for line in lines]
    assert len(facts) == 5995
    rows = [
        {
            **{name: fact[name] for name in ("knowledge_point", "sentence", "answer", "file", "tree")},
            "id": f"{fact['file']}-{fact['tree']}-{number}",
            "format": "FITB",
            "question": f"____ goes with “{fact['slot']}”.",
            "category": "any",
        }
        for number, fact in enumerate(facts)
    ]
    return write(tmp_path_factory.mktemp("facts"), rows, [])


def chance(sat: Exam) -> dict[str, dict[str, float]]:
    """Knowledge point → part → what baseline/random earns."""
    model = connect("baseline/random", Endpoint(seed=0))
    parts: dict[str, list[dict[str, float]]] = defaultdict(list)

    async def sit() -> None:
        for question in sat.questions():
            response = await model.answer(sat.request(question, 0, Sampling()))
            parts[question.tags["knowledge_point"]].append(sat.score(question, response).parts)

    asyncio.run(sit())
    return {
        point: {part: statistics.fmean(of.get(part, 0.0) for of in found) for part in ("exact", "f1")}
        for point, found in parts.items()
    }


@pytest.mark.slow
def test_chance_in_the_papers_mix_of_questions_is_the_papers(blanks: Path) -> None:
    """Table 6 has 22.20 and 23.21 per cent F1, 0.42 and 0.68 per cent exact. Its questions are drawn by tags;
    these are all facts that there are."""
    found = chance(exam(blanks, as_published=True))
    asked = {row.model: row.figures["fitb"] for row in table("syneval", "questions").entries}
    whole = {
        part: sum(found[point][part] * asked[point] for point in asked) / sum(asked.values())
        for part in ("exact", "f1")
    }
    assert 0.18 < whole["f1"] < 0.235
    assert 0.003 < whole["exact"] < 0.009
