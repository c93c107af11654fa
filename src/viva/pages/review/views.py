"""What the templates show of an item: plain values, and never more than a blind reviewer may see."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review, line_id
from viva.pages.shell import Form, FormError
from viva.review.items import OUTCOME, TELLING, Item
from viva.scorers.reading import reason
from viva.types import ReviewItem, outcome_name

_WORDS = {0.0: "wrong", 0.5: "half", 1.0: "right"}
_SET_WORDS = {0.0: "reject", 1.0: "approve"}
_KEYS = {0.0: "n", 1.0: "y", **{tenths / 10: str(tenths) for tenths in range(1, 10)}}
"""Mark → its key, the same on every scale: n for none of it, y for all of it, a digit for so many tenths."""
HALF = "h"
"""Where half is the only mark between."""


class Choice(Struct, frozen=True):
    """One mark that can be given: its place in the scale, its figure, its word, and the key that gives it."""

    number: int
    figure: str
    word: str
    key: str


class Aspect(Struct, frozen=True, kw_only=True):
    """One aspect of an item with its part of the form. `entered` and `comment` are what the form holds."""

    number: int
    draft: ReviewItem
    """Nothing of the verdict to a blind reviewer."""
    choices: tuple[Choice, ...]
    entered: str
    comment: str
    saved: str
    edited: str | None
    others: Sequence[Review]

    @property
    def drafted(self) -> int:
        """The number of the draft's mark; -1 where it has none, or one between the marks."""
        value, scale = self.draft.value, self.draft.scale
        return scale.index(value) if value is not None and value in scale else -1


def figure(value: float | None) -> str:
    """Return a mark as people write it."""
    return "none" if value is None else f"{round(value, 3):g}"


def choices(item: Item, draft: ReviewItem) -> tuple[Choice, ...]:
    """Return the scale with words and keys."""
    words = _SET_WORDS if item.editable else _WORDS
    keys = _KEYS | ({0.5: HALF} if set(draft.scale) <= {0.0, 0.5, 1.0} else {})
    return tuple(
        Choice(number, figure(value), words.get(value, ""), keys.get(round(value, 6), ""))
        for number, value in enumerate(draft.scale)
    )


def aspects(
    item: Item,
    own: Mapping[str, Review],
    others: list[Review],
    entered: Mapping[str, str] | None,
    blind: bool,
) -> list[Aspect]:
    """Return the aspects of an item as one reviewer sees them; with `entered`, a form that came back is shown again."""
    found: list[Aspect] = []
    for number, draft in enumerate(item.drafts):
        last = own.get(draft.aspect)
        mine = last.after if last else None
        form = entered
        if form is None:
            form = {
                f"mark.{number}": str(draft.scale.index(mine)) if mine in draft.scale else "",
                f"comment.{number}": last.comment if last else "",
                f"text.{number}": last.text_after if last and last.text_after is not None else draft.text,
            }
        found.append(
            Aspect(
                number=number,
                draft=_hidden(draft) if blind else _explained(draft),
                choices=choices(item, draft),
                entered=form.get(f"mark.{number}", ""),
                comment=form.get(f"comment.{number}", ""),
                saved=figure(mine) if mine is not None else "",
                edited=form.get(f"text.{number}", "") if item.editable else None,
                others=[] if blind else [line for line in others if line.aspect == draft.aspect],
            )
        )
    return found


def _hidden(draft: ReviewItem) -> ReviewItem:
    return replace(draft, value=None, decided=None, reasons="", opinions={})


def _explained(draft: ReviewItem) -> ReviewItem:
    """Return a draft with the reasons of a rule in words of the reply."""
    return replace(draft, reasons=reason(draft.reasons, draft.text)) if draft.decided == "rule" else draft


def said(name: str, value: str) -> str:
    """Return a tag's value for people: outcomes by the names that all pages give them."""
    return outcome_name(value) if name == OUTCOME else value


def labels(item: Item, blind: bool, names: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Return what an item is, for people (or what of it has these names): nothing of the verdict to a blind
    reviewer.
    """
    return [
        (name, said(name, value))
        for name, value in item.about.items()
        if not (blind and name in TELLING) and (names is None or name in names)
    ]


def marked(own: Mapping[str, Review]) -> list[str]:
    """Return the aspects that a reviewer's mark stands on."""
    return [aspect for aspect, line in own.items() if line.after is not None]


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
