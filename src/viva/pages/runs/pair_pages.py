"""The pages of two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from viva.errors import StorageError
from viva.pages.runs.comparing import Spans, compare_words
from viva.pages.runs.filters import PAGE, number_in
from viva.pages.runs.grading import Sheet
from viva.pages.runs.items import Item, item_of
from viva.pages.runs.opened import ResultRow
from viva.pages.runs.pairs import (
    LONGEST_NOTE,
    Match,
    Pair,
    PairChoice,
    fitting,
    note_key,
    notes_of,
    pair_of,
    write_note,
)
from viva.pages.runs.run_view import Graded, RunView
from viva.pages.runs.run_views import RunViews
from viva.pages.serving.guard import Access
from viva.pages.shell import Served
from viva.studies.compare.tables import difference_text
from viva.web.text import LONGEST

PATIENCE = 1.2
"""Seconds that a page waits for a first grading; then it says how far that is, and asks again by itself."""


class PairPages(Served):
    """One method a route."""

    def __init__(self, views: RunViews, access: Access, **more: object) -> None:
        super().__init__(access, **more)
        self._views = views
        self._pairs: dict[tuple[object, ...], Pair] = {}

    def choose_pair(self, request: Request) -> Response:
        """The two runs that were chosen in the list, the older one first."""
        chosen = dict.fromkeys(request.query_params.getlist("run"))
        known = {one.slug: one.changed for one in self._views.found() if one.slug in chosen}
        if len(known) != 2:
            raise HTTPException(400, "Choose two runs in the list, then compare them.")
        first, second = sorted(known, key=lambda one: (known[one], one))
        return RedirectResponse(f"/pair/{first}/{second}", 303)

    def pair(self, request: Request) -> Response:
        """Two runs: what got worse first."""
        choice = PairChoice.read(request.query_params)
        two = self._two(request, choice)
        if not isinstance(two, _Two):
            return self.page_with_form(request, "pair.html", **two)
        shown = two.shown
        pages = max(1, -(-len(shown) // PAGE))
        page = min(choice.page, pages)
        results = [graded.tables.results[at] for graded, at in zip(two.graded, two.sheets, strict=True)]
        return self.page_with_form(
            request,
            "pair.html",
            **two.about(request),
            problems=[view.problem for view in two.views if view.problem],
            turned=msgspec.structs.replace(choice, a=choice.b, b=choice.a).query(),
            sheets=[[(one.evaluation.label, one.evaluation.model.name) for one in g.sheets] for g in two.graded],
            rows=[
                ResultRow(exam=result.exam, model=f"{result.model} · {name}", estimate=result.estimate)
                for result, name in zip(results, two.names, strict=True)
            ],
            states={state for result in results for state in result.estimate.outcomes},
            matches=shown[(page - 1) * PAGE : page * PAGE],
            first=(page - 1) * PAGE + 1,
            page=page,
            pages=pages,
            note=two.note(),
        )

    def pair_item(self, request: Request) -> Response:
        """A question in two runs: both replies, with what differs."""
        choice = PairChoice.read(request.query_params)
        two = self._two(request, choice)
        if not isinstance(two, _Two):
            return self.page_with_form(request, "pair.html", **two)
        match = two.match(number_in(request.path_params["place"]) - 1)
        at = next((place for place, one in enumerate(two.shown) if one.places == match.places), None)
        sheets = two.both
        items = [
            item_of(sheet, place, graded.opened, view.answers)
            for sheet, place, graded, view in zip(sheets, match.places, two.graded, two.views, strict=True)
        ]
        look = shown_as(request, ("words", "rendered"))
        spans_of, kind = words(items, look)
        sides = [
            {
                "item": item,
                "run": run,
                "name": name,
                "address": f"{sheet + 1}.{place + 1}",
                "marks": marks(item, spans, kind),
            }
            for item, run, name, sheet, place, spans in zip(
                items, two.runs, two.names, two.sheets, match.places, spans_of, strict=True
            )
        ]
        steps = [one.places[0] + 1 for one in two.shown]
        return self.page_with_form(
            request,
            "pair_item.html",
            **two.about(request),
            match=match,
            reworded=items[0].prompt != items[1].prompt and items[0].question.text != items[1].question.text,
            sides=sides,
            look=look,
            kind=kind,
            place=at + 1 if at is not None else 0,
            page=at // PAGE + 1 if at is not None else 1,
            before=steps[at - 1] if at else 0,
            after=steps[at + 1] if at is not None and at + 1 < len(steps) else 0,
            note=two.note(match.question.id),
        )

    async def keep_note(self, request: Request) -> Response:
        """A note on two runs, or on a question of theirs, in the folder of the second."""
        form = await self.form(request)
        return await run_in_threadpool(self._keep_note, request, form.get("note", ""))

    def _keep_note(self, request: Request, text: str) -> Response:
        choice = PairChoice.read(request.query_params)
        two = self._two(request, choice)
        if not isinstance(two, _Two):
            raise HTTPException(503, "The runs are still being read; the note was not kept. Try again in a moment.")
        place = request.path_params.get("place")
        question = two.match(number_in(place) - 1).question.id if place else ""
        write_note(two.views[1].path, two.key(question), text)
        return RedirectResponse(f"{request.url.path}?{choice.query()}&said=kept", 303)

    def _two(self, request: Request, choice: PairChoice) -> _Two | dict[str, object]:
        """Both runs, or what a page that waits for them shows."""
        runs = [request.path_params[name] for name in ("first", "second")]
        views = [self._views.view(run) for run in runs]
        graded = [view.look(PATIENCE) for view in views]
        names = [view.path.resolve().name for view in views]
        problems = [view.problem for view in views if view.problem]
        if graded[0] is None or graded[1] is None:
            return {"pair": None, "runs": runs, "names": names, "problems": problems, "turned": ""}
        sheets = fitting(graded[0].sheets, graded[1].sheets, choice)
        key = (*(view.path for view in views), graded[0].number, graded[1].number, *sheets)
        made = self._pairs.get(key)
        if made is None:
            made = pair_of(graded[0].sheets[sheets[0]], graded[1].sheets[sheets[1]])
            self._pairs = {key: made}
        choice = msgspec.structs.replace(choice, a=sheets[0] + 1, b=sheets[1] + 1)
        return _Two(runs, views, [graded[0], graded[1]], names, sheets, made, choice)


class _Two(Struct, frozen=True):
    """Two runs that are compared."""

    runs: Sequence[str]
    views: Sequence[RunView]
    graded: Sequence[Graded]
    names: Sequence[str]
    sheets: tuple[int, int]
    pair: Pair
    choice: PairChoice

    @property
    def both(self) -> tuple[Sheet, Sheet]:
        """The sheets that are compared."""
        return self.graded[0].sheets[self.sheets[0]], self.graded[1].sheets[self.sheets[1]]

    @property
    def shown(self) -> Sequence[Match]:
        """The questions of the choice."""
        return [one for one in self.pair.matches if self.choice.show in ("", one.change)]

    def match(self, place: int) -> Match:
        """The question whose answer in the first sheet is at this place. Raises HTTPException."""
        asked = place // self.both[0].evaluation.samples
        for one in self.pair.matches:
            if one.places[0] // self.both[0].evaluation.samples == asked and place >= 0:
                return one
        raise HTTPException(404, "There is no such question that both runs asked.")

    def key(self, question: str = "") -> str:
        """What a note here is about."""
        return note_key(self.names[0], self.both[0].evaluation.label, question)

    def note(self, question: str = "") -> str:
        """The note that is kept; none where the file cannot be read, which is said when one is written."""
        with suppress(StorageError):
            known = notes_of(self.views[1].path).get(self.key(question))
            return known.text if known else ""
        return ""

    def about(self, request: Request) -> dict[str, object]:
        """What the pages of two runs show of them."""
        return {
            "runs": self.runs,
            "names": self.names,
            "pair": self.pair,
            "difference": difference_text(self.pair.difference),
            "choice": self.choice,
            "changes": CHANGED,
            "found_count": len(self.shown),
            "said": request.query_params.get("said") == "kept",
            "longest_note": LONGEST_NOTE,
        }


CHANGED = {"worse": "worse", "better": "better", "unscored": "not to be compared", "same": "as before"}
"""What became of a question in the second run, in words."""


def words(items: Sequence[Item], look: str) -> tuple[tuple[Spans, Spans], str]:
    """The words to mark in two replies, and as what: those that only one has, or that both have."""
    if look != "words":
        return ([], []), ""
    compared = compare_words(items[0].reply[:LONGEST], items[1].reply[:LONGEST])
    return (compared.only, "only") if compared.alike else (compared.both, "both")


def marks(item: Item, spans: Spans, kind: str) -> list[tuple[int, int, str]]:
    """Parts of a reply to mark: (start, end, class)."""
    return [*((*span, kind) for span in spans), *([(*item.read, "read")] if item.read else [])]


def shown_as(request: Request, known: Sequence[str]) -> str:
    """How texts are shown: one of `known`, the first of them unless the address says another."""
    said = request.query_params.get("view", "")
    return said if said in known else known[0]
