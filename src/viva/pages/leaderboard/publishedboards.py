"""The papers' rows as boards, one for every way in which a paper asked; and facts about models.

Facts about models come from a CSV file for `viva leaderboard --models`.

    model,family,type,domain,access,parameters,active,url
    openai/gpt-4o,GPT-4,Finetuned,General,Closed,,,https://openai.com/
    mixtral-8x7b,Mixtral,Finetuned,General,Open,46.7,12.9,

`model` (or `name`) is as in the run, with or without its provider; every other column may be left out, every field may
be empty. `parameters` and `active` are billions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from viva.analysis.estimate import Estimate
from viva.analysis.standings import widest
from viva.errors import DataError
from viva.files import shipped_table
from viva.io.tables import plain_stem
from viva.pages.leaderboard.boards import Board, Dimension, Entry, Facts, Row, labelled, ranked
from viva.pages.shell import file_name
from viva.published import Entry as Printed
from viva.published import Neighbour, Size, neighbours, plain, size, table
from viva.published.catalogue import Setting, catalogue
from viva.runs.score_table import Row as Line
from viva.runs.score_table import column_of, name_in, rows_of, text_in
from viva.types import ExamSpec
from viva.visible import one_line

GROUPS = shipped_table(__file__, "groups.toml", dict[str, dict[str, tuple[str, str]]])
"""Benchmark → table → its title, and its column; "" for all columns."""
_TUNED = re.compile(r"(?<![a-z])(chat|instruct|it|sft|rlhf|assistant)(?![a-z])", re.IGNORECASE)
_WORD = re.compile(r"^[^\W\d_]\d\b|[^\W\d_]{2,}")


def published_boards(benchmark: str) -> list[Board]:
    """Return a board for every way in which a benchmark's paper asked; empty where nothing was published."""
    settings = catalogue()[benchmark].settings if benchmark in catalogue() else ()
    return [_board(benchmark, setting) for setting in settings]


def _board(benchmark: str, setting: Setting) -> Board:
    # A spec with exactly the published setting.
    asked = {"language": setting.language, "shots": setting.shots[0], "form": setting.form or "chat"}
    rows = neighbours(msgspec.convert({"benchmark": benchmark, **asked}, ExamSpec))
    tables = [table(benchmark, name) for name in setting.tables]
    source = tables[0].source
    board = Board(
        key=f"published-{file_name(setting.name)}",
        benchmark=benchmark,
        title=f"published, {setting.said}",
        own=False,
        settings=(
            ("source", source.paper),
            ("table", ", ".join(dict.fromkeys(each_table.source.table for each_table in tables))),
            ("version", source.version),
            ("asked", setting.said),
            ("number of questions", f"{setting.questions:,}"),
        ),
        notes=tuple(dict.fromkeys(note for each_table in tables for note in each_table.notes)),
    )
    return ranked(board, _entries(benchmark, rows, setting, _dimensions(benchmark, rows)))


def published_entries(spec: ExamSpec, *, sample: bool, answers: int, questions: int) -> list[Entry]:
    """Return the published rows comparable with this exam; none if any setting or the number of questions differs."""
    rows = neighbours(spec, sample=sample, answers=answers, questions=questions)
    settings = catalogue()[spec.benchmark].settings if rows and not rows[0].differs else ()
    return [
        entry
        for setting in settings
        if rows[0].condition == setting.said
        for entry in _entries(spec.benchmark, rows, setting)
    ]


def _entries(
    benchmark: str, rows: Sequence[Neighbour], setting: Setting, about: Sequence[Dimension] = ()
) -> list[Entry]:
    printed = {
        plain(line.name): line
        for line in reversed(table(benchmark, setting.tables[0]).entries)
        if line.kind not in setting.without
    }
    return [
        Entry(
            benchmark=benchmark,
            row=Row(
                model=row.model,
                own=False,
                score=None if row.score is None else _score(row.score, setting.questions),
                widest=True,
                facts=_printed(printed[plain(row.model)], row.model),
                kind=row.kind,
                origin=f"{row.source.paper}; {row.source.table}",
                url=row.source.url,
            ),
            figures={place: Estimate(mean=mean) for place, mean in row.figures.items()},
            dimensions=about,
        )
        for row in rows
    ]


def _score(mean: float, questions: int) -> Estimate:
    low, high = widest(mean, questions) or (None, None)
    return Estimate(mean=mean, low=low, high=high)


def _dimensions(benchmark: str, printed: Sequence[Neighbour]) -> tuple[Dimension, ...]:
    """Return the dimensions of published rows: the figures of the tables and columns in `GROUPS`."""
    shown = GROUPS.get(benchmark, {})
    places = dict.fromkeys(place for neighbour in printed for place in neighbour.figures)
    return tuple(
        Dimension(layout=layout, row=row, column=column, group=group, label=labelled(layout, row) if only else column)
        for layout, (group, only) in shown.items()
        for name, row, column in places
        if name == layout and only in (column, "")
    )


def _printed(line: Printed, model: str) -> Facts:
    words = {name: line.words.get(name, "") for name in WORDS}
    if words["access"] in ("open", "limited"):
        words["access"] = words["access"].capitalize()
    return msgspec.convert(words, Facts).over(named(model, line.size))


def named(model: str, parameters: Size | None) -> Facts:
    """Return the facts in a model's name."""
    known = Facts(family=family(model), type=tuned(model))
    return known if parameters is None else replace(known, total=parameters.total, active=parameters.active)


def family(model: str) -> str:
    """Return the first word of a name, as the default family: "Qwen" of "Qwen1.5-110B", "o3" of "openai/o3-mini"."""
    match = _WORD.search(plain_stem(Path(model)))
    return match[0] if match else ""


def tuned(model: str) -> str:
    """Return "Finetuned" for names that say so (Chat, Instruct, -it); else "", since such a model may be anything."""
    return "Finetuned" if _TUNED.search(model) else ""


NAMES = ("model", "name")
WORDS = ("family", "type", "domain", "access")
SIZES = {"parameters": "total", "active": "active"}


class ModelFacts:
    """Facts of models by name, with a record of the names looked up."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file. Raises DataError with the line of an invalid row."""
        self._known: dict[str, Facts] = {}
        for line, row in rows_of(path) if path else ():
            where = f"{path}, line {line}"
            name = name_in(row, column_of(row, NAMES, where), where).strip()
            if name in self._known:
                raise DataError(f"{where}: {one_line(name)!r} is there twice")
            self._known[name] = _facts(row, where)
        self._plain = {_bare(name): name for name in reversed(self._known)}
        self._asked: set[str] = set()

    def of(self, model: str) -> Facts:
        """Return a model's facts from the file, else from its name: family, size, and whether it was finetuned."""
        self._asked |= {model, _bare(model)}
        known = named(model, size(model))
        if model.startswith("baseline/"):
            known = replace(known, family="")
        stated = self._known.get(model if model in self._known else self._plain.get(_bare(model), ""))
        return known if stated is None else stated.over(known)

    @property
    def unused(self) -> list[str]:
        """Return the file's names that were never looked up: they may be misspelled."""
        return [name for name in self._known if not {name, _bare(name)} & self._asked]


def _bare(name: str) -> str:
    return plain(name.rpartition("/")[2]) or name


def _facts(row: Line, where: str) -> Facts:
    stated: dict[str, Any] = {}
    for name in row:
        text = text_in(row, name, where).strip()
        if name in SIZES:
            stated[SIZES[name]] = _billions(text, f"{where}: {name}") if text else None
        elif name in (*WORDS, "url"):
            stated[name] = text
        elif name not in NAMES:
            known = ", ".join(("model", *WORDS, *SIZES, "url"))
            raise DataError(f"{where}: column {one_line(name, 40)!r} is unknown; a file of models has: {known}")
    facts = Facts(**stated)
    if facts.url and urlsplit(facts.url).scheme not in ("http", "https"):
        raise DataError(f"{where}: url {one_line(facts.url)!r} does not begin with https:// or http://")
    return facts if facts.active else replace(facts, active=facts.total)


def _billions(text: str, where: str) -> float:
    try:
        billions = float(text.removesuffix("B").removesuffix("b"))
    except ValueError:
        billions = math.nan
    if not 0 < billions < 1e6:
        raise DataError(f"{where} {one_line(text, 40)!r} is no number of billions, as 7 or 46.7")
    return billions
