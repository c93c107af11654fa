"""The pages: every text is made visible and escaped, everything works without JavaScript, nothing is written."""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from viva.errors import VivaError
from viva.files import read_regular
from viva.pages.runs import filters
from viva.pages.runs.filters import PAGE, Choices, Chosen, Place, choices, number_in, with_text, without_text
from viva.pages.runs.folders import slug
from viva.pages.runs.items import Item, item_of
from viva.pages.runs.matrix import ROWS, Matrices, MatrixChoice
from viva.pages.runs.opened import ResultRow
from viva.pages.runs.pair_pages import PATIENCE, PairPages, marks, shown_as, words
from viva.pages.runs.progress import Progress
from viva.pages.runs.run_view import STEP, Graded, RunView
from viva.pages.runs.run_views import RunViews
from viva.pages.serving.forms import FormError
from viva.pages.serving.guard import Access
from viva.pages.shell import SIGNS, number
from viva.types import outcome_name
from viva.visible import escape_invisible

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


LISTED = 50
"""Runs on a page."""
DRAWN = 60
"""Models and exams in the picture of a run's scores."""
_PARTS = frozenset({"thought", "reply", "prompt", "reading"})
VIEWS = {"rendered": "Rendered", "words": "Differences", "text": "As they came"}
"""How texts of an answer can be shown: word of the address, and what it is called."""
ITEM_VIEWS = ("rendered", "text")
COMPARE_VIEWS = ("words", "rendered", "text")
_CHUNK = 65_536
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class Pages(PairPages):
    """One method a route; Starlette runs them in threads, since they read files."""

    styles = ("viva.css", "text.css", "runs.css")
    scripts = ("tables.js", "view.js")

    def __init__(self, views: RunViews, access: Access) -> None:
        self._searches = Searches()
        self._matrices = Matrices()
        super().__init__(
            views,
            access,
            slug=slug,
            ago=ago,
            tokens=tokens,
            duration=duration,
            value_of=value_of,
            texts=VIEWS,
            alone=views.alone,
        )

    def page(self, request: Request, template: str, status: Any = 200, **values: object) -> Response:
        """A page, made now."""
        return super().page(request, template, status, now=time.time(), **values)

    def home(self, request: Request) -> Response:
        """The list of runs; where there is only one to look at, that one."""
        found = self._views.found()
        if self._views.alone and found:
            return RedirectResponse(f"/run/{found[0].slug}", 303)
        chosen = Chosen.read(request.query_params)
        found = self._views.with_words(found, chosen.text)
        pages = max(1, -(-len(found) // LISTED))
        page = min(chosen.page, pages)
        cards = self._views.cards(found[(page - 1) * LISTED : page * LISTED])
        return self.page(
            request,
            "runs.html",
            cards=cards,
            states={state for card in cards for state in card.outcomes},
            priced=any(card.record is not None and card.paid != 0 for card in cards),
            reading=any(card.results is None for card in cards),
            count=len(found),
            chosen=chosen,
            page=page,
            pages=pages,
            root=str(self._views.root),
        )

    # A run

    def run(self, request: Request) -> Response:
        """What was asked, how far it is, its tables."""
        view = self._view(request)
        graded = view.look(PATIENCE)
        choices = self._searches.choices(view, graded) if graded else None
        states = {state for state, _ in choices.outcomes} if choices else set()
        drawn = drawing_order(graded.tables.results)[:DRAWN] if graded else []
        return self.page(
            request,
            "run.html",
            **self._about(request, view),
            graded=graded,
            choices=choices,
            states=states,
            drawn=drawn,
        )

    def _about(self, request: Request, view: RunView) -> dict[str, object]:
        """What every page of a run shows of it."""
        return {
            "run": request.path_params["run"],
            "name": view.path.resolve().name,
            "path": str(view.path),
            "record": view.record(),
            "progress": view.progress(STEP),
            "problem": view.problem,
            "work": view.work,
            "waiting": view.graded is None and not view.problem,
        }

    def progress(self, request: Request) -> Response:
        """How far the run is, for the script of a page that is open while it is running."""
        return JSONResponse(live(self._view(request).progress(STEP)))

    def record(self, request: Request) -> Response:
        """run.json as it is on the disk."""
        view = self._view(request)
        try:
            content = read_regular(view.path / "run.json")
        except OSError as problem:
            raise HTTPException(404, f"cannot read {view.path / 'run.json'}: {problem.strerror}") from None
        return _as_text(content.decode("utf-8", "replace"), "run.json", download="download" in request.query_params)

    # Answers

    def answers(self, request: Request) -> Response:
        """The answers of a filter, a page at a time."""
        view, chosen = self._view(request), Chosen.read(request.query_params)
        graded = view.look(PATIENCE)
        about = self._about(request, view)
        if graded is None:
            return self.page(request, "answers.html", **about, graded=None)
        found = self._searches.find(view, graded, chosen)
        pages = max(1, -(-len(found) // PAGE))
        page = min(chosen.page, pages)
        rows = [self._line(graded, place) for place in found[(page - 1) * PAGE : page * PAGE]]
        return self.page(
            request,
            "answers.html",
            **about,
            graded=graded,
            chosen=chosen,
            choices=self._searches.choices(view, graded),
            rows=rows,
            found=len(found),
            page=page,
            pages=pages,
        )

    def _line(self, graded: Graded, place: filters.Place) -> dict[str, object]:
        sheet = graded.sheets[place[0]]
        question, sample = sheet.question(place[1])
        return {
            "address": f"{place[0] + 1}.{place[1] + 1}",
            "question": question,
            "sample": sheet.sample_name(sample) if sheet.evaluation.samples > 1 else "",
            "exam": sheet.evaluation.label,
            "model": sheet.evaluation.model.name,
            "row": sheet.rows[place[1]],
            "state": filters.state(sheet, place[1]),
        }

    def item(self, request: Request) -> Response:
        """One answer."""
        view, chosen = self._view(request), Chosen.read(request.query_params)
        graded = view.look(PATIENCE)
        about = self._about(request, view)
        if graded is None:
            return self.page(request, "item.html", **about, graded=None)
        place, item = self._place(request, view, graded)
        found = self._searches.find(view, graded, chosen)
        at = self._searches.position(found, place)
        before = found[at - 1] if at else None
        after = found[at + 1] if at is not None and at + 1 < len(found) else None
        sheet = graded.sheets[place[0]]
        first = place[1] - item.sample
        samples = range(first, first + item.samples if item.samples > 1 else first)
        others = [
            (number, other.evaluation.model.name, filters.state(other, place[1]), number == place[0])
            for number, other in enumerate(graded.sheets)
            if other.evaluation.exam is sheet.evaluation.exam
        ]
        return self.page(
            request,
            "item.html",
            **about,
            graded=graded,
            chosen=chosen,
            item=item,
            address=f"{place[0] + 1}.{place[1] + 1}",
            number_in_list=at + 1 if at is not None else 0,
            found=len(found),
            before=_address(before),
            after=_address(after),
            samples=[
                (f"{place[0] + 1}.{one + 1}", sheet.sample_name(one - first), filters.state(sheet, one))
                for one in samples
            ],
            sample_name=sheet.sample_name(item.sample),
            others=[(f"{n + 1}.{place[1] + 1}", name, said, here) for n, name, said, here in others],
            signature=graded.opened.signatures[place[0]],
            look=shown_as(request, ITEM_VIEWS),
            other=next((n + 1 for n, _, _, here in others if not here), 0),
        )

    # Questions by models

    def matrix(self, request: Request) -> Response:
        """The questions of an exam by models."""
        view, choice = self._view(request), MatrixChoice.read(request.query_params)
        graded = view.look(PATIENCE)
        about = self._about(request, view)
        if graded is None:
            return self.page(request, "matrix.html", **about, graded=None)
        made = self._matrices.of(view, graded, choice)
        pages = max(1, -(-len(made.rows) // ROWS))
        page = min(choice.chosen.page, pages)
        return self.page(
            request,
            "matrix.html",
            **about,
            graded=graded,
            choice=choice,
            chosen=choice.chosen,
            choices=self._searches.choices(view, graded),
            matrix=made,
            rows=made.rows[(page - 1) * ROWS : page * ROWS],
            design=graded.sheets[0].evaluation.exam.spec.vary is not UNSET,
            numbers=[column.number + 1 for column in made.columns],
            samples=graded.sheets[made.columns[0].number].evaluation.samples if made.columns else 1,
            kinds={state: f"is-{outcome_name(state).replace(' ', '-')}" for state in SIGNS},
            page=page,
            pages=pages,
        )

    def compare(self, request: Request) -> Response:
        """Two models' answers to the same question, side by side."""
        view, choice = self._view(request), MatrixChoice.read(request.query_params)
        graded = view.look(PATIENCE)
        about = self._about(request, view)
        if graded is None:
            return self.page(request, "compare.html", **about, graded=None)
        numbers = [number_in(request.query_params.get(name, "")) - 1 for name in ("a", "b")]
        within = number_in(request.path_params["place"]) - 1
        sheets = graded.sheets
        if not all(0 <= number < len(sheets) for number in numbers):
            raise HTTPException(404, "Say two models of this run: ?a=1&b=2.")
        first = sheets[numbers[0]]
        if first.evaluation.exam is not sheets[numbers[1]].evaluation.exam or not 0 <= within < len(first):
            raise HTTPException(404, "There is no such question that both models were asked.")
        items = [item_of(sheets[number], within, graded.opened, view.answers) for number in numbers]
        look = shown_as(request, COMPARE_VIEWS)
        spans_of, kind = words(items, look)
        sides = [
            {
                "item": item,
                "run": request.path_params["run"],
                "name": "",
                "number": number + 1,
                "address": f"{number + 1}.{within + 1}",
                "marks": marks(item, spans, kind),
            }
            for item, number, spans in zip(items, numbers, spans_of, strict=True)
        ]
        made = self._matrices.of(view, graded, choice)
        rows = [row.number for row in made.rows]
        asked = within // first.evaluation.samples
        at = rows.index(asked) if asked in rows else None
        step = first.evaluation.samples
        return self.page(
            request,
            "compare.html",
            **about,
            graded=graded,
            choice=choice,
            question=items[0].question,
            exam=first.evaluation.label,
            sample_name=first.sample_name(items[0].sample) if items[0].samples > 1 else "",
            sides=sides,
            look=look,
            kind=kind,
            within=within + 1,
            before=rows[at - 1] * step + 1 if at else 0,
            after=rows[at + 1] * step + 1 if at is not None and at + 1 < len(rows) else 0,
            place=at + 1 if at is not None else 0,
            found=len(rows),
            rows=ROWS,
            others=[
                (number + 1, other.evaluation.model.name, filters.state(other, within))
                for number, other in enumerate(sheets)
                if other.evaluation.exam is first.evaluation.exam
            ],
        )

    def _place(self, request: Request, view: RunView, graded: Graded) -> tuple[filters.Place, Item]:
        number, _, within = request.path_params["place"].partition(".")
        if not (number.isascii() and number.isdecimal() and within.isascii() and within.isdecimal()):
            raise HTTPException(404, "There is no such answer.")
        sheet, place = int(number[:9]) - 1, int(within[:12]) - 1
        if not (0 <= sheet < len(graded.sheets) and 0 <= place < len(graded.sheets[sheet])):
            raise HTTPException(404, "There is no such answer in this run.")
        return (sheet, place), item_of(graded.sheets[sheet], place, graded.opened, view.answers)

    def text(self, request: Request) -> Response:
        """A text of an answer, whole: as visible characters to look at, or exactly as it came to keep."""
        view, part = self._view(request), request.path_params["part"]
        graded = view.look(PATIENCE)
        if graded is None or part not in _PARTS:
            raise HTTPException(404, "There is no such text, or not yet.")
        (sheet, place), item = self._place(request, view, graded)
        texts = {
            "thought": item.thought,
            "reply": item.reply,
            "prompt": item.prompt,
            "reading": item.score.explanation,
        }
        content = texts[part]
        name = f"{part}-{sheet + 1}.{place + 1}.txt"
        return _as_text(content, name, download="download" in request.query_params)

    # The rest

    def _view(self, request: Request) -> RunView:
        return self._views.view(request.path_params["run"])

    def status(self, problem: Exception) -> int:
        """Of what is not there (any more) 404."""
        return (
            super().status(problem)
            if isinstance(problem, FormError)
            else 404
            if isinstance(problem, VivaError)
            else 400
        )

    async def refused(self, request: Request, problem: Exception) -> Response:
        """A page that says what was wrong; to the script that asks for progress a sentence."""
        if not request.url.path.endswith("/progress.json"):
            return await super().refused(request, problem)
        known = isinstance(problem, HTTPException)
        sentence = problem.detail if isinstance(problem, HTTPException) else str(problem)
        status = getattr(problem, "status_code", 0) if known else self.status(problem)
        return JSONResponse({"problem": escape_invisible(sentence)}, status)


def drawing_order(results: Sequence[ResultRow]) -> list[ResultRow]:
    """Exam by exam, the best model first."""
    exams = list(dict.fromkeys(one.exam for one in results))
    return sorted(results, key=lambda one: (-exams.index(one.exam), one.estimate.order), reverse=True)


def _address(place: filters.Place | None) -> str:
    return "" if place is None else f"{place[0] + 1}.{place[1] + 1}"


def _as_text(content: str, name: str, *, download: bool) -> Response:
    """Plain text under a name of ours. To look at: with what cannot be seen spelled out. To keep: as it is."""

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(content), _CHUNK):
            piece = content[start : start + _CHUNK]
            yield (piece if download else escape_invisible(piece)).encode("utf-8", "replace")

    how = "attachment" if download else "inline"
    # A page of plain text runs nothing; `sandbox` holds even where a browser is told to see something else in it.
    headers = {"Content-Disposition": f'{how}; filename="{name}"', "X-Download-Options": "noopen"}
    return StreamingResponse(chunks(), media_type="text/plain; charset=utf-8", headers=headers)


def live(progress: Progress) -> dict[str, object]:
    """What the script shows of a run's progress; the same words as the template's."""
    return {
        "state": progress.state,
        "sentence": progress.sentence,
        "answered": number(progress.answered),
        "failed": number(progress.failed),
        "left": number(progress.left),
        "total": number(progress.total),
        "done": progress.answered,
        "of": progress.total,
        "rate": number(round(progress.rate)),
        "remaining": duration(progress.seconds_left),
        "input": tokens(progress.input_tokens, progress.uncounted),
        "output": tokens(progress.output_tokens, progress.uncounted),
        "stages": {name: number(count) for name, count in progress.stages.items()},
        "parts": [
            [part.model, part.exam, number(part.answered), number(part.failed), number(part.left)]
            for part in progress.parts
        ],
    }


def tokens(counted: int, uncounted: int) -> str:
    """`12,345`, and of how many answers nobody knows; `unknown` where that is all of them."""
    if not uncounted:
        return number(counted)
    return f"{number(counted)} + unknown of {number(uncounted)} answers" if counted else "unknown"


def value_of(text: str) -> str:
    """The number that a table's cell begins with, for sorting; "" where it begins with none."""
    found = _NUMBER.match(text.strip())
    return found[0].replace(",", "") if found else ""


def duration(seconds: float) -> str:
    """About how long: 40 s, 12 min, 3 h 20 min; "" for nothing."""
    if seconds <= 0:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60:,} h {minutes % 60} min"


def ago(then: float, now: float) -> str:
    """How long ago, or the day."""
    if not then:
        return "–"
    if now - then < 86_400:
        return f"{duration(max(1.0, now - then))} ago"
    return time.strftime("%Y-%m-%d", time.localtime(then))
