"""Values of a card's columns and templates in one row of a table. Plain look-ups: nothing is executed."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from viva.files import UNREADABLE, refuse_depth, shipped_table
from viva.prompting import replace_surrogates

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTER = re.compile(r"(?:(?i:option|choice|answer)\s)?[(\[]?([A-Z])[)\]]?[.:]?")
"""A cell that names an option by its letter."""
VALUES = shipped_table(__file__, "values.toml", dict[str, frozenset[str]])
"""Meanings of cells: values.toml."""
FILE, ROW = "$file", "$row"
"""Columns that every table has: the name of the file without its split, and the number of the row in it, from 0."""
NO_COLUMN = "no such column"
_FIELD = re.compile(r"\{([^{}\n]{1,200})\}")
_LONGEST_LIST = 1_000_000
"""Most characters of a list that a cell of CSV spells out."""


class InvalidGold(Exception):  # noqa: N818 - the reader turns it into a defect: other rows go on
    """A row that cannot be graded."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


class Absent(InvalidGold):
    """A row that has no column of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(NO_COLUMN, f"it has no {name!r}")


def columns_of(given: str, row: Mapping[str, Any]) -> list[str]:
    """Return the columns that a field names: itself, or those of a template."""
    return [given] if given in row or "{" not in given else _FIELD.findall(given)


def cell(row: Mapping[str, Any], name: str) -> Any:
    """Return a column's value; a path (`choices.text`) goes into objects, and through lists of them. Raises
    Absent.
    """
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = _inside(value, part)
    return value


def cell_or_none(row: Mapping[str, Any], name: str) -> Any:
    """Return a column's value, or None where the row lacks it."""
    try:
        return cell(row, name)
    except Absent:
        return None


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = _decoded(value)
    if isinstance(value, Mapping) and part in value:
        return value[part]
    if isinstance(value, list):
        if part.isdecimal() and len(part) < 7 and int(part) < len(value):
            return value[int(part)]
        if not part.isdecimal() and all(isinstance(item, Mapping) and part in item for item in value):
            return [item[part] for item in value]
    raise Absent(part)


def _decoded(text: str, kind: type | tuple[type, ...] = dict) -> Any:
    """Decode a text as JSON, or as a Python literal of type `kind`; else return the text itself."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        pass
    try:  # constants alone: nothing is called
        value = ast.literal_eval(text.strip()) if len(text) <= _LONGEST_LIST else text
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, kind) else text


def text_of(value: Any) -> str:
    """Return a cell as a text: "" for what is missing (null, NaN), JSON for what has parts."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | dict):
        try:
            refuse_depth(value)
            return json.dumps(value, ensure_ascii=False, default=str)
        except UNREADABLE:
            return ""
    return str(value)


def filled(given: str, row: Mapping[str, Any]) -> str:
    """Return a column's text, or a template of columns filled: `{passage}\\n\\n{question}`. Raises Absent."""
    if given in row or "{" not in given:
        value = cell(row, given)
        return text_of(value) if (chat := chat_of(value)) is None else chat
    return _FIELD.sub(lambda match: lines_of(cell(row, match[1])), given)


def chat_of(value: Any) -> str | None:
    """Return a cell of messages ([{role: user, content: …}, …]) as one text; else None. Speakers are named if there is
    more than a system message and one question.
    """
    if not isinstance(value, list) or not value or not all(isinstance(turn, Mapping) for turn in value):
        return None
    if not all(isinstance(turn.get("role"), str) and "content" in turn for turn in value):
        return None
    texts = []
    for turn in value:
        parts = turn["content"] if isinstance(turn["content"], list) else [turn["content"]]
        inner = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
        texts.append("\n".join(text_of(part) for part in inner).strip())
    roles = [turn["role"] for turn in value if turn["role"] != "system"]
    if len(roles) > 1:
        texts = [
            text if turn["role"] == "system" else f"{turn['role'].capitalize()}: {text}"
            for turn, text in zip(value, texts, strict=True)
        ]
    return "\n\n".join(filter(None, texts))


def lines_of(value: Any) -> str:
    """Return a cell in a template: a list is a line each."""
    if (chat := chat_of(value)) is not None:
        return chat
    return "\n".join(map(text_of, value)) if isinstance(value, list) else text_of(value)


def list_of(value: Any) -> list[Any] | None:
    """Return a list, also one that a cell of CSV spells out as JSON or Python; of options with scores, the options;
    else None.
    """
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping) and is_scored(value):
        return list(value.values())
    if not isinstance(value, str) or value.strip()[:1] != "[" or len(value) > _LONGEST_LIST:
        return None
    value_read = _decoded(value, (list, tuple))
    return list(value_read) if isinstance(value_read, list | tuple) else None


def texts_of(value: Any, *, bare: bool = True) -> tuple[list[str], list[str]] | None:
    """Return a cell of options: their texts, and their labels where it has them ({A: …, B: …}, {text: […], label:
    […]}).

    `bare`: a text without labels may be options, too, one a line or with `;` or `|` between them.
    """
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = _decoded(value)
    if isinstance(value, Mapping):
        texts, labels = list_of(value.get("text")), list_of(value.get("label"))
        if texts is not None:
            return [text_of(text) for text in texts], [text_of(label) for label in labels or ()]
        if is_scored(value):
            return list(value), []
        kept = {key: item for key, item in value.items() if item is not None}  # Arrow gives every row the same keys
        return [text_of(item) for item in kept.values()], list(kept)
    items = list_of(value)
    if items is None:
        return _written_out(value, bare) if isinstance(value, str) else None
    if items and all(isinstance(item, Mapping) for item in items):
        return _of_objects(items)
    return None if any(isinstance(item, Mapping | list) for item in items) else ([text_of(item) for item in items], [])


def _of_objects(objects: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]] | None:
    """Return the texts and labels of options that are objects: [{key: A, value: …}, …]."""
    every = [key for key in objects[0] if all(key in item for item in objects)]
    label = next((key for key in ("label", "key", "id", "letter") if key in every), "")
    texts = [key for key in every if key != label and isinstance(objects[0][key], str | int | float)]
    if not texts:
        return None
    text = next(key for key in ("text", "value", "option", "content", *texts) if key in texts)
    return [text_of(item[text]) for item in objects], [text_of(item.get(label)) for item in objects]


def _written_out(text: str, bare: bool) -> tuple[list[str], list[str]] | None:
    """Return options and labels in a text: "A) red\\nB) green", "1. red 2. green", "[a] red [b] blue", "red; it"."""
    text = re.sub(r"(?<!\S)\[(\w)\]", r"(\1)", text) if text.lstrip().startswith("[") else text
    for labels in (LETTERS, LETTERS.lower(), "123456789"):
        split = split_options(text, labels)
        if split is not None and not split[0].strip():
            return [option.rstrip(" ,;|") for option in split[1]], list(labels[: len(split[1])])
    parts = next((parts for sign in "\n|;" if len(parts := text.strip().split(sign)) > 1), [""])
    return ([part.strip() for part in parts], []) if bare and all(map(str.strip, parts)) else None


def is_scored(value: Mapping[str, Any]) -> bool:
    """Tell whether a cell holds options with their scores, as BIG-bench has them: {"Yes": 1, "No": 0}."""
    scores = value.values()
    return (
        len(value) > 1
        and all(isinstance(score, int | float) and 0 <= score <= 1 for score in scores)
        and not all(len(option) == 1 and option in LETTERS for option in value)
    )


_OWN_LABELS = [re.compile(rf"\s*(?:\({letter}\)|{letter}[.):：、])\s*") for letter in LETTERS]


def without_own_labels(texts: Sequence[str]) -> list[str] | None:
    """Return options without their own labels: "(A)3/5", "(B)1/2". None unless every one has its label."""
    bared = [bare for index, text in enumerate(texts) if (bare := without_own_label(text, index)) is not None]
    return bared if len(bared) == len(texts) > 1 else None


def without_own_label(text: str, place: int) -> str | None:
    """Return an option's text without the label of its place, from 0; None where it has none."""
    match = _OWN_LABELS[place].match(text)
    return text[match.end() :] if match else None


_MARK = r"(?:(?<=\s)|\A|(?<=[。？?）]))(?:\(([{0}])\)|（([{0}])）|([{0}])\s?[.)．、:：])"
_REST = re.compile(r"\n\s*(?:Answer|The answer is|答案|A)\s*[:：]?\s*\Z")


def split_options(text: str, labels: str = LETTERS) -> tuple[str, list[str]] | None:
    """Return a question whose text ends with its options ("A. …", "(B) …", one a line or in one line): the question,
    and their texts. None where there are none, or where a second list begins.
    """
    text = _REST.sub("", text.rstrip())
    found_marks = re.finditer(_MARK.format(labels), text)
    marks = [(match.start(), match.end(), match[1] or match[2] or match[3]) for match in found_marks]
    lines = [mark for mark in marks if not text[: mark[0]].rpartition("\n")[2].strip()]
    for marked in (lines, marks):
        first = next((index for index, mark in enumerate(marked) if mark[2] == labels[0]), None)
        run = marked[first:] if first is not None else []
        if len(run) > 1 and "".join(mark[2] for mark in run) == labels[: len(run)]:
            ends = [mark[0] for mark in run[1:]] + [len(text)]
            options = [text[mark[1] : end].strip() for mark, end in zip(run, ends, strict=True)]
            return text[: run[0][0]].rstrip(), options
    return None
