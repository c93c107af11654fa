"""The papers' tables: the same figures as published, consistent with themselves, and never beside the wrong model."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.published import figures
from viva.errors import DataError
from viva.published import LEADERBOARDS, SIZES, Row, called, find, leaderboard, similar

__all__ = ["figures"]

LEVELS = {"level_1": 93, "level_2": 55, "level_3": 44, "level_4": 18, "level_5": 24}
LANGUAGES = {
    **{"javascript": 44, "css": 10, "html": 9, "java": 17, "c#": 12, "php": 9, "go": 9, "ruby": 10, "rust": 10},
    **{"c++/c": 10, "python": 47, "r": 9, "dart": 19, "bash": 19},
}
"""Questions a language (Table 2 of the paper)."""


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    return leaderboard("infibench")


def test_there_are_106_models_3_human_references_and_10_ablations(rows: tuple[Row, ...]) -> None:
    counts = {access: sum(row.access == access for row in rows) for access in ("Closed", "Open", "Human", "Ablation")}
    assert counts == {"Closed": 12, "Open": 94, "Human": 3, "Ablation": 10}
    assert len(rows) == 119
    assert set(LEADERBOARDS) == set(SIZES) == {"infibench"}
    assert leaderboard("csbench") == ()


def test_the_best_known_rows_read_as_printed(rows: tuple[Row, ...]) -> None:
    gpt4, human = called(rows, "GPT-4-0613"), called(rows, "Human Highest Voted")
    assert (gpt4.score, gpt4.sd, gpt4.mean) == pytest.approx((0.7064, 0.0082, 0.5694))
    assert (gpt4.responses, gpt4.sampling, gpt4.figures["level_5"]) == (30, "(0.2,0.9)", 0.0)
    assert (gpt4.figures["level_1"], gpt4.figures["humaneval"]) == pytest.approx((0.9231, 0.884))
    assert (human.score, human.sd, human.mean) == pytest.approx((0.5628, None, 0.5628))


def test_every_figure_is_a_share(rows: tuple[Row, ...]) -> None:
    for row in rows:
        assert {"score", "score_std", "mean_score", *LEVELS} <= set(row.figures), row.model
        assert all(0.0 <= value <= 1.0 for value in row.figures.values()), row.model
        assert row.mean <= row.score + 1e-9, "the best of several is no less than their mean"
        assert (row.sd is None) == (row.responses <= 10)


def test_levels_and_languages_add_up_to_the_score_of_every_row(rows: tuple[Row, ...]) -> None:
    """A figure that was copied wrongly would show: the score is the mean over all questions."""
    assert sum(LEVELS.values()) == sum(LANGUAGES.values()) == SIZES["infibench"]
    for row in rows:
        by_level = sum(row.figures[name] * count for name, count in LEVELS.items()) / 234
        by_language = sum(row.figures[f"lang_{name}"] * count for name, count in LANGUAGES.items()) / 234
        assert by_level == pytest.approx(row.score, abs=2e-4), row.model
        assert by_language == pytest.approx(row.score, abs=2e-4), row.model


def test_the_file_is_the_published_one(rows: tuple[Row, ...], figures: Path) -> None:
    with (figures / "infibench_leaderboard.csv").open(encoding="utf-8", newline="") as table:
        published = list(csv.DictReader(table))
    assert [row.model for row in rows] == [row["model"] for row in published]
    for row, line in zip(rows, published, strict=True):
        assert {name: 100 * value for name, value in row.figures.items()} == pytest.approx(
            {name: float(line[name]) for name in row.figures}
        )
        assert all(line[name] for name in line if name in row.figures)


def test_every_row_but_the_ablations_is_found_by_its_own_name(rows: tuple[Row, ...]) -> None:
    for row in rows:
        if row.access != "Ablation":
            assert find(rows, row.name) is row
    assert len({row.name.casefold() for row in rows if row.access != "Ablation"}) == 109


SAME = {
    "gpt-4-0613": "GPT-4-0613",
    "openai/gpt-4-0613": "GPT-4-0613",
    "GPT4-0613": "GPT-4-0613",
    "codestral-22b": "Codestral-22b",
    "Codestral 22B": "Codestral-22b",
    "starcoder2-7b": "StarCoder2 7B",
    "bigcode/starcoder2-15b-instruct": "StarCoder2 15B-Instruct",
    "phi-2": "Phi2",
    "Qwen/Qwen-72B-Chat": "Qwen-72B-Chat",
    "starcoder": "StarCoder",
}
ANOTHER = (
    *("gpt-4", "gpt-3.5-turbo", "gpt-4o", "gpt-4-0613-preview", "gpt-4-06", "codestral", "llama2", "human", "claude-3"),
    *("7B", "3B", "15B-Instruct", "15b", "", "/", "gpt-4-0613/", "qwen-7", "qwen-1.8", "qwen-18b", "mistral", "phi"),
    *("starcoder2", "codellama-7b-hf", "mistral-7b-instruct-v0.2", "gpt-4-0613\u200b", "wizardcoder"),
)


@pytest.mark.parametrize(("given", "row"), SAME.items())
def test_the_same_name_written_otherwise_is_found(rows: tuple[Row, ...], given: str, row: str) -> None:
    found = find(rows, given)
    assert found is not None
    assert found.name == row


@pytest.mark.parametrize("given", ANOTHER)
def test_a_name_that_may_be_another_model_has_no_row(rows: tuple[Row, ...], given: str) -> None:
    assert find(rows, given) is None


def test_versions_are_offered_and_not_chosen(rows: tuple[Row, ...]) -> None:
    assert [row.name for row in similar(rows, "gpt-3.5-turbo")] == ["GPT-3.5-turbo-0613"]
    assert [row.name for row in similar(rows, "gpt-4o")] == ["GPT-4o-2024-05-13"]
    assert len(similar(rows, "codellama")) == 3
    assert similar(rows, "") == similar(rows, "my-model") == []
    with pytest.raises(DataError, match=r"did you mean 'GPT-3\.5-turbo-0613'\?"):
        called(rows, "gpt-3.5-turbo")
    with pytest.raises(DataError, match=r"no row 'my-model'$"):
        called(rows, "my-model")


def test_two_rows_of_one_name_are_nobodys() -> None:
    row = Row(model="m", family="f", access="Open", sampling="", responses=30, figures={})
    assert find([row], "M") is row
    assert find([row, row], "m") is None
