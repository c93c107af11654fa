"""What people decided about a text that they may edit, folded from the audit trail: pure, the only way into a set.

A person decides about a text. Whoever edits it makes another one: approvals were of the old one and count no more. A
rejection stands until its author approves, edits or takes it back, whatever others do meanwhile. So a text is approved
when at least one person approved exactly what it now is, and no rejection stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review

Decision = Literal["approve", "reject", "none"]
"""`none` takes back what one decided before; with an edited text it leaves that to be approved."""
Status = Literal["approved", "waiting", "edited", "rejected", "disputed", "no text"]


class Event(Struct, frozen=True, kw_only=True):
    """One line of the audit trail.

    `seen` is the text that somebody had before them (None: the item's), `text` what they made of it (None: nothing
    was edited). A line that `undoes` another takes `seen` back, to `text` or the item's.
    """

    item: str
    question: str
    reviewer: str
    decision: Decision
    seen: str | None = None
    text: str | None = None
    comment: str = ""
    undoes: bool = False


def event_of(review: Review, clean: Callable[[str], str]) -> Event:
    """Return a line of the audit trail as what was decided: 1 approves, anything less rejects."""
    return Event(
        item=review.item,
        question=review.about.get("question", ""),
        reviewer=review.reviewer,
        decision="none" if review.after is None else "approve" if review.after >= 1 else "reject",
        seen=None if review.text_before is None else clean(review.text_before),
        text=None if review.text_after is None else clean(review.text_after),
        comment=review.comment,
        undoes=bool(review.undoes),
    )


class State(Struct, frozen=True, kw_only=True):
    """Where a text stands, after all events about it."""

    status: Status
    text: str
    """As it now stands."""
    approved_by: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    edited_by: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What those who reject it said."""


class TextHistory:
    """What happens to one text, which began as `start`."""

    def __init__(self, start: str) -> None:
        self.start = self.text = start
        self._approvals: dict[str, None] = {}
        self._rejections: dict[str, str] = {}
        self._editors: dict[str, None] = {}

    def take(self, event: Event, own: str) -> str:
        """Return one more event about the item whose text is `own`; returns the text that it speaks of."""
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

    def state(self) -> State:
        """Return where it stands."""
        return State(
            status=self._status(),
            text=self.text,
            approved_by=tuple(self._approvals),
            rejected_by=tuple(self._rejections),
            edited_by=tuple(self._editors),
            remarks=tuple(remark for remark in self._rejections.values() if remark),
        )

    def _status(self) -> Status:
        if self._rejections:
            return "disputed" if self._approvals else "rejected"
        if not self.text.strip():
            return "no text"
        if self._approvals:
            return "approved"
        return "edited" if self.text != self.start else "waiting"


class Proposal(Struct, frozen=True, kw_only=True):
    """A text of a question that people decide about: how it began, and where it stands now."""

    name: str
    """The question's."""
    start: str
    author: str = ""
    """Whose it is: a model's, "sheet", or "" where there was none."""
    key_of: Callable[[str], str]
    """Makes the item of a text: another text is another item to decide about."""
    state: State = State(status="no text", text="")

    @property
    def key(self) -> str:
        """The item that a decision is about."""
        return self.key_of(self.state.text)


P = TypeVar("P", bound=Proposal)


def replay(proposals: Iterable[P], events: Sequence[Event]) -> tuple[list[P], list[Event]]:
    """Return where every text stands, events in the order of the audit trail, and the events that are about none of
    them. Two that share an item share its decisions.
    """
    histories: list[tuple[P, TextHistory]] = []
    items: dict[str, tuple[TextHistory, Callable[[str], str], str]] = {}
    for proposal in proposals:
        history = TextHistory(proposal.start)
        histories.append((proposal, history))
        items[proposal.key_of(proposal.start)] = (history, proposal.key_of, proposal.start)
    strange: list[Event] = []
    for event in events:
        if event.item not in items:
            strange.append(event)
            continue
        history, key, own = items[event.item]
        made = history.take(event, own)
        items.setdefault(key(made), (history, key, made))
    return [replace(proposal, state=history.state()) for proposal, history in histories], strange
