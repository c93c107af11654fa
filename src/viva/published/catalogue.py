"""Reading `catalogue.toml` and the CSV files next to it into tables."""

from __future__ import annotations

from functools import cache
from statistics import mean
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from viva.errors import DataError
from viva.files import shipped_table, shipped_text
from viva.io.tables import read_csv as csv_rows
from viva.published.printed import Column, Entry, Kind, Size, Source, Table, known, plain, size, stated


class Cells(Struct, frozen=True, forbid_unknown_fields=True):
    """A block of an exam's table. `rows`, `columns`: a word in names of published columns → the table's label."""

    layout: str
    rows: dict[str, str]
    columns: dict[str, str]
    figure: str
    """Name of the published column, with {row} and {column} as placeholders of the words."""

    def named(self) -> dict[tuple[str, str, str], str]:
        """(table, row, column) → the published column."""
        return {
            (self.layout, row, column): self.figure.format(row=first, column=second)
            for first, row in self.rows.items()
            for second, column in self.columns.items()
        }


class Setting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings with which the paper asked, and the tables for exams that share them."""

    name: str
    said: str
    tables: tuple[str, ...]
    """Names of tables: the first has the headline; the others add figures of the same models."""
    headline: str
    language: str
    questions: int
    shots: tuple[int, ...] = (0,)
    form: Literal["", "chat", "base"] = ""
    rationale: bool = False
    """Whether the paper asked for rationales."""
    choose: str = ""
    """How the paper compared options by log-probability, if it did."""
    answers: int = 0
    """Answers to a question of which the best counts; 0 for one."""
    without: tuple[Kind, ...] = ()
    """Kinds of rows that are not comparable."""
    comprehension: dict[str, int] = {}
    """Figures whose mean, by these counts of questions, is the headline of `--only comprehension`."""
    comprehension_cell: tuple[str, str, str] | None = None
    """(table, row, column) of that headline in the exam's tables."""
    shared_cell: tuple[str, str, str] | None = None
    """(table, row, column) of that figure in an exam of all formats, next to the exam's mean over the same ones."""
    templates: dict[str, str] = {}
    """Template family here → the family that the authors used instead."""


class Declared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table's declaration in the catalogue."""

    name: str
    title: str
    table: str
    file: str
    columns: dict[str, str]
    """Name → label, in the printed order."""
    key: str = "model"
    """The CSV column that says what a row is about."""
    where: dict[str, str] = {}
    """Column → value of the file's rows that belong to the table."""
    prefix: str = ""
    """Prefix of the file's columns that names lack."""
    words: tuple[str, ...] = ()
    unit: str = "%"
    units: dict[str, str] = {}
    kind: Kind = "model"
    kinds: dict[str, Kind] = {}
    """Row → its kind."""
    kind_by: dict[str, dict[str, Kind]] = {}
    """Column of words → value → kind."""
    parameters: str = ""
    """Column of words that states a model's size."""
    sizes: str = ""
    """Table of the same benchmark that states the sizes."""
    without: tuple[Kind, ...] = ()
    """Kinds of the file's rows that are left out."""
    ranked: str = ""
    """The figure by which models are ranked, best first."""
    mean: str = ""
    """Name of an added last row with the means over models."""
    notes: tuple[str, ...] = ()
    cells: tuple[Cells, ...] = ()


class Figure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a paper: a chart of a table, of a study, or of models asked in several ways."""

    shows: str
    table: str = ""
    """The table that is drawn, with runs as further rows."""
    columns: tuple[str, ...] = ()
    """Prefixes of the table's columns to draw; () for all."""
    study: Literal["", "scaling", "correlate", "training"] = ""
    options: dict[str, Any] = {}
    """Options of the study, which takes the benchmark's published table, or runs in its place."""
    from_runs: bool = False
    """Whether it can be drawn only from runs, since no table has its data."""


class Benchmark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark's paper, as methods sections and reference lists need it, with its tables and figures."""

    title: str
    """The benchmark's name ("CS-Bench")."""
    paper: str
    """Authors, title, venue and year."""
    url: str
    version: str
    key: str
    bibtex: str
    """The whole BibTeX entry, whose key is `key`."""
    tables: tuple[Declared, ...]
    settings: tuple[Setting, ...] = ()
    figures: dict[str, Figure] = {}
    """Number in the paper → figure."""


@cache
def catalogue() -> dict[str, Benchmark]:
    """Return benchmark → its declaration. The file ships with Viva, so that a fault in it is a defect of Viva."""
    return shipped_table(__file__, "catalogue.toml", dict[str, Benchmark])


def about(benchmark: str) -> Benchmark:
    """Return a benchmark's declaration: paper, tables and figures. Raises DataError naming the benchmarks."""
    paper = catalogue().get(benchmark)
    if paper is None:
        raise DataError(f"no published tables of {benchmark!r}; there are those of {', '.join(catalogue())}")
    return paper


@cache
def tables(benchmark: str) -> tuple[Table, ...]:
    """Return a benchmark's published tables, in the catalogue's order; () without any."""
    if benchmark not in catalogue():
        return ()
    paper = catalogue()[benchmark]
    return tuple(_read(benchmark, paper, declared) for declared in paper.tables)


def table(benchmark: str, name: str) -> Table:
    """Return a benchmark's table by name. Raises DataError with the existing names."""
    about(benchmark)
    for candidate in tables(benchmark):
        if candidate.name == name:
            return candidate
    known_names = ", ".join(candidate.name for candidate in tables(benchmark))
    raise DataError(f"{benchmark} has no published table {name!r}; it has: {known_names}")


def bibtex(benchmark: str) -> str:
    """Return the BibTeX entry of the benchmark's paper."""
    return about(benchmark).bibtex


def _read(benchmark: str, paper: Benchmark, declared: Declared) -> Table:
    sizes = _sizes(paper, declared.sizes) if declared.sizes else {}
    rows = [row for row in read_csv(declared.file) if all(row[word] == value for word, value in declared.where.items())]
    return Table(
        benchmark=benchmark,
        name=declared.name,
        title=declared.title,
        source=Source(paper=paper.paper, url=paper.url, table=declared.table, version=paper.version, bibtex=paper.key),
        columns=tuple(
            Column(name, label, declared.units.get(name, declared.unit)) for name, label in declared.columns.items()
        ),
        entries=_arranged([_entry(row, declared, sizes) for row in rows], declared),
        notes=declared.notes,
    )


def _arranged(entries: list[Entry], declared: Declared) -> tuple[Entry, ...]:
    """Return the rows as the paper has them: without some, ranked, and with a row of means."""
    entries = [entry for entry in entries if entry.kind not in declared.without]
    models = [entry for entry in entries if entry.kind == "model"]
    if declared.ranked:
        models.sort(key=lambda entry: -entry.figures[declared.ranked])
        models = [replace(entry, words={"rank": str(rank), **entry.words}) for rank, entry in enumerate(models, 1)]
        entries = models + [entry for entry in entries if entry.kind != "model"]
    if declared.mean:
        columns = {name: [e.figures[name] for e in models if name in e.figures] for name in declared.columns}
        means = {name: round(mean(figures), 2) for name, figures in columns.items() if figures}
        entries.append(Entry(model=declared.mean, figures=means, kind="average"))
    return tuple(entries)


def _entry(row: dict[str, str], declared: Declared, sizes: dict[str, Size]) -> Entry:
    model = row[declared.key]
    kind: Kind = declared.kinds.get(model, declared.kind)
    for word, kinds in declared.kind_by.items():
        kind = kinds.get(row[word], kind)
    declared_size = stated(row[declared.parameters]) if declared.parameters else None
    return Entry(
        model=model,
        figures={name: float(row[declared.prefix + name]) for name in declared.columns if row[declared.prefix + name]},
        words={word: row[word] for word in declared.words if row[word]},
        size=(known(model) or declared_size or sizes.get(plain(model)) or size(model)) if kind != "count" else None,
        kind=kind,
    )


def _sizes(paper: Benchmark, name: str) -> dict[str, Size]:
    """Return plain name → size, for each base model and its chat version, which has the same size."""
    file = next(each_table.file for each_table in paper.tables if each_table.name == name)
    sizes: dict[str, Size] = {}
    for row in read_csv(file):
        billions = float(row["billions"])
        for version in ("", "chat", "instruct"):
            sizes[plain(row["model"]) + version] = Size(billions, billions)
    return sizes


@cache
def read_csv(file: str) -> tuple[dict[str, str], ...]:
    """Return the rows of one of the CSV files of this folder."""
    text = shipped_text(__file__, file)
    return tuple(row for _, row in csv_rows(file, text)[1])
