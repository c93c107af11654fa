"""Decisions about rationales in a spreadsheet."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from viva.authoring.files import content_of
from viva.errors import DataError

if TYPE_CHECKING:
    from viva.authoring.reasoning.approval import Proposal
    from viva.authoring.reasoning.cells import Table
    from viva.authoring.reasoning.project import Project
    from viva.engine.reviews import Review

TITLES = (
    *("question", "item", "type", "discipline", "asked", "right answer", "state"),
    *("decision", "rationale", "comment", "remarks"),
)
"""The columns of a file of decisions; `question` (an id) and `decision` must be there."""
_DECISIONS = ("approve", "reject", "edit")


def decision_row(proposal: Proposal) -> tuple[str, ...]:
    """One question as a row of the file, its decision left empty."""
    question, state = proposal.question, proposal.state
    options = [
        f"{letter}. {text}" for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", question.options, strict=False)
    ]
    asked = "\n".join((question.question, *options))
    return (
        *(question.id, proposal.key, question.type, question.path[0], asked, question.gold_text, state.status),
        *("", state.text, "", "; ".join(state.remarks)),
    )


def read_decisions(project: Project, path: Path, reviewer: str) -> list[Review]:
    """The decisions of a file as lines of the audit trail; those that change nothing are left out. Raises DataError."""
    from viva.authoring.reasoning.cells import read_table

    table = read_table(content_of(path), str(path), ("question", "decision", "rationale", "item", "comment"))
    for column in ("question", "decision"):
        if column not in table.columns:
            raise DataError(f"{path} has no column {column!r}; `approve --write` writes such a file")
    proposals = {proposal.question.id: proposal for proposal in project.folded().proposals}
    at = time.time()
    found: dict[str, Review] = {}
    for number, row in _rows(table):
        if not row["decision"]:
            continue
        where = f"{path}, row {number}"
        proposal = proposals.get(row["question"])
        if proposal is None:
            raise DataError(f"{where}: no question {row['question'][:80]!r} that can be used is in the sheet")
        if row["question"] in found:
            raise DataError(f"{where}: a second decision about {row['question']!r}")
        review = _decision(proposal, row, where, reviewer, at)
        if review:
            found[row["question"]] = review
    return list(found.values())


def _rows(table: Table) -> list[tuple[int, dict[str, str]]]:
    empty = dict.fromkeys(("question", "decision", "rationale", "item", "comment"), "")
    return [(number, empty | dict(zip(table.columns, cells, strict=False))) for number, cells in table.rows]


def _decision(proposal: Proposal, row: dict[str, str], where: str, reviewer: str, at: float) -> Review | None:
    """One row; None where it says what this reviewer said already."""
    from viva.authoring.reasoning.project import about
    from viva.engine.reviews import Review
    from viva.types import RATIONALE

    decision, state = row["decision"].casefold(), proposal.state
    if decision not in _DECISIONS:
        raise DataError(f"{where}: decision {row['decision'][:40]!r}; write {', '.join(_DECISIONS)}, or nothing")
    if row["item"] and row["item"] != proposal.key:
        raise DataError(
            f"{where}: {row['question']!r} or its rationale has changed since this file was written; write a new one "
            "with --write, and decide about that"
        )
    text = row["rationale"] or state.text
    if decision == "edit" and text == state.text:
        raise DataError(f"{where}: `edit`, but the rationale is as it was; write `approve` if that is what you mean")
    if decision == "approve" and not text.strip():
        raise DataError(f"{where}: there is no rationale to approve; write one")
    edited = text != state.text and decision != "reject"
    said = {"approve": reviewer in state.approved_by, "reject": reviewer in state.rejected_by, "edit": False}
    if said[decision] and not edited:
        return None
    return Review(
        id=secrets.token_hex(16),
        at=round(at, 3),
        reviewer=reviewer,
        item=proposal.key,
        about=about(proposal),
        aspect=RATIONALE,
        after={"approve": 1.0, "reject": 0.0, "edit": None}[decision],
        comment=row["comment"],
        text_before=state.text,
        text_after=text if edited else None,
    )
