"""The data of a site: rows on boards, made from results.

A board holds only what may be ranked together.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from viva.analysis.columns import Columns
from viva.analysis.estimate import Estimate
from viva.analysis.standings import THRESHOLDS, Best, Rank, best_by, ranks
from viva.pages.shell import file_name
from viva.published import plain
from viva.studies.ways_of_asking import (
    Settings,
    comparable,
    differing,
    for_baseline,
    in_words,
    key_of,
    of_baseline,
    titles,
)
from viva.types import Aggregate, TableSpec

Place = tuple[str, str, str]
"""Place of a figure in the exam's tables: layout, row, column."""


class Facts(Struct, frozen=True, kw_only=True):
    """Properties of a model from `--models` or a published table; "" and None where unknown."""

    family: str = ""
    type: str = ""
    """Base or Finetuned, or whatever the file says."""
    domain: str = ""
    """Code or General."""
    access: str = ""
    """Open or Closed."""
    total: float | None = None
    """Billions of parameters."""
    active: float | None = None
    """Billions of parameters active for a token; equal to `total` for dense models."""
    url: str = ""

    def over(self, others: Facts) -> Facts:
        """Return these facts, with unknown ones from `others`."""
        return replace(others, **{name: value for name, value in asdict(self).items() if value})


class Dimension(Struct, frozen=True, kw_only=True):
    """One figure besides the score: a row (and column) of one of the exam's tables."""

    layout: str
    row: str
    column: str
    group: str
    """The table's title ("By domain")."""
    label: str
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The averaged questions: tag → values; empty for all."""

    @property
    def place(self) -> Place:
        """Identifies the dimension: titles may differ, places may not."""
        return self.layout, self.row, self.column


class Row(Struct, frozen=True, kw_only=True):
    """One model on one board."""

    model: str
    own: bool
    """Whether it comes from a run; otherwise from a published table."""
    score: Estimate | None
    """None where nothing could be scored."""
    facts: Facts = Facts()
    exam: str = ""
    """The exam's label in its run."""
    cost: float | None = None
    """US dollars that 1,000 answers took, without judges; None where that is unknown."""
    kind: str = "model"
    """Kind as in viva.published: model, baseline, human, average, ablation."""
    widest: bool = False
    """Whether the interval is the widest possible one, for lack of item scores."""
    figures: tuple[Estimate | None, ...] = ()
    """Figures in the order of the board's dimensions."""
    signature: str = ""
    forced: tuple[tuple[str, str], ...] = ()
    """Settings that its server refused or changed, in words: the setting, and the result."""
    origin: str = ""
    """The run's folder, or the published table."""
    url: str = ""
    """URL of the published table."""
    rank: Rank | None = None
    """Rank among the board's ranked rows; None for others."""
    page: str = ""
    """File name of the model's page, made by `page_name`, never the model's text."""

    @property
    def answered(self) -> Estimate | None:
        """Its score, if it is of known answers."""
        return self.score if self.score and self.score.n else None


class Board(Struct, frozen=True, kw_only=True):
    """Rows under the same settings, but for what a server forced. A published board holds one source's rows, an own
    board those of one's runs and, marked and without a rank, published rows of the same settings."""

    key: str
    """Its name in URLs and in its CSV's name, made by Viva."""
    benchmark: str
    title: str
    """The settings in words ("English, zero-shot")."""
    own: bool
    settings: tuple[tuple[str, str], ...] = ()
    """All settings common to its rows, in words."""
    dimensions: tuple[Dimension, ...] = ()
    rows: tuple[Row, ...] = ()
    strict: tuple[Board, ...] = ()
    """If servers forced settings to differ: boards of the rows with equal sent settings, each of two or more."""
    best: tuple[tuple[str, tuple[Best, ...]], ...] = ()
    """Criterion of "best by" ("type") → its lines."""
    notes: tuple[str, ...] = ()


class BenchmarkPage(Struct, frozen=True, kw_only=True):
    """A benchmark and its boards."""

    name: str
    title: str
    page: str
    paper: str = ""
    url: str = ""
    boards: tuple[Board, ...] = ()


class Site(Struct, frozen=True, kw_only=True):
    """A whole site."""

    title: str
    made: str
    """Time of creation: ISO 8601, UTC."""
    viva: str
    benchmarks: tuple[BenchmarkPage, ...]
    notes: tuple[str, ...] = ()


def page_name(*parts: str) -> str:
    """Return a unique file name for a page about these parts (the model's origin and name).

    The hash is of all of every part, so names that look alike (`a/b` and `a-b`, two scripts' letters) stay apart.
    """
    digest = hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))
    return f"{file_name(parts[-1])}-{digest.hexdigest()[:12]}.html"


class Entry(Struct, frozen=True, kw_only=True):
    """One result, of a run, a table or a paper, before it is placed on a board."""

    benchmark: str
    """A benchmark's name, or a question file's in the run."""
    row: Row
    figures: Mapping[Place, Estimate | None] = {}
    dimensions: Sequence[Dimension] = ()
    """The dimensions of its figures; empty for a row that is only a reference."""
    settings: Settings = {}
    """Its signature by parts, as requested by the user; for a table of item scores, the known parts."""
    asked: str = ""
    """A hash of the names of the questions that it has answers to; empty where unknown."""
    forced: Mapping[str, str] = {}
    """Parts of the signature that its server changed → the result."""
    beside: Sequence[Entry] = ()
    """Published rows of the same settings."""
    questions: Columns | None = None
    """The row's questions (`Breakdown.questions`), for comparison with other models; None where unknown."""
    over: str = ""
    """The tag whose values its score averages first."""
    notes: Sequence[str] = ()


def dimensions(
    layouts: Iterable[TableSpec], headline: Aggregate, label: Callable[[Aggregate], str]
) -> list[tuple[Dimension, tuple[Aggregate, Aggregate]]]:
    """Return the dimensions besides the score, with the lines that average them: of a table with many rows each row, in
    the column that averages as the headline does; of a table with one row its columns, named by `label`. Long tables
    are left out.
    """
    known = []
    for layout in layouts:
        single = len(layout.rows) == 1
        title = layout.title if len(layout.title) <= 40 else layout.title.partition(" (")[0]
        columns = layout.columns if single else (_like(layout.columns, headline),)
        for row in () if layout.detail else layout.rows:
            for column in columns:
                dimension = Dimension(
                    layout=layout.name, row=row.label, column=column.label, group=title,
                    label=label(column) if single else labelled(layout.name, row.label),
                    where=tuple({**column.where, **row.where}.items()),
                )  # fmt: skip
                known.append((dimension, (row, column)))
    return known


def labelled(layout: str, row: str) -> str:
    """Return a row's label for use outside its table: "level 1" for the 1 of `levels`."""
    return f"{layout.removesuffix('s')} {row}" if row.isdecimal() else row


def _like(columns: Sequence[Aggregate], headline: Aggregate) -> Aggregate:
    """Return the column that averages everything as the headline does; else the last one."""
    whole = [column for column in columns if not column.where and not column.part and not column.given]
    alike = [
        column
        for column in whole
        if column.over == headline.over and column.attempts in ("", headline.attempts or "best")
    ]
    return next(iter(alike or whole), columns[-1])


Groups = dict[str, tuple[dict[str, str], list[Entry]]]
"""Key of a board → the settings that its entries share, and these."""


def own_boards(entries: Sequence[Entry]) -> list[Board]:
    """Return the boards of one benchmark: a board for every way of asking, in the order of the first run of each.

    A baseline is on every board with the same questions, whatever the models' requests were.
    """
    groups = _grouped(entries, lambda entry: comparable(entry.settings, entry.asked))
    _place_baselines(groups)
    titled = titles([parts for parts, _ in groups.values()])
    return [
        replace(_own_board(key, title, parts, own), strict=tuple(_strict(parts, own)))
        for (key, (parts, own)), title in zip(groups.items(), titled, strict=True)
    ]


def _grouped(entries: Iterable[Entry], parts_of: Callable[[Entry], dict[str, str]], **salt: str) -> Groups:
    groups: Groups = {}
    for entry in entries:
        parts = parts_of(entry)
        groups.setdefault(key_of({**parts, **salt}), (parts, []))[1].append(entry)
    return groups


def _strict(parts: Mapping[str, str], entries: Sequence[Entry]) -> Iterator[Board]:
    """Yield, for a board with settings forced by servers, boards of equal sent settings with two or more models."""
    groups = _grouped(
        entries,
        lambda entry: {name: value for name, value in {**parts, **entry.forced}.items() if name != "seed"},
        sent="alike",
    )
    for key, (sent, own) in groups.items():
        if len(groups) > 1 < len(own):
            yield _own_board(key, differing([sent, parts]) or "as asked", sent, own)


def _place_baselines(groups: Groups) -> None:
    """Move each baseline to the boards of models that were asked the same, if there are any."""
    asked = {key: for_baseline(parts) for key, (parts, _) in groups.items()}
    boards = [key for key, (_, own) in groups.items() if not all(of_baseline(entry.settings) for entry in own)]
    for key in list(groups):
        placed = [entry for entry in groups[key][1] if of_baseline(entry.settings)]
        alike = [other for other in boards if asked[other] == asked[key]]
        for other in alike:
            own = groups[other][1]
            known = {entry.row.model for entry in own}
            own += [entry for entry in placed if entry.row.model not in known]
        if alike and key not in boards:
            del groups[key]


def _own_board(key: str, title: str, parts: Mapping[str, str], entries: Sequence[Entry]) -> Board:
    notes = [note for entry in entries for note in entry.notes]
    twice = [name for name, times in Counter(entry.row.model for entry in entries).items() if times > 1]
    if twice:
        notes.append(f"{', '.join(twice)}: more than one result under the same settings; each has a row of its own.")
    board = Board(
        key=key, benchmark=entries[0].benchmark, title=title, own=True, settings=in_words(parts),
        notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip
    return ranked(board, [*entries, *max(entries, key=lambda entry: len(entry.beside)).beside])


def ranked(board: Board, entries: Sequence[Entry]) -> Board:
    """Return the board with these rows in order, with figures, ranks, and the best by type and size. On an own board
    only own rows have ranks: by their questions, if all answered the same ones.
    """
    from viva.analysis.pairedranks import paired_ranks

    about = tuple(dict.fromkeys(each for entry in entries for each in entry.dimensions))
    entries = sorted(entries, key=lambda entry: entry.row.score.order if entry.row.score else (-1.0,), reverse=True)
    counted = [
        (entry, score)
        for entry in entries
        if entry.row.own == board.own and entry.row.kind == "model" and (score := entry.row.score)
    ]
    questions = [entry.questions for entry, _ in counted if entry.questions is not None]
    alike = counted and len(questions) == len(counted)
    ranges = paired_ranks(questions, counted[0][0].over) if alike else None
    places = ranks([score for _, score in counted], ranges)
    ranks_of = {id(entry): rank for (entry, _), rank in zip(counted, places, strict=True)}
    families = Counter(entry.row.facts.family for entry in entries).most_common()
    spelled = {family.casefold(): family for family, _ in reversed(families)}  # the most frequent spelling
    rows = tuple(
        replace(
            row,
            figures=tuple(entry.figures.get(dimension.place) for dimension in about),
            rank=ranks_of.get(id(entry)),
            page=page_of(row),
            facts=replace(row.facts, family=spelled[row.facts.family.casefold()]),
        )
        for entry in entries
        for row in (entry.row,)
    )
    return replace(board, dimensions=about, rows=rows, best=_best(rows))


def page_of(row: Row) -> str:
    """Return the file of the model's page: one's own models and published ones never share a page."""
    return page_name("own", row.model) if row.own else page_name("published", plain(row.model) or row.model)


def _best(rows: Sequence[Row]) -> tuple[tuple[str, tuple[Best, ...]], ...]:
    """Return the best by type and size as in InfiBench's Table 4, by size alone, and by family, without uninformative
    ones.

    Closed models are one kind, whatever their purpose; the kinds of others are formed by the words that are known for
    all and differ.
    """
    facts = [row.facts if row.rank else None for row in rows]
    known = [fact for fact in facts if fact]
    words = {
        name: {getattr(entry, name) for entry in known if name == "access" or entry.access != "Closed"}
        for name in ("access", "domain", "type")
    }
    told = [name for name, values in words.items() if "" not in values and len(values) > 1]
    ways: tuple[tuple[str, Callable[[Facts], str | None], Sequence[float | None]], ...] = (
        ("type and size",
         lambda known: " · ".join(getattr(known, name) for name in told[: 1 if known.access == "Closed" else None])
         or None,
         (*THRESHOLDS, None)),
        ("size", lambda entry: None if entry.total is None else "", THRESHOLDS),
        ("family", lambda entry: entry.family or None, (None,)),
    )  # fmt: skip
    scores, sizes = [row.score or Estimate() for row in rows], [row.facts.total for row in rows]
    best = (
        (name, best_by(scores, sizes, [kind(fact) if fact else None for fact in facts], below))
        for name, kind, below in ways
    )
    return tuple((name, tuple(lines)) for name, lines in best if len(lines) > 1)


class ModelPage(Struct, frozen=True, kw_only=True):
    """A model with all its rows."""

    row: Row
    """The first of its rows, with its name and origin."""
    facts: Facts
    standings: Sequence[tuple[BenchmarkPage, Board, Row]]


def model_pages(site: Site) -> list[ModelPage]:
    """Return a page for each model. A published row on an own board is left out if its original board is on the
    site.
    """
    standings: dict[str, list[tuple[BenchmarkPage, Board, Row]]] = {}
    for benchmark in site.benchmarks:
        at_home = {row.page for board in benchmark.boards if not board.own for row in board.rows}
        for board in benchmark.boards:
            for row in board.rows:
                if row.own == board.own or row.page not in at_home:
                    standings.setdefault(row.page, []).append((benchmark, board, row))
    return [
        ModelPage(row=own[0][2], facts=functools.reduce(Facts.over, (row.facts for *_, row in own)), standings=own)
        for own in standings.values()
    ]
