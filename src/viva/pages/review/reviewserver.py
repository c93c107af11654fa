"""The review as an application: its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.routing import Route

from viva.engine.reviews import ReviewLog
from viva.pages.review.reviewpages import Pages
from viva.pages.review.reviewsession import ReviewSession, Settings
from viva.pages.serving.guard import Access, Guard
from viva.pages.serving.server import serve as web_serve
from viva.review.items import Item


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
        Route("/export.{form}", pages.export),
    ]
    return pages.application(routes)


def serve(items: Sequence[Item], log: ReviewLog, settings: Settings, **where: Any) -> None:
    """Serve until Ctrl-C, `where` as every served application says it. Raises VivaError where nothing can be served."""
    web_serve(lambda access: application(items, log, settings, access), **where)
