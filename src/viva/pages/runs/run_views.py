"""All runs of a folder, each opened once and remembered while there is room."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from viva.engine.budget import Price, list_price
from viva.engine.folder import ModelRecord, RunRecord
from viva.errors import StorageError, VivaError
from viva.pages.runs import folders
from viva.pages.runs.folders import RunEntry
from viva.pages.runs.following import Tokens
from viva.pages.runs.live_tables import graded_results
from viva.pages.runs.run_view import STEP, RunView
from viva.pages.runs.runcounts import Progress, with_verdicts
from viva.providers import traits_of
from viva.render.result import Result
from viva.types import Usage


def scored_at(path: Path) -> int:
    """Return when scores.jsonl was written, in nanoseconds since 1970; 0 where there is none."""
    try:
        return (path / "scores.jsonl").lstat().st_mtime_ns
    except OSError:
        return 0


def list_cost(
    models: Sequence[ModelRecord],
    used: Mapping[tuple[str, str], Tokens],
    prices: Mapping[str, Price] = MappingProxyType({}),
) -> float | None:
    """US dollars at the run's prices, else the vendors' list prices; None where one or a count of tokens is unknown."""
    total = 0.0
    for model in models:
        kind = traits_of(model.name)
        own = [tokens for (name, _), tokens in used.items() if name in (model.shown, model.name)]
        if not kind.paid or not own:
            continue
        provider, _, name = model.name.partition("/")
        price = prices.get(model.shown or model.name) or prices.get("")
        price = price or (list_price(kind.priced_as or provider, name) if model.base_url is None else None)
        if price is None or any(tokens.uncounted for tokens in own):
            return None
        total += sum(price.cost(Usage(tokens.input, tokens.output)) for tokens in own)
    return total


HELD = 4
"""Runs whose questions and rows are kept at once; those looked at longest ago are opened again when wanted."""
COUNTING = 1.0
"""Seconds that a list may take to count journals; it says which are not counted yet, and the next look goes on."""


_Version = tuple[Path, float, int]
"""A run as it was when something was last written, and when it was graded."""


class RunViews:
    """The runs in `root`, or `root` itself where it is one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._guard = threading.Lock()
        self._views: dict[str, RunView] = {}
        self._known: dict[_Version, Sequence[Result]] = {}
        self._unread: list[_Version] = []
        self._reading: threading.Thread | None = None

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
        """Return every run, newest first. Raises StorageError."""
        return folders.runs_in(self.root)

    def view(self, slug: str) -> RunView:
        """Return the run of that name in addresses. Raises StorageError where there is none (any more)."""
        known = {one.slug: one.path for one in self.found()}
        with self._guard:
            if slug not in known:
                self._views.pop(slug, None)
                raise StorageError("there is no such run here; it may have been removed or renamed meanwhile")
            view = self._views.pop(slug, None) or RunView(known[slug])
            self._views[slug] = view  # the last one used comes last
            held = 0
            for other in reversed(list(self._views.values())):
                held += other.graded is not None
                if held > HELD:
                    other.forget()
            return view

    def with_words(self, found: Sequence[RunEntry], text: str) -> list[RunEntry]:
        """Of these the runs in whose name, exams and models every word of `text` stands, in any case."""
        words = text.casefold().split()
        return [one for one in found if not words or all(word in self._about(one) for word in words)]

    def _about(self, found: RunEntry) -> str:
        name = found.path.resolve().name
        with self._guard:
            view = self._views.get(found.slug) or RunView(found.path)
        try:
            record = view.record()
        except StorageError:
            return name.casefold()
        models = (folders.model_name(model) for model in record.models)
        return "\n".join((name, *folders.exam_labels(record), *models)).casefold()

    def cards(self, found: Sequence[RunEntry], *, wait: bool = False) -> list[Card]:
        """Return what a list says of these runs; counting stops after `COUNTING` seconds, unless it may `wait` for
        all.
        """
        until = float("inf") if wait else time.monotonic() + COUNTING
        cards = [self._card(one, until) for one in found]
        if wait and self._reading is not None:
            self._reading.join()
            return self.cards(found)
        return cards

    def _card(self, found: RunEntry, until: float) -> Card:
        with self._guard:
            view = self._views.get(found.slug)
            if view is None:
                view = RunView(found.path)
                self._views = {found.slug: view, **self._views}
        try:
            record = view.record()
            while not view.count(STEP) and time.monotonic() < until:
                pass
            card = Card(found, record, view.progress(most=0), "")
        except StorageError as problem:
            return Card(found, None, None, str(problem))
        card.paid = list_cost(record.models, view.answers.used, record.prices)
        if card.progress and card.progress.state != "running":
            card.results = self._results_of(found)
            card.progress = with_verdicts(card.progress, record, card.results or ())
        return card

    def _results_of(self, found: RunEntry) -> Sequence[Result] | None:
        """Return its results, none where it is not graded; None while they are being read, which is begun here."""
        version = (found.path, found.changed, scored_at(found.path))
        if not version[2]:
            return ()
        with self._guard:
            if version not in self._known and version not in self._unread:
                self._unread.append(version)
                if self._reading is None:
                    self._reading = threading.Thread(target=self._read, daemon=True, name="viva view, results")
                    self._reading.start()
            return self._known.get(version)

    def _read(self) -> None:
        """Read the results of the runs of a list, once for every change of each."""
        while True:
            with self._guard:
                if not self._unread:
                    self._reading = None
                    return
                version = self._unread[0]
            try:
                results: Sequence[Result] = graded_results(version[0])
            except (VivaError, OSError):
                results = ()  # the run's own page says what is wrong with it
            except Exception:
                traceback.print_exc(file=sys.stderr)  # the other runs are read all the same
                results = ()
            with self._guard:
                self._unread.remove(version)
                self._known = {one: known for one, known in self._known.items() if one[0] != version[0]}
                self._known[version] = results


class Card:
    """One run in a list: what was asked and how far it is, or why that cannot be said."""

    def __init__(self, found: RunEntry, record: RunRecord | None, progress: Progress | None, problem: str) -> None:
        self.slug = found.slug
        self.name = found.path.resolve().name
        self.changed = found.changed
        self.record = record
        self.progress = progress
        self.problem = problem
        self.results: Sequence[Result] | None = ()
        """None while they are being read."""
        self.paid: float | None = None
        self.overalld = record is not None and record.adaptive is not None
        self.exams = folders.exam_labels(record) if record else []
        self.models = [folders.model_name(model) for model in record.models] if record else []

    @property
    def outcomes(self) -> dict[str, int]:
        """What became of the answers, over all results."""
        counted: Counter[str] = Counter()
        for one in self.results or ():
            counted.update(one.overall.outcomes)
        return dict(counted)

    @property
    def scores(self) -> list[tuple[str, Result, Result | None]]:
        """Of every exam: the best result, and the worst where there are several models."""
        by_exam: dict[str, list[Result]] = {}
        for one in self.results or ():
            by_exam.setdefault(one.exam, []).append(one)
        return [
            (
                exam,
                max(own, key=lambda one: one.overall.order),
                min(own, key=lambda one: one.overall.order) if len(own) > 1 else None,
            )
            for exam, own in by_exam.items()
        ]
