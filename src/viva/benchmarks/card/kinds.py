"""Tables that mix kinds of questions: which column says the kind, and a card for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from viva.benchmarks.card.cells import FILE, cell_or_none, text_of
from viva.benchmarks.card.guesses import COLUMNS, layouts, plain_name, questions, table_of, tags_of
from viva.errors import DataError

ENOUGH = 0.9
"""The share of sampled rows that a card must be able to grade to be taken at once."""
_MOST_KINDS = 40
_FEWEST_ROWS = 3
_CLASSES = {
    "choice": "options", "choices": "options", "truth": "truth", "number": "short", "math": "short", "exact": "short",
    "phrase": "short",    "open": "long", "rubric": "program",
}  # fmt: skip
"""Formats that are read alike: a table of short answers some of which are numbers mixes nothing."""


class Written(Struct, frozen=True):
    """A card, what it can grade of the sample, and why it says what it says."""

    card: Mapping[str, Any]
    sound: float
    notes: Mapping[str, str] = {}
    """Field → the comment behind it."""
    rows: int = 0
    """How many rows of the sample it takes."""
    lacking: str = ""
    """What the rows lack that it cannot grade."""


def dict_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def by_format(
    rows: Sequence[Mapping[str, Any]], best: Callable[[Sequence[Mapping[str, Any]]], Written]
) -> list[Written]:
    """Return a card for each kind of question, the commonest first, where a column says the kind; [] where none does.

    A column that is called so (`Format`, `type`) may part short answers from long ones; any other one, the file say,
    only questions with options from those without.
    """
    table = table_of(rows)
    tags = tags_of(table)
    named = [name for name in tags if plain_name(name) in COLUMNS["formats"]]
    others = [name for name in tags if name not in named] if partial_options(rows) else []
    for column in [*named, *others]:
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            groups.setdefault(_value(row, column), []).append(row)
        if not 2 <= len(groups) <= _MOST_KINDS:
            continue
        found: dict[str, tuple[Written, list[str], list[Mapping[str, Any]]]] = {}
        for value, part in groups.items():
            try:
                card = best(part)
            except DataError:
                continue
            if card.sound < ENOUGH or len(part) < _FEWEST_ROWS:
                continue
            kind = _kind(card)
            _, values, members = found.setdefault(kind, (card, [], []))
            values.append(value)
            members += part
        classes = {_CLASSES[kind.partition(" ")[0]] for kind in found}
        mixes = len(classes) > 1 if column in named else len(classes) > 1 and "options" in classes
        if mixes or (column == FILE and len({kind.partition(" ")[0] for kind in found}) > 1):
            cards = [_of(column, values, best(members)) for _, values, members in found.values()]
            return sorted(cards, key=lambda card: -card.rows)
    return []


def _kind(card: Written) -> str:
    """What cards must share to be one: what is graded how; short answers are one kind, whatever their columns hold."""
    form = str(card.card["format"])
    return f"{form} {card.card.get('options', '')}" if _CLASSES[form] == "options" else form


def _of(column: str, values: list[str], card: Written) -> Written:
    plain = {key: value for key, value in card.card.items() if key != "tags"}
    tags = [tag for tag in card.card.get("tags", []) if tag != column or len(values) > 1]
    return Written(
        {**plain, "where": {column: sorted(values)}, **({"tags": tags} if tags else {})},
        card.sound,
        {**card.notes, "where": "the table mixes kinds of questions"},
        card.rows,
        card.lacking,
    )


def _value(row: Mapping[str, Any], column: str) -> str:
    return text_of(cell_or_none(row, column)).strip()


def partial_options(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the columns of options that some rows fill and others leave empty; "" where there are none such."""
    table = table_of(rows)
    for question in questions(table)[:1]:
        for layout, _ in layouts(table, question):
            columns = layout if isinstance(layout, list) else [layout] if isinstance(layout, str) else []
            filled = sum(all(_value(row, name) not in ("", "[]", "{}") for name in columns[:2]) for row in rows)
            if columns and 0.03 * len(rows) < filled < 0.97 * len(rows):
                return ", ".join(columns)
    return ""
