"""From results and published tables to boards with ranks, and from boards to a site."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from viva.analysis.columns import Columns
from viva.analysis.estimate import Estimate
from viva.analysis.standings import THRESHOLDS, Contender, best_by, ranks
from viva.pages.leaderboard.boards import BenchmarkPage, BestRow, Board, Dimension, Facts, Row, Site, page_name
from viva.pages.leaderboard.settings import (
    Settings,
    comparable,
    differing,
    for_baseline,
    in_words,
    key_of,
    of_baseline,
    titles,
)
from viva.published import plain
from viva.types import Aggregate, TableSpec


class Entry(Struct, frozen=True, kw_only=True):
    """One result of a run, before it is placed on a board."""

    benchmark: str
    """A benchmark's name, or how a run calls a question file."""
    settings: Settings
    """Its signature by parts, as the user asked; for a table of item scores, what is known."""
    asked: str = ""
    """A hash of the names of the questions that it has answers to; empty where unknown."""
    forced: Mapping[str, str] = {}
    """Parts of the signature that its server changed: what became of each."""
    row: Row
    dimensions: tuple[Dimension, ...]
    """What the row's figures are about, in their order."""
    beside: tuple[Row, ...] = ()
    """Published rows of the same settings, with figures about the same."""
    questions: Columns | None = None
    """The row's questions (`Breakdown.questions`), by which it is compared with other models; None where unknown."""
    over: str = ""
    """The tag whose values its score averages first."""
    notes: tuple[str, ...] = ()


def dimensions(
    layouts: Iterable[TableSpec], headline: Aggregate
) -> tuple[tuple[Dimension, tuple[Aggregate, Aggregate]], ...]:
    """Return what is worth a figure beside the score, with the lines that average it: of a table with many rows each
    row, in the column that averages as the headline does; of a table with one row its columns. Long tables are left
    out.
    """
    found: list[tuple[Dimension, tuple[Aggregate, Aggregate]]] = []
    for layout in layouts:
        if layout.detail:
            continue
        single = len(layout.rows) == 1
        title = layout.title if len(layout.title) <= 40 else layout.title.partition(" (")[0]
        columns = layout.columns if single else (_like(layout.columns, headline),)
        for row in layout.rows:
            for column in columns:
                label = column.label if single else labelled(layout.name, row.label)
                dimension = Dimension(
                    layout=layout.name, row=row.label, column=column.label, group=title, label=label,
                    where=tuple({**column.where, **row.where}.items()),
                )  # fmt: skip
                found.append((dimension, (row, column)))
    return tuple(found)


def labelled(layout: str, row: str) -> str:
    """Return a row's label where its table is not beside it: "level 1" for the 1 of `levels`."""
    return f"{layout.removesuffix('s')} {row}" if row.isdecimal() else row


def _like(columns: Sequence[Aggregate], headline: Aggregate) -> Aggregate:
    """Return the column that averages over everything in the headline's way; the last one where none does."""
    whole = [column for column in columns if not column.where and not column.part and not column.given]
    alike = [
        column
        for column in whole
        if column.over == headline.over and column.attempts in ("", headline.attempts or "best")
    ]
    return next(iter(alike or whole), columns[-1])


def own_boards(entries: Sequence[Entry]) -> list[Board]:
    """Return the boards of one benchmark: a board for every way of asking, in the order of the first run of each.

    A baseline stands on every board whose models were asked what it was asked, whatever their requests said.
    """
    groups: dict[str, list[Entry]] = {}
    shared: dict[str, dict[str, str]] = {}
    for entry in entries:
        parts = comparable(entry.settings, entry.asked)
        key = key_of(parts)
        shared[key] = parts
        groups.setdefault(key, []).append(entry)
    _place_baselines(groups, {key: for_baseline(parts) for key, parts in shared.items()})
    said = titles([shared[key] for key in groups])
    return [
        msgspec.structs.replace(
            _own_board(key, title, in_words(shared[key]), groups[key]), strict=tuple(_strict(shared[key], groups[key]))
        )
        for key, title in zip(groups, said, strict=True)
    ]


def _strict(parts: Mapping[str, str], entries: Sequence[Entry]) -> Iterator[Board]:
    """Of a board on which servers forced something the boards of what was sent alike; none of a single model."""
    groups: dict[str, list[Entry]] = {}
    sent: dict[str, dict[str, str]] = {}
    for entry in entries:
        alike = {name: value for name, value in {**parts, **entry.forced}.items() if name != "seed"}
        key = key_of({**alike, "sent": "alike"})
        sent[key] = alike
        groups.setdefault(key, []).append(entry)
    if len(groups) > 1:
        for key, own in groups.items():
            if len(own) > 1:
                yield _own_board(key, differing([sent[key], dict(parts)]) or "as asked", in_words(sent[key]), own)


def _place_baselines(groups: dict[str, list[Entry]], asked: Mapping[str, Mapping[str, str]]) -> None:
    """Put each baseline on the boards of the models that were `asked` (board → parts) the same, where there are any."""
    baselines = {key: [one for one in own if of_baseline(one.settings)] for key, own in groups.items()}
    boards = [key for key, own in groups.items() if len(baselines[key]) < len(own)]
    for key, placed in baselines.items():
        alike = [other for other in boards if asked[other] == asked[key]]
        for other in alike:
            known = {one.row.model for one in groups[other]}
            groups[other] += [one for one in placed if one.row.model not in known]
        if alike and key not in boards:
            del groups[key]


def _own_board(key: str, title: str, settings: tuple[tuple[str, str], ...], entries: Sequence[Entry]) -> Board:
    every = tuple(dict.fromkeys(one for entry in entries for one in entry.dimensions))
    own = [_aligned(entry.row, entry.dimensions, every) for entry in entries]
    most = max(entries, key=lambda entry: len(entry.beside))
    beside = [_aligned(row, most.dimensions, every) for row in most.beside]
    twice = _twice(own)
    notes = tuple(dict.fromkeys(note for entry in entries for note in entry.notes))
    if twice:
        notes += (f"{', '.join(twice)}: more than one result under the same settings; each has a row of its own.",)
    return ranked(
        Board(
            key=key,
            benchmark=entries[0].benchmark,
            title=title,
            own=True,
            settings=settings,
            dimensions=every,
            rows=(*own, *beside),
            notes=notes,
        ),
        entries,
    )


def _twice(rows: Sequence[Row]) -> list[str]:
    names = [row.model for row in rows]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _aligned(row: Row, about: Sequence[Dimension], wanted: Sequence[Dimension]) -> Row:
    """Return the row's figures in the order of the board's dimensions; titles may differ, places may not."""
    known = {(one.layout, one.row, one.column): figure for one, figure in zip(about, row.figures, strict=True)}
    return msgspec.structs.replace(row, figures=tuple(known.get((one.layout, one.row, one.column)) for one in wanted))


def ranked(board: Board, entries: Sequence[Entry] = ()) -> Board:
    """Return the board with its rows in order, ranks, and who is best by what. Of an own board only own rows have
    ranks.

    `entries`: those of its first rows, by whose questions they are ranked.
    """
    rows = sorted(board.rows, key=lambda row: row.score.order if row.score else (-1.0,), reverse=True)
    counted = [row for row in rows if row.ranked and row.own == board.own]
    known = {id(row): entry for row, entry in zip(board.rows, entries, strict=False)}
    ranges = _ranges([known.get(id(row)) for row in counted])
    scores = [cast("Estimate", row.score) for row in counted]
    places = dict(zip(map(id, counted), ranks(scores, ranges), strict=True))
    spelled = _spelled(rows)
    placed = tuple(
        msgspec.structs.replace(
            row,
            rank=places.get(id(row)),
            page=page_of(row),
            facts=msgspec.structs.replace(row.facts, family=spelled.get(row.facts.family.casefold(), "")),
        )
        for row in rows
    )
    return msgspec.structs.replace(board, rows=placed, best=_best(placed))


def _ranges(entries: Sequence[Entry | None]) -> list[tuple[int, int]] | None:
    """Return ranks from paired differences; None where not all of them answered the same questions."""
    from viva.analysis.pairedranks import paired_ranks

    questions = [entry.questions for entry in entries if entry is not None and entry.questions is not None]
    if not entries or len(questions) < len(entries):
        return None
    return paired_ranks(questions, next(entry.over for entry in entries if entry is not None))


def _spelled(rows: Sequence[Row]) -> dict[str, str]:
    """Families are one family however they are spelled (LLaMA, Llama): as most rows spell them, the first of equals."""
    counted = Counter(row.facts.family for row in rows if row.facts.family)
    found: dict[str, str] = {}
    for family, _ in counted.most_common():
        found.setdefault(family.casefold(), family)
    return found


def page_of(row: Row) -> str:
    """Return the file of the model's page: one's own models and published ones never share a page."""
    return page_name("own", row.model) if row.own else page_name("published", plain(row.model) or row.model)


def _best(rows: Sequence[Row]) -> tuple[tuple[str, tuple[BestRow, ...]], ...]:
    """Best by type and size as InfiBench's Table 4, by size alone, and by family; what tells nothing is left out."""
    contenders = [_contender(row) for row in rows]
    told = [name for name in ("access", "domain", "type") if _told([one for one in contenders if one.words], name)]
    sizes = (*THRESHOLDS, None)
    ways: tuple[tuple[str, Callable[[Contender], tuple[str, ...] | None], Sequence[float | None]], ...] = (
        ("type and size", lambda one: _kind(one, told), sizes),
        ("size", lambda one: () if one.words and one.size is not None else None, THRESHOLDS),
        ("family", lambda one: (one.words["family"],) if one.words and one.words["family"] else None, (None,)),
    )
    return tuple(
        (name, lines)
        for name, kind, below in ways
        if len(lines := tuple(BestRow(kind=" · ".join(one.kind), below=one.below, row=one.index, among=one.among,
                                      level=one.level) for one in best_by(contenders, kind, below))) > 1
    )  # fmt: skip


def _told(contenders: Sequence[Contender], name: str) -> bool:
    """Return whether a word tells kinds apart: of every open model it is known, and they do not all have the same."""
    words = {one.words[name] for one in contenders if name == "access" or one.words["access"] != "Closed"}
    return "" not in words and len(words) > 1


def _kind(one: Contender, told: Sequence[str]) -> tuple[str, ...] | None:
    """Closed models are one kind, whatever they were made for; of the others their words tell."""
    words = [one.words[name] for name in told if one.words]
    return tuple(words[: 1 if one.words["access"] == "Closed" else None]) if words else None


def _contender(row: Row) -> Contender:
    """Return a row as it is compared; one without a rank has no words, and is of no kind."""
    words = {name: getattr(row.facts, name) for name in ("family", "type", "domain", "access")} if row.rank else {}
    return Contender(model=row.model, score=row.score or Estimate(), words=words, size=row.facts.total)


class RankedRow(Struct, frozen=True, kw_only=True):
    """One model on one board."""

    benchmark: BenchmarkPage
    board: Board
    row: Row


class ModelPage(Struct, frozen=True, kw_only=True):
    """A model and everywhere it stands."""

    page: str
    name: str
    own: bool
    facts: Facts
    standings: tuple[RankedRow, ...]


def model_pages(found: Site) -> list[ModelPage]:
    """Return a page a model. A published row beside one's own rows is told of where it comes from, if that is on the
    site.
    """
    standings: dict[str, list[RankedRow]] = {}
    for benchmark in found.benchmarks:
        at_home = {row.page for board in benchmark.boards if not board.own for row in board.rows}
        for board in benchmark.boards:
            for row in board.rows:
                if row.own == board.own or row.page not in at_home:
                    standing = RankedRow(benchmark=benchmark, board=board, row=row)
                    standings.setdefault(row.page, []).append(standing)
    return [
        ModelPage(
            page=page,
            name=of_exam[0].row.model,
            own=of_exam[0].row.own,
            facts=functools.reduce(Facts.over, (one.row.facts for one in of_exam)),
            standings=tuple(of_exam),
        )
        for page, of_exam in standings.items()
    ]
