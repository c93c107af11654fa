"""Which questions of the pool are in the set, and what is missing: by language, and by what models may have read.

Of every language the first by rank have a place, up to its quota. A rejected question gives its place to the next one:
the reserve moves up. From the states alone, so that a question that is mended and approved after all has its place
again.

Contamination is told by date: a model that was trained up to a day may have read what was asked before it. The table of
cut-offs is the user's: vendors state months, and state them differently.

    # cutoffs.toml
    "openai/gpt-4o" = 2023-10-01
    "anthropic/claude-x" = "2024-04"        # a month: its last day

What experts decided comes from the audit trail: pure, and the only way into a set. A decision is about a question with
exactly one text: change a letter of the file, on the page or in an editor, and it has to be decided about anew. The
text's authors are those in its `author` tag and whoever edited it on the page into what it now is. A question is
approved when somebody who is not among them approved it, and nobody rejects it.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from msgspec import Struct

from viva.build.approval import decision
from viva.build.options import Told
from viva.build.stackexchange.kit import digest, names, question_id
from viva.build.stackexchange.kitchecks import KitChecked, metrics_of
from viva.build.stackexchange.pool import PoolQuestion
from viva.engine.reviews import Review
from viva.errors import DataError
from viva.files import parse_toml

Status = Literal["unwritten", "faulty", "waiting", "approved", "rejected", "disputed"]
MEANING: dict[Status, str] = {
    "approved": "approved",
    "waiting": "not decided yet",
    "disputed": "experts disagree",
    "faulty": "errors in it, see check",
    "unwritten": "not written yet",
    "rejected": "rejected",
}
STATUSES = tuple(MEANING)


class ApprovalState(Struct, frozen=True, kw_only=True):
    """What was decided about a question's text as it is now."""

    approved_by: tuple[str, ...] = ()
    """Without those whose approval does not count: authors."""
    rejected_by: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    """Who made this text of others on the page."""
    own: tuple[str, ...] = ()
    """Authors who approved what they wrote: it does not count."""
    remarks: tuple[str, ...] = ()
    """What those who reject it say."""
    earlier: tuple[str, ...] = ()
    """What was said of texts that it had before."""

    @property
    def decided(self) -> Status:
        """approved, rejected, disputed, or waiting."""
        if self.rejected_by:
            return "disputed" if self.approved_by else "rejected"
        return "approved" if self.approved_by else "waiting"


def standing(question: str, text: str, authors: Sequence[str], reviews: Iterable[Review]) -> ApprovalState:
    """Return where a question stands whose file now holds `text`; `reviews` are those about it, in order."""
    now = digest(question, text)
    made_by: dict[str, dict[str, None]] = {}  # text → who edited it into being, and what it was made of
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
        elif before == now:  # it was edited away, or taken back, and the text is here again
            last.pop(review.reviewer, None)
        if review.comment and about != now:
            earlier.append(f"{review.reviewer}: {review.comment}")
    editors = made_by.get(now, {})
    mine = names([*authors, *editors])
    approved = [who for who, review in last.items() if decision(review) == "approve"]
    rejected = [(who, review.comment) for who, review in last.items() if decision(review) == "reject"]
    return ApprovalState(
        approved_by=tuple(who for who in approved if not names([who]) & mine),
        rejected_by=tuple(who for who, _ in rejected),
        editors=tuple(editors),
        own=tuple(who for who in approved if names([who]) & mine),
        remarks=tuple(f"{who}: {comment}" for who, comment in rejected if comment),
        earlier=tuple(dict.fromkeys(earlier)),
    )


_DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")


def read_day(text: str, what: str) -> date:
    """Return a day, or the last one of a month. Raises DataError that names `what`."""
    match = _DAY.fullmatch(text.strip()) if text.isascii() else None
    try:
        if match:
            year, month = int(match[1]), int(match[2])
            return date(year, month, int(match[3] or calendar.monthrange(year, month)[1]))
    except (ValueError, calendar.IllegalMonthError):
        pass
    raise DataError(f"{what} {text[:40]!r} is no day: write YYYY-MM-DD, or YYYY-MM for the end of a month")


def created(text: str) -> date:
    """Return the day of a post. Raises DataError for what is none."""
    return read_day(text[:10], "the date of a question of the pool")


def read_cutoffs(content: bytes, name: str) -> dict[str, date]:
    """Return model → the last day of its training data. Raises DataError."""
    try:
        table = parse_toml(content.decode("utf-8-sig"))
    except ValueError as problem:
        raise DataError(f'{name} is not valid TOML ({problem}); a line is: "MODEL" = 2024-04-30') from None
    cutoffs: dict[str, date] = {}
    for model, value in table.items():
        if isinstance(value, datetime):
            cutoffs[model] = value.date()
        elif isinstance(value, date):
            cutoffs[model] = value
        elif isinstance(value, str):
            cutoffs[model] = read_day(value, f"{name}: the cut-off of {model!r},")
        else:
            raise DataError(f"{name}: the cut-off of {model!r} is no day: write YYYY-MM-DD, a model's name in quotes")
    if not cutoffs:
        raise DataError(f'{name} names no model; a line is: "MODEL" = 2024-04-30')
    return cutoffs


class Exposure(Struct, frozen=True):
    """How many questions a model may have read: those asked up to its cut-off (a day), and those asked after it."""

    cutoff: str
    before: int
    after: int


def exposed(questions: Iterable[PoolQuestion], cutoffs: Mapping[str, date]) -> dict[str, Exposure]:
    """Return model → how many of the questions were asked on or before its cut-off, and after it."""
    days = [created(question.created) for question in questions]
    old = {model: sum(day <= last for day in days) for model, last in cutoffs.items()}
    return {model: Exposure(cutoffs[model].isoformat(), count, len(days) - count) for model, count in old.items()}


class State(Struct, frozen=True, kw_only=True):
    """Where one question of the pool stands."""

    about: PoolQuestion
    status: Status
    text: str | None = None
    """Of question.yaml; None where there is no kit yet."""
    checked: KitChecked = KitChecked()
    standing: ApprovalState = ApprovalState()
    authors: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What the set calls it."""
        return question_id(self.about)

    def barred(self, after: date | None) -> str:
        """Return why it cannot be in a set of what was asked from a day on, whatever its status is; "" if it can."""
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
        """Its holders, by status."""
        return Counter(state.status for state in self.holders)

    @property
    def missing(self) -> int:
        """Approved questions that are wanted still."""
        return self.quota - self.counts["approved"]

    @property
    def moved_up(self) -> list[State]:
        """Questions of the reserve that have a place now."""
        return [state for state in self.holders if state.about.reserve]


def places(
    states: Iterable[State], quotas: Mapping[str, int], areas: Mapping[str, str], after: date | None = None
) -> list[Cell]:
    """Deal the places out: language → how many are its `quotas`, else what of the pool is not in reserve.

    `areas` are those of languages that the pool has no question of; `after`: only what was asked from that day on.
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
    """Return number → state, of the questions that hold a place."""
    return {state.about.id: state for cell in dealt for state in cell.holders}


def coverage_table(dealt: Iterable[Cell]) -> Told:
    """Return questions by language and state, against the quotas."""
    header = ("language", "area", "quota", *STATUSES[:-1], "missing", "rejected", "moved up", "reserve left")
    rows = []
    for cell in dealt:
        by_status = map(cell.counts.__getitem__, STATUSES[:-1])
        counts = (cell.quota, *by_status, cell.missing, cell.rejected, len(cell.moved_up), cell.left)
        rows.append((cell.language, cell.area, *(count or None for count in counts)))
    return "Questions by language", header, rows


def exposure_table(dealt: Iterable[Cell], cutoffs: Mapping[str, date]) -> Told:
    """Return how many of the questions that hold a place each model may have read in training."""
    exposures = exposed((state.about for state in holders(dealt).values()), cutoffs)
    rows = [(model, exposure.cutoff, exposure.before, exposure.after) for model, exposure in exposures.items()]
    return "Asked before the models' training ended", ("model", "cut-off", "up to it", "after it"), rows


def metric_lines(dealt: Iterable[Cell]) -> Iterable[str]:
    """Yield what grades the approved questions, and of which type they are."""
    approved = (state.checked.question for state in holders(dealt).values() if state.status == "approved")
    owns = [own for own in approved if own]
    for what, counts in (
        ("metrics", Counter(name for own in owns for name in metrics_of(own.rubric))),
        ("types", Counter(own.tags.get("type", "") for own in owns)),
    ):
        if counts:
            yield f"{what} of the approved: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
