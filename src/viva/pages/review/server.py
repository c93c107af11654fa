"""The review server: its routes, and the responses to its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from starlette.routing import Route

from viva.engine.reviews import ReviewLog
from viva.pages.review.pages import Pages
from viva.pages.review.session import ReviewSession, Settings
from viva.pages.serving.guard import Access, Guard
from viva.pages.serving.server import serve as web_serve
from viva.review.items import Item

PORT = 8470


def application(items: Sequence[Item], log: ReviewLog, settings: Settings, access: Access) -> Guard:
    """The review as an ASGI application, behind its guard."""
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
        Route("/export.{form}", pages.export),
    ]
    return pages.application(routes)


def serve(
    items: Sequence[Item],
    log: ReviewLog,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str = "",
    people: Mapping[str, str] = {},
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C. `announce` gets the address to open; port 0 takes a free one.

    `people` are tokens of their own, each with the name that its marks are saved under. For a host that others reach, a
    token is made where none is given. Raises VivaError where nothing can be served.
    """
    web_serve(
        lambda access: application(items, log, settings, access),
        host=host,
        port=port,
        token=token,
        people=people,
        announce=announce,
    )
