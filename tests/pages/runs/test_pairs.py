"""Two runs side by side: matched by question, regressions first, a note in the folder, a URL to share."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from pages.runs.growing import Growing
from rows import tabled
from viva.cli.main import cli
from viva.errors import StorageError
from viva.pages.runs.pair_pages import NOTES, notes_of, write_note
from web.hostile import TEXTS, assert_only_text

Visit = Callable[..., TestClient]
RIGHT, WRONG = None, "A potato."
BEFORE = [*[RIGHT] * 6, *[WRONG] * 3, "It is nothing."]
AFTER = [RIGHT, WRONG, RIGHT, RIGHT, WRONG, "It is fig, yes.", RIGHT, WRONG, WRONG, "It is juniper."]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two finished runs of a model: of ten answers two got worse, two better; the sixth is right in other words."""
    for name, texts in (("before", BEFORE), ("after", AFTER)):
        run = Growing(tmp_path / "runs", name, models=("openai/alpha",))
        for text in texts:
            run.answer(text=text)
        run.close()
    return tmp_path / "runs"


def listed(page: str) -> list[tuple[str, str]]:
    """Each line of the list: what became of it, and the number in its question."""
    lines = re.findall(r"<li><a href.*?</li>", page, re.DOTALL)
    return [
        (re.findall(r'<p><span class="\w+">(.*?)</span>', one)[0], re.findall(r"is number (\d+)", one)[0])
        for one in lines
    ]


def test_what_got_worse_comes_first(visit: Visit, two: Path) -> None:
    page = visit(two).get("/pair/before/after").text
    assert listed(page)[:4] == [("worse", "1"), ("worse", "4"), ("better", "6"), ("better", "9")]
    assert {said for said, _ in listed(page)[4:]} == {"as before"}
    assert "2 questions got worse" in page
    (said,) = re.findall(r"in points: (.*?) with its", page)
    runs = [str(two / name) for name in ("before", "after")]
    for run in runs:
        CliRunner().invoke(cli, ["score", run])
    table = CliRunner().invoke(cli, ["compare", *runs, "--format", "markdown"])
    assert said.startswith("0.00 [−")
    assert said in table.output.replace("\\", ""), "as `viva compare` has it"
    turned = visit(two).get("/pair/after/before").text
    assert listed(turned)[:2] == [("worse", "6"), ("worse", "9")]
    assert len(listed(visit(two).get("/pair/before/after?show=worse").text)) == 2


def test_both_replies_are_shown_with_the_words_that_differ(visit: Visit, two: Path) -> None:
    visitor = visit(two)
    page = visitor.get("/pair/before/after/6").text
    marked = re.findall(r'<mark class="only[ \w]*">(.*?)</mark>', page[page.index('class="sides"') :])
    assert marked == [".", ", yes."]
    assert page.index("before</bdi>") < page.index("after</bdi>")
    assert 'href="/run/before/answer/1.6"' in page
    assert 'href="/run/after/answer/1.6"' in page
    first = visitor.get("/pair/before/after/2?show=worse").text
    assert 'id="next"' in first
    assert 'id="previous"' not in first
    for wrong in ("/pair/before/after/11", "/pair/before/after/0", "/pair/before/after/x", "/pair/before/gone"):
        assert visitor.get(wrong).status_code == 404, wrong


def test_runs_are_searched_and_two_are_chosen_in_the_list(visit: Visit, two: Path) -> None:
    visitor = visit(two)
    assert 'name="run" value="before"' in visitor.get("/").text
    found = {"AFTER": ["after"], "alpha": ["after", "before"], "fruit bef": ["before"], "zebra": []}
    for words, names in found.items():
        page = visitor.get("/", params={"q": words}).text
        assert sorted(re.findall(r'href="/run/(\w+)"', page)) == names, words
    (first, second) = (two / "before", two / "after")
    assert first.stat().st_mtime_ns <= second.stat().st_mtime_ns
    chosen = visitor.get("/pair?run=after&run=before")
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/pair/before/after"), "the older one first"
    for wrong in ("/pair", "/pair?run=after", "/pair?run=after&run=gone", "/pair?run=after&run=after"):
        assert visitor.get(wrong).status_code == 400, wrong


def keep(visitor: TestClient, address: str, note: str, **more: str) -> int:
    token = re.findall(r'name="csrf" value="(\w+)"', visitor.get(address).text)[0]
    return int(visitor.post(address, data={"csrf": token, "note": note} | more).status_code)


def test_a_note_is_kept_in_the_second_runs_folder(visit: Visit, two: Path) -> None:
    visitor = visit(two)
    signed = (two / "after" / "run.json").read_bytes()
    assert keep(visitor, "/pair/before/after", "The prompt lost its example.") == 303
    assert keep(visitor, "/pair/before/after/2", TEXTS["script"]) == 303
    assert "The prompt lost its example." in visit(two).get("/pair/before/after").text, "for who looks later, too"
    page = visitor.get("/pair/before/after/2").text
    assert html.escape(TEXTS["script"], quote=False)[:20] in page
    assert_only_text(page)
    assert "The prompt" not in page, "a note is about what it was written on"
    assert sorted(one.text for one in notes_of(two / "after").values()) == sorted(
        (TEXTS["script"], "The prompt lost its example.")
    )
    assert not (two / "before" / NOTES).exists()
    assert (two / "after" / "run.json").read_bytes() == signed
    assert keep(visitor, "/pair/before/after", "  ") == 303
    assert len(notes_of(two / "after")) == 1, "an empty note is none"


def test_no_other_site_and_no_other_session_writes_a_note(visit: Visit, two: Path) -> None:
    visitor = visit(two)
    visitor.get("/pair/before/after")
    tries = (
        ({"csrf": "0" * 32}, {}), ({}, {}), ({"csrf": "0" * 32}, {"origin": "http://evil.example"}),
        ({"csrf": "0" * 32}, {"sec-fetch-site": "cross-site"}),
    )  # fmt: skip
    for (form, headers), row in tabled(*tries):
        with row:
            assert visitor.post("/pair/before/after", data={**form, "note": "x"}, headers=headers).status_code == 403
    assert not (two / "after" / NOTES).exists()


def test_notes_that_are_none_are_left_alone(visit: Visit, two: Path) -> None:
    file = two / "after" / NOTES
    outside = two.parent / "outside"
    outside.write_text("{}")
    for content in ("[]", '{"a": 1}', "{", '{"a": {"text": 1}}', None):
        file.unlink(missing_ok=True)
        if content is None:
            file.symlink_to(outside)
        else:
            file.write_text(content)
        assert visit(two).get("/pair/before/after").status_code == 200
        with pytest.raises(StorageError, match="move it away"):
            write_note(two / "after", "key", "text")
        assert content is None or file.read_text() == content
    assert json.loads(outside.read_text()) == {}
