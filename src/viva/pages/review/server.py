"""The review as an application: its routes."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from viva.engine.reviews import ReviewLog
from viva.pages.review.pages import Pages
from viva.pages.review.session import ReviewSession, Settings
from viva.pages.serving.guard import Access, Guard
from viva.review.items import Item


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
