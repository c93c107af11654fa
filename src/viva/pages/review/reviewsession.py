"""State of a review behind its pages: items, log, marks and the next item; values for templates, which never contain
what a blind reviewer may not see; and the lines that a posted form writes.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review, ReviewLog, line_id
from viva.pages.shell import Form, FormError, Kept
from viva.render.findings import Findings
from viva.review.items import OUTCOME, TELLING, Filter, Item, tags
from viva.scorers.reading import reason
from viva.types import ReviewItem, outcome_name

_KEPT_SELECTIONS = 64


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a review. `start` is the reviewers' initial filter.

    `marks_per_item`: number of reviewers that each item should get. `reviewer`: default name. `agreement`: makes the
    findings of the agreement page.

    Hooks for building a set: `refuse` gets lines before they are written and returns an error as a sentence, or "";
    `saved` gets the written lines; `renewed` returns the current items after a write (an edited text is another item,
    for the others to decide about).
    """

    title: str = ""
    start: Filter = Filter()
    marks_per_item: int = 1
    reviewer: str = ""
    agreement: Callable[[], Findings[Any]] | None = None
    refuse: Callable[[Sequence[Review]], str] | None = None
    saved: Callable[[Sequence[Review]], None] | None = None
    renewed: Callable[[], Sequence[Item]] | None = None


class Refused(Exception):  # noqa: N818 - the sentence is for who posted the form, not for the terminal
    """Lines that the caller does not accept."""


class Progress(Struct, frozen=True):
    """Number of items: all, and marked by me, by anyone, by two or more."""

    items: int
    mine: int
    anyone: int
    doubly: int


class ReviewSession:
    """Data of the pages. All marks come from the log, which is re-read when it has grown."""

    def __init__(self, items: Sequence[Item], log: ReviewLog, settings: Settings) -> None:
        self.log = log
        self.settings = settings
        self._by_key: dict[str, Item] = {}
        self._seen: set[tuple[str, str]] = set()
        self._writing = threading.Lock()
        self._read = len(log.reviews)
        self._take(items)

    def _take(self, items: Sequence[Item]) -> None:
        """Replace the current items; earlier ones can still be viewed."""
        self.items = tuple(items)
        self.tags = tags(self.items)
        samples = {item.about.get("sample") for item in self.items}
        self.names = (*self.tags, "question", *(("sample",) if len(samples) > 1 else ()))
        self._by_key |= {item.key: item for item in self.items}
        self._selections = Kept[tuple[Item, ...]](_KEPT_SELECTIONS)

    def refresh(self) -> None:
        """Read lines that others wrote, and reload the items if these change them."""
        self.log.refresh()
        if self.settings.renewed is None:
            return
        with self._writing:
            if (read := len(self.log.reviews)) != self._read:
                self._take(self.settings.renewed())
                self._read = read

    def write(self, lines: Sequence[Review]) -> list[Review]:
        """Append lines; return those written. Raises Refused for lines that `refuse` rejects."""
        with self._writing:
            if lines and self.settings.refuse is not None and (problem := self.settings.refuse(lines)):
                self._read = -1  # items may have changed without the log
                raise Refused(problem)
            return self._told(self.log.append(lines))

    def undo(self, reviewer: str, form: str, at: float) -> list[Review]:
        """Take back a reviewer's last form; return the lines written."""
        with self._writing:
            return self._told(self.log.undo(reviewer, form, at))

    def _told(self, written: list[Review]) -> list[Review]:
        if written and self.settings.saved is not None:
            self.settings.saved(written)
        return written

    def item(self, key: str) -> Item | None:
        """Return the item with this key; None if there is none."""
        return self._by_key.get(key)

    def select(self, chosen: Filter) -> tuple[Item, ...]:
        """Return the items of a filter, whoever marked them."""
        name = chosen.query(page=1, todo="all", blind=False)
        selections = self._selections  # read before the items, which another thread may replace meanwhile
        items = self.items
        return selections.get(name, lambda: chosen.select(items))

    def reviewers(self, item: Item) -> tuple[str, ...]:
        """Return who has marked every aspect of it."""
        aspects = {draft.aspect for draft in item.drafts}
        marks = self.log.latest(item.key).items()
        given = Counter(who for (who, aspect), mark in marks if mark.after is not None and aspect in aspects)
        return tuple(reviewer for reviewer, count in given.items() if count == len(aspects))

    def wants(self, item: Item, chosen: Filter, reviewer: str) -> bool:
        """Return whether an item is on this reviewer's list of items to mark."""
        if chosen.todo == "all":
            return True
        marked = self.reviewers(item)
        return reviewer not in marked and (chosen.todo == "mine" or len(marked) < self.settings.marks_per_item)

    def listed(self, chosen: Filter, reviewer: str) -> list[Item]:
        """Return the items of a filter that this reviewer wants to see."""
        return [item for item in self.select(chosen) if self.wants(item, chosen, reviewer)]

    def next_to_do(self, item: Item | None, chosen: Filter, reviewer: str) -> Item | None:
        """Return the next item to mark: first those that need more reviewers, then those that this reviewer has not
        marked.

        The search goes from `item` to the end of the filter, then from its beginning. None if all items are marked.
        """
        chain = self.select(chosen)
        here = next((place for place, other in enumerate(chain) if item and other.key == item.key), -1)
        around = (*chain[here + 1 :], *chain[: here + 1])
        marked = {other.key: self.reviewers(other) for other in around}
        mine = [other for other in around if reviewer not in marked[other.key]]
        short = (other for other in mine if len(marked[other.key]) < self.settings.marks_per_item)
        return next(short, mine[0] if mine and chosen.todo != "short" else None)

    def progress(self, chosen: Filter, reviewer: str) -> Progress:
        """Return the progress on the items of a filter."""
        marked = [self.reviewers(item) for item in self.select(chosen)]
        return Progress(
            len(marked),
            sum(reviewer in names for names in marked),
            sum(bool(names) for names in marked),
            sum(len(names) > 1 for names in marked),
        )

    def own(self, item: Item, reviewer: str) -> dict[str, Review]:
        """Return aspect → this reviewer's last line about it."""
        return {aspect: line for (name, aspect), line in self.log.latest(item.key).items() if name == reviewer}

    def others(self, item: Item, reviewer: str) -> list[Review]:
        """Return the other reviewers' valid marks."""
        lines: Mapping[tuple[str, str], Review] = self.log.latest(item.key)
        return [line for (name, _), line in lines.items() if name != reviewer and line.after is not None]

    def showed(self, items: Iterable[Item], reviewer: str) -> None:
        """Record that this reviewer has seen the drafts."""
        self._seen.update((item.key, reviewer) for item in items)

    def blind(self, item: Item, chosen: Filter, reviewer: str) -> bool:
        """Return whether a mark made now is blind: the drafts are hidden, and were never shown to this reviewer
        before.
        """
        lines = self.own(item, reviewer).values()
        return chosen.blind and (item.key, reviewer) not in self._seen and all(line.blind for line in lines)


_WORDS = {0.0: "wrong", 0.5: "half", 1.0: "right"}
_SET_WORDS = {0.0: "reject", 1.0: "approve"}
_KEYS = {0.0: "n", 1.0: "y", **{tenths / 10: str(tenths) for tenths in range(1, 10)}}
"""Mark → its key, the same on every scale: n for none of it, y for all of it, a digit for so many tenths."""
HALF = "h"
"""Key of one half if it is the only mark between none and all."""


class Choice(Struct, frozen=True):
    """One possible mark: its place in the scale, figure, word, and key."""

    number: int
    figure: str
    word: str
    key: str


class Aspect(Struct, frozen=True, kw_only=True):
    """One aspect of an item with its part of the form: what was posted, else the reviewer's last line about it."""

    number: int
    draft: ReviewItem
    """The draft, without the verdict for a blind reviewer."""
    choices: tuple[Choice, ...]
    last: Review | None
    entered: str
    comment: str
    before: str
    """The text, as it was last."""
    edited: str | None
    others: Sequence[Review]

    @property
    def mark(self) -> float | None:
        """The reviewer's mark so far."""
        return self.last.after if self.last else None

    @property
    def drafted(self) -> int:
        """The number of the draft's mark; -1 where it has none, or one between the marks."""
        value, scale = self.draft.value, self.draft.scale
        return scale.index(value) if value is not None and value in scale else -1


def figure(value: float | None) -> str:
    """Return a mark as text."""
    return "none" if value is None else f"{round(value, 3):g}"


def choices(item: Item, draft: ReviewItem) -> tuple[Choice, ...]:
    """Return the possible marks with words and keys."""
    words = _SET_WORDS if item.editable else _WORDS
    keys = _KEYS | ({0.5: HALF} if set(draft.scale) <= {0.0, 0.5, 1.0} else {})
    return tuple(
        Choice(number, figure(value), words.get(value, ""), keys.get(round(value, 6), ""))
        for number, value in enumerate(draft.scale)
    )


def aspects(
    item: Item, own: Mapping[str, Review], others: Sequence[Review], posted: Mapping[str, str], blind: bool
) -> list[Aspect]:
    """Return the aspects of an item as one reviewer sees them; `posted`: a form, as far as there is one."""
    aspects_of: list[Aspect] = []
    for number, draft in enumerate(item.drafts):
        last = own.get(draft.aspect)
        before = last.text_after if last and last.text_after is not None else draft.text
        kept = str(draft.scale.index(last.after)) if last and last.after in draft.scale else ""
        comment = posted.get(f"comment.{number}", "")
        given = posted if comment or f"mark.{number}" in posted else {}  # else opened before the mark that stands
        shown: dict[str, Any] = {}
        if blind:
            shown = {"value": None, "decided": None, "reasons": "", "opinions": {}}
        elif draft.decided == "rule":  # in words of the reply
            shown = {"reasons": reason(draft.reasons, draft.text)}
        aspects_of.append(
            Aspect(
                number=number,
                draft=replace(draft, **shown),
                choices=choices(item, draft),
                last=last,
                entered=given.get(f"mark.{number}", kept),
                comment=comment if given else last.comment if last else "",
                before=before,
                edited=posted.get(f"text.{number}", before) if item.editable else None,
                others=[] if blind else [line for line in others if line.aspect == draft.aspect],
            )
        )
    return aspects_of


def said(name: str, value: str) -> str:
    """Return a tag's value for display; outcomes by their displayed names."""
    return outcome_name(value) if name == OUTCOME else value


def labels(item: Item, blind: bool, names: Collection[str]) -> list[tuple[str, str]]:
    """Return an item's labels in `names` as (name, value), without the verdict for a blind reviewer."""
    return [
        (name, said(name, value))
        for name, value in item.about.items()
        if not (blind and name in TELLING) and name in names
    ]


def marked(own: Mapping[str, Review]) -> list[str]:
    """Return the aspects with a current mark by a reviewer."""
    return [aspect for aspect, line in own.items() if line.after is not None]


COMMENT_LIMIT = 4_000
"""The most characters of a comment."""
_ID = re.compile(r"[0-9a-f]{32}\Z")


def form_id(form: Form) -> str:
    """Return the id of the posted form. Raises FormError if it is invalid."""
    id_given = form.get("form", "")
    if not _ID.match(id_given):
        raise FormError(400, "This form has no id of its own. Nothing was saved: reload the page.")
    return id_given


class Marking(Struct, frozen=True, kw_only=True):
    """A posted form about an item, and the circumstances that its lines depend on."""

    item: Item
    reviewer: str
    form: Form
    own: Mapping[str, Review]
    """Aspect → the reviewer's last line about it."""
    blind: bool
    shown: bool
    """Whether the page showed the drafts, which may then be confirmed."""
    drawn: str

    def lines(self) -> list[Review]:
        """Return the lines to write: one for every aspect that the form changes. Raises FormError."""
        posted, now = form_id(self.form), time.time()
        marks: list[Review] = []
        for aspect in aspects(self.item, self.own, (), self.form, blind=False):
            draft, last, comment, text = aspect.draft, aspect.last, aspect.comment.strip(), aspect.edited
            before = last.comment if last else ""
            if len(comment) > COMMENT_LIMIT:
                raise FormError(
                    422,
                    f"The comment on the {draft.aspect} has {len(comment):,} characters, and at most "
                    f"{COMMENT_LIMIT:,} are kept. Nothing was saved yet: shorten it.",
                )
            value = self._value(aspect)
            edited = text is not None and not _same(text, aspect.before)
            if value is None:
                if edited or (comment and comment != before):
                    raise FormError(422, f"Give the {draft.aspect} a mark, too: nothing is saved without one.")
                continue
            if last and last.after == value and comment == before and not edited:
                continue
            marks.append(
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
                    text_before=aspect.before if self.item.editable else None,
                    text_after=text,
                )
            )
        return marks

    def _value(self, aspect: Aspect) -> float | None:
        # A form without a mark was opened before the mark that stands: it does not speak of that.
        scale, chosen = aspect.draft.scale, self.form.get(f"mark.{aspect.number}", "")
        if chosen:
            if not (chosen.isascii() and chosen.isdecimal() and len(chosen) < 4 and int(chosen) < len(scale)):
                raise FormError(400, f"There is no such mark for the {aspect.draft.aspect}. Nothing was saved.")
            return scale[int(chosen)]
        if self.form.get("action") == "confirm" and self.shown and aspect.mark is None and aspect.drafted >= 0:
            return aspect.draft.value
        return None


_WHICH = ("exam", "model", "question", "sample")


def _same(first: str, other: str) -> bool:
    """Return whether two texts are equal, except for line ends, which browsers change."""
    return first.replace("\r\n", "\n").replace("\r", "\n") == other.replace("\r\n", "\n").replace("\r", "\n")
