"""Posted forms: read within bounds, and turned into lines of the log."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from msgspec import Struct

from viva.engine.reviews import Review, line_id
from viva.pages.serving.forms import Form, FormError
from viva.review.items import Item
from viva.types import ReviewItem

COMMENT_LIMIT = 4_000
"""Characters of a comment."""
_ID = re.compile(r"[0-9a-f]{32}\Z")


def form_id(form: Form) -> str:
    """Return the id of the form that was posted. Raises FormError for what is none."""
    found = form.get("form", "")
    if not _ID.match(found):
        raise FormError(400, "This form has no id of its own. Nothing was saved: reload the page.")
    return found


class Marking(Struct, frozen=True, kw_only=True):
    """A form about an item, and what counts when it is posted."""

    item: Item
    reviewer: str
    form: Form
    own: Mapping[str, Review]
    """Aspect → the reviewer's last line about it."""
    blind: bool
    shown: bool
    """Whether the page showed the drafts, so that they can be confirmed."""
    drawn: str

    def lines(self) -> list[Review]:
        """Return the lines to write: one for every aspect where the form says something new. Raises FormError."""
        posted, now = form_id(self.form), time.time()
        found: list[Review] = []
        for number, draft in enumerate(self.item.drafts):
            last = self.own.get(draft.aspect)
            comment = self._comment(number, draft)
            before = last.text_after if last and last.text_after is not None else draft.text
            text = self.form.get(f"text.{number}", before) if self.item.editable else None
            value = self._value(number, draft, last)
            if value is None:
                if comment or (text is not None and not _same(text, before)):
                    raise FormError(422, f"Give the {draft.aspect} a mark, too: nothing is saved without one.")
                continue
            if last and last.after == value and last.comment == comment and (text is None or _same(text, before)):
                continue
            found.append(
                Review(
                    id=line_id(posted, self.reviewer, self.item.key, draft.aspect, str(value), comment, text or ""),
                    at=now,
                    reviewer=self.reviewer,
                    item=self.item.key,
                    about={name: self.item.about[name] for name in _WHICH if name in self.item.about},
                    aspect=draft.aspect,
                    after=value,
                    draft=draft.value,
                    blind=self.blind,
                    drawn=self.drawn,
                    comment=comment,
                    text_before=before if self.item.editable else None,
                    text_after=text,
                )
            )
        return found

    def _comment(self, number: int, draft: ReviewItem) -> str:
        comment = self.form.get(f"comment.{number}", "").strip()
        if len(comment) > COMMENT_LIMIT:
            raise FormError(
                422,
                f"The comment on the {draft.aspect} has {len(comment):,} characters, and at most {COMMENT_LIMIT:,} are "
                "kept. Nothing was saved yet: shorten it.",
            )
        return comment

    def _value(self, number: int, draft: ReviewItem, last: Review | None) -> float | None:
        chosen = self.form.get(f"mark.{number}", "")
        if chosen:
            if not (chosen.isascii() and chosen.isdecimal() and len(chosen) < 4 and int(chosen) < len(draft.scale)):
                raise FormError(400, f"There is no such mark for the {draft.aspect}. Nothing was saved.")
            return draft.scale[int(chosen)]
        if self.form.get("action") == "confirm" and self.shown and not (last and last.after is not None):
            return draft.value if draft.value in draft.scale else None
        return None


_WHICH = ("exam", "model", "question", "sample")


def _same(one: str, other: str) -> bool:
    """Return whether two texts are the same but for what a browser does to line ends."""
    return one.replace("\r\n", "\n").replace("\r", "\n") == other.replace("\r\n", "\n").replace("\r", "\n")
