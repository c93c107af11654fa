"""Which questions of the pool are in the set, what is missing by language, and which ones models may have seen.

In every language, the first questions by rank have a place, up to its quota. If one is rejected, the next in reserve
moves up. Places depend on the current states alone: a question that is fixed and approved later has its place again.

Contamination is judged by date: a model may have been trained on questions asked before its cut-off. The user supplies
the table of cut-offs, since vendors state months, and state them differently.

    # cutoffs.toml
    "openai/gpt-4o" = 2023-10-01
    "anthropic/claude-x" = "2024-04"        # a month: its last day

Approval is computed from the audit trail (pure), and only approved questions enter a set. A decision is about one exact
text: after any change of the file, on the page or in an editor, the question must be decided again. Authors of a text
are those in its `author` tag and those whose edits on the page led to it. A question is approved if somebody other than
its authors approved it and nobody rejects it.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from msgspec import Struct

from viva.build import approval
from viva.build.approval import Status, decided, decision
from viva.build.files import toml_of
from viva.build.options import Told
from viva.build.stackexchange.kit import digest, names, question_id
from viva.build.stackexchange.kitchecks import KitChecked, metrics_of
from viva.build.stackexchange.pool import PoolQuestion
from viva.engine.reviews import Review
from viva.errors import DataError

MEANING: dict[Status, str] = {
    "approved": "approved",
    "waiting": "not decided yet",
    "disputed": "experts disagree",
    "faulty": "errors in it, see check",
    "unwritten": "not written yet",
    "rejected": "rejected",
}
STATUSES = tuple(MEANING)


def standing(question: str, text: str, authors: Sequence[str], reviews: Iterable[Review]) -> approval.State:
    """Return the approval state of a question whose file now holds `text`; `reviews` are those about it, in order."""
    now = digest(question, text)
    made_by: dict[str, dict[str, None]] = {}  # text → editors of it and of the texts that it was edited from
    last: dict[str, Review] = {}
    earlier: list[str] = []
    for review in reviews:
        before, about = (
            review.item if text is None else digest(question, text) for text in (review.text_before, review.text_after)
        )
        if about != before and not review.undoes:
            made_by.setdefault(about, {}).update({**made_by.get(before, {}), review.reviewer: None})
        if about == now:
            last[review.reviewer] = review
        elif before == now:  # this reviewer has since edited it, or undone a decision
            last.pop(review.reviewer, None)
        if review.comment and about != now:
            earlier.append(f"{review.reviewer}: {review.comment}")
    editors = tuple(made_by.get(now, ()))
    mine = names([*authors, *editors])
    approved = [who for who, review in last.items() if decision(review) == "approve"]
    rejected = {who: review.comment for who, review in last.items() if decision(review) == "reject"}
    own = tuple(who for who in approved if names([who]) & mine)
    others = tuple(who for who in approved if who not in own)
    return approval.State(
        status=decided(others, rejected),
        text=text,
        approved_by=others,
        rejected_by=tuple(rejected),
        edited_by=editors,
        remarks=tuple(f"{who}: {comment}" for who, comment in rejected.items() if comment),
        own=own,
        earlier=tuple(dict.fromkeys(earlier)),
    )


_DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")


def read_day(text: str, what: str) -> date:
    """Parse a day, or a month as its last day. Raises DataError that names `what`."""
    match = _DAY.fullmatch(text.strip()) if text.isascii() else None
    try:
        if match:
            year, month = int(match[1]), int(match[2])
            return date(year, month, int(match[3] or calendar.monthrange(year, month)[1]))
    except (ValueError, calendar.IllegalMonthError):
        pass
    raise DataError(f"{what} {text[:40]!r} is no day: write YYYY-MM-DD, or YYYY-MM for the end of a month")


def created(text: str) -> date:
    """Parse the day of a post. Raises DataError if it is not a date."""
    return read_day(text[:10], "the date of a question of the pool")


def read_cutoffs(content: bytes, name: str) -> dict[str, date]:
    """Read the table of cut-offs: model → last day of its training data. Raises DataError."""
    line = '; a line is: "MODEL" = 2024-04-30'
    cutoffs: dict[str, date] = {}
    for model, value in toml_of(content, name, line).items():
        if not isinstance(value, (str, date)):
            raise DataError(f"{name}: the cut-off of {model!r} is no day: write YYYY-MM-DD, a model's name in quotes")
        day = value if isinstance(value, str) else str(value)[:10]
        cutoffs[model] = read_day(day, f"{name}: the cut-off of {model!r},")
    if not cutoffs:
        raise DataError(f"{name} names no model{line}")
    return cutoffs


class Exposure(Struct, frozen=True):
    """Numbers of questions asked up to a model's cut-off (a day), which it may have seen, and after it."""

    cutoff: str
    before: int
    after: int


def exposed(questions: Iterable[PoolQuestion], cutoffs: Mapping[str, date]) -> dict[str, Exposure]:
    """Return model → number of questions asked up to its cut-off, and after it."""
    days = [created(question.created) for question in questions]
    old = {model: sum(day <= last for day in days) for model, last in cutoffs.items()}
    return {model: Exposure(cutoffs[model].isoformat(), count, len(days) - count) for model, count in old.items()}


class State(Struct, frozen=True, kw_only=True):
    """The state of one question of the pool."""

    about: PoolQuestion
    status: Status
    text: str | None = None
    """Contents of question.yaml; None if there is no kit yet."""
    checked: KitChecked = KitChecked()
    standing: approval.State = approval.State(status="waiting", text="")
    authors: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its id in the set."""
        return question_id(self.about)

    def barred(self, after: date | None) -> str:
        """Return why it cannot be in a set of questions asked from the day `after` on; "" if it can."""
        return f"asked before {after}" if after is not None and created(self.about.created) < after else ""


class Cell(Struct, frozen=True, kw_only=True):
    """A language's places, and the questions that hold them."""

    language: str
    area: str
    quota: int
    holders: tuple[State, ...]
    rejected: int
    """Questions that gave up their place."""
    left: int
    """Questions of the reserve that could still move up."""

    @property
    def counts(self) -> Counter[Status]:
        """Number of holders by status."""
        return Counter(state.status for state in self.holders)

    @property
    def missing(self) -> int:
        """Approved questions still wanted."""
        return self.quota - self.counts["approved"]

    @property
    def moved_up(self) -> list[State]:
        """Questions of the reserve that have a place now."""
        return [state for state in self.holders if state.about.reserve]


def places(
    states: Iterable[State], quotas: Mapping[str, int], areas: Mapping[str, str], after: date | None = None
) -> list[Cell]:
    """Assign places by language: as many as its quota, or if it has none, as many as its questions outside the reserve.

    `areas` are needed for languages without questions in the pool; `after`: only questions asked from that day on.
    """
    groups: dict[str, list[State]] = {}
    for state in states:
        groups.setdefault(state.about.language, []).append(state)
    cells: list[Cell] = []
    for language in dict.fromkeys((*groups, *quotas)):
        group = groups.get(language, [])
        quota = quotas.get(language, sum(not state.about.reserve for state in group))
        ordered = sorted(group, key=lambda state: (state.about.reserve, state.about.rank))
        new_enough = [state for state in ordered if not state.barred(after)]
        able = [state for state in new_enough if state.status != "rejected"]
        cells.append(
            Cell(
                language=language,
                area=group[0].about.area if group else areas.get(language, ""),
                quota=quota,
                holders=tuple(able[:quota]),
                rejected=len(new_enough) - len(able),
                left=len(able[quota:]),
            )
        )
    return cells


def holders(dealt: Iterable[Cell]) -> dict[int, State]:
    """Return Stack Overflow id → state, of the questions that hold a place."""
    return {state.about.id: state for cell in dealt for state in cell.holders}


def coverage_table(dealt: Iterable[Cell]) -> Told:
    """Return a table of questions by language and state, with the quotas."""
    header = ("language", "area", "quota", *STATUSES[:-1], "missing", "rejected", "moved up", "reserve left")
    rows = []
    for cell in dealt:
        by_status = map(cell.counts.__getitem__, STATUSES[:-1])
        counts = (cell.quota, *by_status, cell.missing, cell.rejected, len(cell.moved_up), cell.left)
        rows.append((cell.language, cell.area, *(count or None for count in counts)))
    return "Questions by language", header, rows


def exposure_table(dealt: Iterable[Cell], cutoffs: Mapping[str, date]) -> Told:
    """Return a table of how many questions with a place each model may have seen in training."""
    exposures = exposed((state.about for state in holders(dealt).values()), cutoffs)
    rows = [(model, exposure.cutoff, exposure.before, exposure.after) for model, exposure in exposures.items()]
    return "Asked before the models' training ended", ("model", "cut-off", "up to it", "after it"), rows


def metric_lines(dealt: Iterable[Cell]) -> Iterable[str]:
    """Yield a line of the approved questions' metrics, and one of their types."""
    approved = (state.checked.question for state in holders(dealt).values() if state.status == "approved")
    owns = [own for own in approved if own]
    for what, counts in (
        ("metrics", Counter(name for own in owns for name in metrics_of(own.rubric))),
        ("types", Counter(own.tags.get("type", "") for own in owns)),
    ):
        if counts:
            yield f"{what} of the approved: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
