"""A site in a folder, and a browser that opens it from there and notes what it complains of or asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pages.leaderboard.made import entry, made, zoo
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
    contexts: list[Any] = []
    troubles: list[str] = []

    def make(path: str, **settings: Any) -> Any:
        context = chromium.new_context(accept_downloads=True, **settings)
        context.set_default_timeout(240_000)
        contexts.append(context)
        page = context.new_page()
        inside = (site.as_uri(), "data:", "blob:")
        page.on("request", lambda asked: asked.url.startswith(inside) or troubles.append(f"asked for {asked.url}"))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda problem: troubles.append(str(problem)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.goto(f"{site.as_uri()}/{path}")
        return page

    yield make
    for context in contexts:
        context.close()
    assert troubles == []
