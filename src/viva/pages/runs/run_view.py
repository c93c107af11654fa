"""One run as the pages know it: how far it is, its rows, graded behind the pages' back, and one answer in full.

Counting is quick and is done while a page waits; opening the questions, rendering prompts and grading are done in a
thread, one at a time, and pages show the last that was finished, with the time it is of.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine import batchlog
from viva.engine.folder import RunRecord, writer
from viva.errors import VivaError
from viva.pages.runs import folders
from viva.pages.runs.following import Followed
from viva.pages.runs.gradedrows import Sheet, grade, graded_before, render_keys
from viva.pages.runs.live_tables import Opened, Tables, open_run
from viva.pages.runs.runcounts import Progress, Waiting, progress_of, waiting, with_verdicts

_EVIDENCE = ("executions.jsonl", "similarities.jsonl", "annotations.jsonl", "reviews.jsonl")
_REST = 8.0
"""While a run is going on, grading again waits so many times as long as it took: at most a ninth of one processor."""
_AGAIN = 10.0
"""Seconds until what could not be opened is tried again."""

STEP = 16 << 20
"""Bytes of a journal that are counted before somebody else may have a turn: a tenth of a second."""

Sizes = tuple[tuple[int, int, int], ...]
"""Inode, bytes and time of change of files: what tells whether anything is new."""


class Graded(Struct, frozen=True):
    """A grading that was finished."""

    number: int
    """Goes up by one with each."""
    at: float
    answers: int
    """How many answers had come by then."""
    sheets: Sequence[Sheet]
    tables: Tables
    opened: Opened


class Work(Struct):
    """What the thread is doing."""

    what: str = ""
    done: int = 0
    total: int = 0


class RunView:
    """A run folder. Safe in several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._changed = threading.Condition(self._guard)
        self.answers = Followed(path / "responses.jsonl")
        self._stages = {stage: Followed(path / f"{stage}.jsonl") for stage in folders.STAGES[1:]}
        self._record: RunRecord | None = None
        self._record_file: Sizes = ()
        self._waiting = Waiting()
        self._batch_file: Sizes = ()
        self._sheets: list[Sheet] = []
        self._opened: Opened | None = None
        self._seen: tuple[Sizes, Sizes] = ((), ())  # answers, evidence: as of the last grading
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self.work = Work()
        self.graded: Graded | None = None
        self.problem = ""
        """Why there are no rows, or none that are newer."""

    # What is quick

    def record(self) -> RunRecord:
        """Return what run.json says now. Raises StorageError."""
        with self._guard:
            found = _sizes(self.path, ("run.json",))
            if self._record is None or found != self._record_file:
                self._record = folders.read_record(self.path)
                if self._record_file and found != self._record_file:
                    self._opened, self._sheets, self._seen = None, [], ((), ())
                self._record_file = found
            return self._record

    def count(self, most: int | None = None) -> bool:
        """Take in what is new in the journals; whether all was read."""
        with self._guard:
            whole = self.answers.refresh(most)
            for followed in self._stages.values():
                whole = followed.refresh(most) and whole
            return whole

    def progress(self, most: int | None = None) -> Progress:
        """Return how far the run is, now. Raises StorageError."""
        with self._guard:
            record = self.record()
            whole = self.count(most)
            progress = progress_of(
                record,
                folders.per_model(self.path, record),
                self.answers,
                self._stages,
                self._sheets if self._counted() else [],
                writer=writer(self.path),
                now=time.time(),
                waiting=self._with_the_provider(),
            )
            progress = with_verdicts(progress, record, self.graded.tables.results if self.graded else ())
            return msgspec.structs.replace(progress, whole=whole)

    def _counted(self) -> bool:
        """Return whether every sheet knows what became of each of its answers: by their keys, or by rows of all there
        is.
        """
        rows = self.graded is not None and self._now()[0] == self._seen[0]
        return all(sheet.keyed or rows for sheet in self._sheets)

    def _with_the_provider(self) -> Waiting:
        found = _sizes(self.path, (batchlog.FILE,))
        if found != self._batch_file:
            self._waiting, self._batch_file = waiting(self.path), found
        return self._waiting

    # What takes its time

    def look(self, patience: float = 0.0) -> Graded | None:
        """Return the last grading; begins a newer one where there is something new, and waits for it up to `patience`
        s.
        """
        with self._guard:
            self.record()
            self.count(STEP)
            self._begin()
            if patience and self._thread is not None:
                self._changed.wait_for(lambda: self._thread is None, patience)
            return self.graded

    def forget(self) -> bool:
        """Give the memory of questions and rows back, unless they are being worked on; whether there were any."""
        with self._guard:
            if self._thread is not None or not self._sheets:
                return False
            self._opened, self._sheets, self._seen, self.graded = None, [], ((), ()), None
            return True

    def _begin(self) -> None:
        if self._thread is not None:
            return
        if time.monotonic() < self._next and (self.problem or writer(self.path)):
            return
        if self.graded is not None and self._now() == self._seen and self._opened is not None:
            return
        self._thread = threading.Thread(target=self._run, daemon=True, name="viva view")
        self._thread.start()

    def _now(self) -> tuple[Sizes, Sizes]:
        return _sizes(self.path, ("responses.jsonl",)), _sizes(self.path, _EVIDENCE)

    def _run(self) -> None:
        started, problem, rest = time.monotonic(), "", 0.0
        try:
            self._grade()
        except VivaError as found:
            problem, rest = str(found), _AGAIN
        except OSError as found:
            problem, rest = f"{found.filename or self.path}: {found.strerror}", _AGAIN
        except Exception:
            # The pages must go on; the traceback says what is to be mended.
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
        self._does("counting answers", 0)
        while not self.count(STEP):  # the guard is free between two steps: pages are served meanwhile
            pass
        with self._guard:
            seen = self._now()
            opened, sheets = self._opened, self._sheets
            newest = max((one[2] for one in (*_sizes(self.path, ("run.json",)), *seen[0], *seen[1])), default=0)
            record, answers = self.record(), self.answers
            whole = len(answers.answered) + len(answers.failed) >= folders.answers_wanted(self.path, record)
        total = folders.answers_wanted(self.path, record)
        if opened is None:
            self._does("opening the questions", 0)
            opened = open_run(self.path)
            exams = {id(evaluation.exam): evaluation.exam for evaluation in opened.evaluations}
            questions = {known: list(exam.questions()) for known, exam in exams.items()}
            sheets = [Sheet.of(evaluation, questions[id(evaluation.exam)]) for evaluation in opened.evaluations]
            with self._guard:
                self._opened, self._sheets = opened, sheets
            if whole and graded_before(self.path, sheets, newest):
                self._finish(opened, sheets, len(answers.answered), seen)
                return
        self._does("rendering prompts", total)
        render_keys(sheets, self._done)
        self._does("grading", total)
        grade(sheets, opened, answers, everything=seen[1] != self._seen[1], progress=self._done)
        self._finish(opened, sheets, len(answers.answered), seen)

    def _finish(self, opened: Opened, sheets: list[Sheet], answers: int, seen: tuple[Sizes, Sizes]) -> None:
        self._does("drawing up the tables", 0)
        tables = opened.tables([sheet.rows for sheet in sheets])
        kept = [Sheet(one.evaluation, one.questions, one.rows, one.places, one.shown) for one in sheets]
        with self._guard:
            number = self.graded.number + 1 if self.graded else 1
            self.graded = Graded(number, time.time(), answers, kept, tables, opened)
            self._seen = seen

    def _does(self, what: str, total: int) -> None:
        self.work = Work(what, 0, total)

    def _done(self, count: int) -> None:
        self.work.done = count


def _sizes(path: Path, names: Sequence[str]) -> Sizes:
    found = []
    for name in names:
        try:
            stat = (path / name).lstat()
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append((0, 0, 0))
    return tuple(found)
