"""Filters and searches remembered: the pages of one list, and the steps from answer to answer, ask the same again."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from viva.viewing.filters import Choices, Chosen, Place, choices, with_text, without_text
from viva.viewing.run_view import Graded, RunView

KEPT = 16


class Searches:
    """What was found last, by run, grading and filter. Safe in several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._found: OrderedDict[tuple[Path, int, Chosen], Sequence[Place]] = OrderedDict()
        self._choices: OrderedDict[tuple[Path, int], Choices] = OrderedDict()

    def find(self, view: RunView, graded: Graded, chosen: Chosen) -> Sequence[Place]:
        """The answers of a filter, in the order of the run. Raises StorageError where a search cannot read them."""
        key = (view.path, graded.number, msgspec.structs.replace(chosen, page=1))
        with self._guard:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found: Sequence[Place] = without_text(graded.sheets, chosen)
        if chosen.text:
            with view.answers.reading() as reader:
                found = list(with_text(graded.sheets, found, chosen.text, reader))
        with self._guard:
            self._found[key] = found
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
        return found

    def choices(self, view: RunView, graded: Graded) -> Choices:
        """What the answers can be chosen by."""
        key = (view.path, graded.number)
        with self._guard:
            if key in self._choices:
                return self._choices[key]
        made = choices(graded.sheets)
        with self._guard:
            self._choices[key] = made
            while len(self._choices) > KEPT:
                self._choices.popitem(last=False)
        return made

    @staticmethod
    def position(found: Sequence[Place], place: Place) -> int | None:
        """Where an answer stands among those found; None where it is not among them."""
        at = bisect_left(found, place)
        return at if at < len(found) and found[at] == place else None
