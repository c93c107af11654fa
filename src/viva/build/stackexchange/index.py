"""What is kept of sixty million rows until all are read: who has how many positive answers, and who may be asked.

A byte for each id up to the newest one (whether it was read, and how many positively voted answers it has), and 11
bytes for each question with an accepted answer (id, day, views, place in the tag tree); of the others only counts. That
is 80 + 130 MB for the whole of Stack Overflow: no database, and no order of rows is needed. Texts are read a second
time.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viva.build.stackexchange.scan import ANSWER, MAX_ID, QUESTION, Block
from viva.build.stackexchange.view_line import Line, ViewAges, view_ages

MOST = 63
"""Positive answers that are counted of a question; more are as good."""
_READ, _OUT, _COUNT = 128, 64, 63


class Kept(NamedTuple):
    """Questions with an accepted answer, of one block."""

    ids: NDArray[np.uint32]
    days: NDArray[np.uint16]
    views: NDArray[np.uint32]
    places: NDArray[np.uint8]


class Steps(NamedTuple):
    """Questions of each place in the tag tree, step by step; and the ids of those that are left."""

    questions: NDArray[np.int64]
    accepted: NDArray[np.int64]
    answered: NDArray[np.int64]
    seen: NDArray[np.int64]
    seed: NDArray[np.int64]
    ids: dict[int, NDArray[np.uint32]]
    """Place → the ids of `seed`, in the order of the dump."""


class Rules(NamedTuple):
    """Who is asked. `after` and `before` are days since 1970: created on or after, and before."""

    min_answers: int
    line: Line
    day: int
    after: int
    before: int


class Index:
    """Blocks, added up in their order."""

    def __init__(self, places: int) -> None:
        self._states = np.zeros(MAX_ID + 1, np.uint8)  # the system gives memory for what is written to
        self._places = places
        self._kept: list[Kept] = []
        self._counted = np.zeros(0, np.bool_)  # which questions of the last block are the first with their id
        self._questions = np.zeros(places, np.int64)
        self._accepted = np.zeros(places, np.int64)
        self._hashes = [hashlib.blake2b(digest_size=16) for _ in range(7)]
        self.rows = self.questions = self.answers = self.repeated = self.newest = 0

    def add(self, block: Block) -> None:
        """The next block. A row whose id was read before is not counted but as repeated."""
        self._hash(block)
        fresh = self._fresh(block.ids)
        asked, answered = fresh[block.kinds == QUESTION], fresh[block.kinds == ANSWER]
        self.rows += int(fresh.sum())
        self.repeated += len(fresh) - int(fresh.sum())
        self.questions += int(asked.sum())
        self.answers += int(answered.sum())
        self.newest = max(self.newest, block.newest)
        self._questions += np.bincount(block.places[asked], minlength=self._places)
        self._counted = asked.copy()
        asked &= block.accepted > 0
        self._accepted += np.bincount(block.places[asked], minlength=self._places)
        if asked.any():
            ids = block.ids[block.kinds == QUESTION][asked]
            self._kept.append(Kept(ids, block.days[asked], block.views[asked], block.places[asked]))
        parents, more = np.unique(block.parents[answered & block.liked], return_counts=True)
        states = self._states[parents]
        counts = np.minimum((states & _COUNT) + more, MOST).astype(np.uint8)
        self._states[parents] = (states & (_READ | _OUT)) | counts

    def _fresh(self, ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which rows are the first with their id; they are read now."""
        fresh = np.zeros(len(ids), np.bool_)
        fresh[np.unique(ids, return_index=True)[1]] = True
        fresh &= (self._states[ids] & _READ) == 0
        self._states[ids] |= _READ
        return fresh

    def _hash(self, block: Block) -> None:
        columns = (block.ids, block.kinds, block.days, block.views, block.accepted, block.parents, block.liked)
        for one, column in zip(self._hashes, columns, strict=True):
            one.update(np.ascontiguousarray(column).data)

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits over all columns but the tags', whatever the blocks were."""
        return hashlib.sha256(b"".join(one.digest() for one in self._hashes)).hexdigest()[:12]

    def drop(self, block: Block, rules: Rules, languages: int) -> None:
        """Note which questions of a block, added last, can no longer be asked: ages only grow with later rows."""
        ids = block.ids[block.kinds == QUESTION]
        keep = (block.accepted > 0) & (block.places < languages) & _dated(block.days, rules)
        keep &= rules.line.above_all(block.views, (rules.day or self.newest) - block.days.astype(np.int64))
        self._states[ids[~keep & self._counted]] |= _OUT

    def dropped(self, question: int) -> bool:
        """Whether `drop` noted so."""
        return 0 < question <= MAX_ID and bool(self._states[question] & _OUT)

    def steps(self, rules: Rules, languages: int) -> Steps:
        """What is left after each step; places from `languages` on are no languages, and nobody asks them."""
        answered, seen, seed = (np.zeros(self._places, np.int64) for _ in range(3))
        found: dict[int, list[NDArray[np.uint32]]] = {place: [] for place in range(languages)}
        for kept in self._kept:
            chosen = (self._states[kept.ids] & _COUNT) >= rules.min_answers
            answered += np.bincount(kept.places[chosen], minlength=self._places)
            ages = rules.day - kept.days.astype(np.int64)
            chosen &= (ages >= 0) & rules.line.above_all(kept.views, ages)
            seen += np.bincount(kept.places[chosen], minlength=self._places)
            chosen &= (kept.places < languages) & _dated(kept.days, rules)
            seed += np.bincount(kept.places[chosen], minlength=self._places)
            for place in np.unique(kept.places[chosen]):
                found[int(place)].append(kept.ids[chosen & (kept.places == place)])
        ids = {place: np.concatenate(some) for place, some in found.items() if some}
        return Steps(self._questions, self._accepted, answered, seen, seed, ids)

    def view_ages(self, rules: Rules) -> ViewAges:
        """Where the questions with enough answers lie in the plane of age and views, and which are above the line."""
        ages = np.concatenate([rules.day - kept.days.astype(np.int64) for kept in self._kept])
        views = np.concatenate([kept.views for kept in self._kept])
        answered = np.concatenate([(self._states[kept.ids] & _COUNT) >= rules.min_answers for kept in self._kept])
        chosen = answered & (ages >= 0) & (views > 0)
        return view_ages(rules.line, ages[chosen], views[chosen])


def _dated(days: NDArray[np.uint16], rules: Rules) -> NDArray[np.bool_]:
    return (days >= rules.after) & (days < rules.before)
