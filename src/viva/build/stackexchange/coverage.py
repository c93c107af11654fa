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

from viva.build.approval import Event
from viva.build.options import Told
from viva.build.stackexchange.kit import digest, names, question_id
from viva.build.stackexchange.kitchecks import KitChecked, metrics_of
from viva.build.stackexchange.pool import PoolQuestion
from viva.errors import DataError
from viva.files import parse_toml

Status = Literal["unwritten", "faulty", "waiting", "approved", "rejected", "disputed"]
STATUSES: tuple[Status, ...] = ("approved", "waiting", "disputed", "faulty", "unwritten", "rejected")
MEANING: dict[Status, str] = {
    "unwritten": "not written yet",
    "faulty": "errors in it, see check",
    "waiting": "not decided yet",
    "approved": "approved",
    "rejected": "rejected",
    "disputed": "experts disagree",
}


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


def standing(question: str, text: str, authors: Sequence[str], events: Sequence[Event]) -> ApprovalState:
    """Return where a question stands whose file now holds `text`; `events` are those about it, in order."""
    now = digest(question, text)
    made_by: dict[str, dict[str, None]] = {}  # text → who edited it into being, and what it was made of
    last: dict[str, Event] = {}
    earlier: list[str] = []
    for event in events:
        about = event.item if event.text is None else digest(question, event.text)
        before = event.item if event.seen is None else digest(question, event.seen)
        if about != before and not event.undoes:
            made_by.setdefault(about, {}).update({**made_by.get(before, {}), event.reviewer: None})
        if about == now:
            last[event.reviewer] = event
        elif before == now:  # it was edited away, or taken back, and the text is here again
            last.pop(event.reviewer, None)
        if event.comment and about != now:
            earlier.append(f"{event.reviewer}: {event.comment}")
    editors = made_by.get(now, {})
    mine = names([*authors, *editors])
    approved = [who for who, event in last.items() if event.decision == "approve"]
    rejected = [(who, event.comment) for who, event in last.items() if event.decision == "reject"]
    return ApprovalState(
        approved_by=tuple(who for who in approved if not names([who]) & mine),
        rejected_by=tuple(who for who, _ in rejected),
        editors=tuple(editors),
        own=tuple(who for who in approved if names([who]) & mine),
        remarks=tuple(f"{who}: {comment}" for who, comment in rejected if comment),
        earlier=tuple(dict.fromkeys(earlier)),
    )


class State(Struct, frozen=True, kw_only=True):
    """Where one question of the pool stands."""

    about: PoolQuestion
    text: str | None
    """Of question.yaml; None where there is no kit yet."""
    checked: KitChecked
    standing: ApprovalState
    authors: tuple[str, ...]
    status: Status

    @property
    def id(self) -> str:
        """What the set calls it."""
        return question_id(self.about)


_DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")


def read_day(text: str, what: str) -> date:
    """Return a day, or the last one of a month. Raises DataError that names `what`."""
    found = _DAY.fullmatch(text.strip()) if text.isascii() else None
    try:
        if found:
            year, month = int(found[1]), int(found[2])
            return date(year, month, int(found[3] or calendar.monthrange(year, month)[1]))
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
    found: dict[str, date] = {}
    for model, value in table.items():
        if isinstance(value, datetime):
            found[model] = value.date()
        elif isinstance(value, date):
            found[model] = value
        elif isinstance(value, str):
            found[model] = read_day(value, f"{name}: the cut-off of {model!r},")
        else:
            raise DataError(f"{name}: the cut-off of {model!r} is no day: write YYYY-MM-DD, a model's name in quotes")
    if not found:
        raise DataError(f'{name} names no model; a line is: "MODEL" = 2024-04-30')
    return found


def exposed(days: Mapping[int, date], cutoffs: Mapping[str, date]) -> dict[str, tuple[int, ...]]:
    """Return model → the questions (ids) that were asked on or before its cut-off."""
    return {model: tuple(one for one, day in days.items() if day <= last) for model, last in cutoffs.items()}


class Candidate(Struct, frozen=True):
    """A question of the pool and its state. `barred` says why it cannot be in the set whatever its state is."""

    question: PoolQuestion
    status: Status
    barred: str = ""


class Cell(Struct, frozen=True, kw_only=True):
    """A language's places: `counts` of the questions that hold them, by state."""

    language: str
    area: str
    quota: int
    counts: dict[Status, int]
    rejected: int
    """Questions that gave up their place."""
    barred: int
    moved_up: tuple[int, ...]
    """Questions of the reserve that have a place now."""
    left: int
    """Questions of the reserve that could still move up."""

    @property
    def held(self) -> int:
        """Places that a question holds."""
        return sum(self.counts.values())

    @property
    def missing(self) -> int:
        """Approved questions that are wanted still."""
        return self.quota - self.counts["approved"]


class Places(Struct, frozen=True):
    """Every language's places, and which questions hold them (ids, in the pool's order)."""

    cells: tuple[Cell, ...]
    holders: tuple[int, ...]


def places(
    candidates: Sequence[Candidate], quotas: Mapping[str, int] | None = None, areas: Mapping[str, str] | None = None
) -> Places:
    """Deal the places out. Without `quotas` (language → places), a quota is what is not in reserve in the pool.

    `areas` are those of languages that the pool has no question of.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(one.question.language, []).append(one)
    known = {**(areas or {}), **{language: group[0].question.area for language, group in groups.items()}}
    wanted = {language: sum(not one.question.reserve for one in group) for language, group in groups.items()}
    wanted |= {language: quota for language, quota in (quotas or {}).items() if quota or language in wanted}
    cells: list[Cell] = []
    held: set[int] = set()
    for language, quota in wanted.items():
        cell, holders = _cell(language, known.get(language, ""), quota, groups.get(language, []))
        cells.append(cell)
        held |= holders
    return Places(tuple(cells), tuple(one.question.id for one in candidates if one.question.id in held))


def _cell(language: str, area: str, quota: int, group: Sequence[Candidate]) -> tuple[Cell, set[int]]:
    ordered = sorted(group, key=lambda one: (one.question.reserve, one.question.rank))
    able = [one for one in ordered if one.status != "rejected" and not one.barred]
    holding, rest = able[:quota], able[quota:]
    counts: dict[Status, int] = {status: 0 for status in STATUSES if status != "rejected"}
    for one in holding:
        counts[one.status] += 1
    cell = Cell(
        language=language,
        area=area,
        quota=quota,
        counts=counts,
        rejected=sum(one.status == "rejected" and not one.barred for one in ordered),
        barred=sum(bool(one.barred) for one in ordered),
        moved_up=tuple(one.question.id for one in holding if one.question.reserve),
        left=len(rest),
    )
    return cell, {one.question.id for one in holding}


def coverage_table(dealt: Places) -> Told:
    """Return questions by language and state, against the quotas."""
    held = STATUSES[:-1]
    header = ("language", "area", "quota", *held, "missing", "rejected", "moved up", "reserve left")
    rows = []
    for cell in dealt.cells:
        counts = (
            cell.quota,
            *map(cell.counts.__getitem__, held),
            cell.missing,
            cell.rejected,
            len(cell.moved_up),
            cell.left,
        )
        rows.append((cell.language, cell.area, *(count or None for count in counts)))
    return "Questions by language", header, rows


def exposure_table(states: Sequence[State], dealt: Places, table: Mapping[str, date]) -> Told:
    """Return how many of the questions that hold a place each model may have read in training."""
    days = {state.about.id: created(state.about.created) for state in states if state.about.id in set(dealt.holders)}
    rows = [(model, table[model], len(old), len(days) - len(old)) for model, old in exposed(days, table).items()]
    return "Asked before the models' training ended", ("model", "cut-off", "up to it", "after it"), rows


def metric_lines(states: Sequence[State], dealt: Places) -> Iterable[str]:
    """Yield what grades the approved questions, and of which type they are."""
    holders = set(dealt.holders)
    owns = [
        state.checked.question
        for state in states
        if state.status == "approved" and state.about.id in holders and state.checked.question
    ]
    for what, counts in (
        ("metrics", Counter(name for own in owns for name in metrics_of(own.rubric))),
        ("types", Counter(own.tags.get("type", "") for own in owns)),
    ):
        if counts:
            yield f"{what} of the approved: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
