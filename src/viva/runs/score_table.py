"""Anybody's table of item scores: CSV or JSONL, also gzipped, a row an answer.

    model,case,sample,score
    gpt-4-0613,0-0-0,0,1.0

Columns: `model` (without one, the file is one model's), `case` or `question`, `sample`, `score` or `value` (a share
of 1; empty: unscored), and optionally `repeat`, `outcome`, `cluster` (what questions that belong together share), and
tags by which tables break down. That is also what `viva grade --out` writes, and the scores.jsonl of a run. The set is
all questions of the table: one that a model has no row of was not asked of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from viva.errors import DataError
from viva.io.tables import json_lines, read_csv, table_text, unpacked
from viva.types import UNREADABLE
from viva.visible import brief

MODEL = ("model",)
QUESTION = ("case", "question", "question_id", "id")
SAMPLE = ("sample",)
SCORE = ("score", "value")
CLUSTER = "cluster"

Row = Mapping[str, object]


class ModelScores(Struct):
    """One model's answers. `scores` holds a question's in the order of repeat and sample, None where unscored."""

    scores: dict[str, list[float | None]] = {}
    tags: dict[str, dict[str, str]] = {}
    """Question → tag → value, of the tags asked for, and of `cluster`, where there is one."""
    missing: frozenset[str] = frozenset()
    """Questions that only other models have rows of."""

    @property
    def answers(self) -> int:
        """Scored or not."""
        return sum(map(len, self.scores.values()))

    @property
    def unscored(self) -> int:
        """Answers without a score."""
        return sum(scores.count(None) for scores in self.scores.values())


def read_scores_table(path: Path, tags: tuple[str, ...] = ()) -> dict[str, ModelScores]:
    """Return model → its answers, both in the order of the file. `tags` names the columns that are to be kept.

    Raises DataError with the line and the value: not there, torn, a missing column, a score that is none, an answer
    that is there twice, a question with two values of a tag.
    """
    found: dict[str, ModelScores] = {}
    answers: dict[tuple[str, str], dict[tuple[int, int], tuple[int, float | None]]] = {}
    named: bool | None = None
    for line, row in rows_of(path):
        where = f"{path}, line {line}"
        named = MODEL[0] in row if named is None else named
        if not named and MODEL[0] in row:
            raise DataError(f"{where}: a model, {brief(row[MODEL[0]])}, where the rows above have none")
        model = _text(row, MODEL, where) if named else path.name
        question = _text(row, QUESTION, where)
        place = (_whole(row.get("repeat", 0), "repeat", where), _whole(_column(row, SAMPLE, where), "sample", where))
        given = answers.setdefault((model, question), {})
        if place in given:
            raise DataError(
                f"{where}: a second score of model {brief(model)}, case {brief(question)}, sample {place[1]}; the "
                f"first is in line {given[place][0]}"
            )
        given[place] = (line, _score(row, where))
        mine = found.setdefault(model, ModelScores()).tags.setdefault(question, {})
        for tag in (*tags, CLUSTER) if CLUSTER in row else tags:
            value = _tag(row, tag, where)
            if mine.setdefault(tag, value) != value:
                raise DataError(
                    f"{where}: {tag} of case {brief(question)} is {brief(value)}, and {brief(mine[tag])} above"
                )
    if not found:
        raise DataError(f"the table {path} holds no scores; it needs rows of model, question, sample, score")
    for (model, question), given in answers.items():
        found[model].scores[question] = [given[place][1] for place in sorted(given)]
    everything = {question: mine for own in reversed(found.values()) for question, mine in own.tags.items()}
    for own in found.values():
        most = max(map(len, own.scores.values()))
        own.missing = frozenset(everything.keys() - own.scores.keys())
        for question in (name for name in everything if name in own.missing):
            own.scores[question], own.tags[question] = [None] * most, everything[question]
    return found


def rows_of(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of any CSV or JSONL file with their lines; a `tags` object's entries stand beside the others.

    Raises DataError where it is not there or torn.
    """
    if path.name.removesuffix(".gz").endswith(".csv"):
        yield from read_csv(path, table_text(path), check=partial(refuse_other_separators, path))[1]
    else:
        yield from _json_rows(path, unpacked(path, "table"))


def refuse_other_separators(path: Path, header: Sequence[str]) -> None:
    """Spreadsheets of some countries write semicolons for commas. Raises DataError for such a table."""
    if len(header) == 1 and any(sign in header[0] for sign in ";\t"):
        sign = "';'" if ";" in header[0] else "tabs"
        raise DataError(f"{path}: columns are separated by {sign}: write commas, and decimal points")


def _json_rows(path: Path, content: bytes) -> Iterator[tuple[int, Row]]:
    for number, row in json_lines(path, content, dict[str, object]):
        tags = row.get("tags")
        yield number, {**tags, **row} if isinstance(tags, dict) else row


def _column(row: Row, names: tuple[str, ...], where: str) -> object:
    for name in names:
        if name in row:
            return row[name]
    named = " or ".join(map(repr, names))
    raise DataError(f"{where}: no column {named}; it has: {_columns(row)}")


def _columns(row: Row) -> str:
    return ", ".join(brief(name) for name in list(row)[:20]) + (" …" if len(row) > 20 else "")


def _text(row: Row, names: tuple[str, ...], where: str) -> str:
    value = _column(row, names, where)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise DataError(f"{where}: {names[0]} {brief(value)} is no name")
    return str(value)


def _whole(value: object, name: str, where: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise DataError(f"{where}: {name} {brief(value)} is no whole number from 0")
    return int(text)


def _score(row: Row, where: str) -> float | None:
    """Return a share of 1, or None. A reply that earned nothing because it could not be read is a zero, as
    everywhere.
    """
    value = _column(row, SCORE, where)
    if value is None or value == "":
        return 0.0 if row.get("outcome") in UNREADABLE else None
    try:
        score = float("no number") if isinstance(value, bool) or "_" in str(value) else float(str(value))
    except ValueError:
        raise DataError(
            f"{where}: score {brief(value)} is no number; leave it empty where an answer has no score"
        ) from None
    if not math.isfinite(score):
        raise DataError(f"{where}: score {brief(value)} cannot be averaged; leave it empty where there is no score")
    if score > 1.0 + 1e-9:
        raise DataError(f"{where}: score {brief(value)} is above 1; scores are shares of the full score")
    return score


def _tag(row: Row, tag: str, where: str) -> str:
    if tag not in row:
        raise DataError(f"{where}: no column {tag!r} to break down by; it has: {_columns(row)}")
    value = row[tag]
    if isinstance(value, (dict, list)):
        raise DataError(f"{where}: {tag} {brief(value)} is no plain value")
    return "" if value is None else str(value)
