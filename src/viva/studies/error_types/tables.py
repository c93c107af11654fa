"""Types of error as tables and as data: how many wrong answers show each, by model and kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from viva.analysis.errortypes import Errors, Share, agreed
from viva.analysis.estimate import percent
from viva.engine.labelling import Labelled
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, DASH, NAME, TEXT, Column, Kind, Table, fields

LEGEND = (
    "A cell: how many labelled answers show this type of error, and their share in per cent with its 95 % interval "
    "over questions. Several types may apply to one answer: shares can add up to more than 100."
)


class Row(NamedTuple):
    """A type of error of a model, in one kind of question and, where `by` names a tag, one value of it."""

    errors: Errors
    share: Share
    by: str
    name: str
    """The type's label."""


_ROW = (
    *fields("errors", "exam", "model", group="questions"), *fields("", "by"), *fields("errors", "value"),
    *fields("share", "type"), *fields("", "name"), *fields("errors", "wrong", "labelled"),
    *fields("share", "count", "share", "low", "high"),
)  # fmt: skip


def agreed_labels(row: Labelled) -> tuple[str, ...] | None:
    """Return the labels of an answer on which its judges agree."""
    return agreed([vote for _, vote in row.votes])


_LABELS = (*fields("", *Labelled.__struct_fields__), Column(None, agreed_labels, key="labels"))


def findings(
    overall: Sequence[Errors],
    parts: Sequence[Errors],
    by: str,
    names: Mapping[str, str],
    labelled: tuple[Labelled, ...],
    *,
    notes: Sequence[str],
    exit_code: int,
    drawing: Drawing,
) -> Findings[tuple[Labelled, ...]]:
    """Return a table an exam and kind of question, a row a model; then by the tag `by` ("" for none). `names`: type →
    its label; `labelled`: every wrong answer with its labels.
    """
    told = (("", overall), (by, parts))
    rows = [
        Row(row, share, tag, names.get(share.type, ""))
        for tag, errors in told
        for row in errors
        for share in row.shares
    ]
    shown = [
        _table(exam, group, tag, names, [row for row in errors if (row.exam, row.group) == (exam, group)])
        for tag, errors in told
        for exam, group in dict.fromkeys((row.exam, row.group) for row in errors)
    ]
    return Findings(
        found=labelled, shown=[*shown, Table("Labels", _LABELS, labelled)],
        rows=Table("Types of error", _ROW, rows), notes=[LEGEND, *notes], exit_code=exit_code, drawing=drawing,
    )  # fmt: skip


def _table(exam: str, group: str, by: str, names: Mapping[str, str], rows: Sequence[Errors]) -> Table:
    columns = [Column("model", "model", NAME), *([Column(by, "value", TEXT, "value")] if by else [])]
    columns += [Column("wrong", "wrong", COUNT), Column("labelled", "labelled", COUNT)]
    columns += [
        Column(names.get(share.type, share.type), f"shares.{index}", _SHARE, share.type)
        for index, share in enumerate(rows[0].shares)
    ]
    columns += [Column("none of these", lambda row: row.labelled - row.fitting, COUNT), *fields("", "fitting")]
    return Table(f"{group} questions: types of error{f' by {by}' if by else ''} · {exam}", tuple(columns), rows)


def share_text(share: Share) -> str:
    """Return `12 · 40.0 [24.6, 57.7]`."""
    if share.share is None:
        return DASH
    between = "" if share.low is None else f" [{percent(share.low, 1)}, {percent(share.high, 1)}]"
    return f"{share.count:,} · {percent(share.share, 1)}{between}"


_SHARE = Kind(share_text)
