"""The eight published questions that are graded by a rule of their own: one small function each, by question id.

The data set brings a Python function for each of them. Viva does not run Python that it finds in a data file: these are
its own functions, written from the description in the InfiBench specification, section 7. All are total and linear in
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from viva.scorers.rubric.points import Custom, PostHandler
from viva.scorers.rubric.rubrics import Points

Status = tuple[bool, ...] | tuple[str, ...]
"""How each item of a metric fared: matched flags of keywords, detail strings of blanks."""

_FENCE = "```"
_QUOTE_OR_BREAK = re.compile(r"['\"\n]")
_BORDER = re.compile(r"[<>]|border")


def _form_item(text: str) -> Points:
    """0-0-14: a switch and a span are there; and the switch is in a form item of its own, without the span."""
    if not all(part in text for part in ("<Form.Item", "<Switch", "<span>")):
        return Points(0.0, 2.0, ("0: <Form.Item, <Switch and <span> are not all there",))
    inside = text[text.index("<Form.Item") : max(text.find("</Form.Item>"), 0)]
    if "<Switch" in inside and "<span" not in inside:
        return Points(2.0, 2.0, ("+1 all parts are there", "+1 the first form item holds the switch and no span"))
    return Points(1.0, 2.0, ("+1 all parts are there", "0: the first form item does not hold the switch alone"))


def _lint_comment(text: str) -> Points:
    """0-0-26: the comment that switches the lint rule off stands before the render function."""
    comment = text.find("// eslint-disable-next-line react/display-name")
    return _all_or_nothing(0 <= comment < text.find("render: "), "the comment stands before `render: `")


def _optional_parameters(text: str) -> Points:
    """0-0-37: the route in the first fenced text has exactly two optional parameters, and they differ."""
    pieces = text.split(_FENCE, 2)
    if len(pieces) < 3:
        return Points(0.0, 1.0, ("0: no fenced text",))
    parts = pieces[1].split("/")
    parts[0] = _QUOTE_OR_BREAK.split(parts[0])[-1]
    parts[-1] = _QUOTE_OR_BREAK.split(parts[-1])[0]
    optional = [part for part in parts if part.startswith(":") and part.endswith("?")]
    return _all_or_nothing(len(optional) == 2 and optional[0] != optional[1], "two different optional parameters")


def _log_inside(text: str) -> Points:
    """0-0-38: the log statement stands before the callback is closed."""
    log, end = text.find("console.log(this.newIds)"), text.find("});")
    return _all_or_nothing(0 <= log < end, "the log statement stands before the first `});`")


def _form_button(text: str) -> Points:
    """0-0-39: a button that names the form and submits it.

    Equal to searching `<button (.*)>[\\s\\S]*</button>`: the attributes reach to the last `>` of their line that still
    has a `</button>` behind it, and the first button that has one swallows all the text up to the last `</button>`.
    """
    last = text.rfind("</button>")
    start = text.find("<button ")
    while 0 <= start < last:
        line_end = text.find("\n", start)
        attributes = start + len("<button ")
        closing = text.rfind(">", attributes, min(line_end if line_end >= 0 else last, last))
        if closing >= 0:
            return _button_points(text[attributes:closing])
        if line_end < 0:
            break
        start = text.find("<button ", line_end)  # a later button of this line has no `>` either
    return Points(0.0, 3.0, ("0: no button",))


def _button_points(attributes: str) -> Points:
    right = all(
        f"{name}='{value}'" in attributes or f'{name}="{value}"' in attributes
        for name, value in (("form", "my-form"), ("type", "submit"))
    )
    if right:
        return Points(3.0, 3.0, ("+3 a button that submits the form",))
    return Points(1.0, 3.0, ("+1 a button, which does not submit the form",))


def _top_border(text: str) -> Points:
    """0-2-153: utility classes that leave the top border on and take the other three off, three classes at most."""
    text += " " * 5  # so that something follows every class
    sides: dict[str, bool | None] = dict.fromkeys("tblr")
    inside = False
    classes = 0
    for token in _BORDER.finditer(text):
        if token[0] != "border":
            inside = token[0] == "<"
        elif inside:
            classes += 1
            sides.update(_border_class(text[token.end() : token.end() + 6]))
    if not (sides["t"] and all(sides[side] is False for side in "blr")):
        return Points(0.0, 3.0, ("0: the borders are not on at the top and off elsewhere",))
    if classes > 3:
        return Points(2.0, 3.0, ("+2 only the top border is on", f"0: {classes} border classes"))
    return Points(3.0, 3.0, ("+2 only the top border is on", f"+1 {classes} border classes"))


def _border_class(rest: str) -> dict[str, bool]:
    """Return which sides a class sets, from what follows the word `border`."""
    if not rest.startswith("-") or rest.startswith("-solid"):
        return dict.fromkeys("tblr", True)
    if (width := _digit(rest[1])) is not None:
        return dict.fromkeys("tblr", width > 0)
    side = rest[1]
    if side not in "tblr":
        return {}
    if rest[2] == "-":
        width = _digit(rest[3])
        return {} if width is None else {side: width > 0}
    return {} if "a" <= rest[2] <= "z" else {side: True}


def _digit(character: str) -> int | None:
    return int(character) if character.isdecimal() else None


def _deployment(points: Points, matched: Status) -> Points:
    """0-0-1: two settings count; deleting the file counts against, unless it is said what to delete."""
    if len(matched) < 4:
        return Points(0.0, 2.0, points.details)
    value = float(bool(matched[0])) + float(bool(matched[1])) - float(bool(matched[2]) and not matched[3])
    return Points(max(value, 0.0), 2.0, points.details)


def _copy_text(points: Points, details: Status) -> Points:
    """0-0-21: the modern way to copy counts 2, the old one 1; 2 at most."""
    detail = str(details[0] if details else "")
    start, end = detail.find("response string: "), detail.find(", ans:")
    if start < 0 or end < 0:  # the answer repeats too little of the template
        return Points(0.0, 2.0, points.details)
    filling = detail[start + len("response string: ") : end]
    value = 2.0 * ("navigator.clipboard.writeText" in filling)
    value += 1.0 * (".select()" in filling and 'document.execCommand("copy");' in filling)
    return Points(min(value, 2.0), 2.0, points.details)


def _all_or_nothing(right: bool, what: str) -> Points:
    return Points(float(right), 1.0, (f"+1 {what}" if right else f"0: not so: {what}",))


CUSTOM: Mapping[str, Custom] = {
    "0-0-14": _form_item,
    "0-0-26": _lint_comment,
    "0-0-37": _optional_parameters,
    "0-0-38": _log_inside,
    "0-0-39": _form_button,
    "0-2-153": _top_border,
}
"""Question id → grader of the whole answer."""

AFTER_KEYWORDS: Mapping[str, PostHandler] = {"0-0-1": _deployment}
"""Question id → what replaces the points of its keywords."""

AFTER_BLANKS: Mapping[str, PostHandler] = {"0-0-21": _copy_text}
"""Question id → what replaces the points of its blanks."""
