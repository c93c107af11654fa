"""Replies as people read them: Markdown and formulas become elements of ours, everything else stays text.

No HTML of a reply's, no links (an address is shown as text), no images (their words are), no style. Formulas stay
text here, marked for KaTeX (`static/katex`), which makes MathML of them in the browser. Text never vanishes: what
cannot be rendered in bounds is shown as it came.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, newline
from markdown_it.token import Token
from markupsafe import Markup, escape

from viva.visible import escape_invisible, one_line
from viva.web.text import LONGEST, shown

LONGEST_RENDERED = 20_000
"""Characters of a text that is rendered; a longer one is shown as it came."""
_NESTED = 20
"""Levels of lists and quotations; a text with more is shown as it came."""
_FORMULAS = 300
# Characters that no text has once `escape_invisible` has spelled out what cannot be seen.
_START, _END, _FORMULA, _DONE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_FORMULA_OR_CODE = re.compile(
    r"(?P<code>^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)|\Z)|`[^`\n]+`)"
    r"|(?P<two>\$\$(?!\s*\$).{1,1000}?\$\$|\\\[.{1,1000}?\\\])"
    r"|(?P<begin>\\begin\{(?:equation|align|gather|cases|[pbvBV]?matrix|array)\*?\}.{1,1000}?\\end\{[a-zA-Z]{1,10}\*?\})"
    r"|(?P<inner>\\\(.{1,500}?\\\))"
    r"|(?P<one>\$(?=[^\s$])[^$\n]{0,300}?[^\s$\\]\$(?![\d$]))",
    re.DOTALL | re.MULTILINE,
)
_DELIMITERS = {"two": 2, "begin": 0, "inner": 2, "one": 1}
_PIECE = re.compile(f"<[^>]*>|{_FORMULA}[0-9]+{_DONE}|[{_START}{_END}]|[^<{_START}{_END}{_FORMULA}]+|.", re.DOTALL)
_ELEMENT = re.compile(r'<(?!/?p>|br />|/?mark|/?span(?: class="indent")?>)')
_SIGN = re.compile(r"[*_`#>|$\\\[<~]|\n(?:[ \t]*(?:[-+=]|\d+[.)])| {4}| {0,3}\t)")
"""Without one of these in a text that begins with a line's end, Markdown is paragraphs and line ends: all of them begin
with one of a few characters, which a pattern is found by three times as quickly."""
_AROUND = " \t\n*_`#>-"
"""What a mark must not come before or after: Markdown would not see its own signs any more."""

Span = tuple[int, int]


def highlighted(text: str, marks: Iterable[tuple[int, int, str]]) -> Markup:
    """A text as it came, with parts marked (start, end, class); marks may overlap."""
    kept = text[:LONGEST]
    inside = [(start, min(end, len(kept)), name) for start, end, name in marks if 0 <= start < min(end, len(kept))]
    edges = sorted({0, len(kept), *(edge for start, end, _ in inside for edge in (start, end))})
    opened: dict[int, list[str]] = {}
    closed: dict[int, list[str]] = {}
    for start, end, name in inside:
        opened.setdefault(start, []).append(name)
        closed.setdefault(end, []).append(name)
    names: list[str] = []
    made: list[str] = []
    for start, end in itertools.pairwise(edges):
        for name in closed.get(start, ()):
            names.remove(name)
        names += opened.get(start, ())
        piece = escape(escape_invisible(kept[start:end].replace("\r\n", "\n")))
        made.append(f'<mark class="{" ".join(sorted(set(names)))}">{piece}</mark>' if names else str(piece))
    if len(text) > len(kept):
        made.append(f"\n… ({len(text) - len(kept):,} more characters)")
    return Markup("".join(made))  # noqa: S704 - every piece is escaped above


def rendered(text: str, read: Span | None = None) -> Markup | None:
    """A text's Markdown as HTML, with the part `read` marked; None where it is too long or too deep for that."""
    if len(text) > LONGEST_RENDERED:
        return None
    source, formulas = _without_formulas(_with_marks(text, read))
    made = _indented(_markdown().parse(source), source.split("\n"))
    if any(token.level >= _NESTED - 1 for token in made) or len(formulas) > _FORMULAS:
        return None
    plain = _plain(made)
    return Markup(_finished(_markdown().renderer.render(plain, _markdown().options, {}), formulas))  # noqa: S704


def formatted(text: str, read: Span | None = None) -> Markup | None:
    """A text rendered; None also where that shows nothing that the text itself does not, but for the part `read`."""
    made = rendered(text, read) if _SIGN.search(f"\n{text}") else None
    return made if made is not None and _ELEMENT.search(made) else None


def in_one_line(text: str, longest: int) -> Markup:
    """The beginning of a text in one line, with its formulas marked for KaTeX; none of them is cut in two."""
    flat = one_line(text, 4 * longest)
    end = len(flat) if len(flat) <= longest else longest - 1
    for found in _FORMULA_OR_CODE.finditer(flat):
        if found.start() < end < found.end() and found.lastgroup != "code":
            end = found.start() or min(found.end(), 4 * longest)
    source, formulas = _without_formulas(flat[:end] + ("…" if end < len(flat) else ""))
    return Markup(_finished(str(escape(source)), [(said, False, size) for said, _, size in formulas]))  # noqa: S704


def _indented(tokens: list[Token], lines: Sequence[str]) -> list[Token]:
    """Paragraphs and code of the outermost level begin as their lines do: a program without a fence keeps its shape."""
    for before, token in itertools.pairwise([Token("", "", 0), *tokens]):
        if token.map is None or before.level or not (token.type == "code_block" or before.type == "paragraph_open"):
            continue
        first = lines[token.map[0]]
        if token.type == "code_block" and not token.level:
            token.content = "\n".join(lines[slice(*token.map)]).rstrip("\n") + "\n"
        elif token.children and (blank := first[: len(first) - len(first.lstrip(" \t"))]):
            token.children.insert(0, Token("indent", "", 0, content=blank))
    return tokens


def _newline(state: StateInline, silent: bool) -> bool:
    """The end of a line; Markdown drops the blanks that the next one begins with, which a program needs."""
    start = state.pos
    if not newline(state, silent):
        return False
    if not silent and (blank := state.src[start + 1 : state.pos]):
        state.push("indent", "", 0).content = blank
    return True


def _with_marks(text: str, read: Span | None) -> str:
    """Visible text, with signs where the part that was read begins and ends."""
    if read is None or not 0 <= read[0] < read[1] <= len(text):
        return shown(text)
    start, end = read
    while start < end and text[start] in _AROUND:
        start += 1
    while end > start and text[end - 1] in _AROUND:
        end -= 1
    if start == end:
        return shown(text)
    return f"{shown(text[:start])}{_START}{shown(text[start:end])}{_END}{shown(text[end:])}"


def _without_formulas(text: str) -> tuple[str, list[tuple[str, bool, int]]]:
    """Formulas are taken out before Markdown reads their underscores; each is (source, displayed, delimiter's size)."""
    formulas: list[tuple[str, bool, int]] = []

    def out(found: re.Match[str]) -> str:
        name = found.lastgroup or "code"
        if name == "code":
            return found[0]
        said = found[0]
        formulas.append((said, name in ("two", "begin"), _DELIMITERS[name]))
        return f"{_FORMULA}{len(formulas) - 1}{_DONE}"

    return _FORMULA_OR_CODE.sub(out, text), formulas


@functools.cache
def _markdown() -> MarkdownIt:
    # Entities would bring invisible characters back; a reference's definition would vanish.
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _NESTED})
    made.inline.ruler.at("newline", _newline)
    made.add_render_rule("indent", lambda _, tokens, at, *more: f'<span class="indent">{tokens[at].content}</span>')
    return made.enable("table").disable(["entity", "reference", "html_block", "html_inline"])


def _plain(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without links, images, headings of the page's outline, and attributes."""
    kept: list[Token] = []
    addresses: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            addresses.append(_address(token, "href"))
            continue
        if token.type == "link_close":
            address = addresses.pop()
            if not (kept and kept[-1].type == "text" and kept[-1].content == address):
                kept.append(_text(f" ({address})"))
            continue
        if token.type == "image":
            kept.append(_text(f"[image: {escape_invisible(token.content)} ({_address(token, 'src')})]"))
            continue
        start = token.attrs.get("start") if token.type == "ordered_list_open" else None
        token.attrs = {} if start is None else {"start": int(start)}
        if token.info.strip() and token.type == "fence":
            about = [Token("paragraph_open", "p", 1, attrs={"class": "quiet"}), _text(escape_invisible(token.info))]
            kept += [*about, Token("paragraph_close", "p", -1)]
        token.info = ""
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            if token.type == "heading_open":
                token.attrs = {"class": "heading"}
        if token.children is not None:
            token.children = _plain(token.children)
        kept.append(token)
    return kept


def _address(token: Token, name: str) -> str:
    """Where a link leads or an image is, and its title; as visible text."""
    return " ".join(escape_invisible(str(token.attrs[one])) for one in (name, "title") if token.attrs.get(one))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _finished(html: str, formulas: Sequence[tuple[str, bool, int]]) -> str:
    """The HTML with its formulas back, and the text between the signs marked, element by element."""
    made: list[str] = []
    reading = code = False
    for piece in _PIECE.findall(html):
        if piece[0] == "<":
            code = piece.startswith("<code") or (code and piece != "</code>")
            made.append(piece)
        elif piece in (_START, _END):
            reading = piece == _START
        else:
            made.append(_piece(piece, formulas, code=code, reading=reading))
    return "".join(made)


def _piece(piece: str, formulas: Sequence[tuple[str, bool, int]], *, code: bool, reading: bool) -> str:
    content = piece
    if piece[0] == _FORMULA and len(piece) > 1:
        said, displayed, size = formulas[int(piece[1:-1])]
        marked = _START in said  # what was read stands in the formula
        source = str(escape(said.replace(_START, "").replace(_END, "")))
        kind = f"tex{' display' if displayed else ''}{' read' if marked or reading else ''}"
        return source if code else f'<span class="{kind}" data-cut="{size}">{source}</span>'
    return f'<mark class="read">{content}</mark>' if reading and content.strip() else content
