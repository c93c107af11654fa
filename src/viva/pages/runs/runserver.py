"""The pages as an application: their routes."""

from __future__ import annotations

import threading
from pathlib import Path

from starlette.routing import Route

from viva.pages.runs.run_views import RunViews
from viva.pages.runs.runpages import Pages
from viva.pages.serving.guard import Access, Guard


def application(root: Path, access: Access) -> Guard:
    """Return the pages about the runs in `root` as an ASGI application, behind its guard."""
    views = RunViews(root)
    threading.Thread(target=views.begin, daemon=True, name="viva view").start()
    pages = Pages(views, access)
    routes = [
        Route("/", pages.home),
        Route("/leaderboard/{path:path}", pages.leaderboard),
        Route("/run/{run}", pages.run),
        Route("/run/{run}/live", pages.live),
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
    ]
    return pages.application(routes, asking=True)
