"""What experts decided about rationales, folded from the audit trail: pure, and the only way into the set.

An item is a question with one text, so an approval says by its item what was approved; what a text's approvals and
rejections come to, viva.authoring.approval says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from viva.authoring.approval import Event, State, TextHistory
from viva.authoring.reasoning.questions import Collected, approval_key


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


class ApprovalStates(Struct, frozen=True):
    """Every question's rationale, and the ids of questions that were approved once and changed since."""

    proposals: list[Proposal]
    lapsed: frozenset[str]

    @property
    def approved(self) -> list[Proposal]:
        """Those that may enter the set: their `state.text` is what was approved."""
        return [proposal for proposal in self.proposals if proposal.state.status == "approved"]


def fold(
    questions: Iterable[Collected], drafts: Mapping[str, tuple[str, str]], events: Sequence[Event]
) -> ApprovalStates:
    """Every question with the state of its rationale, events in the order of the audit trail.

    `drafts` is what is asked (`Collected.asked`) → (model, text). What the author wrote into the sheet goes before it.
    Two questions with the same content would share their items: the sheet's checks let only one of them through.
    """
    begun: list[tuple[Collected, str, TextHistory]] = []
    items: dict[str, tuple[Collected, TextHistory, str]] = {}
    for question in questions:
        author, start = ("sheet", question.rationale) if question.rationale else drafts.get(question.asked, ("", ""))
        course = TextHistory(start)
        begun.append((question, author if start else "", course))
        items[approval_key(question, start)] = (question, course, start)
    strangers: set[str] = set()
    for event in events:
        known = items.get(event.item)
        if known is None:
            strangers.update({event.question} if event.decision == "approve" else ())
            continue
        question, course, own = known
        made = course.take(event, own)
        items.setdefault(approval_key(question, made), (question, course, made))
    found = [
        Proposal(question=question, start=course.start, author=author, state=course.state())
        for question, author, course in begun
    ]
    fresh = {one.question.id for one in found if one.state.status in ("waiting", "no text")}
    return ApprovalStates(found, frozenset(strangers & fresh))
