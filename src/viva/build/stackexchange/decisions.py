"""What experts decided about questions, from the audit trail: pure, and the only way into a set.

A decision is about a question with exactly one text: change a letter of the file, on the page or in an editor, and it
has to be decided about anew. The text's authors are those in its `author` tag and whoever edited it on the page into
what it now is. A question is approved when somebody who is not among them approved it, and nobody rejects it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from viva.build.approval import Event
from viva.build.stackexchange.kit import digest, names, question_id
from viva.build.stackexchange.kitchecks import KitChecked
from viva.build.stackexchange.pool import PoolQuestion

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
