"""A graded run with its report, and a browser that tells of every error and every request."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
    told: list[str] = []
    asked: list[str] = []
    contexts: list[Any] = []

    def open_page(path: Path, after: str = "", **settings: Any) -> Any:
        context = chromium.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "permissions": ["clipboard-read", "clipboard-write"]}
            | settings
        )
        context.set_default_timeout(240_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{path.as_uri()}{after}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert told == []
    assert [url for url in asked if not url.startswith(("file://", "blob:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file://")]) == len(contexts)
