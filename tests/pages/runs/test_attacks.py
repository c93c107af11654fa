"""Every text of a run is an attack: pages show it as text, plain text stays plain, and other sites have no access."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pages.runs.conftest import Visitor
from pages.runs.growing import Growing
from rows import tabled
from viva.pages.runs.runpages import application
from viva.pages.serving.guard import Access
from viva.pages.shell import figure_parts
from viva.visible import escape_invisible
from web.hostile import LONG, MODELS, TEXTS, UNBROKEN, assert_harmless, assert_only_text

Visit = Callable[..., TestClient]
TOKEN = "a-token-of-good-length"


@pytest.fixture(scope="module")
def run(hostile_runs: Path) -> tuple[TestClient, str]:
    """A visitor, and the address of the one run."""
    app = application(hostile_runs, Access())
    visitor = Visitor(app, base_url="http://127.0.0.1", follow_redirects=False)
    found = re.search(r'href="(/run/[^"]*)"', visitor.get("/").text)
    assert found
    visitor.get(found[1])  # graded
    return visitor, found[1]


def plain(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_every_text_of_every_page_is_text(run: tuple[TestClient, str]) -> None:
    visitor, address = run
    pages = [visitor.get(where).text for where in ("/", address, f"{address}/answers", f"{address}/answers?page=2")]
    for number, text in enumerate(TEXTS.values(), 1):
        page = visitor.get(f"{address}/answer/2.{number}").text
        assert escape_invisible(text.replace("\r\n", "\n"))[:500].strip() in plain(page)
        pages.append(page)
    for page in pages:
        assert_only_text(page)
    assert all(escape_invisible(model) in plain(pages[1]) for model in MODELS)


def test_the_corpus_would_be_noticed(run: tuple[TestClient, str]) -> None:
    """That `assert_only_text` sees what it is there to see."""
    page = run[0].get("/").text
    # No script: none is written by attributes; the policy refuses it, and browsers are asked.
    for name in ("handler", "frame", "load", "bidi", "namespace", "raw_text", "refresh"):
        with pytest.raises(AssertionError):
            assert_only_text(page.replace("<main", f"{TEXTS[name]}<main"))


@pytest.mark.parametrize(("place", "text"), [("1.1", LONG), ("1.2", UNBROKEN)])
def test_megabytes_are_cut_on_the_page_and_whole_as_plain_text(
    run: tuple[TestClient, str], place: str, text: str
) -> None:
    visitor, address = run
    page = visitor.get(f"{address}/answer/{place}").text
    assert len(page) < 600_000
    assert f"of {len(text):,} characters" in plain(page)
    whole = visitor.get(f"{address}/answer/{place}/reply.txt")
    assert whole.text == text
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.headers["content-disposition"] == f'inline; filename="reply-{place}.txt"'
    assert "script-src 'self'" in whole.headers["content-security-policy"]


def test_a_text_to_look_at_is_visible_and_a_text_to_keep_is_as_it_came(run: tuple[TestClient, str]) -> None:
    visitor, address = run
    for number, (name, text) in enumerate(TEXTS.items(), 1):
        if (number - 1) % 3 == 2:
            continue  # failed: there is no reply
        where = f"{address}/answer/2.{number}/reply.txt"
        looked, kept = visitor.get(where), visitor.get(f"{where}?download=1")
        assert_harmless(looked.content.decode())
        assert looked.content.decode() == escape_invisible(text), name
        assert kept.content.decode() == text, name
        assert kept.headers["content-disposition"] == f'attachment; filename="reply-2.{number}.txt"'


def test_addresses_carry_no_text_of_the_run(run: tuple[TestClient, str]) -> None:
    visitor, address = run
    page = visitor.get(f"{address}/answers").text
    for name, value in re.findall(r'<option value="([^"]*)"|href="([^"]*)"', page):
        assert re.fullmatch(r"[\w~ ./?=&;#-]*", name + value), (name, value)
    values = re.findall(r'<option value="(~[0-9a-f]{16})"', page)
    assert len(values) > 40
    for value in values[:10]:
        chosen = next(
            name for name in re.findall(r'<select id="[^"]*" name="([^"]*)">(?:(?!</select>).)*' + value, page)
        )
        answer = visitor.get(f"{address}/answers", params={chosen: value})
        assert 0 < int(re.findall(r'id="found">([\d,]+)', answer.text)[0]) < 102, "what was chosen is found again"


def test_what_is_searched_for_comes_back_as_text(run: tuple[TestClient, str]) -> None:
    visitor, address = run
    record = visitor.get(f"{address}/run.json")
    assert record.headers["content-type"] == "text/plain; charset=utf-8"
    assert_harmless(record.text)
    assert "<script>" in record.text
    for text in list(TEXTS.values())[::4]:
        answer = visitor.get(f"{address}/answers", params={"q": text[:150], "model": "~none"})
        assert answer.status_code == 200
        assert_only_text(answer.text)


def test_every_answer_carries_the_headers_and_only_its_own_server_is_asked(visit: Visit, growing: Growing) -> None:
    visitor = visit(growing.root)
    for where in ("/", "/run/growing", "/run/growing/live", "/static/view.js", "/nowhere", "/favicon.ico"):
        headers = visitor.get(where).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; ")
        assert "connect-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert visitor.get(where, headers={"Host": "evil.example"}).status_code == 421
        assert visit(growing.root, Access(token=TOKEN)).get(where).status_code == 401


def test_strange_names_of_folders_are_runs_like_others(visit: Visit, tmp_path: Path) -> None:
    names = ("a b", "é", "x..", "x" * 200, "%2e", "a\nb", "\u202ex", "-rf", "~home", "run.json")
    for name in names:
        run = Growing(tmp_path / "runs", name)
        run.answer(1)
        run.close()
    visitor = visit(tmp_path / "runs")
    page = visitor.get("/").text
    assert_only_text(page)
    links = re.findall(r'href="(/run/[^"]*)"', page)
    assert len(set(links)) == len(names)
    assert {visitor.get(link).status_code for link in links} == {200}


def test_a_cell_is_sorted_by_the_number_that_it_begins_with() -> None:
    cells = {"61.20 [59.1, 63.3]": "61.20", "1,234": "1234", "–†": "", "": "", "-3.5": "-3.5", "right 3": ""}
    for (text, value), row in tabled(*cells.items()):
        with row:
            assert figure_parts(text)[2] == value
