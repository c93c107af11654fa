"""Decisions about translations in a spreadsheet."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from viva.authoring.files import content_of
from viva.errors import DataError

if TYPE_CHECKING:
    from viva.authoring.translation.project import Project, Question
    from viva.benchmarks.csbench.files import Raw
    from viva.engine.reviews import Review

_DECISIONS = ("approve", "reject", "edit")
_COLUMNS = ("question", "decision", "translation", "item", "comment")


def read_decisions(project: Project, path: Path, reviewer: str) -> list[Review]:
    """The decisions of a file as lines of the audit trail. Raises DataError."""
    from viva.authoring.reasoning.cells import read_table

    table = read_table(content_of(path), str(path), _COLUMNS)
    for column in ("question", "decision", "translation"):
        if column not in table.columns:
            raise DataError(f"{path} has no column {column!r}; `approve --write` writes such a sheet")
    questions = {question.name: question for question in project.questions()}
    at = time.time()
    found: dict[str, Review] = {}
    empty = dict.fromkeys(_COLUMNS, "")
    for number, cells in table.rows:
        row = empty | dict(zip(table.columns, cells, strict=False))
        if not row["decision"]:
            continue
        where = f"{path}, row {number}"
        question = questions.get(row["question"])
        if question is None or not question.start:
            raise DataError(f"{where}: no question {row['question'][:80]!r} with a translation is in the project")
        if row["question"] in found:
            raise DataError(f"{where}: a second decision about {row['question']!r}")
        review = _decision(project, question, row, where, reviewer, at)
        if review:
            found[row["question"]] = review
    return list(found.values())


def _decision(
    project: Project, question: Question, row: dict[str, str], where: str, reviewer: str, at: float
) -> Review | None:
    """One row; None where it says what this reviewer said already."""
    from viva.authoring.reasoning.cells import clean
    from viva.authoring.translation.approval import unheaded
    from viva.authoring.translation.project import ASPECT, about
    from viva.engine.reviews import Review as Line

    decision, state = row["decision"].casefold(), question.state
    if decision not in _DECISIONS:
        raise DataError(f"{where}: decision {row['decision'][:40]!r}; write {', '.join(_DECISIONS)}, or nothing")
    if row["item"] and row["item"] != question.key:
        raise DataError(
            f"{where}: {row['question']!r} or its translation has changed since this sheet was written; write a new "
            "one with --write, and decide about that"
        )
    text = clean(row["translation"]) or state.text
    if decision != "reject" and unheaded(text, question.wanted) is None:
        headings = ", ".join(f"[{field}]" for field in question.wanted)
        raise DataError(f"{where}: the translation must keep its headings, each on a line of its own: {headings}")
    if decision == "edit" and text == state.text:
        raise DataError(f"{where}: `edit`, but the translation is as it was; write `approve` if that is what you mean")
    edited = text != state.text and decision != "reject"
    said = {"approve": reviewer in state.approved_by, "reject": reviewer in state.rejected_by, "edit": False}
    if said[decision] and not edited:
        return None
    return Line(
        id=secrets.token_hex(16),
        at=round(at, 3),
        reviewer=reviewer,
        item=question.key,
        about=about(question, project.findings(question)),
        aspect=ASPECT,
        after={"approve": 1.0, "reject": 0.0, "edit": None}[decision],
        comment=row["comment"],
        text_before=state.text,
        text_after=text if edited else None,
    )


def record_of(project: Project, question: Question, *, unreviewed: bool) -> tuple[Raw | None, str]:
    """The record that enters the set, or why none does."""
    status = question.state.status
    record = question.result(project.settings.target_language)
    if not question.wanted:  # nothing in it is in any language
        return record, ""
    if record is None:
        return None, "no translation" if not question.state.text else "headings damaged"
    if status == "approved":
        return record, ""
    if unreviewed and status in ("waiting", "edited"):
        errors = any(finding.severity == "error" for finding in project.findings(question))
        return (None, "errors found") if errors else (record, "")
    return None, "not decided yet" if status == "waiting" else status
