"""Published tables and figures by benchmark, name and model, with the models of runs among them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from viva.commands import command
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.published import NONE, SAMPLING, Column, Entry, Figure, Table, about, catalogue, plain, similar, table, tables
from viva.render.findings import Findings
from viva.studies.published_tables.chart import chart
from viva.studies.published_tables.tables import findings, listing

if TYPE_CHECKING:
    from viva.engine.folder import ExamRecord, RunRecord
    from viva.render.result import Result

SPREAD = "score_std"
"""Column of the standard deviation over groups of answers."""


class PublishedConfig(Struct, kw_only=True):
    """The papers' own tables, as printed, with their sources and notes on what contradicts itself.

    Without TABLE: which tables BENCHMARK has, with the notes on them. Without BENCHMARK: all there are. The papers'
    figures, drawn from their tables or from runs.

    \b
    viva published csbench
    viva published csbench en_domains --model gpt-4 --model llama3
    viva published infibench 7 --run runs/NAME                     the paper's Table 7, with a run's models
    viva published infibench leaderboard --model gpt4 --run runs/t0 --run runs/t0.6      its sampling, and yours
    viva published infibench --figure 4 --chart figure4.svg
    viva published csbench --figure 4c --run runs/zero --run runs/five --run runs/cot --chart figure4c.svg
    viva published infibench leaderboard --format csv --out leaderboard.csv
    """

    benchmark: Annotated[str, note("Of which benchmark; all without it.", argument=True)] = ""
    name: Annotated[
        str,
        note("Which table, or its number in the paper; without it, which there are.", argument=True, metavar="TABLE"),
    ] = ""
    model: Annotated[
        tuple[str, ...],
        note(
            "Only rows with this in their name, however it is written (gpt-4, llama3 8b); repeatable.", metavar="NAME"
        ),
    ] = ()
    run: Annotated[
        tuple[str, ...], note("The models of this run as further rows, or in the figure; repeatable.", metavar="FOLDER")
    ] = ()
    figure: Annotated[str, note("In place of tables: BENCHMARK's figure of this number, as 4a.", metavar="NUMBER")] = ""
    all: Annotated[bool, note("Every table of BENCHMARK.")] = False


@command(PublishedConfig, chart="Draw the table or figure")
def study(config: PublishedConfig) -> Findings[Any]:
    """The papers' own tables and figures, as printed, with their sources and notes on what contradicts itself.

    Raises VivaError for unknown benchmarks, tables, figures and models, and for runs that have none of the figures.
    """
    if config.figure:
        return _figure(config)
    chosen = _tables_of(config.benchmark, config.name)
    if config.run and not config.name:
        raise VivaError("the models of a run are rows of one table: name it after its benchmark")
    if config.name or config.all or config.model:
        kept = _narrowed(chosen, config.model)
        return _drawn(tuple(_with_runs(whole, config.run) for whole in kept))
    return listing(chosen, partial(chart, chosen, listing=True), notes=bool(config.benchmark))


def _tables_of(benchmark: str, name: str) -> tuple[Table, ...]:
    if not benchmark:
        return tuple(each_table for paper in catalogue() for each_table in tables(paper))
    if name:
        numbered = tuple(each_table for each_table in tables(benchmark) if each_table.source.table == f"Table {name}")
        return numbered or (table(benchmark, name),)
    about(benchmark)
    return tables(benchmark)


def _drawn(shown: tuple[Table, ...]) -> Findings[tuple[Table, ...]]:
    return findings(shown, partial(chart, shown))


def _figure(config: PublishedConfig) -> Findings[Any]:
    """Return a paper's figure. Raises VivaError for one that is not drawn here, and for one of runs without any."""
    if not config.benchmark:
        raise VivaError(f"{config.figure[:20]!r} is a figure of which paper? name its benchmark", field="figure")
    figures = about(config.benchmark).figures
    figure = figures.get(config.figure)
    if figure is None or config.name:
        known = "; ".join(f"{number}: {each.shows}" for number, each in figures.items()) or "none"
        raise VivaError(f"{config.benchmark} has no figure {config.figure[:20]!r} here; it has {known}")
    if figure.from_runs and not config.run:
        raise VivaError(f"figure {config.figure} of {config.benchmark} is drawn from runs alone; name their folders")
    if figure.study:
        return _studied(figure, config)
    if not figure.table:
        return _drawn((_by_way(figure, config),))
    whole = table(config.benchmark, figure.table)
    kept = tuple(column for column in whole.columns if not figure.columns or column.name.startswith(figure.columns))
    (drawn,) = _narrowed([replace(whole, columns=kept, title=figure.shows)], config.model)
    return _drawn((_with_runs(drawn, config.run),))


def _studied(figure: Figure, config: PublishedConfig) -> Findings[Any]:
    """Return the findings of a study on the benchmark's published table, or on runs. Raises VivaError as the study
    does, for runs without an exam of the benchmark, and for models where they cannot be chosen.
    """
    options: dict[str, Any] = figure.options
    if config.run:  # models cannot be chosen: published names are not those of runs
        _results(config.benchmark, config.run)
        options = {name: value for name, value in options.items() if name not in ("model", "exclude", "reach")}
    if config.model:
        if figure.study != "scaling":
            raise VivaError(f"is not for figure {config.figure}, which shows all models: leave it out", field="model")
        options = options | {"model": config.model}
    study = importlib.import_module(f"viva.studies.{figure.study}.study").study
    training = {"runs": tuple(map(Path, config.run))}
    sources = training if figure.study == "training" else {"sources": config.run or (config.benchmark,)}
    return cast("Findings[Any]", study(study.config(**sources, **options)))


class _Asked(NamedTuple):
    """A model of a run on an exam of the benchmark."""

    folder: str
    run: RunRecord
    exam: ExamRecord
    result: Result

    @property
    def way(self) -> str:
        """The way of asking: language, shots and so on."""
        return f"{self.exam.spec.shots}-shot" + (" CoT" if self.exam.spec.chain_of_thought else "")

    @property
    def sampling(self) -> str:
        """Temperature and top-p in InfiBench's notation; "" for the server's defaults."""
        sampling = self.exam.sampling or self.run.sampling
        if sampling.temperature is None:
            return ""
        return f"({float(sampling.temperature):g},{float(1 if sampling.top_p is None else sampling.top_p):g})"


def _results(benchmark: str, runs: Sequence[str]) -> list[_Asked]:
    """Return every model of the runs on an exam of the benchmark.

    Raises DataError where the runs have none.
    """
    from viva.runs.answers import read_run

    asked: list[_Asked] = []
    for name in runs:
        reported = read_run(Path(name), NONE)
        run = reported.folder.record
        exams = {exam.spec.label: exam for exam in run.exams}
        asked += [
            _Asked(Path(name).name, run, exams[result.exam], result)
            for result in reported.report.results
            if result.benchmark == benchmark
        ]
    if not asked:
        raise DataError(f"{', '.join(runs)[:200]}: no exam of {benchmark} was asked there")
    return asked


def _with_runs(whole: Table, runs: Sequence[str]) -> Table:
    """Return the table, preceded by a row for each model of the runs with a figure in its columns."""
    if not runs:
        return whole
    paper = about(whole.benchmark)
    columns = {column.name for column in whole.columns}
    blocks = next(declared.cells for declared in paper.tables if declared.name == whole.name)
    cells = {place: name for block in blocks for place, name in block.named().items() if name in columns}
    languages = {setting.language for setting in paper.settings if whole.name in setting.tables}
    rows: list[Entry] = []
    notes: list[str] = []
    for result in _results(whole.benchmark, runs):
        if languages and result.result.language not in languages:
            continue
        scores = {
            cells[place]: cell
            for shown in result.result.tables
            for row, line in zip(shown.rows, shown.cells, strict=True)
            for column, cell in zip(shown.columns, line, strict=True)
            if (place := (shown.name, row, column)) in cells and cell.mean is not None
        }
        figures = {name: 100 * cell.mean for name, cell in scores.items() if cell.mean is not None}
        if not figures:
            continue
        spread = scores["score"].sd if SPREAD in columns and "score" in scores else None
        figures |= {} if spread is None else {SPREAD: 100 * spread}
        words = {SAMPLING: result.sampling} if any(SAMPLING in entry.words for entry in whole.entries) else {}
        model = f"{result.result.model} ({result.folder}, {result.way})"
        rows.append(Entry(model=model, figures=figures, words=words, kind="run"))
        if result.exam.data is None:
            notes.append(f"{result.folder} asked Viva's bundled sample, which no published figure is about.")
    if not rows:
        raise DataError(f"{', '.join(runs)[:200]}: these runs have no figure of {whole.benchmark}'s table {whole.name}")
    notes.append("Rows of runs are Viva's own figures, means without intervals; `viva score` has these.")
    return replace(whole, entries=(*rows, *whole.entries), notes=(*whole.notes, *dict.fromkeys(notes)))


def _by_way(figure: Figure, config: PublishedConfig) -> Table:
    """Return the models of runs, with their overall scores by way of asking."""
    scores: dict[str, dict[str, float]] = {}
    for result in _results(config.benchmark, config.run):
        if (mean := result.result.overall.mean) is not None:
            language = result.exam.spec.language
            name = result.result.model if language == "en" else f"{result.result.model}, {language}"
            scores.setdefault(name, {})[result.way] = 100 * mean
    ways = sorted({way for ways in scores.values() for way in ways}, key=lambda way: (way.endswith("CoT"), way))
    if not ways:
        raise DataError(f"{', '.join(config.run)[:200]}: nothing is scored there")
    return Table(
        benchmark=config.benchmark,
        name=f"figure {config.figure}",
        title=figure.shows,
        source=replace(tables(config.benchmark)[0].source, table=f"Figure {config.figure}, from runs"),
        columns=tuple(Column(way, way) for way in ways),
        entries=tuple(Entry(model=name, figures=figures, kind="run") for name, figures in scores.items()),
        notes=("Means without intervals; `viva compare` says whether a difference is more than chance.",),
    )


def _narrowed(chosen: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """Return the tables cut to the rows of these names, without tables that have none."""
    if not names:
        return list(chosen)
    entries = [entry for whole in chosen for entry in whole.entries if entry.kind != "count"]
    for name in names:
        if not plain(name) or not any(_is_called(entry, name) for entry in entries):
            near = dict.fromkeys(entry.name for entry in similar(entries, name[:3], limit=200))
            hint = f"; near: {', '.join(list(near)[:8])}" if near else ""
            raise DataError(f"{name[:60]!r}: no row is called so{hint}", field="model")
    kept = [
        replace(
            whole, entries=tuple(entry for entry in whole.entries if any(_is_called(entry, name) for name in names))
        )
        for whole in chosen
    ]
    return [whole for whole in kept if whole.entries]


def _is_called(entry: Entry, name: str) -> bool:
    return entry.kind != "count" and plain(name) in plain(entry.name)
