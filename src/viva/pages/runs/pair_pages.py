"""Pages that compare two runs, or two models of one run.

Replies are compared word by word: words in only one of them, and in both.
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
from viva.pages.answerindex import CHANGES, Chosen, number_in
from viva.pages.runs.answerfilters import Answers, Place, QuestionRow, question_rows, wanted
from viva.pages.runs.gradedrows import Sheet, item_of
from viva.pages.runs.run_views import Graded, RunView, RunViews
from viva.pages.serving.guard import Access
from viva.pages.shell import Kept, Served, around, paged
from viva.web.pagetemplates import LONGEST

NOTES = "notes.json"
"""File of users' notes on a run, by subject; not part of results or signatures."""
LONGEST_NOTE = 4_000
_MOST = 1_000
"""The most notes of a run."""
_WRITING = threading.Lock()
"""Several threads serve pages, and adding a note rewrites the file."""


class Pair(Struct, frozen=True):
    """Two sheets, question by question."""

    matches: Sequence[QuestionRow]
    """Questions that got worse, by most first; then better, not comparable, and unchanged ones."""
    counts: Mapping[str, int]
    apart: Sequence[int]
    """Number of questions asked in only the first, and only the second."""
    difference: Difference
    answers: Answers


def fitting(first: Sequence[Sheet], second: Sequence[Sheet], chosen: Chosen) -> tuple[int, int]:
    """Return the numbers of the two sheets to compare: the chosen ones, else the first of equal exam and model, or of
    equal exam.

    Raises DataError if they have no exam in common.
    """
    asked = [(number,) if 0 < number <= len(sheets) else range(1, len(sheets) + 1)
              for number, sheets in ((chosen.a, first), (chosen.b, second))]  # fmt: skip
    other = first is second and not (chosen.a and chosen.b)
    pairs = [(a - 1, b - 1) for a in asked[0] for b in asked[1] if not (other and a == b)]

    def in_common(pair: tuple[int, int]) -> int:
        left, right = first[pair[0]].evaluation, second[pair[1]].evaluation
        return 2 * (left.exam.spec.benchmark == right.exam.spec.benchmark) + 4 * (left.label == right.label) + (
            left.model.name == right.model.name
        )  # fmt: skip

    best = max(pairs, key=in_common, default=None)
    if best is None or in_common(best) < 2:
        raise DataError("these runs have no exam in common: choose two that asked the same questions")
    return best


def pair_of(*sheets: Sheet) -> Pair:
    """Return the questions that two sheets share."""
    matches = question_rows(sheets)
    matches.sort(key=lambda match: (CHANGES.index(match.change), -abs(match.difference or 0.0)))
    first, second = map(_questions, sheets)
    return Pair(
        matches=matches,
        counts=Counter(match.change for match in matches),
        apart=[len(sheet.questions) - len(matches) for sheet in sheets],
        difference=compared(paired(first, second, sheets[0].evaluation.exam.headline().over)),
        answers=Answers(sheets),
    )


def _questions(sheet: Sheet) -> Columns:
    headline = sheet.evaluation.exam.headline()
    return Breakdown(frame(sheet.rows), headline.attempts).questions(headline)


class Note(Struct, omit_defaults=True):
    """A note: its text and time (seconds since 1970)."""

    text: str
    at: float = 0.0


def notes_of(folder: Path) -> dict[str, Note]:
    """Return all notes in a run's folder. Raises StorageError for an invalid file."""
    try:
        return msgspec.json.decode(read_regular(folder / NOTES), type=dict[str, Note])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as problem:
        raise StorageError(f"cannot read {folder / NOTES} ({problem}): move it away to write notes here") from None


def write_note(folder: Path, key: str, text: str) -> None:
    """Write a note, or delete it if `text` is empty. Raises StorageError."""
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
"""Words of a reply that are compared; the rest is not marked."""
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")

Spans = list[tuple[int, int]]


def compare_words(first: str, second: str) -> tuple[str, dict[str, tuple[Spans, Spans]]]:
    """Compare two texts by words, numbers and signs: return the parts (start, end) of each that are in `only` one of
    them, in its order, and in `both`; and which of the two to mark, the fewer.

    difflib's popular words (over one per cent of 200 and more) begin no match, which also bounds the time.
    """
    places = [[word.span() for word in _WORD.finditer(text)][:LONGEST_COMPARED] for text in (first, second)]
    mine, theirs = ([text[a:b] for a, b in own] for text, own in zip((first, second), places, strict=True))
    parts: dict[str, tuple[Spans, Spans]] = {"only": ([], []), "both": ([], [])}
    marked = Counter[str]()
    begin = 0, 0
    for block in SequenceMatcher(None, mine, theirs).get_matching_blocks():  # the last one is empty, at the ends
        same = places[0][block.a : block.a + block.size]
        if same and not any(first[start].isalnum() for start, _ in same):
            continue  # a bracket between two changes is part of them
        ends = block.a, block.b
        for side, own in enumerate(places):
            start, end = begin[side], ends[side]
            for kind, part in (("only", own[start:end]), ("both", own[end : end + block.size])):
                if part:
                    span = part[0][0], part[-1][1]
                    parts[kind][side].append(span)
                    marked[kind] += span[1] - span[0]
        begin = block.a + block.size, block.b + block.size
    return "only" if marked["both"] >= marked["only"] else "both", parts


PATIENCE = 1.2
"""Seconds that a page waits for the first grading before it shows progress and reloads by itself."""


class PairPages(Served):
    """One method a route."""

    def __init__(self, views: RunViews, access: Access, **more: object) -> None:
        super().__init__(access, **more)
        self._views = views
        self._pairs = Kept[Pair](2)

    def choose_pair(self, request: Request) -> Response:
        """Return a redirect to the page of the two runs chosen in the list, the older one first."""
        chosen = dict.fromkeys(request.query_params.getlist("run"))
        known = {entry.slug: entry.changed for entry in self._views.found() if entry.slug in chosen}
        if len(known) != 2:
            raise HTTPException(400, "Choose two runs in the list, then compare them.")
        first, second = sorted(known, key=lambda slug: (known[slug], slug))
        return RedirectResponse(f"/pair/{first}/{second}", 303)

    def pair(self, request: Request) -> Response:
        """Return the page of two runs, worse questions first; or of a question in both, with the replies'
        differences.
        """
        from viva.studies.compare.tables import difference_text  # here: of this page alone

        shown, two = self._two(request)
        if two is None:
            return self.page_with_form(request, "pair.html", **shown)
        match = two.match(request)
        shown |= {
            "match": match,
            "pair": two.pair,
            "difference": difference_text(two.pair.difference),
            "chosen": two.chosen,
            "said": request.query_params.get("said") == "kept",
            "longest_note": LONGEST_NOTE,
            "note": two.note(match),
            "sheets": [[(sheet.evaluation.label, sheet.evaluation.model.name) for sheet in side.graded.sheets]
                       for side in two.sides],
        }  # fmt: skip
        return self.page_with_form(request, "pair.html", **shown, **(_question(two, match) if match else _list(two)))

    async def keep_note(self, request: Request) -> Response:
        """Write a note on two runs, or on a question of theirs, to the second's folder."""
        form = await self.form(request)
        return await run_in_threadpool(self._keep_note, request, form.get("note", ""))

    def _keep_note(self, request: Request, text: str) -> Response:
        _, two = self._two(request)
        if two is None:
            raise HTTPException(503, "The runs are still being read; the note was not kept. Try again in a moment.")
        write_note(two.sides[1].view.path, two.key(two.match(request)), text)
        return RedirectResponse(f"{request.url.path}?{two.chosen.query()}&said=kept", 303)

    def _two(self, request: Request) -> tuple[dict[str, object], _Two | None]:
        """Return the values that the page of two runs also shows while waiting, and both runs once graded, else
        None.
        """
        chosen = Chosen.read(request.query_params)
        runs = [request.path_params[name] for name in ("first", "second")]
        views = {run: self._views.view(run) for run in runs}
        looked = {run: view.look(PATIENCE) for run, view in views.items()}
        problems = dict.fromkeys(view.problem for view in views.values() if view.problem)
        names = [views[run].path.resolve().name for run in runs]
        shown: dict[str, object] = {
            "pair": None, "match": None, "runs": runs, "names": names, "problems": problems, "chosen": chosen
        }  # fmt: skip
        graded = [known for run in runs if (known := looked[run])]
        if len(graded) < len(runs):
            return shown, None
        numbers = fitting(graded[0].sheets, graded[1].sheets, chosen)
        first, second = (
            _Side(run, views[run], known, number) for run, known, number in zip(runs, graded, numbers, strict=True)
        )
        key = tuple((side.view.path, side.graded.number, side.number) for side in (first, second))
        pair = self._pairs.get(key, lambda: pair_of(first.sheet, second.sheet))
        chosen = msgspec.structs.replace(chosen, a=first.number + 1, b=second.number + 1)
        return shown, _Two((first, second), pair, chosen)


class _Side(Struct, frozen=True):
    """One of two compared runs, or of two models of one run."""

    run: str
    """The run's name in URLs."""
    view: RunView
    graded: Graded
    number: int
    """Number of the compared sheet."""

    @property
    def sheet(self) -> Sheet:
        """The compared answers."""
        return self.graded.sheets[self.number]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return self.view.path.resolve().name


class _Two(Struct, frozen=True):
    """Two compared runs."""

    sides: tuple[_Side, _Side]
    pair: Pair
    chosen: Chosen

    @property
    def apart(self) -> bool:
        """Whether they are different runs, not two models of one."""
        return self.sides[0].run != self.sides[1].run

    @property
    def shown(self) -> Sequence[QuestionRow]:
        """The filtered questions."""
        return wanted(self.pair.matches, self.pair.answers, (0, 1), self.chosen)

    def match(self, request: Request) -> QuestionRow | None:
        """Return the question in the URL, identified by its answer in the first sheet; None without one. Raises
        HTTPException.
        """
        if not (place := request.path_params.get("place")):
            return None
        for candidate in self.pair.matches:
            if 0 <= number_in(place) - 1 - candidate.cells[0].first < len(candidate.cells[0].states):
                return candidate
        raise HTTPException(404, "There is no such question that both runs asked.")

    def key(self, match: QuestionRow | None) -> str:
        """Return the key of a note on this comparison: of two models of one run it names both."""
        models = " ".join(side.sheet.evaluation.model.name for side in self.sides)
        first = self.sides[0]
        other = first.name if self.apart else models
        return "\t".join((other, first.sheet.evaluation.label, match.question.id if match else ""))

    def note(self, match: QuestionRow | None) -> str:
        """Return the stored note; "" if the file is unreadable, which is reported when a note is written."""
        with suppress(StorageError):
            known = notes_of(self.sides[1].view.path).get(self.key(match))
            return known.text if known else ""
        return ""


def _list(two: _Two) -> dict[str, object]:
    """Return the values for the list of questions."""
    matches, listed = paged(two.shown, two.chosen.page)
    rows = [
        msgspec.structs.replace(result, model=f"{result.model} · {side.name}")
        for side in two.sides
        for result in (side.graded.tables.results[side.number],)
    ]
    return {
        "matches": matches,
        "turned": two.chosen.query(a=two.chosen.b, b=two.chosen.a),
        "rows": rows,
        "states": {state for row in rows for state in row.overall.outcomes},
        **listed,
    }


def _question(two: _Two, match: QuestionRow) -> dict[str, object]:
    """Return the values for the page of a question."""
    both = list(zip(two.sides, match.places, strict=True))
    items = [item_of(side.sheet, place, side.graded.opened, side.view.answers) for side, place in both]
    kind = ""
    parts: Mapping[str, tuple[Spans, Spans]] = {kind: ([], [])}
    if two.chosen.view in ("", "words"):
        kind, parts = compare_words(*(item.answer.reply[:LONGEST] for item in items))
    return {
        "reworded": items[0].answer.asked != items[1].answer.asked,
        "sides": [
            {
                "item": item,
                "run": side.run,
                "name": side.name if two.apart else "",
                "address": Place(side.number, place),
                "marks": [*((*span, kind) for span in own), *([(*item.read, "read")] if item.read else [])],
            }
            for (side, place), item, own in zip(both, items, parts[kind], strict=True)
        ],
        "kind": kind,
        **around([match_shown.places[0] + 1 for match_shown in two.shown], match.places[0] + 1, str),
    }
