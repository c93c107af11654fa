"""A graded run with its report, and a browser that reports every error and request."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from servers.browser import windows
from servers.fixtures import QUIET, Viva, Warm
from viva.cli.main import cli

Opened = Callable[..., Any]


def viva(*arguments: object) -> None:
    assert cli.main([str(one) for one in arguments], standalone_mode=False) in (0, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Path:
    """Two models, two languages, 304 answers; some of them ungraded."""
    # In another process: a browser's driver has an event loop in this one.
    elsewhere = Viva(tmp_path_factory.mktemp("runs"), warm)
    models = ("--model", "baseline/random", "--model", "baseline/first")
    assert elsewhere("run", "csbench", "--language", "en,zh", "--run", "first", *models, *QUIET).code == 0
    return elsewhere.folder / "first"


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    viva("report", run, "--html")
    return run / "report.html"


@pytest.fixture
def opened(chromium: Any) -> Iterator[Opened]:
    """Open a file; at the end nothing may have been asked for but it, and the console must be empty."""
    usual = {"viewport": {"width": 1280, "height": 900}, "permissions": ["clipboard-read", "clipboard-write"]}
    told: list[str] = []
    asked: list[str] = []
    pages: list[Any] = []
    with windows(chromium) as window:

        def open_page(path: Path, after: str = "", **settings: Any) -> Any:
            page = window(path.as_uri(), "blob:", "data:", **(usual | settings))
            page.on("console", lambda message: told.append(message.text))
            page.on("request", lambda request: asked.append(request.url))
            pages.append(page)
            page.goto(f"{path.as_uri()}{after}")
            return page

        yield open_page
    assert told == []
    assert len([url for url in asked if url.startswith("file:")]) == len(pages)
