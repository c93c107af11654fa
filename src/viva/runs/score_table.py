"""Tables of item scores from any source: CSV or JSONL, also gzipped, a row an answer.

    model,case,sample,score
    gpt-4-0613,0-0-0,0,1.0

Columns: `model` (without one, the file is one model's), `case` or `question`, `sample`, `score` or `value` (a share of
1; empty: unscored), and optionally `repeat`, `outcome`, `cluster` (shared by questions that belong together), and tags.
`viva grade --out` writes this form, and so is the scores.jsonl of a run. The set is all questions of the table: a
question without a row of a model was not asked of it.
"""

from __future__ import annotations

import math
import re
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
        """Number of answers, scored or not."""
        return sum(map(len, self.scores.values()))

    @property
    def unscored(self) -> int:
        """Number of answers without a score."""
        return sum(scores.count(None) for scores in self.scores.values())


def read_scores_table(path: Path, tags: tuple[str, ...] = ()) -> dict[str, ModelScores]:
    """Return model → its answers, both in the order of the file. `tags`: columns to keep.

    Raises DataError with line and value for a missing or torn file, a missing column, an invalid score, an answer given
    twice, a question with two values of a tag, scores of several of Viva's exams.
    """
    models: dict[str, ModelScores] = {}
    answers: dict[tuple[str, str], dict[tuple[int, int], tuple[int, float | None]]] = {}
    named: bool | None = None
    exam: object = None
    for line, row in rows_of(path):
        where = f"{path}, line {line}"
        its = row.get("exam")
        exam = exam or its
        if "benchmark" in row and its != exam:  # what Viva wrote
            raise DataError(
                f"{where}: exam {brief(its)}, where the rows above are of {brief(exam)}: name the run's "
                "folder in place of the table, or leave one exam in it"
            )
        named = MODEL[0] in row if named is None else named
        if not named and MODEL[0] in row:
            raise DataError(f"{where}: a model, {brief(row[MODEL[0]])}, where the rows above have none")
        model = name_in(row, column_of(row, MODEL, where), where) if named else path.name
        question = name_in(row, column_of(row, QUESTION, where), where)
        place = (
            _whole(row.get("repeat", 0), "repeat", where),
            _whole(row[column_of(row, SAMPLE, where)], "sample", where),
        )
        given = answers.setdefault((model, question), {})
        if place in given:
            raise DataError(
                f"{where}: a second score of model {brief(model)}, case {brief(question)}, sample {place[1]}; the "
                f"first is in line {given[place][0]}"
            )
        given[place] = (line, _score(row, where))
        mine = models.setdefault(model, ModelScores()).tags.setdefault(question, {})
        for tag in (*tags, CLUSTER) if CLUSTER in row else tags:
            value = text_in(row, column_of(row, (tag,), where), where)
            if mine.setdefault(tag, value) != value:
                raise DataError(
                    f"{where}: {tag} of case {brief(question)} is {brief(value)}, and {brief(mine[tag])} above"
                )
    if not models:
        raise DataError(f"the table {path} holds no scores; it needs rows of model, question, sample, score")
    for (model, question), given in answers.items():
        models[model].scores[question] = [given[place][1] for place in sorted(given)]
    everything = {question: mine for own in reversed(models.values()) for question, mine in own.tags.items()}
    for own in models.values():
        most = max(map(len, own.scores.values()))
        own.missing = frozenset(everything.keys() - own.scores.keys())
        for question in (name for name in everything if name in own.missing):
            own.scores[question], own.tags[question] = [None] * most, everything[question]
    return models


def rows_of(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of any CSV or JSONL file with their lines; a `tags` object's entries are read as further columns.

    Raises DataError where it is missing or torn.
    """
    if path.name.removesuffix(".gz").endswith(".csv"):
        yield from read_csv(path, table_text(path), check=partial(refuse_other_separators, path))[1]
    else:
        yield from _json_rows(path, unpacked(path, "table"))


def refuse_other_separators(path: Path, header: Sequence[str]) -> None:
    """Raise DataError for a table with semicolons as separators, which spreadsheets of some countries write."""
    if len(header) == 1 and any(sign in header[0] for sign in ";\t"):
        sign = "';'" if ";" in header[0] else "tabs"
        raise DataError(f"{path}: columns are separated by {sign}: write commas, and decimal points")


def _json_rows(path: Path, content: bytes) -> Iterator[tuple[int, Row]]:
    for number, row in json_lines(path, content, dict[str, object]):
        tags = row.get("tags")
        yield number, {**tags, **row} if isinstance(tags, dict) else row


def column_of(row: Row, names: Sequence[str], where: str) -> str:
    """Return the first of these columns that a row has. Raises DataError where it has none."""
    for name in names:
        if name in row:
            return name
    more = " …" if len(row) > 20 else ""
    known = ", ".join(map(brief, list(row)[:20])) or "none"
    raise DataError(f"{where}: no column {' or '.join(map(repr, names))}; it has: {known}{more}")


def name_in(row: Row, column: str, where: str) -> str:
    """Return the name in a row's column. Raises DataError where it is invalid."""
    value = row[column]
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise DataError(f"{where}: {column} {brief(value)} is no name")
    return str(value)


def text_in(row: Row, column: str, where: str) -> str:
    """Return a plain value as text, empty where there is none. Raises DataError for a list or an object."""
    value = row.get(column)
    if isinstance(value, (dict, list)):
        raise DataError(f"{where}: {column[:60]} {brief(value)} is no plain value")
    return "" if value is None else str(value)


def number_in(row: Row, column: str, where: str, hint: str) -> float | None:
    """Return a row's number, None for an empty field. Raises DataError with the `hint` where it is invalid."""
    text = str("" if row[column] is None else row[column]).strip()
    if not text:
        return None
    try:
        value = float("no number") if isinstance(row[column], bool) or "_" in text else float(text)
    except ValueError:
        if _DECIMAL_COMMA.fullmatch(text):
            raise DataError(f"{where}: {column} {brief(text)} has a decimal comma: write decimal points") from None
        raise DataError(f"{where}: {column} {brief(row[column])} is no number; {hint}") from None
    return value + 0.0  # no minus zero


_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]{0,20},[0-9]{1,20}")


def _whole(value: object, name: str, where: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise DataError(f"{where}: {name} {brief(value)} is no whole number from 0")
    return int(text)


def _score(row: Row, where: str) -> float | None:
    """Return a row's score, a share of 1, or None. An unreadable reply scores 0, as everywhere."""
    column = column_of(row, SCORE, where)
    score = number_in(row, column, where, "leave it empty where an answer has no score")
    if score is None:
        return 0.0 if row.get("outcome") in UNREADABLE else None
    if not math.isfinite(score):
        raise DataError(
            f"{where}: {column} {brief(row[column])} cannot be averaged; leave it empty where there is no score"
        )
    if score > 1.0 + 1e-9:
        raise DataError(f"{where}: {column} {brief(row[column])} is above 1; scores are shares of the full score")
    return score
