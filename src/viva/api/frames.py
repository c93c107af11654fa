"""Scores and answers as Polars frames, in chunks: a run can hold a million of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import polars as pl

from viva.engine.answerrecord import Answer
from viva.types import ScoreRow

T = TypeVar("T")
_CHUNK = 4096
_NAMES = {"exam": pl.String, "model": pl.String, "question": pl.String, "sample": pl.Int32, "repeat": pl.Int32}
SCORES: Mapping[str, type[pl.DataType]] = {
    **_NAMES, "score": pl.Float64, "points": pl.Float64, "outcome": pl.String, "read": pl.String,
    "explanation": pl.String, "weight": pl.Int32, "cluster": pl.String,
}  # fmt: skip
ANSWERS: Mapping[str, type[pl.DataType]] = {
    **_NAMES, "asked": pl.String, "prompt": pl.String, "reply": pl.String, "gold": pl.String, "read": pl.String,
    "score": pl.Float64, "points": pl.Float64, "outcome": pl.String, "explanation": pl.String, "failure": pl.String,
}  # fmt: skip
_FIELDS = {"score": "value", "read": "answer", "prompt": "prompt_text"}
"""Column → field, where names differ."""


def scores_frame(rows: Iterable[ScoreRow]) -> pl.DataFrame:
    """Return scores as a frame, with a column for each tag, part and factor of a design, null where a row has none."""

    def more(taken: list[ScoreRow]) -> dict[str, list[object]]:
        tags = dict.fromkeys(tag for row in taken for tag in row.tags)
        parts = dict.fromkeys(part for row in taken for part in row.parts)
        factors = dict.fromkeys(factor for row in taken for factor in row.cell)
        return {
            **{f"tag:{tag}": [row.tags.get(tag) for row in taken] for tag in tags},
            **{f"part:{part}": [row.parts.get(part) for row in taken] for part in parts},
            **{f"cell:{factor}": [row.cell.get(factor) for row in taken] for factor in factors},
        }

    return _framed(rows, SCORES, more)


def answers_frame(rows: Iterable[Answer]) -> pl.DataFrame:
    """Return answers as a frame, with a column for each tag, null where a row has none."""

    def more(taken: list[Answer]) -> dict[str, list[object]]:
        tags = dict.fromkeys(tag for answer in taken for tag in answer.row.tags)
        return {f"tag:{tag}": [answer.row.tags.get(tag) for answer in taken] for tag in tags}

    return _framed(rows, ANSWERS, more)


def _framed(
    rows: Iterable[T], schema: Mapping[str, type[pl.DataType]], more: Callable[[list[T]], dict[str, list[object]]]
) -> pl.DataFrame:
    source = iter(rows)
    chunks = [pl.DataFrame(schema=schema)]
    while taken := list(itertools.islice(source, _CHUNK)):
        columns = {name: [_value(row, _FIELDS.get(name, name)) for row in taken] for name in schema}
        extra = more(taken)
        types = {name: pl.Float64 if name.startswith("part:") else pl.String for name in extra}
        chunks.append(pl.DataFrame({**columns, **extra}, schema={**schema, **types}))
    return pl.concat(chunks, how="diagonal")


def _value(row: object, field: str) -> object:
    scores = row.row if isinstance(row, Answer) else row
    return getattr(scores if hasattr(scores, field) else row, field)
