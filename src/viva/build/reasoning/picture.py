"""The topic graph as an SVG: disciplines at the left, their topics to the right, coverage in colour and in words.

A topic stands once, below its first parent; further parents are joined to it by dashed lines. The file holds no script
and loads nothing; it is dark or light as its reader's screen is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from msgspec import Struct

from viva.build.reasoning.coverage import Concept
from viva.build.reasoning.questions import TYPES
from viva.build.reasoning.topics import LEVELS, Graph

WIDTH: Final = 250
"""Of a box, in pixels; so are all lengths here."""
_GAP_X, _GAP_Y, _MARGIN, _TOP = 70, 10, 24, 104
_LINE, _PADDING, _COVERED = 17, 8, 18
_LETTERS = 26.0
"""Letters of usual width in a line of a label."""
_LINES = 3
_STYLE = """
svg{--paper:#fff;--ink:#1b1f24;--faint:#57606a;--line:#8c959f;--full:#0b5cad;--full-box:#e2effc;--part:#8a4b00;\
--part-box:#fdf0dc;--none:#a1260d;--none-box:#fdeae6;--plain-box:#f3f4f6}
@media (prefers-color-scheme:dark){svg{--paper:#0f1318;--ink:#e8eaed;--faint:#aeb6bf;--line:#6b7580;--full:#7fbcff;\
--full-box:#10263d;--part:#f2b35e;--part-box:#33240c;--none:#ff9f8c;--none-box:#3a1711;--plain-box:#1c2229}}
.paper{fill:var(--paper)}text{fill:var(--ink);font:13px system-ui,sans-serif}.head{font-size:18px;font-weight:600}
.small{font-size:11.5px;fill:var(--faint)}.name{font-weight:600}.edge{fill:none;stroke:var(--line);stroke-width:1.2}
.also{stroke-dasharray:5 4}rect.full{fill:var(--full-box);stroke:var(--full)}rect.part{fill:var(--part-box);\
stroke:var(--part)}rect.none{fill:var(--none-box);stroke:var(--none)}rect.plain{fill:var(--plain-box);stroke:var(--line)}
text.full{fill:var(--full)}text.part{fill:var(--part)}text.none{fill:var(--none)}text.plain{fill:var(--faint)}
text.count{font-size:11.5px;font-weight:600}
""".strip()
_SIGNS = {"full": "✓", "part": "◐", "none": "✗", "plain": ""}
_SAID = {
    "full": "enough of every type",
    "part": "some are missing",
    "none": "no question yet",
    "plain": "nothing asked of it",
}


class _Box(Struct):
    """A topic on the sheet."""

    concept: Concept
    lines: tuple[str, ...]
    level: int
    y: float = 0.0

    @property
    def height(self) -> int:
        return _PADDING * 2 + _LINE * len(self.lines) + _COVERED

    @property
    def x(self) -> int:
        return _MARGIN + (self.level - 1) * (WIDTH + _GAP_X)

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def picture(graph: Graph, concepts: Sequence[Concept], title: str = "Topic graph") -> str:
    """The SVG of an acyclic graph, with the coverage of its concepts."""
    boxes = {
        concept.name: _Box(concept, wrapped(concept.name), min(len(concept.path), LEVELS + 1)) for concept in concepts
    }
    bottom = _place(boxes)
    levels = max((box.level for box in boxes.values()), default=1)
    width = max(2 * _MARGIN + levels * (WIDTH + _GAP_X) - _GAP_X, 640)
    height = round(bottom + _MARGIN)
    told = _told(graph, concepts)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title desc">',
        f'<title id="title">{_xml(title)}</title>',
        f'<desc id="desc">{_xml(told)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="head" x="{_MARGIN}" y="36">{_xml(_cut(title, 60))}</text>',
        f'<text class="small" x="{_MARGIN}" y="58">{_xml(told)}</text>',
        *_legend(),
        *_edges(graph, boxes),
        *(line for box in boxes.values() for line in _drawn(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def status(concept: Concept) -> str:
    """`full`, `part`, `none`; `plain` where nothing is wanted."""
    if not concept.wanted:
        return "plain"
    if not concept.missing:
        return "full"
    return "part" if any(concept.counts.values()) else "none"


def _place(boxes: Mapping[str, _Box]) -> float:
    """Every topic gets its y: the outermost ones from top to bottom, each parent in the middle of its own."""
    own: dict[str, list[_Box]] = {}
    for box in boxes.values():
        if len(box.concept.path) > 1:
            own.setdefault(box.concept.path[-2], []).append(box)
    free = float(_TOP)
    order = list(boxes.values())  # a discipline with all below it before the next: parents come before their own
    for box in order:
        if box.concept.name not in own:
            box.y, free = free, free + box.height + _GAP_Y
    lowest = [0.0] * (LEVELS + 2)
    for box in sorted(order, key=lambda one: -one.level):
        below = own.get(box.concept.name)
        if below:
            box.y = (below[0].y + below[-1].y + below[-1].height) / 2 - box.height / 2
    # A tall parent of one short topic may reach over its neighbours: then everything from it on moves down.
    moved = 0.0
    for box in order:
        box.y += moved
        short = lowest[box.level] - box.y
        if short > 0:
            box.y, moved = box.y + short, moved + short
        lowest[box.level] = box.y + box.height + _GAP_Y
    return max((box.y + box.height for box in order), default=_TOP)


def _edges(graph: Graph, boxes: Mapping[str, _Box]) -> Iterator[str]:
    for head, tail in graph.edges:
        start, end = boxes[head], boxes[tail]
        first = end.concept.path[-2:-1] == (head,)
        x1, x2 = start.x + WIDTH, end.x
        bend = max(30.0, (x2 - x1) / 2)
        y1, y2 = f"{start.middle:.1f}", f"{end.middle:.1f}"
        path = f"M{x1} {y1}C{x1 + bend:.0f} {y1} {x2 - bend:.0f} {y2} {x2} {y2}"
        yield f'<path class="edge{"" if first else " also"}" d="{path}"/>'


def _drawn(box: _Box) -> Iterator[str]:
    kind = status(box.concept)
    x, y = box.x, box.y
    yield f"<g><title>{_xml(' › '.join(box.concept.path) + ': ' + _counts(box.concept) + ', ' + _SAID[kind])}</title>"
    yield f'<rect class="{kind}" x="{x}" y="{y:.1f}" width="{WIDTH}" height="{box.height}" rx="6"/>'
    for at, line in enumerate(box.lines):
        yield f'<text class="name" x="{x + 10}" y="{y + _PADDING + _LINE * (at + 0.75):.1f}">{_xml(line)}</text>'
    below = y + box.height - _PADDING - 2
    said = f"{_SIGNS[kind]} {_counts(box.concept)}".strip()
    yield f'<text class="count {kind}" x="{x + 10}" y="{below:.1f}">{_xml(said)}</text></g>'


def _counts(concept: Concept) -> str:
    return " · ".join(f"{kind} {concept.counts[kind]:,}" for kind in TYPES)


def _legend() -> Iterator[str]:
    x = _MARGIN
    for kind in ("full", "part", "none", "plain"):
        yield f'<rect class="{kind}" x="{x}" y="70" width="14" height="14" rx="3"/>'
        said = f"{_SIGNS[kind]} {_SAID[kind]}".strip()
        yield f'<text class="small" x="{x + 20}" y="81">{_xml(said)}</text>'
        x += 40 + 7 * len(said)


def _told(graph: Graph, concepts: Sequence[Concept]) -> str:
    levels = " / ".join(f"{len(graph.at(level)):,}" for level in range(1, LEVELS + 1))
    wanted = [concept for concept in concepts if concept.wanted]
    covered = sum(not concept.missing for concept in wanted)
    least = wanted[0].wanted if wanted else 0
    topics = f"{len(concepts):,} topics ({levels} by level)"
    return f"{topics}; {covered:,} of {len(wanted):,} concepts have {least} questions of each type"


def wrapped(name: str) -> tuple[str, ...]:
    """A name in at most three lines; long words are broken, what does not fit is cut with an ellipsis."""
    lines: list[str] = []
    line = ""
    for word in name.split() or [""]:
        for part in _parts(word):
            joined = f"{line} {part}" if line and part == word else line + part
            if line and _width(joined) > _LETTERS:
                lines.append(line)
                line = part
            else:
                line = joined
    lines.append(line)
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], _cut(f"{lines[_LINES - 1]} {lines[_LINES]}", _LETTERS, always=True)]
    return tuple(lines)


def _parts(word: str) -> list[str]:
    parts, part = [], ""
    for character in word:
        if _width(part + character) > _LETTERS:
            parts.append(part)
            part = ""
        part += character
    return [*parts, part]


def _width(text: str) -> float:
    """In letters, roughly: whoever reads the file may have another typeface."""
    return sum(map(_wide, text))


def _wide(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.7
    if character in "mwMW@%—…":
        return 1.5
    return 1.15 if character.isupper() else 0.65 if character in "iljtfrI.,:;|!'()[] " else 1.0


def _cut(text: str, width: float, *, always: bool = False) -> str:
    if _width(text) <= width and not always:
        return text
    while _width(text) > width - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _xml(text: str) -> str:
    """Text for XML: escaped, and without what no XML may hold, nor what turns the direction of the text around."""
    kept = "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn") or c in "\u200c\u200d" else "\ufffd"
        for c in text
    )
    return escape(kept)
