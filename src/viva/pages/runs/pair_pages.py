"""The pages of two runs side by side, or of two models of one.

Two replies side by side: which words only one of them has, and which both have.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns
from viva.analysis.comparing import Difference, compared, paired
from viva.errors import DataError, StorageError
from viva.files import UNREADABLE, read_regular, write_whole
from viva.pages.runs import answerfilters
from viva.pages.runs.answerfilters import Chosen, cells_of, is_asked, number_in
from viva.pages.runs.gradedrows import Sheet, item_of
from viva.pages.runs.run_views import Graded, RunView, RunViews
from viva.pages.serving.guard import Access
from viva.pages.shell import PAGE, Kept, Served, paged
from viva.studies.compare.tables import difference_text
from viva.types import Question
from viva.web.pagetemplates import LONGEST

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


LONGEST_COMPARED = 2_000
"""Words of a reply that are compared; the rest is shown without marks."""
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")

Spans = list[tuple[int, int]]


class Compared(Struct, frozen=True):
    """Parts (start, end) of two texts that are only in one of them, in its order, or in both."""

    only: tuple[Spans, Spans]
    both: tuple[Spans, Spans]

    @property
    def alike(self) -> bool:
        """Whether most of the two is the same, so that what differs is worth a mark; else what is the same is."""
        same, different = (
            sum(end - start for spans in pair for start, end in spans) for pair in (self.both, self.only)
        )
        return same >= different


def compare_words(first: str, second: str) -> Compared:
    """Compare two texts by words, numbers and signs.

    difflib's popular words (over one per cent of 200 and more) begin no match, which also bounds the time.
    """
    known, other = ([(one.start(), one.end()) for one in _WORD.finditer(text)] for text in (first, second))
    known, other = known[:LONGEST_COMPARED], other[:LONGEST_COMPARED]
    blocks = SequenceMatcher(
        None, [first[a:b] for a, b in known], [second[a:b] for a, b in other]
    ).get_matching_blocks()  # the last one is empty, at the ends
    found = Compared(([], []), ([], []))
    at = to = 0
    for block in blocks:
        same = known[block.a : block.a + block.size]
        if same and not any(first[start].isalnum() for start, _ in same):
            continue  # a bracket between two changes is part of them
        _add(found.only[0], known[at : block.a])
        _add(found.only[1], other[to : block.b])
        _add(found.both[0], same)
        _add(found.both[1], other[block.b : block.b + block.size])
        at, to = block.a + block.size, block.b + block.size
    return found


def _add(found: Spans, words: Spans) -> None:
    if words:
        found.append((words[0][0], words[-1][1]))


PATIENCE = 1.2
"""Seconds that a page waits for a first grading; then it says how far that is, and asks again by itself."""
CHANGED = {"worse": "worse", "better": "better", "unscored": "not to be compared", "same": "as before"}
"""What became of a question in the second run, in words."""


class PairPages(Served):
    """One method a route."""

    def __init__(self, views: RunViews, access: Access, **more: object) -> None:
        super().__init__(access, **more)
        self._views = views
        self._pairs = Kept[Pair](2)

    def choose_pair(self, request: Request) -> Response:
        """Return the two runs that were chosen in the list, the older one first."""
        chosen = dict.fromkeys(request.query_params.getlist("run"))
        known = {one.slug: one.changed for one in self._views.found() if one.slug in chosen}
        if len(known) != 2:
            raise HTTPException(400, "Choose two runs in the list, then compare them.")
        first, second = sorted(known, key=lambda one: (known[one], one))
        return RedirectResponse(f"/pair/{first}/{second}", 303)

    def pair(self, request: Request) -> Response:
        """Return two runs, what got worse first; or a question in both, with what differs in the replies."""
        two = self._two(request)
        if not isinstance(two, _Two):
            return self.page_with_form(request, "pair.html", **two)
        place = request.path_params.get("place")
        match = two.match(number_in(place) - 1) if place else None
        return self.page_with_form(
            request,
            "pair.html",
            match=match,
            runs=two.runs,
            names=two.names,
            pair=two.pair,
            difference=difference_text(two.pair.difference),
            chosen=two.chosen,
            changes=CHANGED,
            said=request.query_params.get("said") == "kept",
            longest_note=LONGEST_NOTE,
            note=two.note(match),
            problems=list(dict.fromkeys(view.problem for view in two.views if view.problem)),
            sheets=[[(one.evaluation.label, one.evaluation.model.name) for one in g.sheets] for g in two.graded],
            **(_question(two, match) if match else _list(two)),
        )

    async def keep_note(self, request: Request) -> Response:
        """Return a note on two runs, or on a question of theirs, in the folder of the second."""
        form = await self.form(request)
        return await run_in_threadpool(self._keep_note, request, form.get("note", ""))

    def _keep_note(self, request: Request, text: str) -> Response:
        two = self._two(request)
        if not isinstance(two, _Two):
            raise HTTPException(503, "The runs are still being read; the note was not kept. Try again in a moment.")
        place = request.path_params.get("place")
        write_note(two.views[1].path, two.key(two.match(number_in(place) - 1) if place else None), text)
        return RedirectResponse(f"{request.url.path}?{two.chosen.query()}&said=kept", 303)

    def _two(self, request: Request) -> _Two | dict[str, object]:
        """Return both runs, or what a page that waits for them shows."""
        chosen = Chosen.read(request.query_params)
        runs = [request.path_params[name] for name in ("first", "second")]
        views = {run: self._views.view(run) for run in runs}
        looked = {run: view.look(PATIENCE) for run, view in views.items()}
        known = {run: graded for run, graded in looked.items() if graded}
        names = [views[run].path.resolve().name for run in runs]
        if len(known) < len(views):
            problems = [view.problem for view in views.values() if view.problem]
            return {"pair": None, "runs": runs, "names": names, "problems": problems, "chosen": chosen, "match": None}
        graded = [known[run] for run in runs]
        sheets = fitting(graded[0].sheets, graded[1].sheets, chosen)
        both = graded[0].sheets[sheets[0]], graded[1].sheets[sheets[1]]
        key = (*(views[run].path for run in runs), graded[0].number, graded[1].number, *sheets)
        chosen = msgspec.structs.replace(chosen, a=sheets[0] + 1, b=sheets[1] + 1)
        pair = self._pairs.get(key, lambda: pair_of(*both))
        return _Two(runs, [views[run] for run in runs], graded, names, both, pair, chosen)


class _Two(Struct, frozen=True):
    """Two runs that are compared."""

    runs: Sequence[str]
    views: Sequence[RunView]
    graded: Sequence[Graded]
    names: Sequence[str]
    both: tuple[Sheet, Sheet]
    """The sheets that are compared."""
    pair: Pair
    chosen: Chosen

    @property
    def shown(self) -> Sequence[Match]:
        """The questions of the choice."""
        wanted = ("worse", "better") if self.chosen.show == "disagree" else (self.chosen.show,)
        return [
            one
            for one in self.pair.matches
            if (not self.chosen.show or one.change in wanted)
            and self.chosen.outcome in ("", *one.states)
            and is_asked(one.question, self.chosen)
        ]

    def match(self, place: int) -> Match:
        """Return the question whose answer in the first sheet is at this place. Raises HTTPException."""
        asked = place // self.both[0].evaluation.samples
        for one in self.pair.matches:
            if one.places[0] // self.both[0].evaluation.samples == asked and place >= 0:
                return one
        raise HTTPException(404, "There is no such question that both runs asked.")

    def key(self, match: Match | None) -> str:
        """Return what a note here is about: of two models of one run both are named."""
        models = " ".join(sheet.evaluation.model.name for sheet in self.both)
        other = self.names[0] if self.runs[0] != self.runs[1] else models
        return "\t".join((other, self.both[0].evaluation.label, match.question.id if match else ""))

    def note(self, match: Match | None) -> str:
        """Return the note that is kept; none where the file cannot be read, which is said when one is written."""
        with suppress(StorageError):
            known = notes_of(self.views[1].path).get(self.key(match))
            return known.text if known else ""
        return ""


def _list(two: _Two) -> dict[str, object]:
    """Return what only the list of questions shows."""
    matches, listed = paged(two.shown, two.chosen.page)
    a, b = two.chosen.a, two.chosen.b
    results = [graded.tables.results[at - 1] for graded, at in zip(two.graded, (a, b), strict=True)]
    return {
        "matches": matches,
        "turned": two.chosen.query(a=b, b=a),
        "rows": [
            msgspec.structs.replace(result, model=f"{result.model} · {name}")
            for result, name in zip(results, two.names, strict=True)
        ],
        "states": {state for result in results for state in result.overall.outcomes},
        **listed,
    }


def _question(two: _Two, match: Match) -> dict[str, object]:
    """Return what only the page of a question shows."""
    items = [
        item_of(sheet, place, graded.opened, view.answers)
        for sheet, place, graded, view in zip(two.both, match.places, two.graded, two.views, strict=True)
    ]
    spans: tuple[Spans, Spans] = ([], [])
    kind = ""
    if two.chosen.view in ("", "words"):
        compared = compare_words(*(item.answer.reply[:LONGEST] for item in items))
        spans, kind = (compared.only, "only") if compared.alike else (compared.both, "both")
    places = [one.places for one in two.shown]
    at = places.index(match.places) if match.places in places else None
    return {
        "reworded": items[0].question.text != items[1].question.text,
        "sides": [
            {
                "item": item,
                "run": run,
                "name": name if two.runs[0] != two.runs[1] else "",
                "address": f"{sheet}.{place + 1}",
                "marks": [
                    *((*span, kind) for span in spans[side]),
                    *([(*item.read, "read")] if item.read else []),
                ],
            }
            for side, (item, run, name, sheet, place) in enumerate(
                zip(items, two.runs, two.names, (two.chosen.a, two.chosen.b), match.places, strict=True)
            )
        ],
        "kind": kind,
        "found": len(places),
        "place": 0 if at is None else at + 1,
        "of_page": 1 if at is None else at // PAGE + 1,
        "before": places[at - 1][0] + 1 if at else 0,
        "after": places[at + 1][0] + 1 if at is not None and at + 1 < len(places) else 0,
    }
