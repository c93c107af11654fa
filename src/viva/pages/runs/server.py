"""The pages as a program: their routes, and what their errors become."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from viva.errors import VivaError
from viva.pages.runs.opened import Opener, ResultsReader
from viva.pages.runs.pages import Pages
from viva.pages.runs.run_views import RunViews
from viva.pages.serving.forms import FormError
from viva.pages.serving.guard import Access, Guard
from viva.pages.serving.server import serve as web_serve

PORT = 8471


def application(root: Path, opener: Opener, results: ResultsReader, access: Access) -> Guard:
    """The pages about the runs in `root` as an ASGI application, behind its guard."""
    views = RunViews(root, opener, results)
    threading.Thread(target=views.begin, daemon=True, name="viva view").start()
    pages = Pages(views, access)
    routes = [
        Route("/", pages.home),
        Route("/leaderboard/{path:path}", pages.leaderboard),
        Route("/run/{run}", pages.run),
        Route("/run/{run}/progress.json", pages.progress),
        Route("/run/{run}/run.json", pages.record),
        Route("/run/{run}/answers", pages.answers),
        Route("/run/{run}/matrix", pages.matrix),
        Route("/run/{run}/answer/{place}", pages.item),
        Route("/run/{run}/answer/{place}/{part}.txt", pages.text),
        Route("/pair", pages.choose_pair),
        *(
            Route(f"/pair/{{first}}/{{second}}{place}", method, methods=[name])
            for place in ("", "/{place}")
            for name, method in (("GET", pages.pair), ("POST", pages.keep_note))
        ),
        Route("/static/{name}", pages.static),
        Route("/favicon.ico", pages.static),
    ]
    handlers: dict[Any, Any] = {
        HTTPException: pages.refused,
        VivaError: pages.refused,
        FormError: pages.refused,
        Exception: pages.failed,
    }
    return Guard(Starlette(routes=routes, exception_handlers=handlers), access, asking=True)


def serve(
    root: Path,
    opener: Opener,
    results: ResultsReader,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str = "",
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C. `announce` gets the address to open; port 0 takes a free one.

    For a host that others reach, a token is made where none is given. Raises VivaError where nothing can be served.
    """
    web_serve(
        lambda access: application(root, opener, results, access), host=host, port=port, token=token, announce=announce
    )
