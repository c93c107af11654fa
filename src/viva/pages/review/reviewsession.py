"""The state behind the pages: the items, the log, who has marked what, and what comes next."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from viva.engine.reviews import Review, ReviewLog
from viva.pages.shell import Kept
from viva.render.findings import Findings
from viva.review.items import Filter, Item, tags

_KEPT_SELECTIONS = 64


class Settings(Struct, frozen=True, kw_only=True):
    """How a review is opened. `start` is the filter that reviewers begin with.

    `marks_per_item` is how many reviewers each item should get. `reviewer` is who marks where nobody has said.
    `agreement` finds what the agreement page shows.

    Where a set is built, the caller can have a say: `refuse` looks at lines before they are written and
    returns what is wrong, as a sentence for who posted them, or ""; `saved` is told what was written; `renewed` gives
    the items anew after somebody wrote (an edited text is another item, for the others to decide about).
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
    """How many items there are, and are marked: by me, by anyone, by two or more."""

    items: int
    mine: int
    anyone: int
    doubly: int


class ReviewSession:
    """What the pages ask for. Everything about marks comes from the log, read anew where it has grown."""

    def __init__(self, items: Sequence[Item], log: ReviewLog, settings: Settings) -> None:
        self.log = log
        self.settings = settings
        self._by_key: dict[str, Item] = {}
        self._seen: set[tuple[str, str]] = set()
        self._writing = threading.Lock()
        self._read = len(log.reviews)
        self._take(items)

    def _take(self, items: Sequence[Item]) -> None:
        """These are the items from now on; those before can still be looked at."""
        self.items = tuple(items)
        self.tags = tags(self.items)
        samples = {item.about.get("sample") for item in self.items}
        self.names = (*self.tags, "question", *(("sample",) if len(samples) > 1 else ()))
        self._by_key |= {item.key: item for item in self.items}
        self._selections = Kept[tuple[Item, ...]](_KEPT_SELECTIONS)

    def refresh(self) -> None:
        """Take in what others wrote, and the items anew where that changes them."""
        self.log.refresh()
        if self.settings.renewed is None:
            return
        with self._writing:
            if (read := len(self.log.reviews)) != self._read:
                self._take(self.settings.renewed())
                self._read = read

    def write(self, lines: Sequence[Review]) -> list[Review]:
        """Append lines; returns those written. Raises Refused for what the caller does not accept."""
        with self._writing:
            if lines and self.settings.refuse is not None and (problem := self.settings.refuse(lines)):
                self._read = -1  # what it was about may have changed beside the log
                raise Refused(problem)
            return self._told(self.log.append(lines))

    def undo(self, reviewer: str, form: str, at: float) -> list[Review]:
        """Take back what a reviewer's last form said; returns the lines written."""
        with self._writing:
            return self._told(self.log.undo(reviewer, form, at))

    def _told(self, written: list[Review]) -> list[Review]:
        if written and self.settings.saved is not None:
            self.settings.saved(written)
        return written

    def item(self, key: str) -> Item | None:
        """Return the item of this key, if there is one."""
        return self._by_key.get(key)

    def select(self, chosen: Filter) -> tuple[Item, ...]:
        """Return the items of a filter, whoever marked them."""
        name = chosen.query(page=1, todo="all", blind=False)
        selections = self._selections  # before the items: another thread may take new ones meanwhile
        items = self.items
        return selections.get(name, lambda: chosen.select(items))

    def reviewers(self, item: Item) -> tuple[str, ...]:
        """Return who has marked every aspect of it."""
        aspects = {draft.aspect for draft in item.drafts}
        marks = self.log.latest(item.key).items()
        given = Counter(who for (who, aspect), mark in marks if mark.after is not None and aspect in aspects)
        return tuple(reviewer for reviewer, count in given.items() if count == len(aspects))

    def wants(self, item: Item, chosen: Filter, reviewer: str) -> bool:
        """Return whether it is on the list of what this reviewer has to do."""
        if chosen.todo == "all":
            return True
        marked = self.reviewers(item)
        return reviewer not in marked and (chosen.todo == "mine" or len(marked) < self.settings.marks_per_item)

    def listed(self, chosen: Filter, reviewer: str) -> list[Item]:
        """Return the items of a filter that this reviewer wants to see."""
        return [item for item in self.select(chosen) if self.wants(item, chosen, reviewer)]

    def next_to_do(self, item: Item | None, chosen: Filter, reviewer: str) -> Item | None:
        """Return what to mark after this item: first what still needs reviewers, then what this one has not marked.

        It goes on from the item to the end of the filter, then from its beginning. None: all of it is marked.
        """
        chain = self.select(chosen)
        here = next((place for place, other in enumerate(chain) if item and other.key == item.key), -1)
        around = (*chain[here + 1 :], *chain[: here + 1])
        marked = {other.key: self.reviewers(other) for other in around}
        mine = [other for other in around if reviewer not in marked[other.key]]
        short = (other for other in mine if len(marked[other.key]) < self.settings.marks_per_item)
        return next(short, mine[0] if mine and chosen.todo != "short" else None)

    def progress(self, chosen: Filter, reviewer: str) -> Progress:
        """Return how far the items of a filter are."""
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
        """Return the other reviewers' marks that count."""
        lines: Mapping[tuple[str, str], Review] = self.log.latest(item.key)
        return [line for (name, _), line in lines.items() if name != reviewer and line.after is not None]

    def showed(self, item: Item, reviewer: str) -> None:
        """Remember that this reviewer was shown the drafts."""
        self._seen.add((item.key, reviewer))

    def blind(self, item: Item, chosen: Filter, reviewer: str) -> bool:
        """Return whether a mark made now is blind: the drafts are hidden, and were never shown to this reviewer
        before.
        """
        lines = self.own(item, reviewer).values()
        return chosen.blind and (item.key, reviewer) not in self._seen and all(line.blind for line in lines)
