"""The page in a real browser: the keyboard, no JavaScript, 400 px, contrast, focus, and texts that try to run."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pages.review.conftest import Server, Visitor, fields, script
from pages.review.hostile import HOSTILE, hostile
from pages.review.material import ITEMS, editable
from servers.browser import windows
from thorough import THOROUGH
from viva.engine.reviews import ReviewLog
from viva.review.items import Item
from web.hostile import TEXTS

FIRST, SECOND, THIRD = ITEMS[:3]
ITEM = f"/item/{FIRST.key}"
PAGES = ("/start", "/items", "/items?t.type=MC&sample=20", ITEM, f"{ITEM}?blind=1", "/nowhere")
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


@pytest.fixture
def web(chromium: Any, server: Server) -> Iterator[Open]:
    """A new browser session, entered as someone; what it asks for elsewhere, or complains of, is a failure."""
    address = server.start()
    with windows(chromium, harmless=("404", "422")) as window:

        def make(name: str = "Ada", watched: bool = True, **settings: Any) -> Any:
            page = window(*[address] * watched, base_url=address, **settings)
            if name:
                page.goto("/start")
                page.get_by_label("Your name").fill(name)
                page.get_by_role("button", name="Begin").click()
                page.wait_for_url("**/items**")
            return page

        yield make


def wait_for(page: Any, item: Any) -> None:
    page.wait_for_url(f"**/item/{item.key}**")
    page.wait_for_load_state()


def said(page: Any, text: str) -> None:
    """Wait for the page to say so, and for its script: the words are in the HTML before any key is heard.

    The page allows no eval, so playwright's `wait_for_function` is not to be had.
    """
    page.locator("#said", has_text=text).wait_for(state="attached")
    page.wait_for_load_state()


def marks(path: Path, item: Any) -> set[tuple[str, float]]:
    return {(mark.aspect, mark.value) for mark in ReviewLog(path).marks(item.key)}


def test_an_expert_marks_by_keyboard_alone(web: Open, path: Path) -> None:
    page = web()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.get_by_role("link", name="Mark the next one").focus()
    page.keyboard.press("Enter")
    wait_for(page, FIRST)
    page.keyboard.press("y")
    page.keyboard.press("h")
    page.keyboard.press("c")
    page.keyboard.type("n h y u b j ? are only letters here")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    wait_for(page, SECOND)
    assert page.locator("#said").inner_text() == "Saved."
    assert "said" not in page.url
    assert marks(path, FIRST) == {("answer", 1.0), ("rationale", 0.5)}
    assert ReviewLog(path).marks(FIRST.key)[1].comment.startswith("n h y u b j")
    page.keyboard.press("Enter")  # the draft
    wait_for(page, THIRD)
    assert marks(path, SECOND) == {("answer", 1.0), ("rationale", 0.5)}
    page.keyboard.press("k")
    wait_for(page, SECOND)
    page.keyboard.press("j")
    wait_for(page, THIRD)
    page.keyboard.press("ArrowLeft")
    wait_for(page, SECOND)
    page.keyboard.press("u")
    said(page, "Taken back")
    assert marks(path, SECOND) == set()
    page.keyboard.press("b")
    page.wait_for_url("**blind=1**")
    assert page.get_by_text("Draft verdict").count() == 0
    page.keyboard.press("Enter")
    said(page, "first")
    assert marks(path, SECOND) == set(), "blind, there is no draft to confirm"
    page.keyboard.press("?")
    assert page.locator("#keys dl").is_visible()
    page.locator("#comment-1").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.locator("#comment-1").focus()
    page.keyboard.press("Control+Enter")
    wait_for(page, THIRD)
    assert marks(path, SECOND) == {("rationale", 0.0)}, "a letter goes to the aspect that has the focus"
    assert ReviewLog(path).reviews[-1].blind is False, "the draft was seen before"


def test_everything_works_without_javascript(web: Open, path: Path) -> None:
    page = web(java_script_enabled=False)
    page.get_by_text("Choose items").click()
    page.get_by_label("Type", exact=True).select_option("MC")
    page.get_by_role("button", name="Show these").click()
    page.get_by_role("link", name="Two threads each").click()
    page.get_by_role("group", name="Your mark for the answer").get_by_label("1 right").check()
    page.get_by_role("group", name="Your mark for the rationale").get_by_label("0 wrong").check()
    page.get_by_label("Comment on the rationale").fill("Not shown.")
    page.get_by_role("button", name="Save and next").click()
    page.wait_for_url("**said=saved**")
    assert marks(path, FIRST) == {("answer", 1.0), ("rationale", 0.0)}
    page.get_by_role("button", name="Confirm draft and next").click()
    page.wait_for_url("**said=saved**")
    assert ReviewLog(path).reviews[-1].item == ITEMS[5].key
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**said=undone**")
    assert marks(path, ITEMS[5]) == set()
    page.get_by_role("link", name="review blind").click()
    assert page.get_by_text("Draft verdict").count() == 0
    page.get_by_role("button", name="Save and next").click()
    assert page.get_by_role("alert").inner_text() == "Nothing was saved: choose a mark first."


@pytest.mark.slow
def test_a_page_that_was_open_when_the_server_died_can_still_be_saved(web: Open, server: Server, path: Path) -> None:
    page = web(watched=False)  # the icon may be asked for while nobody is there
    page.goto(f"/item/{FIRST.key}")
    page.keyboard.press("y")
    page.keyboard.press("y")
    server.kill()
    server.start()
    page.keyboard.press("Enter")
    wait_for(page, SECOND)
    page.go_back()
    page.wait_for_load_state()
    assert page.get_by_text("saved: 1").count() == 2
    assert len(ReviewLog(path).reviews) == 2


def test_two_clicks_are_one_form(web: Open, path: Path) -> None:
    page = web()
    page.goto(f"/item/{FIRST.key}")
    page.keyboard.press("y")
    page.locator("#save").dblclick(no_wait_after=True)
    page.wait_for_url(lambda url: FIRST.key not in url)
    assert len(ReviewLog(path).reviews) == 1


def test_leaving_with_something_unsaved_is_asked_about(web: Open, path: Path) -> None:
    page = web(watched=False)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.goto(f"/item/{FIRST.key}")
    page.keyboard.press("y")
    page.keyboard.press("j")
    page.locator("input:checked").first.wait_for(state="attached")
    assert asked == ["beforeunload"]
    assert FIRST.key in page.url
    page.keyboard.press("Control+Enter")
    wait_for(page, SECOND)
    page.keyboard.press("j")
    wait_for(page, THIRD)
    assert asked == ["beforeunload"]
    assert marks(path, FIRST) == {("answer", 1.0)}


@pytest.mark.parametrize(("scheme", "width"), [("dark", 400), pytest.param("light", 1280, marks=pytest.mark.slow)])
def test_pages_are_legible_and_well_formed(web: Open, scheme: str, width: int) -> None:
    page = web(color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    page.goto(f"/item/{FIRST.key}")
    page.keyboard.press("y")
    page.keyboard.press("Control+Enter")
    wait_for(page, SECOND)
    for address in (*PAGES, f"/item/{editable().key}", f"/item/{hostile(TEXTS['wide']).key}"):
        page.goto(address)
        for details in page.locator("details").all():
            details.evaluate("one => { one.open = true; }")
        found = page.evaluate(script("contrast.js"))
        assert found["seen"] > 5
        assert found["poor"] == [], address
        assert page.evaluate(script("structure.js")) == [], address
        wide = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
        assert wide <= width, address
        assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.slow
def test_the_focus_goes_down_the_page_and_is_seen(web: Open) -> None:
    page = web(viewport={"width": 1280, "height": 900})
    page.goto(f"/item/{FIRST.key}")
    seen: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => {
              const one = document.activeElement, shown = one.type === "radio" ? one.closest("label") : one;
              const style = getComputedStyle(shown);
              const name = one.id || one.name || one.textContent.trim();
              return [name, style.outlineStyle + style.outlineWidth];
            }"""
        )
        if name in seen or page.evaluate("document.activeElement === document.body"):
            break
        assert outline == "solid3px", name
        seen.append(name)
    order = ["mark.0", "comment-0", "mark.1", "comment-1", "save", "confirm", "undo"]
    assert [name for name in seen if name in order] == order
    assert seen[0] == "Skip to the content"
    assert seen.index("up") < seen.index("mark.0")


SCRIPTS = [f"/static/{name}.js" for name in ("tables", "review", "markdown-it.min", "katex.min", "prose")]
"""The page's own, and no text's."""
LOOKED_AT = """() => {
  document.querySelectorAll(".draft details").forEach((one) => { one.open = true; });
  const seen = (one) => one?.checkVisibility() && one.getBoundingClientRect().height > 0;
  return {
    foreign: document.querySelectorAll("img, iframe, svg, object, embed, base, [style]").length,
    scripts: [...document.scripts].map((one) => one.getAttribute("src")),
    hidden: ["#save", ".draft details .others"].filter((one) => !seen(document.querySelector(one))),
    done: document.querySelectorAll(".marking .done").length,
  };
}"""

FEW = [hostile(TEXTS[name]) for name in ("script", "handler", "frame", "closing")]


@pytest.mark.parametrize(
    ("scripted", "shown"),
    [
        pytest.param(True, FEW, id="some"),
        pytest.param(True, HOSTILE, marks=pytest.mark.slow, id="all"),
        pytest.param(False, HOSTILE if THOROUGH else HOSTILE[::3], marks=pytest.mark.slow, id="without scripts"),
    ],
)
def test_no_text_runs_loads_or_hides(
    web: Open, visit: Callable[..., Visitor], path: Path, scripted: bool, shown: Sequence[Item]
) -> None:
    """Neither as what is reviewed, nor as one's own comment, nor as another's. A few are typed, others posted."""
    for visitor in (visit(shown).enter("Bo"), *[visit(shown).enter("Ada")] * (shown is not FEW)):
        for item in shown:
            visitor.mark(item, answer="0", comment_answer=item.question[:2000])
    page = web(java_script_enabled=scripted)
    page.goto("/items?page=1")
    for item in shown:
        page.goto(f"/item/{item.key}")
        if shown is FEW:
            page.locator("#comment-0").fill(item.question[:2000])
            page.locator("input[name='mark.0']").first.check()
            page.locator("#stay").click()
            page.wait_for_load_state()
            assert page.locator("#comment-0").input_value() == item.question[:2000], "no text ends its field"
        assert page.evaluate(LOOKED_AT) == {"foreign": 0, "scripts": SCRIPTS, "hidden": [], "done": 1}
    assert len(ReviewLog(path).reviews) == 2 * len(shown)


def test_another_site_can_neither_post_nor_frame_nor_read(web: Open, server: Server, path: Path) -> None:
    """The other site is a port of the same host, so that the cookies do come along."""
    page = web(watched=False)
    page.goto(f"/item/{FIRST.key}")
    stolen = fields(page.content())  # even so
    target = f"http://127.0.0.1:{server.port}"
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in {**stolen, "mark.0": "2"}.items())
    attack = (
        f'<form method=post action="{target}/item/{FIRST.key}">{inputs}<button>Win</button></form>'
        f'<iframe src="{target}/items"></iframe><img id=i src="{target}/static/icon.svg">'
    )
    evil = "http://127.0.0.1:9/"
    page.route(evil, lambda route: route.fulfill(body=attack, content_type="text/html"))
    page.goto(evil)
    fetched = "address => fetch(address, {credentials: 'include'}).then(a => a.text()).catch(() => 'refused')"
    assert page.evaluate(fetched, f"{target}/items") == "refused"
    assert page.evaluate("document.getElementById('i').naturalWidth") == 0
    assert "Mark the next one" not in page.frames[1].content()
    page.get_by_role("button", name="Win").click()
    page.wait_for_url(f"{target}/**")
    assert "sent by another site" in page.content()
    assert ReviewLog(path).marks(FIRST.key) == ()
