"""What `viva correlate` correlates besides files: published tables, and benchmarks matched by model's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from viva.errors import VivaError
from viva.published import plain, table
from viva.render.result import left_out
from viva.shipped import shipped_table
from viva.studies.item_scores import EXAM, existing, score_sets
from viva.studies.model_table import WideTable, is_wide, read_wide
from viva.studies.scaling.sizedmodels import SCORES
from viva.visible import one_line, some


class Shown(Struct, frozen=True):
    """A published table, and which of its columns meet where nothing is asked for."""

    table: str
    title: str
    columns: tuple[str, ...]
    every_row: bool = False
    """Whether baselines are among the rows, as in SynEval's Table 7; else models alone."""


PUBLISHED = shipped_table(__file__, "shown.toml", dict[str, tuple[Shown, ...]])
"""Benchmarks whose published tables can be named in place of a file."""


class Correlated(Struct, frozen=True, kw_only=True):
    """A table with the columns that meet by default (all where there are none), and what to say about it."""

    title: str
    table: WideTable
    columns: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    """What a chart calls a column that has a label."""
    notes: tuple[str, ...] = ()


def published_tables(benchmark: str) -> list[Correlated]:
    """Return a benchmark's own tables, a row a model."""
    found: list[Correlated] = []
    for shown in PUBLISHED[benchmark]:
        known = table(benchmark, shown.table)
        entries = known.entries if shown.every_row else known.models
        figures = {
            column.name: tuple(entry.figures.get(column.name) for entry in entries)
            for column in known.columns
            if column.unit == "%"
        }
        rows = WideTable(rows=tuple(entry.name for entry in entries), columns=figures, words={})
        labels = {one.name: f"{one.label}, per cent" for one in known.columns if one.unit == "%"}
        title = f"{benchmark}, published, {shown.title}"
        found.append(Correlated(title=title, table=rows, columns=shown.columns, labels=labels))
    return found


def matched(sources: Sequence[str]) -> Correlated:
    """Benchmarks beside each other: a column each, its headline; published tables by name, runs by their exams; of a
    table of a row a model (other benchmarks' scores) every column of figures, each called by its name there.

    Rows are the models that have a figure in two of them at least. Names are the same but for case, spaces, hyphens and
    a vendor's prefix; nothing else is guessed: a name that two rows of one source share is in none.
    """
    columns: dict[str, dict[str, tuple[str, float]]] = {}
    partial: set[str] = set()
    ranges: list[str] = []
    for source in dict.fromkeys(sources):
        if source in PUBLISHED:
            name, column = SCORES[source]
            shown = f"{source} {column}, published"
            models = table(source, name).models
            columns[shown] = _unique((one.name, one.figures[column]) for one in models if column in one.figures)
            continue
        path = existing([source], PUBLISHED)[0]
        found = _columns_of(path, columns) if is_wide(path) else _headlines(path, columns, partial, ranges)
        columns.update(found)
    names = dict.fromkeys(key for figures in columns.values() for key in figures)
    keys = [key for key in names if sum(key in figures for figures in columns.values()) > 1]
    if not keys:
        raise VivaError(
            f"no model is in two of {', '.join(columns)}: they are matched by name, as Qwen1.5-7B is, but not with "
            "another version or ending"
        )
    shown_names = {key: next(figures[key][0] for figures in columns.values() if key in figures) for key in keys}
    rows = WideTable(
        rows=tuple(shown_names.values()),
        columns={
            name: tuple(figures[key][1] if key in figures else None for key in keys)
            for name, figures in columns.items()
        },
        words={},
        partial=frozenset(name for key, name in shown_names.items() if key in partial),
    )
    said = some([one_line(name, 40) for name in shown_names.values()], 12)
    return Correlated(
        title="models of the same name",
        table=rows,
        notes=(
            f"Matched by name, not by version, prompt or language: {len(keys):,} models ({said}).",
            *noted(ranges),
        ),
    )


def _columns_of(path: Path, earlier: Mapping[str, object]) -> dict[str, dict[str, tuple[str, float]]]:
    """Return a table's columns of figures, each with its models' figures."""
    wide = read_wide(path, fewest=2)
    if again := next((name for name in wide.columns if name in earlier), None):
        raise VivaError(f"{path} has a column {one_line(again, 60)!r}, as a source before it has: name one of them")
    return {
        name: _unique((row, figure) for row, figure in zip(wide.rows, figures, strict=True) if figure is not None)
        for name, figures in wide.columns.items()
    }


def noted(ranges: Sequence[str]) -> tuple[str, ...]:
    """Return a note that names models with a range in place of a figure, where there are any."""
    return (f"Figures {left_out(list(dict.fromkeys(ranges)))}",) if ranges else ()


def _headlines(
    path: Path, earlier: Mapping[str, object], partial: set[str], ranges: list[str]
) -> dict[str, dict[str, tuple[str, float]]]:
    """Headline → its models' figures; `partial` takes in the keys of those that leave something out, `ranges` the names
    of those that have none but a range."""
    found: dict[str, list[tuple[str, float]]] = {}
    for one in score_sets([path], EXAM):
        (cell,) = one.measured().values()
        partial |= set() if cell.complete else {plain(one.model.rpartition("/")[2])}
        if cell.ranged:
            ranges.append(one.model)
        if cell.mean is not None:
            found.setdefault(f"{one.exam} {one.headline.label}", []).append((one.model, 100 * cell.mean))
    if again := next((name for name in found if name in earlier), None):
        raise VivaError(f"{again} is in {path} and in a run before it: name one of them")
    return {name: _unique(figures) for name, figures in found.items()}


def _unique(figures: Iterable[tuple[str, float]]) -> dict[str, tuple[str, float]]:
    """Plain name → name and figure; without names that are there twice."""
    given = list(figures)
    keys = [plain(name.rpartition("/")[2]) for name, _ in given]
    return {key: pair for key, pair in zip(keys, given, strict=True) if keys.count(key) == 1}
