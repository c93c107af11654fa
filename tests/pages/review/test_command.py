"""`viva review RUN`: from a real run to a real page, and errors before it is served."""

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from pages.review.conftest import fields
from pages.review.test_server import Reviewer
from rows import tabled
from servers.fixtures import Going, Viva, Warm
from viva.engine.reviews import ReviewLog


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Viva:
    """The command line beside a run over the bundled CS-Bench sample, with a judge that draws its verdicts."""
    viva = Viva(tmp_path_factory.mktemp("run"), warm)
    ended = viva("run", "csbench", "--model", "baseline/random", "--judge", "baseline/random", "--run", "one")
    assert ended.code in {0, 3}, ended.err
    return viva


@pytest.fixture
def run(ran: Viva) -> Path:
    return ran.folder / "one"


class Page:
    def __init__(self, going: Going, address: str, items: int) -> None:
        self.going, self.address, self.items = going, address, items

    def end(self) -> str:
        self.going.signal(signal.SIGINT)
        ended = self.going.ended().exits()
        return ended.out


@pytest.fixture
def opened(ran: Viva) -> Iterator[object]:
    def make(arguments: Sequence[str] = ()) -> Page:
        going = ran.start("review", "one", "--port", "0", *arguments)
        said = going.line()
        found = re.match(r"([\d,]+) answers to review(?: \(of ([\d,]+)\))? at (http://127\.0\.0\.1:\d+)/", said)
        assert found, said
        return Page(going, found[3], int((found[2] or found[1]).replace(",", "")))

    yield make
    ran.stop()


def test_a_run_is_reviewed_and_its_marks_stay(run: Path, opened: object) -> None:
    page = opened(["--sample", "5", "--seed", "3", "--blind"])  # type: ignore[operator]
    assert page.items > 5
    ada = Reviewer(page.address, "Ada")
    start = ada.web.get("/").headers["location"]
    assert start == "/items?sample=5&seed=3&blind=1"
    listed = re.findall(r'href="/item/([0-9a-f]{32})', ada.web.get(start).text)
    assert len(listed) == 5
    query = start.partition("?")[2]
    for key in listed:
        form = fields(ada.web.get(f"/item/{key}?{query}").text) | {"mark.0": "1", "action": "save"}
        assert ada.web.post(f"/item/{key}?{query}", data=form).status_code == 303
    assert "5 new lines" in page.end()
    lines = ReviewLog(run / "reviews.jsonl").reviews
    assert {(line.item, line.drawn, line.blind) for line in lines} == {(key, "random:5:seed3", True) for key in listed}
    again = opened(["--reviewer", "Ada", "--token", "a token of some length"])  # type: ignore[operator]
    assert again.items == page.items, "marks change neither items nor drafts"
    assert httpx.get(f"{again.address}/items").status_code == 401
    web = httpx.Client(base_url=again.address, follow_redirects=True)
    assert "<b>5 of" in web.get("/", params={"token": "a token of some length"}).text, "her name is not asked for"


def test_what_makes_no_sense_is_said_in_a_sentence(ran: Viva) -> None:
    wrong = (
        (["--host", "0.0.0.0", "--token", "short"], "too short"),
        (["--sample", "many"], "give a number"),
        (["--strata", "outcome"], "goes with --sample"),
        (["--sample", "3", "--strata", "colour"], "is one of: exam, model"),
        (["--reviewer", "a\x1bb"], "without control"),
    )
    for (arguments, said), row in tabled(*wrong):
        with row:
            ended = ran("review", "one", "--port", "0", *arguments).exits(2, said)
            assert "Traceback" not in ended.err
            assert "\x1b" not in ended.err


def test_a_run_with_nothing_to_review_says_so(tmp_path: Path, warm: Warm) -> None:
    viva = Viva(tmp_path, warm)
    viva("run", "cmmlu", "--model", "baseline/random", "--limit", "5", "--run", "two").exits()
    viva("review", "two").exits(2, "nothing to review")
