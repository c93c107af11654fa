"""All runs of a folder, each opened once and remembered while there is room."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from viva.engine.folder import RunRecord
from viva.errors import StorageError, VivaError
from viva.viewing import folders
from viva.viewing.folders import RunEntry
from viva.viewing.opened import Opener
from viva.viewing.progress import Progress
from viva.viewing.run_view import STEP, RunView
from viva.viewing.summaries import Fared, fared, list_cost, scored_at

HELD = 4
"""Runs whose questions and rows are kept at once; those looked at longest ago are opened again when wanted."""
COUNTING = 1.0
"""Seconds that a list may take to count journals; it says which are not counted yet, and the next look goes on."""


class RunViews:
    """The runs in `root`, or `root` itself where it is one."""

    def __init__(self, root: Path, opener: Opener) -> None:
        self.root = root
        self._opener = opener
        self._guard = threading.Lock()
        self._views: dict[str, RunView] = {}
        self._known: dict[str, tuple[tuple[Path, float, int], Fared | None]] = {}

    @property
    def alone(self) -> bool:
        """Whether there is one run, and no folder of them."""
        return folders.is_run(self.root)

    def begin(self) -> None:
        """Open the run while its reader's browser starts, where there is only one; what is wrong, its page says."""
        if self.alone:
            with suppress(VivaError):
                self.view(self.found()[0].slug).look()

    def found(self) -> list[RunEntry]:
        """Every run, newest first. Raises StorageError."""
        return folders.runs_in(self.root)

    def view(self, slug: str) -> RunView:
        """The run of that name in addresses. Raises StorageError where there is none (any more)."""
        known = {one.slug: one.path for one in self.found()}
        with self._guard:
            if slug not in known:
                self._views.pop(slug, None)
                raise StorageError("there is no such run here; it may have been removed or renamed meanwhile")
            view = self._views.pop(slug, None) or RunView(known[slug], self._opener)
            self._views[slug] = view  # the last one used comes last
            held = 0
            for other in reversed(list(self._views.values())):
                held += other.graded is not None
                if held > HELD:
                    other.forget()
            return view

    def cards(self, found: Sequence[RunEntry]) -> list[Card]:
        """What a list says of these runs; counting stops after `COUNTING` seconds."""
        until = time.monotonic() + COUNTING
        return [self._card(one, until) for one in found]

    def _card(self, found: RunEntry, until: float) -> Card:
        with self._guard:
            view = self._views.get(found.slug)
            if view is None:
                view = RunView(found.path, self._opener)
                self._views = {found.slug: view, **self._views}
        try:
            record = view.record()
            while not view.count(STEP) and time.monotonic() < until:
                pass
            card = Card(found, record, view.progress(most=0), "")
        except StorageError as problem:
            return Card(found, None, None, str(problem))
        card.paid = list_cost(record.models, view.answers.used, record.prices)
        if card.progress and card.progress.whole and time.monotonic() < until:
            card.fared = self._fared(found)
        return card

    def _fared(self, found: RunEntry) -> Fared | None:
        """How its answers fared, as scores.jsonl says; read once for every change of the run."""
        key = (found.path, found.changed, scored_at(found.path))
        known = self._known.get(found.slug)
        if known is None or known[0] != key:
            self._known[found.slug] = known = (key, fared(found.path, found.changed))
        return known[1]


class Card:
    """One run in a list: what was asked and how far it is, or why that cannot be said."""

    def __init__(self, found: RunEntry, record: RunRecord | None, progress: Progress | None, problem: str) -> None:
        self.slug = found.slug
        self.name = found.path.resolve().name
        self.changed = found.changed
        self.record = record
        self.progress = progress
        self.problem = problem
        self.fared: Fared | None = None
        self.paid: float | None = None
        self.exams = folders.exam_labels(record) if record else []
        self.models = [model.shown or model.name for model in record.models] if record else []
