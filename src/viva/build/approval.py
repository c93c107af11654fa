"""What people decided about a text that they may edit, folded from the audit trail: pure, the only way into a set.

A person decides about a text. Whoever edits it makes another one: approvals were of the old one and count no more. A
rejection stands until its author approves, edits or takes it back, whatever others do meanwhile. So a text is approved
when at least one person approved exactly what it now is, and no rejection stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review

Decision = Literal["approve", "reject", "none"]
"""`none` takes back what one decided before; with an edited text it leaves that to be approved."""
Status = Literal["approved", "waiting", "edited", "rejected", "disputed", "no text"]


def decision(review: Review) -> Decision:
    """Return what a line of the audit trail decides: 1 approves, anything less rejects."""
    return "none" if review.after is None else "approve" if review.after >= 1 else "reject"


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

    def take(self, review: Review, own: str) -> str:
        """Take note of one more decision about the item whose text is `own`; returns the text that it speaks of.

        Its `text_before` is what somebody had before them (None: `own`), `text_after` what they made of it (None:
        nothing was edited). A line that undoes another takes the one back, to the other or `own`.
        """
        seen = own if review.text_before is None else review.text_before
        made = review.text_after if review.text_after is not None else own if review.undoes else seen
        # What is taken back is one's own edit; if somebody changed the text since, theirs stays.
        if made not in (seen, self.text) and (not review.undoes or self.text == seen):
            self.text = made
            self._approvals.clear()
            self._editors[review.reviewer] = None
        self._approvals.pop(review.reviewer, None)
        self._rejections.pop(review.reviewer, None)
        if decision(review) == "reject":
            self._rejections[review.reviewer] = review.comment
        elif decision(review) == "approve" and made == self.text:
            self._approvals[review.reviewer] = None
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


def replay(proposals: Iterable[P], reviews: Iterable[Review]) -> tuple[list[P], list[Review]]:
    """Return where every text stands, reviews in the order of the audit trail, and the reviews that are about none of
    them. Two that share an item share its decisions.
    """
    histories: list[tuple[P, TextHistory]] = []
    items: dict[str, tuple[TextHistory, Callable[[str], str], str]] = {}
    for proposal in proposals:
        history = TextHistory(proposal.start)
        histories.append((proposal, history))
        items[proposal.key_of(proposal.start)] = (history, proposal.key_of, proposal.start)
    strange: list[Review] = []
    for review in reviews:
        if review.item not in items:
            strange.append(review)
            continue
        history, key, own = items[review.item]
        made = history.take(review, own)
        items.setdefault(key(made), (history, key, made))
    return [replace(proposal, state=history.state()) for proposal, history in histories], strange
