"""What experts decided about rationales, folded from the audit trail: pure, and the only way into the set.

An item is a question with one text, so an approval says by its item what was approved; what a text's approvals and
rejections come to, viva.build.approval says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from viva.build.approval import Event, State, replay
from viva.build.reasoning.questions import Collected, approval_key


class Proposal(Struct, frozen=True, kw_only=True):
    """A question with the rationale that experts are asked about.

    `start` is the text that it began with, `author` whose: a model's, "sheet", or "" where there was none.
    """

    question: Collected
    start: str
    author: str
    state: State

    @property
    def name(self) -> str:
        """The question's id."""
        return self.question.id

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
    """Return every question with the state of its rationale, events in the order of the audit trail.

    `drafts` is what is asked (`Collected.asked`) → (model, text). What the author wrote into the sheet goes before it.
    Two questions with the same content would share their items: the sheet's checks let only one of them through.
    """
    begun: list[tuple[Collected, str, str]] = []
    for question in questions:
        author, start = ("sheet", question.rationale) if question.rationale else drafts.get(question.asked, ("", ""))
        begun.append((question, author if start else "", start))
    states, strange = replay([(start, partial(approval_key, question)) for question, _, start in begun], events)
    found = [
        Proposal(question=question, start=start, author=author, state=state)
        for (question, author, start), state in zip(begun, states, strict=True)
    ]
    lapsed = {event.question for event in strange if event.decision == "approve"}
    fresh = {one.question.id for one in found if one.state.status in ("waiting", "no text")}
    return ApprovalStates(found, frozenset(lapsed & fresh))
