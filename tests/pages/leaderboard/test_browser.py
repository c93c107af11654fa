"""The site in a real browser, from its folder: sorting, filters, permalinks, chosen models, export; wide and 400 px."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages.review.conftest import script
from servers.fixtures import wait_until

Visit = Callable[..., Any]
pytestmark = pytest.mark.browser


def names(page: Any, table: str = "t1") -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f"#{table} tbody tr:not([hidden]) th.name", "cells => cells.map((cell) => cell.textContent.trim())"
    )
    return found


def figures(page: Any, place: int) -> list[float]:
    found: list[str] = page.eval_on_selector_all(
        f"#t1 tbody tr:not([hidden]) td:nth-child({place})", "cells => cells.map((cell) => cell.dataset.value)"
    )
    return [float(one) for one in found if one]


def address(page: Any) -> str:
    """What stands behind the #; `page.url` is late where a page changes it itself."""
    said: str = page.evaluate("location.hash")
    return said


def until(page: Any, part: str) -> None:
    """Wait for the address to say so. The pages allow no eval, so playwright's `wait_for_function` is not to be had."""
    wait_until(lambda: part in address(page), part)


def test_sorting_filters_and_search_are_a_permalink(visit: Visit) -> None:
    page = visit("csbench.html")
    score = page.locator("#t1 th[data-column=score]")
    assert figures(page, 4) == sorted(figures(page, 4), reverse=True)
    score.get_by_role("button").click()
    assert score.get_attribute("aria-sort") == "descending", "the best first"
    score.get_by_role("button").click()
    assert score.get_attribute("aria-sort") == "ascending"
    assert figures(page, 4) == sorted(figures(page, 4))
    page.locator("#t1 th[data-column=model]").get_by_role("button").click()
    assert score.get_attribute("aria-sort") == "none"
    assert names(page) == sorted(names(page))
    assert address(page) == "#t1.sort=model.ascending"
    assert page.locator("output[data-count=t1]").inner_text() == "14 rows"
    page.locator("#t1-family").select_option("Bison")
    assert names(page)
    assert all(name.startswith("bison/") for name in names(page))
    page.locator("#t1-q").fill("bison 7b")
    until(page, "t1.q=bison+7b")
    kept = names(page)
    assert 0 < len(kept) < 4
    assert page.locator("output[data-count=t1]").inner_text() == f"{len(kept)} of 14 rows"
    again = visit("csbench.html" + address(page))
    assert names(again) == kept == sorted(kept)
    assert again.locator("#t1 th[data-column=model]").get_attribute("aria-sort") == "ascending"
    assert again.locator("#t1-q").input_value() == "bison 7b"
    again.get_by_role("button", name="Reset").first.click()
    assert len(names(again)) == 14
    assert address(again) == ""
    for way in ("one way", "both ways"):
        again.locator("#t1 th[data-column=size]").get_by_role("button").click()
        assert again.locator("#t1 tbody tr").last.get_attribute("data-size") == "", f"unknown sizes come last, {way}"
    again.locator("#t1-size").select_option(label="3 to 8")
    assert {row.get_attribute("data-size") for row in again.locator("#t1 tbody tr:not([hidden])").all()} == {"7.0"}


def test_published_rows_are_marked_and_people_have_no_rank(visit: Visit) -> None:
    page = visit("infibench.html")
    assert len(names(page)) == 109
    assert page.locator("#t1 tbody tr.published").count() == 109
    page.locator("#t1-access").select_option("Human")
    assert len(names(page)) == 3
    ranks = page.eval_on_selector_all(
        "#t1 tbody tr:not([hidden]) td:nth-child(2)", "all => all.map((one) => one.textContent)"
    )
    assert ranks == ["", "", ""]


def test_models_are_chosen_and_drawn_side_by_side(visit: Visit) -> None:
    page = visit("csbench.html")
    page.locator("html[data-charts=drawn]").wait_for(state="attached")
    legend = page.locator("figure[data-profile=t1] svg .role-legend-label")
    assert legend.locator("text").count() == 3, "the best three, before anybody chooses"
    for place in (3, 5):
        page.locator("#t1 tbody tr").nth(place).locator("input").check()
    chosen = [names(page)[place] for place in (3, 5)]
    legend.filter(has_text=chosen[1]).wait_for()
    assert legend.locator("text").all_text_contents() == chosen
    page.locator("#t1-group").select_option(label="By format")
    page.locator("figure[data-profile=t1] svg text", has_text="algebra formats").first.wait_for()
    assert page.locator("#t1 th[data-name='algebra domains']").is_hidden()
    page.reload()
    page.locator("html[data-charts=drawn]").wait_for(state="attached")
    assert legend.locator("text").all_text_contents() == chosen
    with page.expect_download() as saved:
        page.locator("figure[data-profile=t1]").get_by_role("button", name="Save as PNG").click()
    content = Path(saved.value.path()).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24])[0] > 600
    with page.expect_download() as saved:
        page.locator("figure[data-profile=t1]").get_by_role("button", name="Save as SVG").click()
    assert chosen[0] in Path(saved.value.path()).read_text(encoding="utf-8")
    assert page.locator("figure[data-chart=failed]").count() == 0
    assert page.locator("figure[data-chart=drawn]").count() >= 2
    with page.expect_download() as saved:
        page.locator("[data-name=csbench-cost]").first.get_by_role("button", name="Save as SVG").click()
    assert saved.value.suggested_filename == "csbench-cost.svg"
    assert "US$ for 1,000 answers" in Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_model_is_opened_and_its_neighbours(visit: Visit) -> None:
    page = visit("index.html")
    page.get_by_role("link", name="CS-Bench", exact=True).first.click()
    page.get_by_role("heading", level=1, name="CS-Bench").wait_for()
    first, second = names(page)[:2]
    page.locator("#t1").get_by_role("link", name=first).click()
    assert page.get_by_role("heading", level=1).inner_text() == first
    assert page.get_by_text("signature").first.is_visible()
    assert page.locator(".bars svg").count() >= 4
    page.locator("a[rel=next]").click()
    assert page.get_by_role("heading", level=1).inner_text() == second
    page.locator("a[rel=prev]").click()
    assert page.get_by_role("heading", level=1).inner_text() == first
    page.locator(".brand a").click()
    page.locator("#papers-q").fill("gpt-4o")
    until(page, "q=gpt-4o")
    page.locator("#papers").get_by_role("link", name="GPT-4o-2024-05-13").click()
    assert page.locator(".mark.published").first.is_visible()


def test_hostile_names_are_shown_as_text(visit: Visit, site: Path) -> None:
    (path,) = site.glob("questions-*.html")
    page = visit(path.name)
    assert len(names(page)) == 5
    assert any("<img src=x onerror=" in name for name in names(page))
    page.locator("#t1 tbody input").first.check()
    page.locator("#t1-q").fill("</script>")
    until(page, "script")
    assert len(names(page)) == 1
    page.locator("#t1 tbody tr:not([hidden]) th.name a").click()
    assert "</script>" in page.get_by_role("heading", level=1).inner_text()
    assert page.evaluate("window.vivaattack") is None


@pytest.mark.parametrize("path", ["csbench.html", pytest.param("index.html", marks=pytest.mark.slow)])
def test_nothing_is_cut_off_at_400_px_or_pale_in_the_dark(visit: Visit, path: str) -> None:
    page = visit(path, viewport={"width": 400, "height": 800}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    found = page.evaluate(script("contrast.js"))
    assert found["seen"] > 10
    assert found["poor"] == []
    if path == "csbench.html":  # scores, intervals and the names of chosen models are whole
        ends = page.eval_on_selector_all(
            "#t1 tbody .interval", "all => all.map((one) => one.getBoundingClientRect().right)"
        )
        assert ends
        assert max(ends) <= 400
        page.locator("html[data-charts=drawn]").wait_for(state="attached")
        assert names(page)[0] in page.locator("figure[data-profile=t1] svg text").all_text_contents()


def test_without_scripts_the_tables_are_still_there(visit: Visit) -> None:
    page = visit("csbench.html", java_script_enabled=False)
    assert page.locator("#t1 tbody tr").count() == 14
    assert page.locator(".filters").first.is_hidden()
    assert page.locator("#t1 th.name").nth(1).is_visible()
