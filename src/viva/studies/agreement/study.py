"""Agreement of raters, from runs or tables of ratings.

Tables of ratings: CSV or JSONL, also gzipped, a row a rating.

    item,rater,value
    q17,anna,0.5

Columns: `item` or `question`; `rater`, `reviewer` or `judge`; `value` or `score` (a number; empty: not rated). Where
both `item` and `question` are there, items of one question are not independent. `aspect`, if there, makes the answer
and the rationale of a question two items. Every other column that has one value an item is a tag of it; in JSONL also
`tags: {…}`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.ratings import Ratings
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.score_table import column_of, name_in, number_in, rows_of, text_in
from viva.runs.scorefile import find_run
from viva.studies.agreement.runratings import ratings_of_run
from viva.studies.agreement.tables import Reports, findings
from viva.visible import brief, one_line

MOST_MARKS = 1000
"""The most marks of a scale."""


class AgreementConfig(Struct, kw_only=True):
    """Agreement of a run's experts and judges, or of any raters: rows of item, rater, value; other columns are tags.

    Of a run, the judge is the verdict that it had before experts (or one of its judges: --judge NAME); a random sample
    that experts marked to its end also gives the score that they would give to all answers, with an interval.

    Cronbach's and Krippendorff's alpha, Fleiss' and Cohen's kappa, correlations, the confusion table; with --judge, the
    judge against the mean human. With --ppi, the people must have rated a random sample of the items.

    \b
    viva agreement runs/NAME
    viva agreement ratings.csv --judge gpt-4o --scale 0,0.5,1 --chart agreement.svg
    viva agreement ratings.csv --judge gpt-4o --by type --ppi
    """

    source: Annotated[
        Path, note("A run, or a table of ratings: item, rater, value.", argument=True, metavar="RUN|RATINGS.csv|.jsonl")
    ]
    judge: Annotated[str | None, note("The rater that is the judge; all others are people.", metavar="NAME")] = None
    exclude: Annotated[tuple[str, ...], note("Leave this rater out; repeatable.", metavar="NAME")] = ()
    scale: Annotated[
        str | None,
        note("The marks that people can give: 0,0.5,1 or 1..10.  [default: those that were given]", metavar="MARKS"),
    ] = None
    level: Annotated[
        Literal["nominal", "ordinal", "interval"], note("What marks are: names, an order, or amounts.")
    ] = "interval"
    by: Annotated[
        str | None, note("One report for each value of this column.  [default: aspect, if there]", metavar="TAG")
    ] = None
    ppi: Annotated[bool, note("The mean mark of all items, from the judge's marks and the people's sample.")] = False
    strata: Annotated[
        str | None, note("With --ppi: the people's sample was drawn within each value of this.", metavar="TAG")
    ] = None


@command(AgreementConfig, chart="Draw it")
def study(config: AgreementConfig) -> Findings[Reports]:
    """How far raters agree: the experts and judges of a run, or of any table of ratings.

    Raises VivaError for a run that nobody judged and nobody reviewed, DataError for a damaged table.
    """
    if config.strata is not None and not config.ppi:
        raise VivaError(f"{config.strata!r} says how a sample was drawn: it goes with {option('ppi')}", field="strata")
    if not config.source.is_dir():
        needed = [tag for tag in (config.by, config.strata) if tag is not None]
        return findings(_compared(read_ratings(config.source, needed), config.source.name, config, "people"))
    if config.ppi:
        raise VivaError(
            "is for tables of ratings; a random sample of the review page gives a run's score as is", field="ppi"
        )
    run = find_run(config.source)
    read = ratings_of_run(run, config.judge, config.scale)
    config = replace(config, judge=read.judge, scale=read.scale)
    compared = _compared(read.ratings, run.name, config, read.word)
    return findings(compared, read.scores, read.notes)


def _compared(ratings: Ratings, title: str, config: AgreementConfig, word: str) -> list[Agreement]:
    """Return one report, or one for each value of `by`. Aspects are separate: a combined mark would be meaningless."""
    scale = scale_of(config.scale) if config.scale is not None else ()
    if config.exclude:
        ratings = ratings.without(config.exclude)
    if config.judge is not None:
        ratings.column(config.judge)
    parts = {title: ratings}
    aspects = {ASPECT} if len(set(ratings.tags.get(ASPECT, ()))) > 1 else set[str]()
    for tag in ([config.by] if config.by is not None else []) + sorted(aspects - {config.by}):
        parts = {
            f"{name} · {value or '(none)'}": part
            for name, whole in parts.items() for value, part in whole.parts(tag).items()
        }  # fmt: skip
    asked = {name: getattr(config, name) for name in ("judge", "level", "ppi", "strata")}
    return [agree(part, scale=scale, title=name, word=word, **asked) for name, part in parts.items()]


def scale_of(text: str) -> tuple[float, ...]:
    """Return `0,0.5,1` or `1..10` → the marks, ascending. Raises VivaError for anything else."""
    first, dots, last = text.partition("..")
    try:
        if dots:
            low, high = int(first), int(last)
            marks = tuple(float(mark) for mark in range(low, min(high, low + MOST_MARKS) + 1))
        else:
            marks = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        marks = ()
    if not 1 < len(marks) <= MOST_MARKS or not all(math.isfinite(mark) for mark in marks):
        raise VivaError(f"{one_line(text)!r}: write two marks or more, as 0,0.5,1 or as 1..10", field="scale")
    return marks


ITEM = ("item", "question")
RATER = ("rater", "reviewer", "judge")
VALUE = ("value", "score")
ASPECT = "aspect"
LARGEST = 1e12
"""The largest mark: anything beyond is a mistake, and its square may overflow."""
_SHOWN = 60


class _Rated(Struct):
    """The data of one item, or of one aspect of it, in a file."""

    marks: dict[str, float | None] = {}
    """Rater → mark."""
    lines: dict[str, int] = {}
    """Rater → line."""
    tags: dict[str, str] = {}


def read_ratings(path: Path, tags: Sequence[str] = ()) -> Ratings:
    """Return the ratings, items and raters in the order of the file. `tags` names those that are needed.

    Raises DataError with the line and the value: no file, damaged, a missing column, an invalid mark, a duplicate
    rating, an item with two values of a needed tag.
    """
    rated_items = defaultdict[tuple[str, str], _Rated](_Rated)
    raters: dict[str, None] = {}
    torn: dict[str, str] = {}
    """Column that may be a tag → where an item has a second value, which rules it out; "" while there is none."""
    hint = (
        "leave it empty where there is no rating, and write marks that are names as numbers (with "
        f"{option('level', 'nominal')})"
    )
    for line, row in rows_of(path):
        where = f"{path}, line {line}"
        columns = [column_of(row, names, where) for names in (ITEM, RATER, VALUE)]
        item, rater = (name_in(row, column, where).strip() for column in columns[:2])
        mark, aspect = number_in(row, columns[2], where, hint), text_in(row, ASPECT, where).strip()
        if mark is not None and not abs(mark) <= LARGEST:
            raise DataError(f"{where}: {columns[2]} {brief(row[columns[2]])} is no mark; {hint}")
        item_rated = rated_items[item, aspect]
        if rater in item_rated.lines:
            what = brief(item) + (f", {brief(aspect)}," if aspect else "")
            raise DataError(
                f"{where}: a second rating of {what} by {brief(rater)}; the first is in line {item_rated.lines[rater]}"
            )
        item_rated.lines[rater], item_rated.marks[rater], raters[rater] = line, mark, None
        for name, value in row.items():
            if name in (*columns, ASPECT, "tags") or isinstance(value, (dict, list)):
                continue
            tag = text_in(row, name, where).strip()
            torn.setdefault(name, "")
            if tag and (first := item_rated.tags.setdefault(name, tag)) != tag and not torn[name]:
                torn[name] = f"{where}: {name[:_SHOWN]} of {brief(item)} is {brief(tag)}, and {brief(first)} above"
    if all(mark is None for each in rated_items.values() for mark in each.marks.values()):
        raise DataError(f"{path} holds no ratings; it needs rows of item, rater, value")
    for tag in (*tags, "question"):
        if torn.get(tag):
            raise DataError(torn[tag])
    aspects = [aspect for _, aspect in rated_items]
    several = len(set(aspects)) > 1
    # With a column "item", "question" is a tag; without one it names the item.
    questions = [each.tags.get("question", item) for (item, _), each in rated_items.items()]
    whole = [name for name, where in torn.items() if name != "question" and not where]
    tags_of_items = {name: tuple(each.tags.get(name, "") for each in rated_items.values()) for name in whole}
    return Ratings(
        items=tuple(f"{item} · {aspect}" if several and aspect else item for item, aspect in rated_items),
        raters=tuple(raters),
        values=tuple(tuple(map(each.marks.get, raters)) for each in rated_items.values()),
        questions=tuple(questions) if len(set(questions)) < len(questions) else (),
        tags={ASPECT: tuple(aspects), **tags_of_items} if any(aspects) else tags_of_items,
    )
