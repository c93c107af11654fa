"""A review session for each test: in this process, as a real server, and in a real browser."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pages.review.material import ITEMS
from servers.fixtures import Viva
from viva.engine.reviews import ReviewLog
from viva.pages.review.reviewpages import application
from viva.pages.review.reviewsession import Settings
from viva.pages.serving.guard import Access
from viva.review.items import Filter, Item

TESTS = Path(__file__).parents[2]


@functools.cache
def script(name: str) -> str:
    """What a page is asked to say of itself: contrast.js, structure.js."""
    return (TESTS / "pages" / "review" / name).read_text(encoding="utf-8")


class Visitor(TestClient):
    """A browser of sorts: keeps cookies, reads forms, posts them. It does not follow redirects."""

    log: ReviewLog

    def enter(self, name: str = "Ada") -> Visitor:
        assert self.post("/start", data={"csrf": self.fields("/start")["csrf"], "name": name}).status_code == 303
        return self

    def fields(self, address: str) -> dict[str, str]:
        return fields(self.get(address).text)

    def mark(self, item: Item, query: str = "", action: str = "save", **marks: str) -> Any:
        """Post the item's form; `answer="2"` chooses the third mark of the answer, `comment_answer` comments on it."""
        address = f"/item/{item.key}?{query}"
        return self.post(address, data=self.fields(address) | named(item, marks) | {"action": action})

    def undo(self, item: Item, query: str = "") -> Any:
        return self.post(f"/undo?{query}", data=self.fields(f"/item/{item.key}?{query}"))


def named(item: Item, marks: dict[str, str]) -> dict[str, str]:
    """Marks by aspect as fields of the form."""
    numbers = {draft.aspect: number for number, draft in enumerate(item.drafts)}
    found = {}
    for name, value in marks.items():
        kind, _, aspect = name.rpartition("_")
        found[f"{kind or 'mark'}.{numbers[aspect]}"] = value
    return found


def fields(page: str) -> dict[str, str]:
    """The hidden fields of a page's forms."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reviews.jsonl"


@pytest.fixture
def visit(path: Path) -> Callable[..., Visitor]:
    """A visitor of a room in this process; every visitor has cookies and a log of its own, on one file."""

    def make(
        items: Sequence[Item] = ITEMS, access: Access | None = None, base: str = "http://127.0.0.1", **settings: Any
    ) -> Visitor:
        if "start" in settings:
            settings["start"] = Filter.read(settings["start"], False)
        log = ReviewLog(path)
        app = application(items, log, Settings(**settings), access or Access())
        visitor = Visitor(app, base_url=base, follow_redirects=False)
        visitor.log = log
        return visitor

    return make


class Server:
    """A room as a process, on a port that it keeps over restarts."""

    def __init__(self, path: Path, viva: Viva) -> None:
        self.path = path
        self.port = "0"
        self._viva = viva
        viva.environment["PYTHONPATH"] = os.pathsep.join((str(TESTS), viva.environment.get("PYTHONPATH", "")))

    def start(self, host: str = "127.0.0.1") -> str:
        self._going = self._viva.start(self.path, self.port, host, module="pages.review.serving")
        self.process = self._going.process
        address = self._going.line().rstrip("/")
        self.port = re.findall(r"\Ahttp://[^/]+:(\d+)", address)[0]
        return address

    def kill(self) -> None:
        self._going.kill()


@pytest.fixture
def server(path: Path, viva: Viva) -> Server:
    return Server(path, viva)
