"""Shared parts of all pages: templates, style sheets and scripts, in files or served, and error pages."""

from __future__ import annotations

import functools
import re
import secrets
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import parse_qsl

from viva.analysis.estimate import bracket_text, percent, score_text
from viva.errors import StorageError, VivaError
from viva.files import shipped_table, shipped_text
from viva.types import outcome_name
from viva.visible import plural
from viva.web.chartpages import outcome_style
from viva.web.chartpages import script as charts
from viva.web.pagetemplates import LONGEST, environment, highlighted, policy
from viva.web.pagetemplates import asset as chart_asset

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from viva.pages.serving.guard import Access, Guard

_OUTCOMES = shipped_table(__file__, "outcomes.toml", dict[str, dict[str, str]])
SIGNS = _OUTCOMES["signs"]
CHOICES = shipped_table(__file__, "choices.toml", dict[str, dict[str, str]])
"""Choices of lists, by their names in URLs."""
PROSE = ("markdown-it/markdown-it.min.js", "katex/katex.min.js", "prose.js")
"""Scripts that render Markdown and formulas in the browser."""
SITE_STYLES = ("viva.css", "leaderboard.css", "chart.css")
SITE_SCRIPTS = ("tables.js", "profile.js", "charts.js")
"""Styles and scripts of leaderboards."""
_FIGURE = re.compile(r"(?P<shown>(?P<mean>[−-]?\d[\d,]*(?:\.\d+)?)(?:(?:–| to )-?[\d.]+)?†?)(?P<rest>.*)", re.DOTALL)
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def templates(**more: object) -> Environment:
    """Return the templates of all pages, with their global functions."""
    made = environment("viva.pages")
    made.globals |= {
        "prose_scripts": tuple(name.rpartition("/")[2] for name in PROSE), "rendering": (), "policy": "",
        "styles": (), "scripts": (), "signs": SIGNS, "longest": LONGEST, "number": "{:,}".format, "plural": plural,
        "outcome_name": outcome_name, "percent": percent, "score_text": score_text, "bracket_text": bracket_text,
        "highlighted": highlighted, "figure_parts": figure_parts, "file_name": file_name, "saved": None,
        "why": _OUTCOMES["why"], "choices": CHOICES, **more,
    }  # fmt: skip
    return made


def figure_parts(text: str) -> tuple[str, str, str]:
    """Return the figure at the start of a table's cell, the rest (an interval, a mark), and the number for sorting; for
    a cell without a figure only its text.
    """
    parts = _FIGURE.fullmatch(text.strip())
    if parts is None:
        return text, "", ""
    return parts["shown"], parts["rest"].strip(), parts["mean"].replace(",", "").replace("−", "-")


def file_name(name: str, longest: int = 40) -> str:
    """Return a name with all but ASCII letters and digits as hyphens: never empty, a dot, a path or a device."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:longest].strip("-") or "x"


@functools.cache
def asset(name: str) -> str:
    """Return a style sheet or script of the pages, to embed into a file or to serve."""
    if name == "charts.js":
        return charts()
    if name == "chart.css":
        return chart_asset(name)
    text = shipped_text(__file__, f"static/{name}")
    return f"{text}{outcome_style()}" if name == "viva.css" else text


T = TypeVar("T")
PAGE = 50
"""Lines on a page of a list."""


def paged(items: Sequence[T], page: int, size: int = PAGE) -> tuple[Sequence[T], dict[str, int]]:
    """Return the lines on a page of a list, and values for its template: numbers of lines and pages, and the current
    page.
    """
    pages = max(1, -(-len(items) // size))
    page = min(page, pages)
    return items[(page - 1) * size : page * size], {"found": len(items), "page": page, "pages": pages}


def around(listed: Sequence[T], here: T, name: Callable[[T], object]) -> dict[str, Any]:
    """Return values for stepping through a list: its length, the current position (0 for none), and the names of the
    neighbours.
    """
    place = listed.index(here) if here in listed else -2
    before, after = (name(listed[n]) if 0 <= n < len(listed) else "" for n in (place - 1, place + 1))
    return {"found": len(listed), "place": max(0, place + 1), "before": before, "after": after}


class Kept(Generic[T]):
    """A cache of the last results by key. Thread-safe."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, else that of `make`."""
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = make()
        with self._guard:
            self._known[key] = made
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return made


@functools.cache
def inlined(styles: tuple[str, ...], scripts: tuple[str, ...]) -> Mapping[str, object]:
    """Return styles and scripts of a page in a file: their texts, and a policy that allows only these."""
    texts = {"styles": tuple(map(asset, styles)), "scripts": tuple(map(asset, scripts))}
    return {**texts, "policy": policy(texts["scripts"], texts["styles"])}


class Served:
    """A served application: one method a route."""

    shell = "base.html"
    """The template of pages with only a message."""
    everything = "runs"
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Styles and scripts that only some of its pages use."""

    def __init__(self, access: Access, **more: object) -> None:
        self.access = access
        self._templates = templates(styles=self.styles, scripts=self.scripts, **more)
        names = ("icon.svg", *self.styles, *self.scripts, *self.more, *PROSE)
        self._static = {name.rpartition("/")[2]: name for name in names}

    def application(self, routes: Sequence[BaseRoute], *, asking: bool = False) -> Guard:
        """Return the pages behind their guard; `asking`: see `Guard`."""
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route

        from viva.pages.serving.guard import Guard

        handlers: Any = dict.fromkeys((HTTPException, VivaError, FormError), self.refused) | {Exception: self.failed}
        static = [Route(path, self.static) for path in ("/static/{name}", "/favicon.ico")]
        return Guard(Starlette(routes=[*routes, *static], exception_handlers=handlers), self.access, asking=asking)

    def page(self, request: Request, template: str, status: Any = 200, **values: object) -> Response:
        """Return a rendered template as a response."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    def page_with_form(self, request: Request, template: str, status: Any = 200, **values: object) -> Response:
        """Return a page whose forms can be posted: a browser without a session gets one."""
        from viva.pages.serving import guard

        name = self.access.cookie("session")
        known = guard.session_of(request.cookies, name)
        session = known or secrets.token_hex(16)
        response = self.page(
            request, template, status, csrf=guard.form_token(session), form=secrets.token_hex(16), **values
        )
        if not known:
            guard.set_cookie(response, name, session)
        return response

    async def form(self, request: Request) -> dict[str, str]:
        """Return a posted form of this session. Raises FormError."""
        from viva.pages.serving.guard import is_form_token, session_of

        form = await read_form(request)
        if not is_form_token(session_of(request.cookies, self.access.cookie("session")), form.get("csrf", "")):
            raise FormError(
                403,
                "This form does not belong to your session, so nothing was saved. Allow cookies for this address, "
                "reload the page, and send it again.",
            )
        return form

    async def static(self, request: Request) -> Response:
        """Return a style sheet, a script or the icon, by name."""
        from starlette.exceptions import HTTPException
        from starlette.responses import Response

        name = request.path_params.get("name", "icon.svg")  # browsers request an icon if a page names none
        if name not in self._static:
            raise HTTPException(404, "There is no such file.")
        return Response(asset(self._static[name]), media_type=_TYPES[name.rpartition(".")[2]])

    def status(self, problem: Exception) -> int:
        """Return the status of an error other than HTTPException: an invalid form, or one that could not be stored."""
        return problem.status if isinstance(problem, FormError) else 507 if isinstance(problem, StorageError) else 400

    async def refused(self, request: Request, problem: Exception) -> Response:
        """Return a page with the error message."""
        status: int = getattr(problem, "status_code", 0) or self.status(problem)
        page = self._message(request, status, getattr(problem, "detail", str(problem)))
        page.headers.update(getattr(problem, "headers", None) or {})
        return page

    async def failed(self, request: Request, problem: Exception) -> Response:
        """Return a page for a defect of Viva, without the traceback, which is on the server's terminal."""
        return self._message(request, 500, "Viva failed at this page, and saved nothing of it; its terminal says more.")

    def _message(self, request: Request, status: int, sentence: str) -> Response:
        return self.page(
            request, "message.html", status, sentence=sentence, shell=self.shell, everything=self.everything
        )


FIELDS_LIMIT = 200
Form = dict[str, str]


class FormError(Exception):
    """An invalid form: HTTP status, and a message for its sender."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


async def read_form(request: Request) -> Form:
    """Return the fields of a posted form; of equal names the last. Raises FormError as soon as it is too large."""
    from starlette.requests import ClientDisconnect

    from viva.pages.serving.guard import BODY_LIMIT

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise FormError(415, "Only the forms of these pages can be posted.")
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > BODY_LIMIT:
                raise FormError(413, f"That is too much text: at most {BODY_LIMIT:,} bytes. Nothing was saved.")
    except ClientDisconnect:
        raise FormError(400, "The form did not arrive as a whole. Nothing was saved.") from None
    try:
        pairs = parse_qsl(
            bytes(body).decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=FIELDS_LIMIT
        )
    except ValueError:
        raise FormError(400, "That is no form of these pages. Nothing was saved.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
