"""Two runs side by side: the same questions in both, what got worse first, and a note on them in the run's folder."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns
from viva.analysis.comparing import Difference, compared, paired
from viva.errors import DataError, StorageError
from viva.files import UNREADABLE, read_regular, write_whole
from viva.pages.runs import answerfilters
from viva.pages.runs.answerfilters import Chosen
from viva.pages.runs.gradedrows import Sheet
from viva.pages.runs.matrix import cells_of
from viva.types import Question

NOTES = "notes.json"
"""Notes of people on a run, by what they are about: no part of what was measured, in no signature."""
LONGEST_NOTE = 4_000
_MOST = 1_000
"""Notes of a run."""
_WRITING = threading.Lock()
"""Pages are served by several threads, and a note is added to those that are there."""


class Match(Struct, frozen=True):
    """A question that both runs asked."""

    question: Question
    places: tuple[int, int]
    """Of the answer in each sheet that is shown: of several samples the first whose outcome differs."""
    states: tuple[str, str]
    change: str
    """A word of `CHANGES`."""
    difference: float | None
    """Points of the second less points of the first, means over samples; None where one has none."""


class Pair(Struct, frozen=True):
    """Two sheets, question by question."""

    matches: Sequence[Match]
    """What got worse by most first, then what got better, what cannot be compared, and what is the same."""
    counts: Mapping[str, int]
    apart: tuple[int, int]
    """Questions that only one of them asked."""
    difference: Difference


def fitting(first: Sequence[Sheet], second: Sequence[Sheet], chosen: Chosen) -> tuple[int, int]:
    """Return which two sheets are compared: those chosen, else the first of one exam and model, or at least of one
    exam.

    Raises DataError where nothing of the two can be compared.
    """
    asked = [(number,) if 0 < number <= len(sheets) else range(1, len(sheets) + 1)
              for number, sheets in ((chosen.a, first), (chosen.b, second))]  # fmt: skip
    other = first is second and not (chosen.a and chosen.b)
    pairs = [(a - 1, b - 1) for a in asked[0] for b in asked[1] if not (other and a == b)]

    def in_common(pair: tuple[int, int]) -> int:
        one, other = first[pair[0]].evaluation, second[pair[1]].evaluation
        return 2 * (one.exam.spec.benchmark == other.exam.spec.benchmark) + 4 * (one.label == other.label) + (
            one.model.name == other.model.name
        )  # fmt: skip

    best = max(pairs, key=in_common, default=None)
    if best is None or in_common(best) < 2:
        raise DataError("these runs have no exam in common: choose two that asked the same questions")
    return best


def pair_of(first: Sheet, second: Sheet) -> Pair:
    """Return the questions of two sheets, matched by their names."""
    places = {question.id: place for place, question in enumerate(second.questions)}
    cells = cells_of(first), cells_of(second)
    matches = []
    for number, question in enumerate(first.questions):
        other = places.get(question.id)
        if other is not None:
            points = cells[0][number].points, cells[1][other].points
            matches.append(_match(question, (first, second), (number, other), points))
    matches.sort(key=lambda one: (answerfilters.CHANGES.index(one.change), -abs(one.difference or 0.0)))
    shared = len(matches)
    questions = _questions(first), _questions(second)
    return Pair(
        matches=matches,
        counts=Counter(one.change for one in matches),
        apart=(len(first.questions) - shared, len(second.questions) - shared),
        difference=compared(paired(*questions, first.evaluation.exam.headline().over)),
    )


def _match(
    question: Question, sheets: tuple[Sheet, Sheet], numbers: tuple[int, int], points: tuple[float | None, float | None]
) -> Match:
    samples = [sheet.evaluation.samples for sheet in sheets]
    begins = [number * count for number, count in zip(numbers, samples, strict=True)]
    both = [(begins[0] + sample, begins[1] + sample) for sample in range(min(samples))]
    states = [(answerfilters.state(sheets[0], one), answerfilters.state(sheets[1], other)) for one, other in both]
    shown = next((place for place, (one, other) in enumerate(states) if one != other), 0)
    difference = None if points[0] is None or points[1] is None else points[1] - points[0]
    change = (
        "unscored" if difference is None and states[shown][0] != states[shown][1]
        else "worse" if difference and difference < 0 else "better" if difference else "same"
    )  # fmt: skip
    return Match(question, both[shown], states[shown], change, difference)


def _questions(sheet: Sheet) -> Columns:
    headline = sheet.evaluation.exam.headline()
    return Breakdown(frame(sheet.rows), headline.attempts).questions(headline)


class Note(Struct, omit_defaults=True):
    """What somebody wrote, and when (seconds since 1970)."""

    text: str
    at: float = 0.0


def note_key(other: str, exam: str, question: str = "") -> str:
    """Return what a note is about: another run by its folder's name, an exam, and a question of it or all."""
    return "\t".join((other, exam, question))


def notes_of(folder: Path) -> dict[str, Note]:
    """Return all notes in a run's folder. Raises StorageError for a file that is none."""
    try:
        return msgspec.json.decode(read_regular(folder / NOTES), type=dict[str, Note])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as problem:
        raise StorageError(f"cannot read {folder / NOTES} ({problem}): move it away to write notes here") from None


def write_note(folder: Path, key: str, text: str) -> None:
    """Keep a note, or take it away where there is no text. Raises StorageError."""
    with _WRITING:
        _write_note(folder, key, text)


def _write_note(folder: Path, key: str, text: str) -> None:
    notes = notes_of(folder)
    text = text.strip()[:LONGEST_NOTE]
    if text:
        notes[key] = Note(text, time.time())
    else:
        notes.pop(key, None)
    if len(notes) > _MOST:
        raise StorageError(f"{folder / NOTES} has {_MOST:,} notes: take some away first")
    try:
        write_whole(folder / NOTES, msgspec.json.format(msgspec.json.encode(notes), indent=1) + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {folder / NOTES}: {problem.strerror}; the note was not kept") from None
