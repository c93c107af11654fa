"""The item browser: filters, search, pages, steps, an answer with all its details."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pages.runs.growing import Growing
from rows import tabled
from viva.runs.following import slug

Visit = Callable[..., TestClient]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, ten questions, ten samples: 200 answers, of which 60 are not there."""
    growing = Growing(tmp_path_factory.mktemp("answers") / "runs", samples=10)
    growing.answer(30)
    growing.answer(30, text="Certainly a POTATO.")
    growing.answer(20, failed=True)
    growing.answer(60)
    growing.close()
    return growing.root


def listed(page: str) -> list[str]:
    """The answers that a page lists, by address."""
    return re.findall(r'<li><a href="/run/growing/answer/([\d.]+)\?', page)


def found(page: str) -> int:
    said = re.search(r'<h2 id="found">([\d,]+) answer', page)
    assert said
    return int(said[1].replace(",", ""))


def test_filters_and_search_leave_what_they_say(visit: Visit, run: Path) -> None:
    queries = (
        ("", 200), ("outcome=right", 90), ("outcome=wrong", 30), ("outcome=error", 20), ("outcome=not asked", 60),
        ("outcome=nonsense", 0), ("model=" + slug("openai/alpha"), 100), ("t.half=first", 100),
        ("t.half=first&outcome=wrong", 20), ("t.half=third", 0), ("t.unknown=x", 0), ("exam=fruit", 200), ("exam=x", 0),
        ("q=potato", 30), ("q=POTATO certainly", 30), ("q=number 7", 20), ("q=7 cherry", 0), ("q=it is cherry", 20),
        ("q=cherry&model=" + slug("openai/beta"), 10), ("page=999999999999", 200), ("page=-1", 200), ("page=x", 200),
    )  # fmt: skip
    visitor = visit(run)
    for (query, count), row in tabled(*queries):
        with row:
            answer = visitor.get(f"/run/growing/answers?{query}")
            assert answer.status_code == 200
            assert found(answer.text) == count
            assert len(listed(answer.text)) == min(50, count)


def test_pages_go_through_all_answers_once(visit: Visit, run: Path) -> None:
    visitor = visit(run)
    seen: list[str] = []
    address = "/run/growing/answers?t.half=second"
    while address:
        page = visitor.get(address).text
        seen += listed(page)
        step = re.search(r'rel="next" href="([^"]*)"', page)
        address = html.unescape(step[1]) if step else ""
    assert len(seen) == len(set(seen)) == 100


def test_steps_stay_within_the_filter_and_come_back_to_the_page_of_the_list(visit: Visit, run: Path) -> None:
    visitor = visit(run)
    (first, *_, last) = listed(visitor.get("/run/growing/answers?outcome=wrong").text)
    address, seen = f"/run/growing/answer/{first}?outcome=wrong", 0
    page = visitor.get(address).text
    assert 'rel="prev"' not in page
    while address:
        page = visitor.get(address).text
        seen += 1
        assert f"· {seen} of 30" in page
        step = re.search(r'rel="next" href="([^"]*)"', page)
        address = html.unescape(step[1]) if step else ""
    assert seen == 30
    assert last in page
    outside = visitor.get("/run/growing/answer/1.1?outcome=wrong").text
    assert 'rel="next"' not in outside


def test_an_answer_shows_prompt_reply_reading_verdict_and_signature(visit: Visit, run: Path) -> None:
    page = visit(run).get("/run/growing/answer/1.35").text
    said = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "Which plant is number 3? Say its name." in said
    assert "Certainly a POTATO." in said
    assert "wrong 0" in said
    assert "unmatched: damson" in said
    assert "signature" in said.lower()
    assert "benchmark:questions" in said
    assert "sample 4" in said
    assert page.count('aria-current="true"') == 1, "this sample among the ten"
    assert "tokens in 100" in said
    absent = visit(run).get("/run/growing/answer/2.100").text
    assert all(said in absent for said in ("no answer has come in yet", "not asked"))
    assert "timeout: nobody replied in time" in visit(run).get("/run/growing/answer/1.70").text
    assert re.search(r'<a href="/run/growing/answer/2\.35"><bdi>openai/beta</bdi>', page), "another model's"


def test_what_is_no_plain_word_is_a_hash_in_addresses() -> None:
    for text, row in tabled("", "..", ".", "a/b", "x" * 81, "=1+1", "\u202e", "a b", "-x", "~abc"):
        with row:
            assert re.fullmatch(r"~[0-9a-f]{16}", slug(text))
    assert slug("runs-2026.1_a") == "runs-2026.1_a"
