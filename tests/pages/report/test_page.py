"""The report in a browser: sorted, filtered, searched, opened, saved, copied; and hostile texts in it."""

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from pages.report.conftest import Opened, viva
from pages.review.conftest import script
from pages.runs.growing import Growing
from web.hostile import LONG, MARK, assert_only_text, make_run

pytestmark = pytest.mark.browser
READY = "#items[data-ready]"
COUNT = "[data-part=count]"
ROW = "[data-part=list] a"


def expect(what: Any) -> Any:
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=240_000)
    return expected(what)


def count(page: Any) -> str:
    text: str = page.inner_text("[data-part=count]")
    return text


def test_items_are_filtered_searched_opened_and_linked(opened: Opened, report: Path) -> None:
    page = opened(report)
    page.wait_for_selector(READY)
    assert count(page) == "304 items"
    assert page.locator(ROW).count() == 50
    page.click("[data-part=next]")
    assert page.inner_text("[data-part=place]") == "page 2 of 7"

    page.select_option("#outcome", "wrong")
    expect(page.locator(COUNT)).to_have_text(re.compile(" of 304 items"))
    assert set(page.locator(f"{ROW} .outcome").all_inner_texts()) == {"wrong"}
    page.select_option("#sort", "highest")

    page.keyboard.press("Escape")
    page.locator(ROW).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-part=item]:not([hidden]) .field")
    first = page.inner_text("[data-part=title]")
    assert page.evaluate("document.activeElement.id") == "item-title"
    assert page.inner_text("[data-part=verdict] .outcome") == "wrong"
    assert {"Prompt", "Answer", "Read", "Gold", "Why"} <= set(page.locator("[data-part=body] h4").all_inner_texts())
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("[data-part=title]")).to_have_text(first)
    address = page.url

    page.go_back()
    expect(page.locator("[data-part=item]")).to_be_hidden()
    page.go_forward()
    expect(page.locator("[data-part=title]")).to_have_text(first)
    page.keyboard.press("Escape")
    assert page.locator("[data-part=item]").is_hidden()
    page.keyboard.press("/")
    page.keyboard.type('"singly linked"')
    expect(page.locator(COUNT)).to_have_text(re.compile("^[1-9] of 304"))
    page.click("[data-part=reset]")
    expect(page.locator(COUNT)).to_have_text("304 items")

    again = opened(report, address[address.index("#") :])
    again.wait_for_selector("[data-part=item]:not([hidden]) .field")
    assert again.inner_text("[data-part=title]") == first
    assert again.input_value("#outcome") == "wrong"


def test_tables_are_sorted_and_everything_can_be_taken_away(opened: Opened, report: Path, tmp_path: Path) -> None:
    page = opened(report)
    page.wait_for_selector("html[data-charts=drawn]")
    score = page.locator("#table-1 th", has_text="score").locator("button")
    score.click()
    values = [
        float(text.split("†")[0].split()[0]) for text in page.locator("#table-1 td:nth-child(3)").all_inner_texts()
    ]
    assert values == sorted(values, reverse=True)
    assert page.locator("#table-1 th[aria-sort=descending]").count() == 1

    assert page.locator("figure[data-chart=drawn]").count() == page.locator("figure[data-chart]").count() >= 4
    for kind, begins in (("svg", b"<svg "), ("png", b"\x89PNG")):
        with page.expect_download() as download:
            page.locator(f"[data-export={kind}]").first.click()
        download.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(begins)
    width, height = struct.unpack(">II", (tmp_path / "png").read_bytes()[16:24])
    assert width >= 1000
    assert height >= 200
    assert "<script" not in (tmp_path / "svg").read_text()

    for kind, begins in (("csv", "model,exam,score"), ("latex", "% needs")):
        with page.expect_download() as download:
            page.locator(f"[data-save=table-1][data-kind={kind}]").click()
        download.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_text().startswith(begins)

    page.locator("[data-copy=bibtex]").click()
    expect(page.locator("#told")).to_have_text(re.compile("^Copied"))
    assert page.evaluate("navigator.clipboard.readText()").startswith("@inproceedings{song2025csbench")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_a_telephone_shows_all_of_it(opened: Opened, report: Path, scheme: str) -> None:
    page = opened(report, viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page.wait_for_selector("html[data-charts=drawn]")
    page.wait_for_selector(READY)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator(ROW).first.click()
    page.wait_for_selector("[data-part=item]:not([hidden]) .field")
    assert page.locator("[data-part=item]").bounding_box()["width"] <= 400
    assert page.evaluate(script("contrast.js"))["poor"] == []
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, a')]"
        ".filter((one) => !(one.textContent.trim() || one.labels?.length)).length"
    )
    assert unnamed == 0


def test_hostile_texts_are_texts(opened: Opened, tmp_path: Path) -> None:
    run = make_run(tmp_path, big=True)
    viva("score", run)
    viva("report", run)
    page_file = run / "report.html"
    content = page_file.read_text(encoding="utf-8")
    assert_only_text(content)
    assert content.count("a very long answer") < 400, "a megabyte of an answer is cut"
    page = opened(page_file)
    page.wait_for_selector("html[data-charts=drawn]")
    page.wait_for_selector(READY)
    page.locator(ROW).first.click()
    page.wait_for_selector("[data-part=item]:not([hidden]) .field")
    body = page.inner_text("[data-part=body]")
    assert f"({len(LONG) - 20_000:,} more characters, in the run's responses.jsonl)" in body
    for _ in range(12):
        page.keyboard.press("j")
    page.fill("#q", "window")
    expect(page.locator(COUNT)).to_have_text(re.compile(" of "))
    assert page.evaluate(f"window.{MARK}") is None
    assert page.locator(f"#{MARK}").count() == 0
    assert page.evaluate("[...document.querySelectorAll('main [src], main iframe, main style')].length") == 0


def test_replies_are_rendered_and_shown_as_they_came_by_a_key(opened: Opened, tmp_path: Path) -> None:
    run = Growing(tmp_path / "runs")
    run.answer(
        text="\U0001d44e\r\n\u202e **So** it is `<b>` as $x^2$:\n\n- apple: 1 of 1 points\n\n[x](javascript:alert(1)) ![y](http://a.b/c)"
    )
    run.answer(19)
    run.close()
    viva("score", run.path)
    viva("report", run.path)
    page = opened(run.path / "report.html")
    page.wait_for_selector(READY)
    page.locator(ROW).first.click()
    made = page.locator("[data-part=body] .prose")
    expect(made.locator("li")).to_have_text("apple: 1 of 1 points")
    expect(made.locator("li mark.read")).to_have_text("1 of 1 points")
    expect(made.locator("code")).to_have_text("<b>")
    expect(made.locator(".tex math msup")).to_have_count(1)
    assert made.locator("a, img, b").count() == 0
    assert "[x](javascript:alert(1)) [image: y (http://a.b/c)]" in made.inner_text()
    page.keyboard.press("r")
    expect(made).to_have_count(0)
    expect(page.locator("[data-part=body] mark.read")).to_have_text("1 of 1 points")
    assert "**So** it is `<b>` as $x^2$:" in page.inner_text("[data-part=body]")
    again = opened(run.path / "report.html", page.url.partition("report.html")[2])
    again.wait_for_selector("[data-part=view]")
    assert again.locator("[data-part=body] .prose").count() == 0, "the address says how it is shown"
    again.get_by_role("button", name="Rendered").click()
    expect(again.locator("[data-part=body] .prose math")).to_have_count(1)
