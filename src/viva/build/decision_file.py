"""Decisions about texts in a spreadsheet: written to be filled in, read as lines of the audit trail."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from viva.build.approval import State
from viva.build.files import content_of
from viva.build.spreadsheet import clean, read_table
from viva.engine.reviews import Review
from viva.errors import DataError, option

_MARKS: dict[str, float | None] = {"approve": 1.0, "reject": 0.0, "edit": None}


class Proposal(Protocol):
    """A text that people decide about, as it now stands."""

    @property
    def key(self) -> str:
        """The item that a decision is about."""

    @property
    def state(self) -> State:
        """Where it stands."""


P = TypeVar("P", bound=Proposal)


class DecisionFile(Struct, Generic[P], frozen=True, kw_only=True):
    """What a file of decisions looks like, and what it may say. `aspect` is the column of the texts."""

    aspect: str
    called: str = "file"
    needed: Sequence[str] = ("question", "decision")
    unknown: str
    """What is said of a name that no proposal has: `no question NAME ...`."""
    about: Callable[[P], dict[str, str]]
    """Which question it is, for people."""
    refuse: Callable[[P, str, str], str]
    """What is wrong with a decision about a proposal and a text; "" for nothing."""

    def read(self, path: Path, proposals: Mapping[str, P], reviewer: str) -> list[Review]:
        """The decisions of a file; those that change nothing are left out. Raises DataError."""
        columns = ("question", "decision", self.aspect, "item", "comment")
        table = read_table(content_of(path), str(path), columns)
        for column in self.needed:
            if column not in table.columns:
                raise DataError(
                    f"{path} has no column {column!r}; `approve {option('write')}` writes such a {self.called}"
                )
        at = round(time.time(), 3)
        found: dict[str, Review] = {}
        for number, cells in table.rows:
            row = dict.fromkeys(columns, "") | dict(zip(table.columns, cells, strict=False))
            name, where = row["question"], f"{path}, row {number}"
            if not row["decision"]:
                continue
            if name not in proposals:
                raise DataError(f"{where}: no question {name[:80]!r} {self.unknown}")
            if name in found:
                raise DataError(f"{where}: a second decision about {name!r}")
            review = self._decision(proposals[name], row, where, reviewer, at)
            if review:
                found[name] = review
        return list(found.values())

    def _decision(self, proposal: P, row: dict[str, str], where: str, reviewer: str, at: float) -> Review | None:
        """One row; None where it says what this reviewer said already."""
        decision, state = row["decision"].casefold(), proposal.state
        if decision not in _MARKS:
            raise DataError(f"{where}: decision {row['decision'][:40]!r}; write {', '.join(_MARKS)}, or nothing")
        if row["item"] and row["item"] != proposal.key:
            raise DataError(
                f"{where}: {row['question']!r} or its {self.aspect} has changed since this {self.called} was written; "
                f"write a new one with {option('write')}, and decide about that"
            )
        text = clean(row[self.aspect]) or state.text
        if problem := self.refuse(proposal, decision, text):
            raise DataError(f"{where}: {problem}")
        if decision == "edit" and text == state.text:
            raise DataError(
                f"{where}: `edit`, but the {self.aspect} is as it was; write `approve` if that is what you mean"
            )
        edited = text != state.text and decision != "reject"
        said = {"approve": state.approved_by, "reject": state.rejected_by}.get(decision, ())
        if reviewer in said and not edited:
            return None
        return Review(
            id=secrets.token_hex(16),
            at=at,
            reviewer=reviewer,
            item=proposal.key,
            about=self.about(proposal),
            aspect=self.aspect,
            after=_MARKS[decision],
            comment=row["comment"],
            text_before=state.text,
            text_after=text if edited else None,
        )
