"""Types of error as tables and as data: how many wrong answers show each, by model and kind of question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

from viva.analysis.errortypes import Errors, Share
from viva.analysis.wording import percent
from viva.errors import EXIT_OK
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid

if TYPE_CHECKING:
    from viva.engine.labelling import Labelled

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


@dataclass(frozen=True, repr=False)
class ErrorTables(StudyResult):
    """The types of error of a run's wrong answers."""

    told: Told
    labelled: tuple[Labelled, ...]
    """Every wrong answer with its labels."""
    exit_code: int = EXIT_OK
    """Of the command: whether something is not labelled yet."""
    drawing: Drawing = None

    @property
    def words(self) -> Collection[str]:  # type: ignore[override]
        """Columns of words, the tag's among them."""
        return WORDS | ({self.told.by} if self.told.by else set())

    def tables(self) -> list[Grid]:
        """A table an exam and kind of question, then the same by a tag."""
        return error_grids(self.told)

    def closing(self) -> list[str]:
        """Legend and notes."""
        return [LEGEND, *self.told.notes]

    def records(self) -> Records:
        """A row a model, kind of question and type, unrounded; `by` and `value` say of which part."""
        told = self.told
        header = (
            *("exam", "model", "questions", "by", "value", "type", "name"),
            *("wrong", "labelled", "count", "share", "low", "high"),
        )
        return header, [
            (
                *(one.exam, one.model, one.group, by, one.value, share.type, told.names.get(share.type, "")),
                *(one.wrong, one.labelled, share.count, share.share, share.low, share.high),
            )
            for by, found in (("", told.overall), (told.by, told.parts))
            for one in found
            for share in one.shares
        ]

    def data(self) -> object:
        """Everything."""
        return self.told
