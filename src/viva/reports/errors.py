"""Types of error as tables and as data: how many wrong answers show each, by model and kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from viva.analysis.errortypes import Errors, Share
from viva.io.tables import CsvText
from viva.reports.grids import WORDS, grids_terminal
from viva.reports.printing import formats
from viva.reports.result import Grid, percent
from viva.reports.text import json_text
from viva.visible import csv_safe

LEGEND = (
    "A cell: how many labelled answers show this type of error, and their share in per cent with its 95 % interval "
    "over questions. Several types may apply to one answer: shares can add up to more than 100."
)


class Told(Struct, frozen=True, kw_only=True):
    """All that is told of a run's errors."""

    run: str
    judges: tuple[str, ...]
    names: Mapping[str, str]
    """Type → what it is called."""
    overall: tuple[Errors, ...]
    by: str
    """The tag of `parts`; "" for none."""
    parts: tuple[Errors, ...]
    notes: tuple[str, ...]


def error_grids(told: Told) -> list[Grid]:
    """A table an exam and kind of question, a row a model; then the same by a tag."""
    grids: list[Grid] = []
    for by, found in (("", told.overall), (told.by, told.parts)):
        for exam, group in dict.fromkeys((one.exam, one.group) for one in found):
            rows = [one for one in found if (one.exam, one.group) == (exam, group)]
            grids.append(_grid(told, exam, group, by, rows))
    return grids


def _grid(told: Told, exam: str, group: str, by: str, rows: Sequence[Errors]) -> Grid:
    header = (
        "model",
        *((by,) if by else ()),
        "wrong",
        "labelled",
        *(told.names.get(share.type, share.type) for share in rows[0].shares),
        "none of these",
    )
    return Grid(
        f"{group} questions: types of error{f' by {by}' if by else ''} · {exam}",
        header,
        tuple(
            (
                one.model,
                *((one.value,) if by else ()),
                f"{one.wrong:,}",
                f"{one.labelled:,}",
                *map(share_text, one.shares),
                f"{one.labelled - one.fitting:,}",
            )
            for one in rows
        ),
    )


def share_text(share: Share) -> str:
    """`12 · 40.0 [24.6, 57.7]`."""
    if share.share is None:
        return "–"
    between = "" if share.low is None else f" [{percent(share.low, 1)}, {percent(share.high, 1)}]"
    return f"{share.count:,} · {percent(share.share, 1)}{between}"


def _told(told: Told) -> tuple[list[Grid], list[str]]:
    return error_grids(told), [LEGEND, *told.notes]


def as_terminal(told: Told, *, width: int | None = None, colour: bool = False) -> str:
    """Tables for a terminal."""
    words = {*WORDS, told.by} if told.by else WORDS
    return grids_terminal(*_told(told), width=width, colour=colour, words=words)


def as_csv(told: Told) -> str:
    """A row a model, kind of question and type, unrounded; `by` and `value` say of which part."""
    table = CsvText(
        [
            "exam",
            "model",
            "questions",
            "by",
            "value",
            "type",
            "name",
            "wrong",
            "labelled",
            "count",
            "share",
            "low",
            "high",
        ]
    )
    for by, found in (("", told.overall), (told.by, told.parts)):
        for one in found:
            for share in one.shares:
                said = (one.exam, one.model, one.group, by, one.value, share.type, told.names.get(share.type, ""))
                figures = (one.wrong, one.labelled, share.count, share.share, share.low, share.high)
                table.add([*map(csv_safe, said), *figures])
    return table.text()


def as_json(told: Told) -> str:
    """Everything, as plain data."""
    return json_text(told)


FORMATS = formats(_told, as_csv=as_csv, as_json=as_json)
