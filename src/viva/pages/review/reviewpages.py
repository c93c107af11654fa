"""Pages of a review: every text is escaped, a POST is answered with 303, and all works without JavaScript."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from markupsafe import escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from viva.engine.reviews import ReviewLog
from viva.errors import VivaError
from viva.files import shipped_table
from viva.pages.review.reviewsession import (
    COMMENT_LIMIT,
    Marking,
    Refused,
    ReviewSession,
    Settings,
    aspects,
    figure,
    form_id,
    labels,
    marked,
    said,
)
from viva.pages.serving import guard
from viva.pages.serving.guard import Access, Guard
from viva.pages.serving.server import serve as web_serve
from viva.pages.shell import Form, FormError, Served, around, paged
from viva.render.charts import as_json, spec
from viva.render.findings import Findings
from viva.review.items import TELLING, THOUGHT, Filter, Item, name_of, name_problem

_SAID = shipped_table(__file__, "said.toml", dict[str, str])
"""Code in the URL → message about the previous form."""


class Pages(Served):
    """One method a route."""

    shell = "of_review.html"
    everything = "items"
    styles = ("viva.css", "text.css", "runs.css", "review.css")
    scripts = ("tables.js", "review.js")
    more = ("chart.css", "charts.js")

    def __init__(self, session: ReviewSession, access: Access) -> None:
        self._session = session
        super().__init__(access, raw=escape, figure=figure, marked=marked, said_of=said)

    # Who is asking

    def _reviewer(self, request: Request) -> str:
        """Return the reviewer's name: from a personal token, else from the cookie; "" if unknown."""
        if self.access.people and (person := self.access.person(request.cookies)):
            return person
        name = unquote(request.cookies.get(self.access.cookie("reviewer"), ""), errors="replace")
        return self._session.settings.reviewer if name_problem(name) else name

    def _filter(self, request: Request) -> Filter:
        return Filter.read(request.query_params, self._session.settings.start.blind)

    def page(self, request: Request, template: str, status: Any = 200, **values: object) -> Response:
        """Return a page, with the values that all pages need."""
        return super().page(
            request,
            template,
            status,
            title=self._session.settings.title,
            reviewer=self._reviewer(request),
            has_agreement=self._session.settings.agreement is not None,
            damaged=len(self._session.log.damaged),
            said=_SAID.get(request.query_params.get("said", ""), ""),
            start=self._session.settings.start.query(),
            **values,
        )

    async def _marker(self, request: Request, form: Form) -> str:
        """Return the reviewer who posted a form. Raises FormError if the page was opened under another name."""
        reviewer = self._reviewer(request)
        if not reviewer:
            raise FormError(403, "Say who you are first. Nothing was saved.")
        if form.get("reviewer") != reviewer:
            raise FormError(409, "You changed your name since you opened this page. Nothing was saved: reload it.")
        return reviewer

    # Pages

    async def home(self, request: Request) -> Response:
        """Send known reviewers to the list, others to the form for their name."""
        await self._refresh()
        where = f"/items?{self._session.settings.start.query()}" if self._reviewer(request) else "/start"
        return RedirectResponse(where, 303)

    async def start(self, request: Request) -> Response:
        """Ask for the reviewer's name and keep it in a cookie; a personal token fixes the name."""
        if self.access.people and self.access.person(request.cookies):
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return self.page_with_form(request, "review_start.html", problem="", name=self._reviewer(request))
        form = await self.form(request)
        name = name_of(form.get("name", ""))
        problem = name_problem(name)
        if problem:
            return self.page_with_form(request, "review_start.html", 422, problem=problem, name=name[:60])
        response = RedirectResponse("/", 303)
        guard.set_cookie(response, self.access.cookie("reviewer"), quote(name, safe=""))
        return response

    async def list(self, request: Request) -> Response:
        """Return the items of a filter, a page at a time."""
        reviewer = self._reviewer(request)
        if not reviewer:
            return RedirectResponse("/start", 303)
        await self._refresh()
        chosen, session = self._filter(request), self._session
        items, listed = paged(session.listed(chosen, reviewer), chosen.page)
        if not chosen.blind:
            session.showed(items, reviewer)
        shown_items = [
            (item, labels(item, chosen.blind, session.names), session.own(item, reviewer), len(session.reviewers(item)))
            for item in items
        ]
        return self.page_with_form(
            request,
            "review_items.html",
            chosen=chosen,
            rows=shown_items,
            tags={name: values for name, values in session.tags.items() if not (chosen.blind and name in TELLING)},
            strata=[name for name in session.tags if name not in TELLING],
            progress=session.progress(chosen, reviewer),
            wanted=session.settings.marks_per_item,
            **listed,
        )

    async def next(self, request: Request) -> Response:
        """Return the next item to mark in a filter, from its beginning."""
        await self._refresh()
        chosen = self._filter(request)
        item = self._session.next_to_do(None, chosen, self._reviewer(request))
        if item is None:
            return RedirectResponse(f"/items?{chosen.query()}&said=done", 303)
        return RedirectResponse(f"/item/{item.key}?{chosen.query()}", 303)

    async def show(self, request: Request) -> Response:
        """Return one item with its forms."""
        if not self._reviewer(request):
            return RedirectResponse("/start", 303)
        await self._refresh()
        return self._item_page(request, self._item(request))

    def _item(self, request: Request) -> Item:
        item = self._session.item(request.path_params["key"])
        if item is None:
            raise HTTPException(404, "There is no such item in this run. It may have been answered anew since.")
        return item

    def _item_page(
        self, request: Request, item: Item, status: int = 200, posted: Mapping[str, str] = {}, problem: str = ""
    ) -> Response:
        reviewer, chosen, session = self._reviewer(request), self._filter(request), self._session
        listed = [
            other.key
            for other in session.select(chosen)
            if other.key == item.key or session.wants(other, chosen, reviewer)
        ]
        own = session.own(item, reviewer)
        shown_aspects = aspects(item, own, session.others(item, reviewer), posted, chosen.blind)
        if not chosen.blind:
            session.showed((item,), reviewer)
        return self.page_with_form(
            request,
            "review_item.html",
            status,
            item=item,
            labels=labels(item, chosen.blind, session.names),
            aspects=shown_aspects,
            confirmable=any(aspect.drafted >= 0 and aspect.mark is None for aspect in shown_aspects),
            chosen=chosen,
            **around(listed, item.key, quote),
            progress=session.progress(chosen, reviewer),
            problem=problem,
            comment_limit=COMMENT_LIMIT,
            thought_limit=THOUGHT,
            blind_again=chosen.blind and not session.blind(item, chosen, reviewer),
        )

    # Forms

    async def mark(self, request: Request) -> Response:
        """Write the marks of one item and redirect to the next item; an incomplete form is returned as it was."""
        form = await self.form(request)
        reviewer = await self._marker(request, form)
        await self._refresh()
        item, chosen, session = self._item(request), self._filter(request), self._session
        marking = Marking(
            item=item,
            reviewer=reviewer,
            form=form,
            own=session.own(item, reviewer),
            blind=session.blind(item, chosen, reviewer),
            shown=not chosen.blind,
            drawn=chosen.design if any(item.key == other.key for other in session.select(chosen)) else "",
        )
        try:
            lines = marking.lines()
            if not lines and not any(name.startswith("mark.") for name in form):
                raise FormError(422, "Nothing was saved: choose a mark first.")
        except FormError as problem:
            if problem.status != 422:
                raise
            return self._item_page(request, item, 422, form, problem.sentence)
        try:
            written = await run_in_threadpool(session.write, lines)
        except Refused as refused:
            return self._item_page(request, item, 422, form, f"{refused} Nothing was saved.")
        if lines and not written:
            return RedirectResponse(f"/item/{item.key}?{chosen.query()}&said=stale", 303)
        if form.get("action") == "stay":
            return RedirectResponse(f"/item/{item.key}?{chosen.query()}&said={'saved' if written else 'same'}", 303)
        following = session.next_to_do(item, chosen, reviewer)
        if following is None or following.key == item.key:
            return RedirectResponse(f"/items?{chosen.query()}&said={'done' if written else 'same'}", 303)
        return RedirectResponse(f"/item/{following.key}?{chosen.query()}&said={'saved' if written else 'next'}", 303)

    async def undo(self, request: Request) -> Response:
        """Take back this reviewer's last form, and show its item."""
        form = await self.form(request)
        reviewer = await self._marker(request, form)
        chosen = self._filter(request)
        written = await run_in_threadpool(self._session.undo, reviewer, form_id(form), time.time())
        if not written:
            return RedirectResponse(f"/items?{chosen.query()}&said=nothing", 303)
        return RedirectResponse(f"/item/{written[0].item}?{chosen.query()}&said=undone", 303)

    # The rest

    async def agreement(self, request: Request) -> Response:
        """Return the agreement of experts and judges so far, or why it is undefined."""
        make = self._session.settings.agreement
        if make is None:
            raise HTTPException(404, "This review has no agreement page.")
        await self._refresh()
        return self.page_with_form(request, "agreement.html", **await run_in_threadpool(_agreement, make))

    async def _refresh(self) -> None:
        await run_in_threadpool(self._session.refresh)


def _agreement(make: Callable[[], Findings[Any]]) -> dict[str, object]:
    """Return the tables and notes of a study, and its chart where it has one."""
    try:
        agreement = make()
    except VivaError as problem:
        return {"tables": (), "notes": (str(problem),), "chart": ""}
    chart = ""
    with suppress(VivaError):  # nothing to draw, or the extra for charts is missing
        chart = as_json(spec(drawn)) if (drawn := agreement.chart()) else ""
    return {"tables": agreement.tables(), "notes": agreement.notes, "chart": chart}


def application(items: Sequence[Item], log: ReviewLog, settings: Settings, access: Access) -> Guard:
    """Return the review as an ASGI application, behind its guard."""
    pages = Pages(ReviewSession(items, log, settings), access)
    routes = [
        Route("/", pages.home),
        Route("/start", pages.start, methods=["GET", "POST"]),
        Route("/items", pages.list),
        Route("/next", pages.next),
        Route("/item/{key}", pages.show),
        Route("/item/{key}", pages.mark, methods=["POST"]),
        Route("/undo", pages.undo, methods=["POST"]),
        Route("/agreement", pages.agreement),
    ]
    return pages.application(routes)


def serve(items: Sequence[Item], log: ReviewLog, settings: Settings, **where: Any) -> None:
    """Serve until Ctrl-C; `where`: the keywords of `serve`. Raises VivaError if it cannot be served."""
    web_serve(lambda access: application(items, log, settings, access), **where)
