"""The state of a text under review, replayed from the audit trail. Pure; only approved texts enter a set.

An edit drops all earlier approvals. A rejection holds until the same reviewer approves, edits or withdraws it,
whatever others do. So a text is approved if at least one person approved its current wording and no rejection holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review

Decision = Literal["approve", "reject", "none"]
"""`none` withdraws the reviewer's earlier decision; an edit that comes with it still has to be approved."""
Status = Literal["approved", "waiting", "edited", "rejected", "disputed", "no text"]


def decision(review: Review) -> Decision:
    """Return the decision of a line of the audit trail: 1 or more approves, less rejects, None decides nothing."""
    return "none" if review.after is None else "approve" if review.after >= 1 else "reject"


class State(Struct, frozen=True, kw_only=True):
    """The state of a text after all decisions about it."""

    status: Status
    text: str
    """Its current wording."""
    approved_by: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    edited_by: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Comments of the current rejections."""


class TextHistory:
    """The edits, approvals and rejections of one text, first `start`."""

    def __init__(self, start: str) -> None:
        self.start = self.text = start
        self._approvals: dict[str, None] = {}
        self._rejections: dict[str, str] = {}
        self._editors: dict[str, None] = {}

    def take(self, review: Review, own: str) -> str:
        """Apply a decision about the item whose text is `own`; returns the text decided about.

        `text_before` is the text shown to the reviewer (None: `own`), `text_after` their edit (None: no edit). A
        line that undoes an edit restores its `text_after`, or `own`.
        """
        seen = own if review.text_before is None else review.text_before
        made = review.text_after if review.text_after is not None else own if review.undoes else seen
        # Undoing reverts only the reviewer's own edit: a later edit by somebody else stays.
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
        """Return the current state."""
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
    """A question's text under review: its first wording and its current state."""

    name: str
    """The question's name."""
    start: str
    author: str = ""
    """Who wrote `start`: a model's name, "sheet", or "" if there is no text."""
    key_of: Callable[[str], str]
    """Makes the review item's key from a text; a changed text is a new item."""
    state: State = State(status="no text", text="")

    @property
    def key(self) -> str:
        """The key of the item that the current text is."""
        return self.key_of(self.state.text)


P = TypeVar("P", bound=Proposal)


def replay(proposals: Iterable[P], reviews: Iterable[Review]) -> tuple[list[P], list[Review]]:
    """Return the proposals with their states, and the reviews that match none of them; `reviews` come in the order of
    the audit trail. Of proposals with the same key, decisions go to the last.
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
