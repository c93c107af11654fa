"""Replies rendered in a browser: Markdown and formulas are rendered, active content stays text, and nothing takes
long."""

import re
import string
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.pages.shell import asset
from viva.visible import escape_invisible
from viva.web.pagetemplates import highlighted, policy
from web.hostile import TEXTS, assert_only_text
from within import within

pytestmark = pytest.mark.browser
ALLOWED = re.compile(
    r"</?(p|em|strong|ul|ol|li|blockquote|pre|code|table|thead|tbody|tr|th|td|mark|span)>|<(br|hr)>"
    r'|<p class="(heading|quiet)">|<mark class="(only |read|both)+">|<ol start="\d+">'
    r'|<span class="tex( display)?( read)?">|<span class="indent">'
)
RENDER = """(texts) => texts.map(([text, [start, end]]) => {
  const element = document.createElement("div"), mark = document.createElement("mark");
  mark.className = "read";
  mark.append(viva.visible(text.slice(start, end)));
  element.append(viva.visible(text.slice(0, start)), mark, viva.visible(text.slice(end)));
  return viva.prose(element)?.innerHTML;
})"""


@pytest.fixture(scope="module")
def page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page with the scripts of a report, but for what draws formulas: these stay the text that they are."""
    scripts = [asset("markdown-it/markdown-it.min.js"), asset("prose.js")]
    rules = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
    path = tmp_path_factory.mktemp("prose") / "page.html"
    path.write_text(f"<!doctype html>{rules}<bdi data-tex></bdi><script>{'</script><script>'.join(scripts)}</script>")
    opened = chromium.new_page()
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def rendered(page: Any, *texts: str, span: tuple[int, int] = (0, 0)) -> list[str | None]:
    return list(page.evaluate(RENDER, [[text, span] for text in texts]))


def only_ours(made: str) -> None:
    assert_only_text(made)
    for tag in re.findall(r"<[^>]*>", made):
        assert ALLOWED.fullmatch(tag), tag


def test_markdown_and_formulas_are_rendered(page: Any) -> None:
    cases = {
        "**bold** and `code`": "<p><strong>bold</strong> and <code>code</code></p>",
        "# A\n\n2. b": '<p class="heading">A</p><ol start="2"><li>b</li></ol>',
        "a $x_1 * y_2$ b": '<p>a <span class="tex">$x_1 * y_2$</span> b</p>',
        "$$\nx\n=1\n$$": '<p><span class="tex display">$$\nx\n=1\n$$</span></p>',
        r"\(a_b\)": r'<p><span class="tex">\(a_b\)</span></p>',
        r"\[a_b\]": r'<p><span class="tex display">\[a_b\]</span></p>',
        r"\begin{cases}a\end{cases}": r'<p><span class="tex display">\begin{cases}a\end{cases}</span></p>',
        "*def* f(n):\n    if n:\n\treturn 1": '<p><em>def</em> f(n):<br><span class="indent">    </span>if n:<br>'
        '<span class="indent">\t</span>return 1</p>',
        "  x = 1\n\n    y = 2": '<p><span class="indent">  </span>x = 1</p><pre><code>    y = 2\n</code></pre>',
        "- a\n  b": "<ul><li>a<br>b</li></ul>",
        "it costs $5, or $6,\n10$": None,
        "`$x$`": "<p><code>$x$</code></p>",
        "```py\n$x$ $y$\n```": '<p class="quiet">py</p><pre><code>$x$ $y$\n</code></pre>',
        "*[x](http://a.b/c)*": "<p><em>x (http://a.b/c)</em></p>",
        "<http://a.b/c> *d*": "<p>http://a.b/c <em>d</em></p>",
        "*![x](http://a.b/c)*": "<p><em>[image: x (http://a.b/c)]</em></p>",
        "*<b>x</b>*": "<p><em>&lt;b&gt;x&lt;/b&gt;</em></p>",
        "*&#x202e;*": "<p><em>&amp;#x202e;</em></p>",
        "*a*\n\n[a]: http://x.y": "<p><em>a</em></p><p>[a]: http://x.y</p>",
        "*a\u202eb*": "<p><em>a&lt;U+202E&gt;b</em></p>",
        "|a|b|\n|:-|-|\n|1|2|": "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
    }
    for (text, made), row in tabled(*cases.items()):
        with row:
            assert rendered(page, text) == [made]


def test_a_table_has_all_its_borders(chromium: Any) -> None:
    page = chromium.new_page()
    style, cells = asset("viva.css") + asset("text.css"), "<tbody><tr><td>1<tr><td>2</table>"
    page.set_content(f"<style>{style}</style><div class=prose><table>{cells}</div>")
    assert page.locator("td").last.evaluate("(one) => getComputedStyle(one).borderBottomWidth") == "1px"
    page.close()


def test_what_was_read_is_marked_in_rendered_text(page: Any) -> None:
    cases = {
        "*So* [it is B].": '<p><em>So</em> <mark class="read">it is B</mark>.</p>',
        "So [**it is B.**]": '<p>So <strong><mark class="read">it is B.</mark></strong></p>',
        "So [it is **B**]": '<p>So <mark class="read">it is </mark><strong><mark class="read">B</mark></strong></p>',
        "- [B. x]\n- y": '<ul><li><mark class="read">B. x</mark></li><li>y</li></ul>',
        "$\\boxed{[B]}$": '<p><span class="tex read">$\\boxed{B}$</span></p>',
        "`x[y]`": '<p><code>x<mark class="read">y</mark></code></p>',
        "*a\x00* [b]": '<p><em>a&lt;U+0000&gt;</em> <mark class="read">b</mark></p>',
    }
    for (text, made), row in tabled(*cases.items()):
        with row:
            span = text.index("["), text.index("]") - 1
            assert rendered(page, text.replace("[", "").replace("]", ""), span=span) == [made]


def test_a_line_has_its_formulas_and_none_is_cut_in_two(page: Any) -> None:
    cases = {
        "If $x_1$ then *a*": 'If <span class="tex">$x_1$</span> then *a*',
        f"Let ${'a' * 30}…": "Let …",
        "If $x$ or \\(y_…": 'If <span class="tex">$x$</span> or …',
        "a <b> `$x$`": "a &lt;b&gt; `$x$`",
        "it costs $5 or less…": "it costs $5 or less…",
    }
    script = asset("prose.js")
    for (text, made), row in tabled(*cases.items()):
        with row:
            page.evaluate("(text) => { document.querySelector('[data-tex]').textContent = text; }", text)
            page.evaluate(script)
            assert page.evaluate("document.querySelector('[data-tex]').innerHTML") == made


def test_a_text_stands_as_it_came_below_where_it_is_rendered(page: Any) -> None:
    made = """(text) => {
      const element = document.body.appendChild(document.createElement("div"));
      element.dataset.prose = "both";
      element.append(text);
    }"""
    for text in ("plain", "*so*"):
        page.evaluate(made, text)
    page.evaluate(asset("prose.js"))
    assert page.locator(".prose + details.came").all_text_contents() == ["As it came*so*"]
    assert page.locator("[data-prose]").all_text_contents() == ["plain", "*so*"]


@each_row(*TEXTS.items())
def test_attacks_stay_text(name: str, text: str, *, page: Any) -> None:
    encodable = text.encode("utf-8", "replace").decode()
    [made] = rendered(page, encodable)
    only_ours(made or "")
    only_ours(highlighted(text, [(0, len(text) // 2, "read")]))
    assert page.evaluate("viva.visible", encodable) == escape_invisible(encodable.replace("\r\n", "\n"))


def test_what_is_too_long_or_too_deep_is_shown_as_it_came(page: Any) -> None:
    deep = "\n".join(" " * (2 * n) + "- a" for n in range(30))
    assert rendered(page, "*a* " * 5_001, "> " * 30 + "The answer is B", deep, "$x$ " * 400) == [None] * 4


def test_no_text_takes_long(page: Any) -> None:
    pieces = (
        *("$", "\\[", "\\(", "[", "![a](", "[a](b", "> ", "`", "*a **a ", "_a__", "<a ", "|a", "<http://a", "# a\n"),
        *("```\n", "\\begin{align}", "$a ", "\\", "[](", "a\n", "~~~a\n```b\n", "*", "&#x41;"),
    )
    with within(40):
        rendered(page, *((piece * 20_000)[:20_000] for piece in pieces))


def test_any_text_becomes_elements_of_ours_alone(page: Any) -> None:
    alphabet = string.ascii_letters + "*_`$#>|-[]()!<&;:\\\"' \n\t{}012\u202e\x00\ufdd0\ufdd2"

    @given(st.lists(st.text(alphabet, max_size=200), min_size=1, max_size=40), st.integers(0, 99), st.integers(0, 99))
    def check(texts: list[str], start: int, length: int) -> None:
        for made in rendered(page, *texts, span=(start, start + length)):
            only_ours(made or "")

    check()
