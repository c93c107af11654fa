"""Where `viva scaling` takes its models from: published tables, anybody's table, runs. Each with a size and a score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.analysis.sizes.scalinggroups import Point
from viva.analysis.standings import widest
from viva.analysis.uncertainty import Z
from viva.errors import DataError, VivaError, option
from viva.published import Size, Table, catalogue, tables
from viva.published import size as published_size
from viva.shipped import shipped_table
from viva.studies.item_scores import EXAM, existing, score_sets
from viva.studies.model_table import WideTable, family_of, only_model_table, read_wide
from viva.visible import one_line

Parameters = Literal["total", "active"]

SCORES = shipped_table(__file__, "scores.toml", dict[str, tuple[str, str]])
"""Benchmark → the table and the column that are meant where nothing else is said."""
SIZE_COLUMNS = ("parameters", "billions", "size", "total")


class Source(Struct, kw_only=True):
    """What the options say about where scores and sizes stand."""

    table: str | None = None
    score: str | None = None
    parameters: Parameters = "total"
    sizes: Mapping[str, Size] = {}
    questions: int | None = None


class ScalingData(Struct, frozen=True, kw_only=True):
    """The models of one table or exam."""

    title: str
    models: tuple[Point, ...]
    """Of size 0 where nobody knows it."""
    ranges: tuple[str, ...] = ()
    """Models whose score is a range, and so no point of a curve."""

    @property
    def points(self) -> tuple[Point, ...]:
        """Models of known size."""
        return tuple(one for one in self.models if one.size)

    @property
    def sizeless(self) -> tuple[Point, ...]:
        """Models with a score whose size nobody knows."""
        return tuple(one for one in self.models if not one.size)


def found_in(sources: Sequence[str], asked: Source) -> list[ScalingData]:
    """Return the models of every table and exam. Raises VivaError for what is no source, or has no scores."""
    if len(sources) == 1 and tables_of(sources[0]):
        return [_published(sources[0], asked)]
    paths = existing(sources, SCORES)
    if asked.table:
        raise VivaError(f"{asked.table!r} is for a benchmark's published tables; {sources[0]} is none", field="table")
    wide = only_model_table(paths)
    return _of_runs(paths, asked) if wide is None else [_of_table(wide, asked)]


def tables_of(benchmark: str) -> tuple[Table, ...]:
    """Return a benchmark's published tables; none for a path."""
    return tables(benchmark) if benchmark in SCORES else ()


def read_sizes(path: Path) -> dict[str, Size]:
    """Return `model,billions[,active]` → model → size. Raises DataError for what is no size."""
    table = read_wide(path, fewest=2)
    name = next((name for name in ("billions", "total", "parameters", "size") if name in table.columns), None)
    if name is None:
        raise DataError(
            f"{path}, line 1: {option('sizes')} needs a column `billions`; it has: {', '.join(table.columns) or 'none'}"
        )
    sizes: dict[str, Size] = {}
    active = table.columns.get("active", (None,) * len(table.rows))
    for model, total, part in zip(table.rows, table.columns[name], active, strict=True):
        if total is None:
            continue
        if total <= 0 or (part is not None and not 0 < part <= total):
            raise DataError(f"{path}: {one_line(model, 60)!r}: {total:g} and {part or total:g} billion are no sizes")
        sizes[model] = Size(total, part or total)
    return sizes


def _published(benchmark: str, asked: Source) -> ScalingData:
    wanted, column = SCORES[benchmark]
    named = asked.table or wanted
    table = next((table for table in tables(benchmark) if table.name == named), None)
    if table is None:
        known = ", ".join(table.name for table in tables(benchmark))
        raise VivaError(f"{named!r}: {benchmark} has no such published table; it has: {known}", field="table")
    column = asked.score or column
    figures = [one.name for one in table.columns if one.unit == "%"]
    if column not in figures:
        raise VivaError(
            f"{column!r}: {benchmark}'s table {named} has no such column; it has: {', '.join(figures)}", field="score"
        )
    questions = asked.questions or _questions(benchmark, named, column)
    models = tuple(
        _point(
            entry.name,
            asked.sizes.get(entry.model) or entry.size or published_size(entry.name),
            entry.figures[column] / 100,
            entry.words,
            asked,
            questions,
        )
        for entry in table.models
        if column in entry.figures
    )
    label = next(one.label for one in table.columns if one.name == column)
    said = f"{benchmark}, published, {label} ({table.source.table})"
    return ScalingData(title=said, models=models)


def _questions(benchmark: str, name: str, column: str) -> int | None:
    """On how many questions a published headline rests; None for a part of it."""
    settings = (one for one in catalogue()[benchmark].settings if name in one.tables and column == one.headline)
    return next((one.questions for one in settings), None)


def _of_table(path: Path, asked: Source) -> ScalingData:
    table = read_wide(path, fewest=2)
    own = next((name for name in SIZE_COLUMNS if name in table.columns or name in table.texts), None)
    column = _score_column(path, table, asked.score, own)
    values = table.columns[column]
    if any(value is not None and not 0 <= value <= 100 for value in values):
        raise DataError(f"{path}: column {column!r} holds scores beyond 0 and 100; {option('score')} names another")
    scale = 100.0 if any(value is not None and value > 1 for value in values) else 1.0
    models: list[Point] = []
    for index, (model, value) in enumerate(zip(table.rows, values, strict=True)):
        if value is not None:
            size = asked.sizes.get(model) or _cell_size(table, own, index) or published_size(model)
            words = {name: texts[index] for name, texts in table.texts.items() if name != own}
            models.append(_point(model, size, value / scale, words, asked, asked.questions))
    return ScalingData(title=f"{path.name}, {column}", models=tuple(models))


def _score_column(path: Path, table: WideTable, score: str | None, own: str | None) -> str:
    figures = [name for name in table.columns if name != own]
    named = score or "score"
    if named in figures:
        return named
    if score is None and len(figures) == 1 and named not in table.words:
        return figures[0]
    asked = (
        f"which column is the score? {option('score', 'NAME')}"
        if score is None
        else f"{option('score')} {score!r}: no such column"
    )
    known = ", ".join(one_line(name, 40) for name in figures) or "none"
    why = f"; {named!r} is not all figures ({table.words[named]})" if named in table.words else ""
    raise VivaError(f"{path}: {asked}; it has: {known}{why}")


def _cell_size(table: WideTable, column: str | None, index: int) -> Size | None:
    if column is None:
        return None
    if column in table.texts:
        text = table.texts[column][index]
        return published_size(text) or published_size(f"{text}B")  # "16B / 2.8B" and plain numbers in one column
    value = table.columns[column][index]
    return Size(value, value) if value is not None and value > 0 else None


def _of_runs(paths: Sequence[Path], asked: Source) -> list[ScalingData]:
    if asked.score:
        raise VivaError(f"{asked.score!r} names a column of a table; of runs it is each exam's headline", field="score")
    models: dict[str, list[Point]] = {}
    ranges = defaultdict[str, list[str]](list)
    for one in score_sets(paths, EXAM):
        exam, model, (cell,) = one.exam, one.model, one.measured().values()
        here = models.setdefault(exam, [])
        if cell.ranged:
            ranges[exam].append(model)
        elif cell.mean is not None:
            size = asked.sizes.get(model) or published_size(model)
            here.append(_point(model, size, cell.mean, {}, asked, None, cell))
    return [ScalingData(title=exam, models=tuple(found), ranges=tuple(ranges[exam])) for exam, found in models.items()]


def _point(
    model: str,
    size: Size | None,
    score: float,
    words: Mapping[str, str],
    asked: Source,
    questions: int | None,
    cell: Estimate | None = None,
) -> Point:
    """Return `questions`: how many a score without a cell rests on, which gives it the widest interval that it can
    have.
    """
    low, high = (cell.low, cell.high) if cell is not None else (None, None)
    if low is None and questions:
        low, high = widest(score, questions) or (None, None)
    variance = None if low is None or high is None else ((high - low) / 2 / Z) ** 2
    size = size or Size(0.0, 0.0)
    billions = size.active if asked.parameters == "active" else size.total
    return Point(
        model=model,
        size=billions,
        score=score,
        low=low,
        high=high,
        variance=variance,
        partial=cell is not None and not cell.complete,
        words={"family": family_of(model), **{name: word for name, word in words.items() if word}},
        span=(size.active, size.total) if size.active != size.total else None,
    )
