"""A site in a folder, and a browser that opens it there and records errors and requests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pages.leaderboard.made import entry, made, zoo
from servers.browser import windows
from viva.pages.leaderboard.boards import Facts
from viva.pages.leaderboard.study import build
from web.hostile import MODELS, TEXTS

EVIL = (*MODELS, TEXTS["handler"], TEXTS["bidi"], TEXTS["attribute"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen models on one board, three on another, hostile names on a third; and InfiBench's published rows."""
    out = tmp_path_factory.mktemp("site") / "a site"
    hostile = [
        entry(name, 100 + 20 * place, benchmark="questions/<b>own</b>", facts=Facts(family=name))
        for place, name in enumerate(EVIL)
    ]
    build(made([*zoo(14), *zoo(3, lang="zh"), *hostile], "infibench"), out)
    return out


@pytest.fixture
def visit(chromium: Any, site: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site as a file; an error in the console or a request for anything else is a failure."""
    with windows(chromium) as window:

        def make(path: str, **settings: Any) -> Any:
            page = window(site.as_uri(), "data:", "blob:", accept_downloads=True, **settings)
            page.goto(f"{site.as_uri()}/{path}")
            return page

        yield make
