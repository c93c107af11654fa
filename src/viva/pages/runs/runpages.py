"""Pages of runs: every text is escaped, with invisible characters shown; all works without JavaScript; nothing is
written.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from viva.engine.answerrecord import thought_size
from viva.errors import VivaError
from viva.files import read_regular
from viva.pages.answerindex import Chosen, number_in
from viva.pages.runs.answerfilters import ROWS, Matrix, Place, matrix
from viva.pages.runs.gradedrows import Item, item_of
from viva.pages.runs.pair_pages import PATIENCE, PairPages
from viva.pages.runs.run_views import STEP, Card, Graded, RunView, RunViews
from viva.pages.serving.guard import Access, Guard
from viva.pages.shell import SIGNS, SITE_SCRIPTS, SITE_STYLES, Kept, around, paged
from viva.runs.following import RunEntry, slug
from viva.types import outcome_name
from viva.visible import dollars, escape_invisible

_KINDS = {"html": "text/html", "csv": "text/csv", "json": "application/json"}


class Pages(PairPages):
    """One method a route; Starlette runs them in threads, since they read files."""

    styles = ("viva.css", "text.css", "runs.css")
    scripts = ("tables.js", "view.js")
    more = (*SITE_STYLES, *SITE_SCRIPTS)

    def __init__(self, views: RunViews, access: Access) -> None:
        self._found = Kept[Sequence[Place]]()
        self._matrices = Kept[Matrix](8)
        self._sites = Kept[Mapping[str, Callable[[], str]]](1)
        super().__init__(
            views,
            access,
            slug=slug,
            ago=ago,
            tokens=tokens,
            duration=duration,
            alone=views.alone,
            thought_size=thought_size,
        )

    def page(self, request: Request, template: str, status: Any = 200, **values: object) -> Response:
        """Return a page, with the current time."""
        return super().page(request, template, status, now=time.time(), **values)

    def home(self, request: Request) -> Response:
        """Return the list of runs, or the only run."""
        entries = self._views.found()
        if self._views.alone and entries:
            return RedirectResponse(f"/run/{entries[0].slug}", 303)
        chosen = Chosen.read(request.query_params)
        runs, listed = paged(self._views.with_words(entries, chosen.text), chosen.page)
        cards = self._views.cards(runs)
        return self.page(
            request,
            "runs.html",
            chosen=chosen,
            folder=str(self._views.root),
            **listing(cards),
            **listed,
        )

    def leaderboard(self, request: Request) -> Response:
        """Return a file of the leaderboard of all runs here, as `viva leaderboard` writes it; scores link to
        answers.
        """
        entries = self._views.found()
        files = self._sites.get(tuple(entries), lambda: self._site(entries))
        path = request.path_params["path"] or "index.html"
        if path not in files:
            raise HTTPException(404, "The leaderboard has no such page.")
        return Response(files[path](), media_type=_KINDS[path.rpartition(".")[2]])

    def _site(self, entries: Sequence[RunEntry]) -> Mapping[str, Callable[[], str]]:
        from viva.pages.leaderboard.sitepages import SitePages
        from viva.pages.leaderboard.study import LeaderboardConfig, site_files, study

        answers = {entry.path.name: f"../run/{entry.slug}/answers?" for entry in entries}
        ranking = study(LeaderboardConfig(sources=(self._views.root,) if entries else ())).found  # else the papers'
        return dict(site_files(SitePages(ranking.site, answers, "../", served=True)))

    # A run

    def of_run(
        self,
        template: str,
        shows: Callable[[Request, RunView, Graded, Chosen], dict[str, object]],
        request: Request,
    ) -> Response:
        """Return a page of a run: the common values, and once it is graded those from `shows`."""
        view, chosen = self._view(request), Chosen.read(request.query_params)
        graded = view.look(PATIENCE)
        return self.page(
            request,
            template,
            run=request.path_params["run"],
            name=view.path.resolve().name,
            path=str(view.path),
            record=view.record(),
            progress=view.progress(STEP),
            problem=view.problem,
            work=view.work,
            waiting=view.graded is None and not view.problem,
            graded=graded,
            chosen=chosen,
            **(shows(request, view, graded, chosen) if graded else {}),
        )

    def run(self, request: Request, view: RunView, graded: Graded, chosen: Chosen) -> dict[str, object]:
        """Return the values of the run's main page: its tables."""
        return {"several": len({sheet.evaluation.model.name for sheet in graded.sheets}) > 1}

    def _search(self, view: RunView, graded: Graded, chosen: Chosen) -> Sequence[Place]:
        """Return the answers of a filter, in its order. Raises StorageError where a search cannot read them."""

        def find() -> Sequence[Place]:
            with view.answers.reading() as reader:
                return graded.index.find(chosen, reader)

        return self._found.get((view.path, graded.number, chosen.query(view="")), find)

    def live(self, request: Request) -> Response:
        """Return the run's progress, for the script of a page that is open during the run."""
        view = self._view(request)
        run = request.path_params["run"]
        return self.page(request, "live.html", run=run, path=str(view.path), progress=view.progress(STEP))

    def record(self, request: Request) -> Response:
        """Return run.json as it is on the disk."""
        view = self._view(request)
        try:
            content = read_regular(view.path / "run.json")
        except OSError as problem:
            raise HTTPException(404, f"cannot read {view.path / 'run.json'}: {problem.strerror}") from None
        return _as_text(content.decode("utf-8", "replace"), "run.json", download="download" in request.query_params)

    # Answers

    def answers(self, request: Request, view: RunView, graded: Graded, chosen: Chosen) -> dict[str, object]:
        """Return the values of a page of the filtered answers."""
        places, listed = paged(self._search(view, graded, chosen), chosen.page)
        return {"facets": graded.index.facets, "places": places, **listed}

    def item(self, request: Request, view: RunView, graded: Graded, chosen: Chosen) -> dict[str, object]:
        """Return the values of the page of one answer."""
        place, item = self._place(request, view, graded)
        sheet = graded.sheets[place.sheet]
        first = place.at - item.answer.row.sample
        others = [Place(number, place.at) for number, other in enumerate(graded.sheets)
                  if other.evaluation.exam is sheet.evaluation.exam]  # fmt: skip
        return {
            "item": item,
            "address": place,
            "sheet": sheet,
            "samples": [Place(place.sheet, first + sample) for sample in range(item.samples)],
            "others": others,
            "look": "text" if chosen.view == "text" else "rendered",
            "other": next((other.sheet + 1 for other in others if other != place), 0),
            **around(self._search(view, graded, chosen), place, str),
        }

    # Questions by models

    def matrix(self, request: Request, view: RunView, graded: Graded, chosen: Chosen) -> dict[str, object]:
        """Return the values of the page of an exam's questions by models."""
        answers, results = graded.index, graded.tables.results
        made = self._matrices.get(
            (view.path, graded.number, chosen.query()), lambda: matrix(answers, graded.sheets, results, chosen)
        )
        rows, listed = paged(made.rows, chosen.page, ROWS)
        return {
            "facets": answers.facets,
            "matrix": made,
            "rows": rows,
            "design": graded.sheets[0].evaluation.exam.spec.vary is not UNSET,
            "numbers": [column.number + 1 for column in made.columns],
            "samples": graded.sheets[made.columns[0].number].evaluation.samples if made.columns else 1,
            "kinds": {sign: f"is-{outcome_name(sign).replace(' ', '-')}" for sign in SIGNS},
            **listed,
        }

    def _place(self, request: Request, view: RunView, graded: Graded) -> tuple[Place, Item]:
        sheet, place = (number_in(part) - 1 for part in request.path_params["place"].partition(".")[::2])
        if not (0 <= sheet < len(graded.sheets) and 0 <= place < len(graded.sheets[sheet])):
            raise HTTPException(404, "There is no such answer in this run.")
        return Place(sheet, place), item_of(graded.sheets[sheet], place, graded.opened, view.answers)

    def text(self, request: Request) -> Response:
        """Return a whole text of an answer: with invisible characters shown, or unchanged as a download."""
        view, part = self._view(request), request.path_params["part"]
        graded = view.look(PATIENCE)
        if graded is None:
            raise HTTPException(404, "There is no such text yet.")
        place, item = self._place(request, view, graded)
        texts = {
            "thought": item.answer.response.reasoning,
            "reply": item.answer.reply,
            "prompt": item.answer.prompt_text,
            "reading": item.score.explanation,
        }
        if part not in texts:
            raise HTTPException(404, "There is no such text.")
        return _as_text(texts[part], f"{part}-{place}.txt", download="download" in request.query_params)

    # The rest

    def _view(self, request: Request) -> RunView:
        return self._views.view(request.path_params["run"])

    def status(self, problem: Exception) -> int:
        """Return 404 for runs and answers that do not exist (any more)."""
        return 404 if isinstance(problem, VivaError) else super().status(problem)


def listing(cards: Sequence[Card]) -> dict[str, object]:
    """Return the values of a list of runs."""
    return {
        "cards": cards,
        "states": {state for card in cards for state in card.outcomes},
        "priced": any(card.cost for card in cards),
        "dollars": dollars,
        "reading": any(card.results is None for card in cards),
    }


def _as_text(content: str, name: str, *, download: bool) -> Response:
    """Return plain text under a safe name, with invisible characters shown; unchanged for a `download`."""
    how = "attachment" if download else "inline"
    headers = {"Content-Disposition": f'{how}; filename="{name}"', "X-Download-Options": "noopen"}
    shown = (content if download else escape_invisible(content)).encode("utf-8", "replace")
    return Response(shown, media_type="text/plain; charset=utf-8", headers=headers)


def tokens(counted: int, uncounted: int) -> str:
    """Return `12,345`, and the number of answers without a count; `unknown` if none has one."""
    if not uncounted:
        return f"{counted:,}"
    return f"{counted:,} + unknown of {uncounted:,} answers" if counted else "unknown"


def duration(seconds: float) -> str:
    """Return a rounded duration: 40 s, 12 min, 3 h 20 min; "" for 0."""
    if seconds <= 0:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60:,} h {minutes % 60} min"


def ago(then: float, now: float) -> str:
    """Return the time passed, or the date if long ago."""
    if not then:
        return "–"
    if now - then < 86_400:
        return f"{duration(max(1.0, now - then))} ago"
    return time.strftime("%Y-%m-%d", time.localtime(then))


def application(root: Path, access: Access) -> Guard:
    """Return the pages about the runs in `root` as an ASGI application, behind its guard."""
    views = RunViews(root)
    threading.Thread(target=views.begin, daemon=True, name="viva view").start()
    pages = Pages(views, access)
    routes = [
        Route("/", pages.home),
        Route("/leaderboard/{path:path}", pages.leaderboard),
        *(
            Route(f"/run/{{run}}{place}", functools.partial(pages.of_run, template, shows))
            for place, template, shows in (
                ("", "run.html", pages.run),
                ("/answers", "answers.html", pages.answers),
                ("/matrix", "matrix.html", pages.matrix),
                ("/answer/{place}", "item.html", pages.item),
            )
        ),
        Route("/run/{run}/live", pages.live),
        Route("/run/{run}/run.json", pages.record),
        Route("/run/{run}/answer/{place}/{part}.txt", pages.text),
        Route("/pair", pages.choose_pair),
        *(
            Route(f"/pair/{{first}}/{{second}}{place}", method, methods=[name])
            for place in ("", "/{place}")
            for name, method in (("GET", pages.pair), ("POST", pages.keep_note))
        ),
    ]
    return pages.application(routes, asking=True)
