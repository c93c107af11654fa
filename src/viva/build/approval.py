"""The state of a text under review, replayed from the audit trail. Pure; only approved texts enter a set.

An edit drops all earlier approvals. A rejection holds until the same reviewer approves, edits or withdraws it,
whatever others do. So a text is approved if at least one person approved its current wording and no rejection holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review

Decision = Literal["approve", "reject", "none"]
"""`none` withdraws the reviewer's earlier decision; an edit that comes with it still has to be approved."""
Status = Literal["approved", "waiting", "edited", "rejected", "disputed", "no text", "faulty", "unwritten"]
"""The last two are of files, see `viva.build.stackexchange`."""


def decision(review: Review) -> Decision:
    """Return the decision of a line of the audit trail: 1 or more approves, less rejects, None decides nothing."""
    return "none" if review.after is None else "approve" if review.after >= 1 else "reject"


def decided(approved: Collection[str], rejected: Collection[str]) -> Status:
    """Return what approvals and rejections of the same text come to."""
    if rejected:
        return "disputed" if approved else "rejected"
    return "approved" if approved else "waiting"


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
    own: tuple[str, ...] = ()
    """Authors who approved their own text, where that does not count."""
    earlier: tuple[str, ...] = ()
    """Comments on earlier texts."""

    def people(self, *did: str) -> list[str]:
        """Return who `did` what: `edited by Ada, Bob`."""
        named = ((word, getattr(self, f"{word}_by")) for word in did)
        return [f"{word} by {', '.join(names)}" for word, names in named if names]


class TextHistory(Struct):
    """The edits, approvals and rejections of one text, first `start`; `key_of` makes its review items' keys."""

    key_of: Callable[[str], str]
    start: str
    text: str
    approvals: dict[str, None] = {}
    rejections: dict[str, str] = {}
    editors: dict[str, None] = {}

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
            self.approvals.clear()
            self.editors[review.reviewer] = None
        self.approvals.pop(review.reviewer, None)
        self.rejections.pop(review.reviewer, None)
        if decision(review) == "reject":
            self.rejections[review.reviewer] = review.comment
        elif decision(review) == "approve" and made == self.text:
            self.approvals[review.reviewer] = None
        return made

    def state(self) -> State:
        """Return the current state."""
        status = decided(self.approvals, self.rejections)
        if not self.rejections and not self.text.strip():
            status = "no text"
        elif status == "waiting" and self.text != self.start:
            status = "edited"
        return State(
            status=status,
            text=self.text,
            approved_by=tuple(self.approvals),
            rejected_by=tuple(self.rejections),
            edited_by=tuple(self.editors),
            remarks=tuple(filter(None, self.rejections.values())),
        )


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
    listed = list(proposals)
    histories = [TextHistory(proposal.key_of, proposal.start, proposal.start) for proposal in listed]
    items = {history.key_of(history.start): (history, history.start) for history in histories}
    strange: list[Review] = []
    for review in reviews:
        if review.item in items:
            history, own = items[review.item]
            made = history.take(review, own)
            items.setdefault(history.key_of(made), (history, made))
        else:
            strange.append(review)
    return [replace(each, state=history.state()) for each, history in zip(listed, histories, strict=True)], strange
