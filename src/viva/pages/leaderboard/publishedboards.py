"""The papers' rows as boards: one for every way in which a paper asked.

What a user says of models: a CSV file for `viva leaderboard --models`.

    model,family,type,domain,access,parameters,active,url
    openai/gpt-4o,GPT-4,Finetuned,General,Closed,,,https://openai.com/
    mixtral-8x7b,Mixtral,Finetuned,General,Open,46.7,12.9,

`model` (or `name`) is as in the run, with or without its provider; every other column may be left out, every field may
be empty. `parameters` and `active` are billions.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from viva.analysis.estimate import Estimate
from viva.analysis.standings import widest
from viva.errors import DataError
from viva.pages.leaderboard.assembling import labelled
from viva.pages.leaderboard.boards import Board, Dimension, Facts, Row, slug
from viva.published import Entry, Neighbour, Size, neighbours, plain, size, table
from viva.published.catalogue import Setting, catalogue
from viva.runs.score_table import Row as Line
from viva.runs.score_table import rows_of
from viva.shipped import shipped_table
from viva.types import ExamSpec
from viva.visible import one_line

GROUPS = shipped_table(__file__, "groups.toml", dict[str, str])
_TUNED = re.compile(r"(?<![a-z])(chat|instruct|it|sft|rlhf|assistant)(?![a-z])", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")


def published_boards(benchmark: str) -> list[Board]:
    """Return a board for every way in which a benchmark's paper asked; empty where nothing was published."""
    if benchmark not in catalogue():
        return []
    return [_board(benchmark, setting) for setting in catalogue()[benchmark].settings]


def _board(benchmark: str, setting: Setting) -> Board:
    # A spec that differs from the setting in nothing.
    spec = msgspec.convert(
        {
            "benchmark": benchmark,
            "language": setting.language,
            "shots": setting.shots[0],
            "form": setting.form or "chat",
        },
        ExamSpec,
    )
    found = neighbours(spec)
    about = _dimensions(found)
    tables = [table(benchmark, name) for name in setting.tables]
    source = tables[0].source
    return Board(
        key=f"published-{slug(setting.name)}",
        benchmark=benchmark,
        title=f"published, {setting.said}",
        own=False,
        settings=(
            ("source", source.paper),
            ("table", ", ".join(dict.fromkeys(one.source.table for one in tables))),
            ("version", source.version),
            ("asked", setting.said),
            ("number of questions", f"{setting.questions:,}"),
        ),
        dimensions=about,
        rows=_rows(benchmark, found, setting, about),
        notes=tuple(dict.fromkeys(note for one in tables for note in one.notes)),
    )


def published_rows(
    spec: ExamSpec, about: Sequence[Dimension], *, sample: bool, answers: int, questions: int
) -> tuple[Row, ...]:
    """Return the published rows that were asked as this exam asks, with figures for its dimensions; none where any
    setting differs, or the number of questions, for then they may not stand beside it.
    """
    found = neighbours(spec, sample=sample, answers=answers, questions=questions)
    if not found or found[0].differs:
        return ()
    settings = catalogue()[spec.benchmark].settings
    setting = next(one for one in settings if found[0].condition == one.said)
    return _rows(spec.benchmark, found, setting, about)


def _rows(benchmark: str, found: Sequence[Neighbour], setting: Setting, about: Sequence[Dimension]) -> tuple[Row, ...]:
    entries: dict[str, Entry] = {}
    for entry in table(benchmark, setting.tables[0]).entries:
        if entry.kind not in setting.without:
            entries.setdefault(plain(entry.name), entry)
    keys = [(one.layout, one.row, one.column) for one in about]
    return tuple(
        Row(
            model=one.model,
            own=False,
            score=_score(one.score, setting.questions),
            widest=True,
            facts=_printed(entries.get(plain(one.model)), one.model),
            kind=one.kind,
            figures=tuple(Estimate(mean=one.figures[key]) if key in one.figures else None for key in keys),
            origin=f"{one.source.paper}; {one.source.table}",
            url=one.source.url,
        )
        for one in found
    )


def _score(mean: float | None, questions: int) -> Estimate | None:
    if mean is None:
        return None
    bounds = widest(mean, questions)
    return Estimate(mean=mean, low=bounds[0], high=bounds[1]) if bounds else Estimate(mean=mean)


def _dimensions(found: Sequence[Neighbour]) -> tuple[Dimension, ...]:
    """Of a table with many rows each row, in the column that most rows have, the last of equals; of one row all its
    columns. A row "Overall" by itself is the score again; where several tables have the same row, the last one counts.
    """
    cells: dict[str, dict[str, list[str]]] = {}
    for layout, row, column in dict.fromkeys(cell for one in found for cell in one.figures):
        if layout in GROUPS:
            cells.setdefault(layout, {}).setdefault(row, []).append(column)
    single = {
        (row, *columns): layout for layout, rows in cells.items() if len(rows) == 1 for row, columns in rows.items()
    }
    made: list[Dimension] = []
    for layout, rows in cells.items():
        group = GROUPS[layout]
        if len(rows) > 1:
            common = Counter(column for columns in rows.values() for column in reversed(columns)).most_common(1)[0][0]
            named = [(row, common, labelled(layout, row)) for row, columns in rows.items() if common in columns]
        else:
            ((row, columns),) = rows.items()
            mine = len(columns) > 1 and single[row, *columns] == layout
            named = [(row, column, column) for column in columns] if mine else []
        made += [Dimension(layout=layout, row=r, column=c, group=group, label=label) for r, c, label in named]
    return tuple(made)


def _printed(entry: Entry | None, model: str) -> Facts:
    words = dict(entry.words) if entry else {}
    access = words.get("access", "")
    said = Facts(
        family=words.get("family", ""),
        type=words.get("type", ""),
        domain=words.get("domain", ""),
        access=access.capitalize() if access in ("open", "limited") else access,
    )
    return said.over(named(model, entry.size if entry else size(model)))


def named(model: str, parameters: Size | None) -> Facts:
    """Return what a model's name says of it."""
    known = Facts(family=family(model), type=tuned(model))
    return known if parameters is None else replace(known, total=parameters.total, active=parameters.active)


def family(model: str) -> str:
    """Return the first word of a name, where nobody says its family: "Qwen" of "Qwen1.5-110B", "gpt" of
    "openai/gpt-4o".
    """
    found = _WORD.search(model.rpartition("/")[2])
    return found[0] if found else ""


def tuned(model: str) -> str:
    """ "Finetuned" where the name says so (Chat, Instruct, -it); a name that does not may be anything."""
    return "Finetuned" if _TUNED.search(model) else ""


NAMES = ("model", "name")
WORDS = ("family", "type", "domain", "access")
SIZES = {"parameters": "total", "active": "active"}


class ModelFacts:
    """What is known of models, by name; and which names were asked for."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises DataError with the line for what cannot be read."""
        self._exact: dict[str, Facts] = {}
        self._plain: dict[str, Facts] = {}
        self._unused: dict[str, str] = {}
        for line, row in rows_of(path) if path else ():
            self._add(row, f"{path}, line {line}")

    def _add(self, row: Line, where: str) -> None:
        key = next((name for name in NAMES if name in row), None)
        unknown = [name for name in row if name not in (*NAMES, *WORDS, *SIZES, "url")]
        if key is None or unknown:
            wrong = f"column {one_line(unknown[0], 40)!r} is unknown" if unknown else "no column 'model'"
            known = ", ".join(("model", *WORDS, *SIZES, "url"))
            raise DataError(f"{where}: {wrong}; a file of models has: {known}")
        name = str(row[key]).strip()
        if not name or name in self._exact:
            raise DataError(
                f"{where}: {one_line(name, 60)!r} is there twice" if name else f"{where}: no model is named"
            )
        facts = _facts(row, where)
        self._exact[name] = facts
        self._plain.setdefault(_bare(name), facts)
        self._unused[name] = _bare(name)

    def of(self, model: str) -> Facts:
        """Return what the file says of a model; else what its name says: family, size, and whether it was finetuned."""
        said = self._exact.get(model, self._plain.get(_bare(model)))
        self._unused = {name: bare for name, bare in self._unused.items() if model != name and _bare(model) != bare}
        known = named(model, size(model))
        if model.startswith("baseline/"):
            known = msgspec.structs.replace(known, family="")
        return known if said is None else said.over(known)

    @property
    def unused(self) -> list[str]:
        """Names of the file that nobody asked for: they may be misspelled."""
        return list(self._unused)


def _bare(name: str) -> str:
    return plain(name.rpartition("/")[2]) or name


def _facts(row: Line, where: str) -> Facts:
    words = {name: str(row.get(name) or "").strip() for name in WORDS}
    sizes = {field: _billions(row.get(name), name, where) for name, field in SIZES.items()}
    url = str(row.get("url") or "").strip()
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{where}: url {one_line(url, 60)!r} does not begin with https:// or http://")
    sizes["active"] = sizes["active"] or sizes["total"]
    return msgspec.convert({**words, **sizes, "url": url}, Facts)


def _billions(value: object, name: str, where: str) -> float | None:
    text = str(value if value is not None else "").strip()
    if not text:
        return None
    try:
        found = float(text.removesuffix("B").removesuffix("b"))
    except ValueError:
        found = math.nan
    if not 0 < found < 1e6:
        raise DataError(f"{where}: {name} {one_line(text, 40)!r} is no number of billions, as 7 or 46.7")
    return found
