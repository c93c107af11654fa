"""Runs to view: in this process, on a real server, and in a real browser."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pages.runs.growing import Growing
from servers.browser import windows
from servers.fixtures import Going, Viva, Warm
from viva.pages.runs.runpages import application
from viva.pages.serving.guard import Access
from web.hostile import make_run


class Visitor(TestClient):
    """A browser of sorts: it does not follow redirects, and asks again as long as a page says that it will."""

    def get(self, *arguments: Any, **named: Any) -> Any:
        answer = super().get(*arguments, **named)
        for _ in range(45):
            if 'http-equiv="refresh"' not in answer.text[:600]:
                break
            answer = super().get(*arguments, **named)
        return answer


@pytest.fixture
def visit() -> Callable[..., TestClient]:
    """A visitor of a folder of runs, in this process; it does not follow redirects."""

    def make(root: Path, access: Access | None = None) -> TestClient:
        app = application(root, access or Access())
        return Visitor(app, base_url="http://127.0.0.1", follow_redirects=False)

    return make


@pytest.fixture(scope="session")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs whose every text is an attack; the first answers of one are a megabyte each. Only to be read."""
    root = tmp_path_factory.mktemp("hostile") / "runs"
    root.mkdir()
    made = make_run(root.parent / "made", big=True)
    shutil.move(made, root / "<img src=x onerror=vivaattack>\x1b[31m\u202e")
    return root


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    """A run of ten questions and two models that this process is writing, an answer at a time."""
    run = Growing(tmp_path / "runs")
    yield run
    run.close()


class Serving:
    """`viva view` as a process."""

    def __init__(self, going: Going) -> None:
        self.process = going.process
        self.said = going.line()
        self.address = self.said.partition(" at ")[2].split()[0].rstrip("/")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Iterator[Callable[..., Serving]]:
    """Servers, one for the same arguments."""
    viva = Viva(tmp_path_factory.mktemp("serving"), warm)
    yield cache(lambda *arguments: Serving(viva.start("view", "--port", "0", *arguments)))
    viva.stop()


@pytest.fixture
def browse(chromium: Any) -> Iterator[Callable[..., Any]]:
    """A page of a new browser session; what it asks for elsewhere, or complains of, is a failure at the end."""
    with windows(chromium) as window:
        yield lambda address, **settings: window(address, base_url=address, **settings)
