"""Replies rendered: Markdown and formulas are ours, what wants to be more stays text, and nothing takes long."""

from __future__ import annotations

import html
import re
import string

from hypothesis import example, given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.visible import escape_invisible
from viva.web.markdown import formatted, highlighted, in_one_line, rendered
from web.hostile import TEXTS, assert_only_text
from within import within

ALLOWED = re.compile(
    r"</?(p|em|strong|ul|ol|li|blockquote|pre|code|table|thead|tbody|tr|th|td|mark|span)>|<(br|hr) />"
    r'|<p class="(heading|quiet)">|<mark class="(only |read|both)+">|<ol start="\d+">'
    r'|<span class="tex( display)?( read)?" data-cut="[012]">|<span class="indent">'
)


def plain(made: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", made))


def only_ours(made: str) -> None:
    assert_only_text(made)
    for tag in re.findall(r"<[^>]*>", made):
        assert ALLOWED.fullmatch(tag), tag


def test_markdown_and_formulas_are_rendered() -> None:
    cases = {
        "**bold** and `code`": "<p><strong>bold</strong> and <code>code</code></p>",
        "# A\n\n2. b": '<p class="heading">A</p>\n<ol start="2">\n<li>b</li>\n</ol>',
        "a $x_1 * y_2$ b": '<p>a <span class="tex" data-cut="1">$x_1 * y_2$</span> b</p>',
        "$$\nx\n=1\n$$": '<p><span class="tex display" data-cut="2">$$\nx\n=1\n$$</span></p>',
        r"\(a_b\)": r'<p><span class="tex" data-cut="2">\(a_b\)</span></p>',
        r"\[a_b\]": r'<p><span class="tex display" data-cut="2">\[a_b\]</span></p>',
        r"\begin{cases}a\end{cases}": r'<p><span class="tex display" data-cut="0">\begin{cases}a\end{cases}</span></p>',
        "def f(n):\n    if n:\n\treturn 1": '<p>def f(n):<br />\n<span class="indent">    </span>if n:<br />\n'
        '<span class="indent">\t</span>return 1</p>',
        "  x = 1\n\n    y = 2": '<p><span class="indent">  </span>x = 1</p>\n<pre><code>    y = 2\n</code></pre>',
        "- a\n  b": "<ul>\n<li>a<br />\nb</li>\n</ul>",
        "it costs $5, or $6": "<p>it costs $5, or $6</p>",
        "US$ 5 and 10$": "<p>US$ 5 and 10$</p>",
        "`$x$`": "<p><code>$x$</code></p>",
        "```\n$x$ $y$\n```": "<pre><code>$x$ $y$\n</code></pre>",
        "[x](http://a.b/c)": "<p>x (http://a.b/c)</p>",
        "![x](http://a.b/c)": "<p>[image: x (http://a.b/c)]</p>",
        "<b>x</b>": "<p>&lt;b&gt;x&lt;/b&gt;</p>",
        "&#x202e;": "<p>&amp;#x202e;</p>",
        "[a]: http://x.y": "<p>[a]: http://x.y</p>",
        "a\u202eb": "<p>a&lt;U+202E&gt;b</p>",
    }
    for (text, made), row in tabled(*cases.items()):
        with row:
            assert (rendered(text) or "").strip() == made


def test_what_was_read_is_marked_in_rendered_text() -> None:
    cases = {
        "So [it is B].": '<p>So <mark class="read">it is B</mark>.</p>',
        "So [**it is B.**]": '<p>So <strong><mark class="read">it is B.</mark></strong></p>',
        "So [it is **B**]": '<p>So <mark class="read">it is </mark><strong><mark class="read">B</mark></strong></p>',
        "- [B. x]\n- y": '<ul>\n<li><mark class="read">B. x</mark></li>\n<li>y</li>\n</ul>',
        "$\\boxed{[B]}$": '<p><span class="tex read" data-cut="1">$\\boxed{B}$</span></p>',
        "`x[y]`": '<p><code>x<mark class="read">y</mark></code></p>',
        "a\x00[b]": '<p>a&lt;U+0000&gt;<mark class="read">b</mark></p>',
    }
    for (text, made), row in tabled(*cases.items()):
        with row:
            start, end = text.index("["), text.index("]") - 1
            bare = text.replace("[", "").replace("]", "")
            assert (rendered(bare, (start, end)) or "").strip() == made


def test_a_line_with_formulas_cuts_none_in_two() -> None:
    cases = {
        ("If  $x_1$\nthen", 40): 'If <span class="tex" data-cut="1">$x_1$</span> then',
        ("Let $" + "a" * 30 + "$ be", 20): "Let …",
        ("$$" + "a" * 30 + "$$ is", 20): f'<span class="tex" data-cut="2">$${"a" * 30}$$</span>…',
        ("a <b> `$x$`", 40): "a &lt;b&gt; `$x$`",
        ("long and longer", 10): "long and …",
    }
    for ((text, longest), made), row in tabled(*cases.items()):
        with row:
            assert in_one_line(text, longest) == made


def test_parts_of_a_text_are_marked_where_they_overlap() -> None:
    made = highlighted("one <two> three", [(0, 9, "only"), (4, 9, "read"), (90, 95, "only")])
    assert made == '<mark class="only">one </mark><mark class="only read">&lt;two&gt;</mark> three'


@each_row(*TEXTS.items())
def test_attacks_stay_text(name: str, text: str) -> None:
    only_ours(rendered(text) or "")
    only_ours(highlighted(text, [(0, len(text) // 2, "read")]))
    assert plain(highlighted(text, [])) == escape_invisible(text.replace("\r\n", "\n"))


def test_what_is_too_long_or_too_deep_is_shown_as_it_came() -> None:
    assert rendered("$" * 1_000_000) is None
    assert rendered("> " * 30 + "The answer is B") is None
    assert rendered("\n".join(" " * (2 * n) + "- a" for n in range(30))) is None
    assert rendered("$x$ " * 400) is None


def test_no_text_takes_long() -> None:
    pieces = (
        "$",
        "\\[",
        "\\(",
        "[",
        "![a](",
        "[a](b",
        "> ",
        "`",
        "*a **a ",
        "_a__",
        "<a ",
        "|a",
        "<http://a",
        "# a\n",
        "```\n",
    )
    with within(20):
        for piece in (*pieces, "\\begin{align}", "$a ", "\\", "[](", "a\n", "~~~a\n```b\n", "*", "&#x41;"):
            rendered((piece * 20_000)[:20_000])


@given(
    st.text(string.ascii_letters + "*_`$#>|-[]()!<&;:\\\"' \n\t{}012\u202e\x00\ufdd0\ufdd2", max_size=200), st.data()
)
def test_any_text_becomes_elements_of_ours_alone(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    span = (start, data.draw(st.integers(start, len(text))))
    only_ours(rendered(text, span) or "")
    assert plain(highlighted(text, [(*span, "read")])) == escape_invisible(text)


@given(st.text("ab*_`$#>|-+=1.)[(!<~\\:' \n\t", max_size=60))
@example("a\n    b").via("indented code needs an empty line before it")
@example("\n    b")
@example("1) b")
@example("b\n=")
def test_a_text_is_not_formatted_where_that_shows_nothing(text: str) -> None:
    made = rendered(text) or ""
    plain = {"<p>", "<br />", '<span class="indent">'}
    assert (formatted(text) is not None) == bool(set(re.findall(r"<[^/][^>]*>", made)) - plain)
