"""The papers' tables: figures as published, consistent, and never matched to the wrong model."""

import csv
from pathlib import Path
from typing import Any

import pytest

from rows import each_row, tables_beside
from viva.errors import DataError
from viva.published import Entry, called, catalogue, find, similar, table

LEVELS = {"level_1": 93, "level_2": 55, "level_3": 44, "level_4": 18, "level_5": 24}
LANGUAGES = {
    **{"javascript": 44, "css": 10, "html": 9, "java": 17, "c#": 12, "php": 9, "go": 9, "ruby": 10, "rust": 10},
    **{"c++/c": 10, "python": 47, "r": 9, "dart": 19, "bash": 19},
}
"""Questions a language (Table 2 of the paper)."""


@pytest.fixture(scope="module")
def rows() -> tuple[Entry, ...]:
    return table("infibench", "leaderboard").entries


def test_every_figure_is_per_cent(rows: tuple[Entry, ...]) -> None:
    for row in rows:
        assert {"score", "score_std", "mean_score", *LEVELS} <= set(row.figures), row.model
        assert all(0.0 <= value <= 100.0 for value in row.figures.values()), row.model
        assert row.figures["mean_score"] <= row.figures["score"], "the best of several is no less than their mean"
        assert row.figures["score_std"] == 0 or row.figures["responses"] > 10, row.model


def test_levels_and_languages_add_up_to_the_score_of_every_row(rows: tuple[Entry, ...]) -> None:
    """A figure that was copied wrongly would show: the score is the mean over all questions."""
    assert len(table("infibench", "leaderboard").models) == 106
    assert sum(LEVELS.values()) == sum(LANGUAGES.values()) == catalogue()["infibench"].settings[0].questions
    for row in rows:
        by_level = sum(row.figures[name] * count for name, count in LEVELS.items()) / 234
        by_language = sum(row.figures[f"lang_{name}"] * count for name, count in LANGUAGES.items()) / 234
        assert by_level == pytest.approx(row.figures["score"], abs=0.02), row.model
        assert by_language == pytest.approx(row.figures["score"], abs=0.02), row.model


def test_the_file_is_the_published_one(rows: tuple[Entry, ...], figures: Path) -> None:
    with (figures / "infibench_leaderboard.csv").open(encoding="utf-8", newline="") as table:
        published = list(csv.DictReader(table))
    assert [row.model for row in rows] == [row["model"] for row in published]
    for row, line in zip(rows, published, strict=True):
        assert row.figures == {name: float(line[name]) for name in row.figures}
        assert {**row.words, **row.figures}.keys() | {"model"} == {name for name, value in line.items() if value}


def test_every_row_but_the_ablations_is_found_by_its_own_name(rows: tuple[Entry, ...]) -> None:
    for row in rows:
        if row.kind != "ablation":
            assert find(rows, row.name) is row
    assert len({row.name.casefold() for row in rows if row.kind != "ablation"}) == 109


SAME = tables_beside(__file__)["same"]
ANOTHER = (
    *("gpt-4", "gpt-3.5-turbo", "gpt-4o", "gpt-4-0613-preview", "gpt-4-06", "codestral", "llama2", "human", "claude-3"),
    *("7B", "3B", "15B-Instruct", "15b", "", "/", "gpt-4-0613/", "qwen-7", "qwen-1.8", "qwen-18b", "mistral", "phi"),
    *("starcoder2", "codellama-7b-hf", "mistral-7b-instruct-v0.2", "gpt-4-0613\u200b", "wizardcoder"),
)


@each_row(*SAME.items())
def test_the_same_name_written_otherwise_is_found(given: Any, row: Any, *, rows: tuple[Entry, ...]) -> None:
    found = find(rows, given)
    assert found.name == row


@each_row(*ANOTHER)
def test_a_name_that_may_be_another_model_has_no_row(given: Any, *, rows: tuple[Entry, ...]) -> None:
    assert find(rows, given) is None


def test_versions_are_offered_and_not_chosen(rows: tuple[Entry, ...]) -> None:
    assert [row.name for row in similar(rows, "gpt-3.5-turbo")] == ["GPT-3.5-turbo-0613"]
    assert [row.name for row in similar(rows, "gpt-4o")] == ["GPT-4o-2024-05-13"]
    assert len(similar(rows, "codellama")) == 3
    assert similar(rows, "") == similar(rows, "my-model") == []
    with pytest.raises(DataError, match=r"do you mean 'GPT-3\.5-turbo-0613'\?"):
        called(rows, "gpt-3.5-turbo")
    with pytest.raises(DataError, match=r"no published row is called 'my-model'; .viva published"):
        called(rows, "my-model")


def test_two_rows_of_one_name_are_nobodys() -> None:
    row = Entry(model="m", figures={})
    assert find([row], "M") is row
    assert find([row, row], "m") is None
