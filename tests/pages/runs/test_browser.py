"""The pages in a real browser: a growing run, filters, keys, no JavaScript, 400 px, dark mode."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pages.report.conftest import viva
from pages.review.conftest import script
from pages.runs.conftest import Serving
from pages.runs.growing import MODELS, Growing
from viva.runs.following import slug
from web.hostile import MARK, TEXTS

Browse = Callable[..., Any]
Serve = Callable[..., Serving]
pytestmark = pytest.mark.browser


def test_a_run_is_watched_while_it_grows_and_ends(browse: Browse, serving: Serve, growing: Growing) -> None:
    growing.answer(3)
    page = browse(serving(str(growing.root)).address)
    page.goto("/")
    page.get_by_role("link", name="growing").click()
    page.wait_for_selector("#tables")
    assert page.locator("[data-field=answered]").inner_text() == "3"
    growing.answer(7)
    growing.answer(2, failed=True)
    page.locator("[data-field=answered]:text-is('10')").wait_for()
    assert page.locator("[data-field=failed]").inner_text() == "2"
    assert page.locator("#meter").evaluate("one => one.value") == 10
    assert page.locator("#parts tbody tr").nth(1).inner_text().split() == ["openai/beta", "fruit", "0", "2", "8"]
    assert page.locator("[data-field=rate]").inner_text() != "0"
    growing.close()
    page.locator("#live:not([data-live])").wait_for()
    assert "stopped before its end: 2 failed, 8 not asked" in page.locator("#live").inner_text()
    assert "10 of 20 answers" in page.locator("main").inner_text()
    page.get_by_role("button", name="score").click()
    assert page.locator("#t1 tbody th").all_inner_texts() == ["openai/alpha", "openai/beta"]


def test_lists_are_walked_by_key(browse: Browse, serving: Serve, growing: Growing) -> None:
    growing.answer(20)
    growing.close()
    page = browse(serving(str(growing.root)).address)
    focused = "() => document.activeElement.textContent"
    walked = {"/run/growing/answers": ".rows li > a", "/run/growing/matrix": "tbody th a", "/": "tbody th a"}
    for address, links in walked.items():
        page.goto(address)
        page.wait_for_selector(links)
        texts = page.locator(links).all_inner_texts()
        for key, place in (("j", 0), ("j", 1), ("k", 0)):
            page.keyboard.press(key)
            assert page.evaluate(focused) == texts[min(place, len(texts) - 1)], (address, key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/growing")


def test_answers_are_searched_filtered_and_stepped_through_by_key(
    browse: Browse, serving: Serve, growing: Growing
) -> None:
    growing.answer(15)
    growing.answer(5, text="A potato.")
    growing.close()
    page = browse(serving(str(growing.path)).address)
    page.goto("/")
    page.get_by_role("link", name="Answers").click()
    page.wait_for_url("**/answers")  # loaded: its script listens
    assert page.locator("#found").inner_text() == "20 answers"
    page.get_by_label("Outcome").select_option("wrong")
    page.wait_for_url("**outcome=wrong**")
    assert page.locator("#found").inner_text() == "5 answers"
    page.get_by_label("Search").fill("potato number 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=potato**")
    assert page.locator("#found").inner_text() == "1 answer"
    page.get_by_role("link", name="All answers").click()
    page.locator(".rows a").first.click()
    page.wait_for_url("**/answer/1.1**")
    assert page.locator("#reply").inner_text() == "It is apple."
    page.keyboard.press("j")
    page.wait_for_url("**/answer/2.1**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/answer/1.1**")
    assert page.locator("#previous").count() == 0
    page.get_by_text("The same question, 2 models").click()
    page.get_by_role("link", name="openai/beta").click()
    page.wait_for_url("**/answer/2.1**")
    page.keyboard.press("l")
    page.wait_for_url("**/answers**")


def test_a_file_lists_the_answers_that_are_served_in_their_order(
    browse: Browse, visit: Callable[..., TestClient], tmp_path: Path
) -> None:
    growing = Growing(tmp_path / "runs", samples=2)
    for text in (None, 'A "big" potato.', None, "ＰＯＴＡＴＯ fig"):
        growing.answer(9, text=text)
    growing.answer(4, failed=True)
    growing.close()
    viva("score", growing.path)
    viva("report", growing.path, "--html")
    page, visitor = browse(growing.path.as_uri()), visit(growing.root)
    page.goto(f"{growing.path.as_uri()}/report.html")
    for query in (
        "", "sort=lowest", "sort=highest&outcome=right", "sort=lowest&t.half=second", "q=potato",
        "q=%22a+%22", "outcome=wrong%2Cerror&sort=lowest", "q=grape", "exam=x",
        f"q=fig&model={slug('openai/beta')}&sort=lowest",
    ):  # fmt: skip
        served = re.findall(
            r'<li><a href="/run/growing/answer/(\d)\.(\d+)\?', visitor.get(f"/run/growing/answers?{query}").text
        )
        wanted = [f"fruit\t{MODELS[int(a) - 1]}\tq{(int(b) - 1) // 2}\t{(int(b) - 1) % 2}" for a, b in served]
        page.evaluate("text => { location.hash = text; }", query)
        listed = "[...document.querySelectorAll('[data-part=list] a')].map((a) => a.hash.slice(6)).join()"
        page.wait_for_function(f"(wanted) => decodeURIComponent({listed}) === wanted", arg=",".join(wanted))


def test_everything_works_without_javascript(browse: Browse, serving: Serve, growing: Growing) -> None:
    growing.answer(20)
    page = browse(serving(str(growing.root)).address, java_script_enabled=False)
    page.goto("/")
    page.get_by_role("link", name="growing").click()
    assert "100.00" in page.locator("#t1").inner_text()
    page.get_by_role("link", name="Answers").click()
    page.get_by_text("By tag").click()
    page.get_by_label("half").select_option("second")
    page.get_by_role("button", name="Show").click()
    assert page.locator("#found").inner_text() == "10 answers"
    page.locator(".rows a").nth(2).click()
    page.get_by_role("link", name="Next").click()
    assert page.locator("#reply").inner_text() == "It is grape.", "the other model's answer comes next"
    page.get_by_role("link", name="List").click()
    assert page.locator("#found").inner_text() == "10 answers"


def test_the_matrix_is_walked_by_keys_and_opens_two_replies_side_by_side(
    browse: Browse, serving: Serve, growing: Growing
) -> None:
    growing.answer(4)
    growing.answer(6, text="It is a *potato*: $\\frac{1}{2}$, or\n\\[x^2\\]")
    growing.answer(10)
    growing.close()
    page = browse(serving(str(growing.path)).address)
    page.goto("/")
    page.get_by_role("link", name="Matrix").click()
    page.wait_for_url("**/matrix")  # loaded: its script listens
    page.get_by_label("Show", exact=True).select_option("disagree")
    page.wait_for_url("**show=disagree**")
    assert page.locator("#found").inner_text() == "6 questions"
    assert page.locator("#matrix thead").inner_text().split()[3:] == ["openai/beta", "100.00", "openai/alpha", "40.00"]
    page.locator(".wide").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "answer/1.6"
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pair/growing/growing/6?show=disagree&a=2&b=1")
    assert page.locator(".side h2").all_inner_texts() == ["openai/beta", "openai/alpha"]
    assert page.locator(".side mark").count() > 0
    page.get_by_label("Texts").select_option("rendered")
    page.wait_for_url("**view=rendered**")
    page.locator(".tex math mfrac").wait_for()
    assert page.locator(".side em").inner_text() == "potato"
    page.keyboard.press("j")
    page.wait_for_url("**/pair/growing/growing/7?**")
    assert "view=rendered" in page.url
    page.keyboard.press("l")
    page.wait_for_url("**/pair/growing/growing?show=disagree**")
    assert page.locator(".rows li").count() == 6
    page.keyboard.press("m")
    page.wait_for_url("**/matrix?show=disagree")


def test_a_formula_that_is_none_stays_what_it_is(browse: Browse, serving: Serve, growing: Growing) -> None:
    attacks = r"$\href{javascript:1}{x}$ $\includegraphics{a}$ $\frac{1}$ $\def\a{\a\a}\a$ $\htmlStyle{color:red}{x}$"
    growing.answer(text=f"{attacks} but $x^2$ is one.")
    growing.close()
    page = browse(serving(str(growing.path)).address)
    page.goto("/")
    page.goto(f"{page.url}/answer/1.1")
    page.locator("#reply math").first.wait_for()
    shown = page.locator("#reply").inner_text()
    assert r"$\includegraphics{a}$" in shown or "includegraphics" in shown
    assert r"$\frac{1}$" in shown
    assert r"$\def\a{\a\a}\a$" in shown
    assert page.locator("#reply a, #reply img, #reply [style], #reply [href]").count() == 0


@pytest.mark.slow
def test_what_wants_to_run_is_text_in_a_browser_too(browse: Browse, serving: Serve, hostile_runs: Path) -> None:
    page = browse(serving(str(hostile_runs)).address)
    page.goto("/")
    page.locator("#runs th a").click()
    page.wait_for_selector("#tables")
    run = page.url
    rendered = [[*TEXTS].index(name) + 1 for name in ("latex", "formulas", "markdown_links", "markdown_html")]
    places = (1, 2, 6, 11, 16, 23, *rendered)
    beside = [
        f"{run.replace('/run/', '/pair/')}/{run.rpartition('/')[2]}/{place}?a=1&b=2&view={view}"
        for place in rendered
        for view in ("words", "rendered")
    ]
    for address in (run, f"{run}/answers", f"{run}/matrix", *(f"{run}/answer/1.{place}" for place in places), *beside):
        page.goto(address)
        assert page.evaluate(f"window.{MARK}") is None
        assert page.locator(f"#{MARK}, main script, main style, main img, iframe, object, base").count() == 0
        odd = "math:not(.tex math), main [style], math [href], math [id], a[href*='evil.example']"
        assert page.locator(odd).count() == 0
        assert page.locator("meta[http-equiv]").count() == 0
    page.goto(f"{run}/answer/2.1/reply.txt")
    assert page.evaluate("document.contentType") == "text/plain"
    assert page.evaluate(f"window.{MARK}") is None


@pytest.mark.slow  # the pages hold megabytes, which Chromium lays out for ten seconds
@pytest.mark.parametrize(
    "settings",
    [{"viewport": {"width": 400, "height": 800}}, {"viewport": {"width": 1500, "height": 900}, "color_scheme": "dark"}],
)
def test_narrow_or_dark_nothing_sticks_out_and_all_can_be_read(
    browse: Browse, serving: Serve, hostile_runs: Path, settings: dict[str, Any]
) -> None:
    page = browse(serving(str(hostile_runs)).address, **settings)
    page.goto("/")
    run = page.locator("#runs th a").get_attribute("href")
    pages = ("", "/answers", "/answer/2.49", "/answer/2.3", "/matrix")
    name = run.rpartition("/")[2]
    pair = f"/pair/{name}/{name}?a=1&b=2"
    for address in ("/", pair, pair.replace("?", "/5?"), *(f"{run}{page_of}" for page_of in pages)):
        page.goto(address)
        page.wait_for_function("() => !document.querySelector('meta[http-equiv=refresh]')")
        assert page.evaluate("document.documentElement.scrollWidth") <= settings["viewport"]["width"], address
        assert page.evaluate(script("contrast.js"))["poor"] == [], address
