"""What experts decided about rationales, folded from the audit trail: pure, and the only way into the set.

An expert decides about a text. An item is a question with one text, so an approval says by its item what was approved.
Whoever edits a text makes another one: approvals were of the old one and count no more. A rejection stands until its
author approves, edits or takes it back, whatever others do meanwhile. So a question is approved when at least one
expert approved exactly the text as it now stands, and no rejection stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from viva.benchmarks.clrbench.build.questions import Collected, approval_key

Decision = Literal["approve", "reject", "none"]
"""`none` takes back what one decided before; with an edited text it leaves that to be approved."""
Status = Literal["approved", "waiting", "edited", "rejected", "disputed", "no draft"]


class Event(Struct, frozen=True, kw_only=True):
    """One line of the audit trail.

    `seen` is the text that the expert had before them (None: the item's), `text` what they made of it (None: nothing
    was edited). A line that `undoes` another takes `seen` back, to `text` or the item's.
    """

    item: str
    question: str
    reviewer: str
    decision: Decision
    at: float = 0.0
    seen: str | None = None
    text: str | None = None
    comment: str = ""
    undoes: bool = False


class State(Struct, frozen=True, kw_only=True):
    """Where a question's rationale stands, after all events about it."""

    status: Status
    text: str
    """As it now stands."""
    approved_by: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    edited_by: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What those who reject it said."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A question with the rationale that experts are asked about.

    `start` is the text that it began with, `author` whose: a model's, "sheet", or "" where there was none.
    """

    question: Collected
    start: str
    author: str
    state: State

    @property
    def key(self) -> str:
        """The item that reviews are about: another question, topic, source or text is another item."""
        return approval_key(self.question, self.state.text)


class Folded(Struct, frozen=True):
    """Every question's rationale, and the ids of questions that were approved once and changed since."""

    proposals: list[Proposal]
    lapsed: frozenset[str]

    @property
    def approved(self) -> list[Proposal]:
        """Those that may enter the set: their `state.text` is what was approved."""
        return [proposal for proposal in self.proposals if proposal.state.status == "approved"]


class _Course:
    """What happens to one question's rationale."""

    def __init__(self, question: Collected, start: str, author: str) -> None:
        self.question = question
        self.start = self.text = start
        self.author = author
        self._approvals: dict[str, None] = {}
        self._rejections: dict[str, str] = {}
        self._editors: dict[str, None] = {}

    def take(self, event: Event, own: str) -> str:
        """One more event about the item whose text is `own`; returns the text that it speaks of."""
        seen = own if event.seen is None else event.seen
        made = event.text if event.text is not None else own if event.undoes else seen
        # What is taken back is one's own edit; if somebody changed the text since, theirs stays.
        if made not in (seen, self.text) and (not event.undoes or self.text == seen):
            self.text = made
            self._approvals.clear()
            self._editors[event.reviewer] = None
        self._approvals.pop(event.reviewer, None)
        self._rejections.pop(event.reviewer, None)
        if event.decision == "reject":
            self._rejections[event.reviewer] = event.comment
        elif event.decision == "approve" and made == self.text:
            self._approvals[event.reviewer] = None
        return made

    def proposal(self) -> Proposal:
        """Where it stands."""
        state = State(
            status=self._status(),
            text=self.text,
            approved_by=tuple(self._approvals),
            rejected_by=tuple(self._rejections),
            edited_by=tuple(self._editors),
            remarks=tuple(remark for remark in self._rejections.values() if remark),
        )
        return Proposal(question=self.question, start=self.start, author=self.author, state=state)

    def _status(self) -> Status:
        if self._rejections:
            return "disputed" if self._approvals else "rejected"
        if not self.text.strip():
            return "no draft"
        if self._approvals:
            return "approved"
        return "edited" if self.text != self.start else "waiting"


def fold(questions: Iterable[Collected], drafts: Mapping[str, tuple[str, str]], events: Sequence[Event]) -> Folded:
    """Every question with the state of its rationale, events in the order of the audit trail.

    `drafts` is what is asked (`Collected.asked`) → (model, text). What the author wrote into the sheet goes before it.
    Two questions with the same content would share their items: the sheet's checks let only one of them through.
    """
    courses: list[_Course] = []
    items: dict[str, tuple[_Course, str]] = {}
    for question in questions:
        author, start = ("sheet", question.rationale) if question.rationale else drafts.get(question.asked, ("", ""))
        course = _Course(question, start, author if start else "")
        courses.append(course)
        items[approval_key(question, start)] = (course, start)
    strangers: set[str] = set()
    for event in events:
        known = items.get(event.item)
        if known is None:
            strangers.update({event.question} if event.decision == "approve" else ())
            continue
        course, own = known
        made = course.take(event, own)
        items.setdefault(approval_key(course.question, made), (course, made))
    found = [course.proposal() for course in courses]
    fresh = {one.question.id for one in found if one.state.status in ("waiting", "no draft")}
    return Folded(found, frozenset(strangers & fresh))
