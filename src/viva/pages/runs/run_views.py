"""The runs of a folder, each opened once and kept in a cache.

A run's view has its progress, its rows, graded in the background, and single answers in full.

Counting is quick and done while a page waits; opening questions, rendering prompts and grading are done in a thread,
one at a time, and pages show the last finished grading with its time.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from viva.engine.folder import RunFolder, RunRecord, writer
from viva.errors import StorageError, VivaError
from viva.pages.answerindex import noteworthy
from viva.pages.runs.answerfilters import Answers
from viva.pages.runs.gradedrows import Sheet, Work, grade, graded_before
from viva.pages.runs.runblocks import Tables, live_tables
from viva.providers import traits_of
from viva.render.result import Result
from viva.runs import following
from viva.runs.answers import read_run
from viva.runs.following import Followed, RunEntry
from viva.runs.open import OpenRun, prepare
from viva.runs.state import Part, Progress, graded_parts, progress_of, waiting

_READ = (*(f"{stage}.jsonl" for stage in following.STAGES), "reviews.jsonl")
"""The files that a grading reads."""
_REST = 8.0
"""While a run is going on, grading pauses for this multiple of its duration: it takes at most a ninth of one
processor.
"""
_AGAIN = 10.0
"""Seconds until a failed opening is retried."""

STEP = 16 << 20
"""Bytes of a journal counted before the lock is released: a tenth of a second."""


class Graded(Struct, frozen=True, dict=True):
    """A finished grading."""

    number: int
    """Increases by one with each."""
    at: float
    answers: int
    """Number of answers received by then."""
    sheets: Sequence[Sheet]
    tables: Tables
    opened: OpenRun

    @cached_property
    def noted(self) -> list[tuple[str, str, str, int]]:
        """Outcomes other than right and wrong (`noteworthy`)."""
        return noteworthy([row for sheet in self.sheets for row in sheet.rows])

    @cached_property
    def index(self) -> Answers:
        """The index of the answers."""
        return Answers(self.sheets)


class RunView:
    """The view of a run folder. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._changed = threading.Condition(self._guard)
        self.answers = Followed(path / "responses.jsonl")
        self._stages = {stage: Followed(path / f"{stage}.jsonl") for stage in following.STAGES[1:]}
        self._record: RunRecord | None = None
        self._record_file: following.Sizes = ()
        self._sheets: list[Sheet] = []
        self._opened: OpenRun | None = None
        self._seen: following.Sizes = ()
        """Files as of the last grading."""
        self._graded: dict[bytes, int] = {}
        """The answers that it had, by request."""
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self.work = Work()
        self.graded: Graded | None = None
        self.problem = ""
        """Why there are no rows, or no newer ones."""

    # What is quick

    def record(self) -> RunRecord:
        """Return the current run.json. Raises StorageError."""
        with self._guard:
            stamp = following.sizes(self.path, ("run.json",))
            if self._record is None or stamp != self._record_file:
                self._record = RunFolder.open(self.path).record
                if self._record_file and stamp != self._record_file:
                    self._opened, self._sheets, self._seen = None, [], ()
                self._record_file = stamp
            return self._record

    def count(self, most: int) -> bool:
        """Read up to `most` new bytes of the journals; return whether all was read."""
        with self._guard:
            whole = self.answers.refresh(most)
            for followed in self._stages.values():
                whole = followed.refresh(most) and whole
            return whole

    def progress(self, most: int, results: Sequence[Result] = ()) -> Progress:
        """Return the run's current progress; `results`: those of its scores, used for the counts. Raises
        StorageError.
        """
        with self._guard:
            record, whole = self.record(), self.count(most)
            return progress_of(
                record,
                following.answers_wanted(self.path, record),
                self.answers,
                self._stages,
                graded_parts(results) or self._parts(),
                results or (self.graded.tables.results if self.graded else ()),
                writer=writer(self.path),
                now=time.time(),
                waiting=waiting(self.path),
                whole=whole,
            )

    def _parts(self) -> list[Part]:
        """Return what became of the answers, by model and exam: by scores if they cover all answers, else by keys;
        nothing if neither is known.
        """
        if self.graded is not None and self._now() == self._seen:
            return graded_parts(self.graded.tables.results)
        parts = []
        for sheet in self._sheets:
            if not sheet.evaluation.keyed:
                return []
            keys = [sheet.key(place) for place in range(len(sheet))]
            answered, failed = (
                sum(map(known.__contains__, keys)) for known in (self.answers.answered, self.answers.failed)
            )
            parts.append(Part(sheet.evaluation.model.name, sheet.evaluation.label, answered, failed, len(sheet)))
        return parts

    # What takes its time

    def look(self, patience: float = 0.0) -> Graded | None:
        """Return the last grading; starts a newer one if there is new data, and waits for it up to `patience`
        seconds.
        """
        with self._guard:
            self.record()
            self.count(STEP)
            self._begin()
            if patience and self._thread is not None:
                self._changed.wait_for(lambda: self._thread is None, patience)
            return self.graded

    def forget(self) -> None:
        """Release the memory of questions and rows, unless the thread is working on them."""
        with self._guard:
            if self._thread is None:
                self._opened, self._sheets, self._seen, self.graded = None, [], (), None

    def _begin(self) -> None:
        if self._thread is not None:
            return
        if time.monotonic() < self._next and (self.problem or writer(self.path)):
            return
        if self._now() == self._seen:
            return
        self._thread = threading.Thread(target=self._run, daemon=True, name="viva view")
        self._thread.start()

    def _now(self) -> following.Sizes:
        return following.sizes(self.path, _READ)

    def _run(self) -> None:
        started, problem, rest = time.monotonic(), "", 0.0
        try:
            self._grade()
        except VivaError as failure:
            problem, rest = str(failure), _AGAIN
        except OSError as failure:
            problem, rest = f"{failure.filename or self.path}: {failure.strerror}", _AGAIN
        except Exception:
            # The pages must keep working; the traceback shows the defect.
            traceback.print_exc(file=sys.stderr)
            problem, rest = "Viva failed at these answers; its terminal says more.", _AGAIN
        with self._guard:
            took = time.monotonic() - started
            self.problem = problem
            self._next = time.monotonic() + max(rest, took * _REST)
            self._thread = None
            self.work = Work()
            self._changed.notify_all()

    def _grade(self) -> None:
        self.work = Work("counting answers")
        while not self.count(STEP):  # the lock is free between steps, so that pages are served
            pass
        with self._guard:
            seen = self._now()
            opened, sheets = self._opened, self._sheets
            answers = self.answers
            arrived = dict(answers.answered)
            known = dict(arrived.items() & self._graded.items()) if seen[1:] == self._seen[1:] else {}
        graded: list[Sheet] = []
        if opened is None:
            self.work = Work("opening the questions")
            opened = prepare(RunFolder.open(self.path))
            exams = {id(evaluation.exam): evaluation.exam for evaluation in opened.evaluations}
            questions = {known: list(exam.questions()) for known, exam in exams.items()}
            sheets = [Sheet(evaluation, questions[id(evaluation.exam)]) for evaluation in opened.evaluations]
            with self._guard:
                self._opened, self._sheets = opened, sheets
            graded = graded_before(self.path, sheets)
        if not graded:
            self.work = Work("grading", 0, sum(map(len, sheets)))
            graded = grade(sheets, opened, answers, known, self.work)
        self.work = Work("drawing up the tables")
        tables = live_tables(opened, [sheet.rows for sheet in graded])
        with self._guard:
            number = self.graded.number + 1 if self.graded else 1
            self.graded = Graded(number, time.time(), len(answers.answered), graded, tables, opened)
            if self._opened is opened:  # else run.json changed meanwhile
                self._seen, self._sheets, self._graded = seen, graded, arrived


HELD = 4
"""The most runs whose questions and rows are kept; the least recently used are reopened on demand."""
COUNTING = 1.0
"""Seconds that a list may take to count journals; uncounted runs are marked, and the next request continues."""


class _Reading(threading.Thread):
    """Reads the results of a graded run, one run at a time."""

    turn = threading.Lock()

    def __init__(self, version: RunEntry) -> None:
        super().__init__(daemon=True, name="viva view, results")
        self.version = version
        self.results: Sequence[Result] | None = None
        self.start()

    def run(self) -> None:
        """Read the results; empty if that fails: the run's own page shows the error."""
        results: Sequence[Result] = ()
        with self.turn:
            try:
                results = read_run(self.version.path, "none").report.results
            except (VivaError, OSError):
                pass
            except Exception:
                traceback.print_exc(file=sys.stderr)  # go on with the other runs
            self.results = results


class RunViews:
    """The views of the runs in `root`, or of `root` itself if it is a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._guard = threading.Lock()
        self._views: dict[str, RunView] = {}
        self._read: dict[Path, _Reading] = {}

    @property
    def alone(self) -> bool:
        """Whether `root` is a run, not a folder of runs."""
        return following.is_run(self.root)

    def begin(self) -> None:
        """Open the run, if there is only one, while the browser starts; its page shows errors."""
        if self.alone:
            with suppress(VivaError):
                self.view(self.found()[0].slug).look()

    def found(self) -> list[RunEntry]:
        """Return every run, newest first. Raises StorageError."""
        return following.runs_in(self.root)

    def view(self, slug: str) -> RunView:
        """Return the run with this name in URLs. Raises StorageError if there is none (any more)."""
        known = {entry.slug: entry for entry in self.found()}
        with self._guard:
            if slug not in known:
                self._views.pop(slug, None)
                raise StorageError("there is no such run here; it may have been removed or renamed meanwhile")
            view = self._view_of(known[slug])
            self._views[slug] = self._views.pop(slug)  # most recently used last
            held = [other for other in reversed(self._views.values()) if other.graded]
            for other in held[HELD:]:
                other.forget()
            return view

    def _view_of(self, entry: RunEntry) -> RunView:
        if entry.slug not in self._views:
            self._views = {entry.slug: RunView(entry.path), **self._views}
        return self._views[entry.slug]

    def with_words(self, entries: Sequence[RunEntry], text: str) -> list[RunEntry]:
        """Return the runs whose name, exams and models contain every word of `text`, ignoring case."""
        words = text.casefold().split()
        return [entry for entry in entries if not words or all(map(self._named(entry)[1].words.__contains__, words))]

    def _named(self, entry: RunEntry) -> tuple[RunView, Card]:
        """Return a run, and its card without counts."""
        with self._guard:
            view = self._view_of(entry)
        name = entry.path.resolve().name
        try:
            return view, Card(found=entry, name=name, record=view.record())
        except StorageError as problem:
            return view, Card(found=entry, name=name, problem=str(problem))

    def cards(self, entries: Sequence[RunEntry], *, wait: bool = False) -> list[Card]:
        """Return the cards of these runs; counting stops after `COUNTING` seconds, unless `wait`."""
        until = float("inf") if wait else time.monotonic() + COUNTING
        return [self._card(entry, until, wait) for entry in entries]

    def _card(self, entry: RunEntry, until: float, wait: bool) -> Card:
        view, card = self._named(entry)
        if card.record is None:
            return card
        try:
            while not view.count(STEP) and time.monotonic() < until:
                pass
            card.results = () if writer(entry.path) else self._results_of(entry, wait)
            card.progress = view.progress(0, card.results or ())
        except StorageError as problem:
            return Card(found=entry, name=card.name, problem=str(problem))
        return card

    def _results_of(self, entry: RunEntry, wait: bool) -> Sequence[Result] | None:
        """Return a run's results, empty if it is not graded; None while they are being read, which this starts."""
        if not entry.graded:
            return ()
        with self._guard:
            known = self._read.get(entry.path)
            if known is None or known.version != entry:
                known = self._read[entry.path] = _Reading(entry)
        if wait:
            known.join()
        return known.results


class Card(Struct, kw_only=True):
    """One run in a list: its models, exams and progress, or the reason why they are unknown."""

    found: RunEntry
    name: str
    record: RunRecord | None = None
    progress: Progress | None = None
    problem: str = ""
    results: Sequence[Result] | None = ()
    """None while being read."""

    @property
    def exams(self) -> Sequence[str]:
        """Labels of its exams in tables."""
        return self.record.labels if self.record else ()

    @property
    def models(self) -> Sequence[str]:
        """Names of its models in tables."""
        return [model.called for model in self.record.models] if self.record else ()

    @property
    def words(self) -> str:
        """The text that a search covers."""
        return "\n".join((self.name, *self.exams, *self.models)).casefold()

    @property
    def outcomes(self) -> dict[str, int]:
        """Outcome → number of answers, over all results."""
        counted: Counter[str] = Counter()
        for scored in self.results or ():
            counted.update(scored.overall.outcomes)
        return dict(counted)

    @property
    def cost(self) -> float | None:
        """US dollars that its answers took, without judges; None where some of it is unknown."""
        costs = [
            scored.consumed.cost if scored.consumed else None
            for scored in self.results or ()
            if self.record and (asked := self.record.model(scored.model)) and traits_of(asked.name).paid
        ]
        return None if None in costs else sum(filter(None, costs))

    @property
    def scores(self) -> list[tuple[str, Result, Result | None]]:
        """For every exam its label, the best result, and the worst if there are several models."""
        by_exam: dict[str, list[Result]] = {}
        for scored in self.results or ():
            by_exam.setdefault(scored.exam, []).append(scored)
        order = attrgetter("overall.order")
        return [
            (exam, max(own, key=order), min(own, key=order) if len(own) > 1 else None) for exam, own in by_exam.items()
        ]
