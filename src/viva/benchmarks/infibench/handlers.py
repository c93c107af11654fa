"""Special graders of eight published questions: one small function each, by question id.

The data set has a Python function for each of them. Viva does not run Python from a data file: these are its own
functions, written from the description in the InfiBench specification, section 7. All are total and linear in
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from viva.scorers.rubric.points import Custom, PostHandler
from viva.scorers.rubric.rubrics import Points

Status = tuple[bool, ...] | tuple[str, ...]
"""Result of each item of a metric: matched flags of keywords, detail strings of blanks."""

_FENCE = "```"
_QUOTE_OR_BREAK = re.compile(r"['\"\n]")
_BORDER = re.compile(
    r"[<>]|border(?:(?P<every>(?!-)|-solid)|-(?P<side>[tblr])(?![a-z-])|-(?:(?P<sized>[tblr])-)?(?P<width>\d))?"
)
"""A tag's ends, and a class with the sides that it sets: all, one, or those whose width follows."""
_FILLING = re.compile(r"response string: ([\s\S]*?), ans:")


def _form_item(text: str) -> Points:
    """0-0-14: a switch and a span are there; and the switch is in a separate form item, without the span."""
    if not all(part in text for part in ("<Form.Item", "<Switch", "<span>")):
        return Points(0.0, 2.0, ("0: <Form.Item, <Switch and <span> are not all there",))
    inside = text[text.index("<Form.Item") : max(text.find("</Form.Item>"), 0)]
    if "<Switch" in inside and "<span" not in inside:
        return Points(2.0, 2.0, ("+1 all parts are there", "+1 the first form item holds the switch and no span"))
    return Points(1.0, 2.0, ("+1 all parts are there", "0: the first form item does not hold the switch alone"))


def _in_order(first: str, second: str, what: str) -> Custom:
    """0-0-26, 0-0-38: the first occurrence of one text is before that of another."""
    return lambda text: _all_or_nothing(0 <= text.find(first) < text.find(second), what)


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
    if re.search(r"""form=(?:'my-form'|"my-form")""", attributes) and re.search(
        r"""type=(?:'submit'|"submit")""", attributes
    ):
        return Points(3.0, 3.0, ("+3 a button that submits the form",))
    return Points(1.0, 3.0, ("+1 a button, which does not submit the form",))


def _top_border(text: str) -> Points:
    """0-2-153: utility classes that leave the top border on and take the other three off, three classes at most."""
    sides: dict[str, bool] = {}
    inside = False
    classes = 0
    for token in _BORDER.finditer(text):
        if token[0] in "<>":
            inside = token[0] == "<"
        elif inside:
            classes += 1
            if token.lastgroup:
                sides |= dict.fromkeys(token["side"] or token["sized"] or "tblr", int(token["width"] or 1) > 0)
    if not sides.get("t") or any(sides.get(side, True) for side in "blr"):
        return Points(0.0, 3.0, ("0: the borders are not on at the top and off elsewhere",))
    if classes > 3:
        return Points(2.0, 3.0, ("+2 only the top border is on", f"0: {classes} border classes"))
    return Points(3.0, 3.0, ("+2 only the top border is on", f"+1 {classes} border classes"))


def _deployment(points: Points, matched: Status) -> Points:
    """0-0-1: two settings count; deleting the file counts against, unless it is said what to delete."""
    if len(matched) < 4:
        return Points(0.0, 2.0, points.details)
    value = bool(matched[0]) + bool(matched[1]) - bool(matched[2] and not matched[3])
    return Points(max(float(value), 0.0), 2.0, points.details)


def _copy_text(points: Points, details: Status) -> Points:
    """0-0-21: the modern way to copy counts 2, the old one 1; 2 at most."""
    match = _FILLING.search(str(details[0] if details else ""))
    if match is None:  # the answer repeats too little of the template
        return Points(0.0, 2.0, points.details)
    filling = match[1]
    value = 2.0 * ("navigator.clipboard.writeText" in filling)
    value += 1.0 * (".select()" in filling and 'document.execCommand("copy");' in filling)
    return Points(min(value, 2.0), 2.0, points.details)


def _all_or_nothing(right: bool, what: str) -> Points:
    return Points(float(right), 1.0, (f"+1 {what}" if right else f"0: not so: {what}",))


CUSTOM: Mapping[str, Custom] = {
    "0-0-14": _form_item,
    "0-0-26": _in_order(
        "// eslint-disable-next-line react/display-name", "render: ", "the comment stands before `render: `"
    ),
    "0-0-37": _optional_parameters,
    "0-0-38": _in_order("console.log(this.newIds)", "});", "the log statement stands before the first `});`"),
    "0-0-39": _form_button,
    "0-2-153": _top_border,
}
"""Question id → grader of the whole answer."""

AFTER_KEYWORDS: Mapping[str, PostHandler] = {"0-0-1": _deployment}
"""Question id → what replaces the points of its keywords."""

AFTER_BLANKS: Mapping[str, PostHandler] = {"0-0-21": _copy_text}
"""Question id → what replaces the points of its blanks."""
