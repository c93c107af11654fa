"""Options of `viva scaling`, and its models with sizes and scores, from published tables, other tables and runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.estimate import Estimate
from viva.analysis.sizes.scalinggroups import Point
from viva.analysis.standings import widest
from viva.analysis.uncertainty import Z
from viva.engine.budget import Positive
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.files import shipped_table
from viva.published import Size, catalogue, tables
from viva.published import size as published_size
from viva.studies.item_scores import EXAM, OnlyExams, Sources, existing, score_sets
from viva.studies.model_table import Families, ModelTable, family_of, only_model_table, published_models, read_models
from viva.visible import one_line

Parameters = Literal["total", "active"]

SCORES = shipped_table(__file__, "scores.toml", dict[str, tuple[str, str]])
"""Benchmark → default table and column."""
SIZE_COLUMNS = ("parameters", "billions", "size", "total")


class ScalingConfig(Struct, kw_only=True):
    """How scores grow with the number of parameters, in a benchmark's published table (clrbench, syneval, ...), in a
    table of your own (a row a model), or in runs: curves, what they predict, and how far to trust that.

    \b
    viva scaling csbench --fit family --model 'Qwen1.5-*' --fit-on 7,14,32,72 --predict 110
    viva scaling infibench --fit segments --by domain --chart break.svg
    viva scaling runs/* --sizes sizes.csv --fit log --predict 400
    """

    sources: Sources
    fit: Annotated[
        tuple[str, ...],
        note(
            "The curve; several: repeat, or with commas. family: 1 - 1/(a·ln(bx + 1) + 1), CS-Bench's; "
            "log: a line over log size; logistic: log odds over log size; power: ceiling - drop·x^-exponent; average: "
            "the mean of these four, whose interval allows for not knowing which; segments: two lines that meet at a "
            "break, tested against one.  [default: log; with --predict average]",
            metavar="log|family|average|...",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...], note("A curve for each value; several: each combination.", metavar="family|domain|type|...")
    ] = ()
    predict: Annotated[
        tuple[str, ...], note("The score at this many billions; such models judge it.", metavar="SIZE")
    ] = ()
    fit_on: Annotated[tuple[str, ...], note("Fit models of these sizes only, as papers do.", metavar="SIZE,...")] = ()
    reach: Annotated[
        tuple[str, ...],
        note("At which size the curves reach this model's score, as in GPT-4-0613, drawn as a line; repeatable."),
    ] = ()
    parameters: Annotated[
        Parameters, note("Of mixtures of experts: all parameters, or those that a token passes through.")
    ] = "total"
    model: Annotated[tuple[str, ...], note("Only these, as in 'Qwen1.5-*'; repeatable.", metavar="PATTERN")] = ()
    exam: OnlyExams = ()
    exclude: Annotated[tuple[str, ...], note("Leave these models out.", metavar="PATTERN")] = ()
    where: Annotated[
        tuple[str, ...], note("Only models of which this is said: domain=Code.", metavar="WORD=VALUE")
    ] = ()
    best: Annotated[bool, note("Only the best model of each size.")] = False
    frontier: Annotated[
        bool, note("Fit the models that set a new best as sizes grow, as InfiBench's Figure 4 does; draw all.")
    ] = False
    table: Annotated[str | None, note("Which published table (`viva published BENCHMARK`).", metavar="NAME")] = None
    score: Annotated[str | None, note("Which column is the score.", metavar="COLUMN")] = None
    sizes: Annotated[Path | None, note("CSV `model,billions[,active]`, where names do not say it.", metavar="FILE")] = (
        None
    )
    families: Families = None
    questions: Annotated[
        Positive | None,
        note("On how many questions each score of a table rests, for intervals where no model is left over."),
    ] = None


class ScalingData(Struct, frozen=True, kw_only=True):
    """The models of one table or exam."""

    title: str
    models: tuple[Point, ...]
    """Models; size 0 where unknown."""
    ranges: tuple[str, ...] = ()
    """Models left out because their score is a range."""

    @property
    def points(self) -> tuple[Point, ...]:
        """Models of known size."""
        return tuple(point for point in self.models if point.size)

    @property
    def sizeless(self) -> tuple[Point, ...]:
        """Models with a score but of unknown size."""
        return tuple(model for model in self.models if not model.size)


def found_in(config: ScalingConfig, sizes: Mapping[str, Size]) -> list[ScalingData]:
    """Return the models of every table and exam. Raises VivaError for an invalid source, or one without scores."""
    first, *others = config.sources or ("",)
    if not others and first in SCORES and tables(first):
        return [_published(first, config, sizes)]
    paths = existing(config.sources, SCORES)
    if config.table:
        raise VivaError(f"{config.table!r} is for a benchmark's published tables; {first} is none", field="table")
    wide = only_model_table(paths)
    return _of_runs(paths, config, sizes) if wide is None else [_of_table(wide, config, sizes)]


def read_sizes(path: Path) -> dict[str, Size]:
    """Return `model,billions[,active]` → model → size. Raises DataError for an invalid size."""
    columns = read_models(path, fewest=2).columns
    name = next((name for name in SIZE_COLUMNS if name in columns), None)
    if name is None:
        raise DataError(f"{path}: {option('sizes')} needs a column `billions`, of nothing but numbers")
    sizes: dict[str, Size] = {}
    for model, cell in columns[name].items():
        total, part = cell.mean, columns["active"][model].mean if "active" in columns else None
        if total is None:
            continue
        if total <= 0 or (part is not None and not 0 < part <= total):
            raise DataError(f"{path}: {one_line(model)!r}: {total:g} and {part or total:g} billion are no sizes")
        sizes[model] = Size(total, part or total)
    return sizes


def _published(benchmark: str, config: ScalingConfig, sizes: Mapping[str, Size]) -> ScalingData:
    named, column = SCORES[benchmark]
    named, column = config.table or named, config.score or column
    known = {table.name: table for table in tables(benchmark)}
    if named not in known:
        raise VivaError(
            f"{named!r}: {benchmark} has no such published table; it has: {', '.join(known)}", field="table"
        )
    models = published_models(benchmark, named)
    if column not in models.columns:
        raise VivaError(
            f"{column!r}: {benchmark}'s table {named} has no such column; it has: {', '.join(models.columns)}",
            field="score",
        )
    # The number of questions behind a published headline is known, but not that behind its parts.
    settings = (
        setting for setting in catalogue()[benchmark].settings if named in setting.tables and column == setting.headline
    )
    questions = next((setting.questions for setting in settings), None)
    stated = {entry.name: entry.size for entry in known[named].models if entry.size}
    title = f"{benchmark}, published, {models.labels[column]} ({known[named].source.table})"
    return _data(title, models, column, config, {**stated, **sizes}, questions)


def _of_table(path: Path, config: ScalingConfig, sizes: Mapping[str, Size]) -> ScalingData:
    table = read_models(path, fewest=2)
    own = next((name for name in SIZE_COLUMNS if name in table.columns or name in table.words), SIZE_COLUMNS[0])
    column = _score_column(path, table, config.score, own)
    values = [cell.mean for cell in table.columns[column].values() if cell.mean is not None]
    if any(not 0 <= value <= 100 for value in values):
        raise DataError(f"{path}: column {column!r} holds scores beyond 0 and 100; {option('score')} names another")
    # A column may mix "16B / 2.8B" with plain numbers.
    size_of = {
        model: published_size(text) or published_size(f"{text}B") for model, text in table.words.get(own, {}).items()
    }
    size_of |= {
        model: Size(size, size) for model, cell in table.columns.get(own, {}).items() if (size := cell.mean or 0) > 0
    }
    stated = {model: size for model, size in size_of.items() if size}
    words = {name: given for name, given in table.words.items() if name != own}
    scale = 100.0 if any(value > 1 for value in values) else 1.0
    return _data(
        f"{path.name}, {column}", replace(table, words=words), column, config, {**stated, **sizes}, scale=scale
    )


def _data(
    title: str,
    table: ModelTable,
    column: str,
    config: ScalingConfig,
    sizes: Mapping[str, Size],
    questions: int | None = None,
    scale: float = 100.0,
) -> ScalingData:
    """Return the models with a score in a column of a table, in which full marks are `scale`. `questions`: the number
    behind a score, unless the user gives it.
    """
    points = [
        _point(
            model,
            sizes.get(model),
            cell.mean / scale,
            config,
            words={name: given[model] for name, given in table.words.items()},
            questions=config.questions or questions,
        )
        for model, cell in table.columns[column].items()
        if cell.mean is not None
    ]
    return ScalingData(title=title, models=tuple(points))


def _score_column(path: Path, table: ModelTable, score: str | None, own: str) -> str:
    figures = [name for name in table.columns if name != own]
    named = score or "score"
    if named in figures:
        return named
    if score is None and len(figures) == 1 and named not in table.strange:
        return figures[0]
    asked = (
        f"which column is the score? {option('score', 'NAME')}"
        if score is None
        else f"{option('score')} {score!r}: no such column"
    )
    known = ", ".join(one_line(name, 40) for name in figures) or "none"
    why = f"; {named!r} is not all figures ({table.strange[named]})" if named in table.strange else ""
    raise VivaError(f"{path}: {asked}; it has: {known}{why}")


def _of_runs(paths: Sequence[Path], config: ScalingConfig, sizes: Mapping[str, Size]) -> list[ScalingData]:
    if config.score:
        raise VivaError(
            f"{config.score!r} names a column of a table; of runs it is each exam's headline", field="score"
        )
    models: dict[str, list[Point]] = {}
    ranges = defaultdict[str, list[str]](list)
    for each in score_sets(paths, EXAM, exams=config.exam):
        (cell,) = each.measured().values()
        here = models.setdefault(each.exam, [])
        if cell.ranged:
            ranges[each.exam].append(each.model)
        elif cell.mean is not None:
            here.append(_point(each.model, sizes.get(each.model), cell.mean, config, cell=cell))
    return [ScalingData(title=exam, models=tuple(here), ranges=tuple(ranges[exam])) for exam, here in models.items()]


def _point(
    model: str,
    size: Size | None,
    score: float,
    config: ScalingConfig,
    *,
    words: Mapping[str, str] = MappingProxyType({}),
    questions: int | None = None,
    cell: Estimate | None = None,
) -> Point:
    """Return a model; its name gives the size if nothing else does. `questions`: the number behind a score without a
    `cell`, which gives it the widest possible interval.
    """
    low, high = (cell.low, cell.high) if cell else (None, None)
    if low is None and questions:
        low, high = widest(score, questions) or (None, None)
    size = size or published_size(model) or Size(0.0, 0.0)
    return Point(
        model=model,
        size=size.active if config.parameters == "active" else size.total,
        score=score,
        low=low,
        high=high,
        variance=None if low is None or high is None else ((high - low) / 2 / Z) ** 2,
        partial=cell is not None and not cell.complete,
        words={"family": family_of(model), **{name: word for name, word in words.items() if word}},
        span=(size.active, size.total) if size.active != size.total else None,
    )
