"""Extraction of answers from replies, a row each; and its accuracy on rows that people labelled."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from viva.analysis.uncertainty import Interval, wilson
from viva.errors import DataError
from viva.files import UNREADABLE, shipped_table
from viva.languages import without_words
from viva.scorers.choice import read_choice
from viva.scorers.mathanswer import same_answer
from viva.scorers.number import same_number
from viva.scorers.phrase import read_phrase
from viva.scorers.reading import Reading
from viva.scorers.reading.parsers import read_formula, read_number
from viva.scorers.selection import read_selection
from viva.scorers.term import same_term
from viva.scorers.truth import read_truth
from viva.scorers.wordoverlap import exact_match
from viva.types import CUT_OFF, Language, StopReason

Format = Literal["choice", "choices", "truth", "number", "math", "exact", "phrase"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = re.compile(r"TRUE|FALSE|[A-Z]")
UNREAD = frozenset({"", "none", "several", "unparsed", "empty", "refused"})
"""Labels of replies without an answer."""


class Row(Struct):
    """The known fields of a row; all others are passed through."""

    reply: str
    kind: Format | None = None
    format: Format | None = None
    """Alternative to `kind`, in the terms of cards."""
    language: Language = "en"
    options: list[str] | None = None
    letters: str | None = None
    exemplars: int = 0
    stop_reason: StopReason = "stop"
    label: str | None = None
    read: str | None = None
    """The answer as read by another reader."""

    @property
    def asked(self) -> Format:
        """The format of the answer."""
        return self.format or self.kind or "choice"


def decoded(line: bytes, where: str) -> tuple[dict[str, Any], Row]:
    """Return a line as a dict, and its known fields. Raises DataError naming `where`."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        row = msgspec.convert(raw, Row)
    except UNREADABLE as problem:
        raise DataError(f"{where}: {problem}") from None
    if row.kind is None and row.format is None:
        raise DataError(f"{where}: Object missing required field `kind` (or `format`)")
    return raw, row


def reading_of(row: Row) -> Reading:
    """Return the answer read from a row's reply; a value is spelled as in the reply."""
    options = row.options or ()
    letters = row.letters or (LETTERS[: len(options)] if options else "ABCD")
    ended = row.stop_reason not in CUT_OFF
    match row.asked:
        case "choice":
            return read_choice(
                row.reply,
                letters=letters,
                options=options,
                exemplars=row.exemplars,
                ended=ended,
            )
        case "choices":
            return read_selection(row.reply, letters=letters, options=options, ended=ended)
        case "truth":
            return read_truth(row.reply, ended=ended)
        case "number":
            number, reading = read_number(row.reply, ended=ended)
            return _with(number.text if number else None, reading)
        case "math":
            return _with(*read_formula(row.reply, ended=ended))
        case _:
            return _with(*read_phrase(row.reply, ended=ended))


def _with(value: str | None, reading: Reading) -> Reading:
    return reading if value is None else Reading(value, reading.span, reading.rule)


def read_row(line: bytes, where: str) -> dict[str, Any]:
    """Return one row with the answer read from its reply. Raises DataError naming `where`."""
    raw, row = decoded(line, where)
    reading = reading_of(row)
    span = list(reading.span) if reading.span else None
    evidence = row.reply[span[0] : span[1]] if span else ""
    read = {**raw, "read": reading.read, "span": span, "evidence": evidence, "rule": reading.rule}
    note = without_words(row.language)
    return {**read, "note": note} if note else read


class Precision(Struct, frozen=True):
    """Agreement of a reader, or of one of its rules, with people: `right` of `read`, with the 95 % interval (Wilson).

    `unread` counts replies that people could read and it did not; `agreed` all agreements, also on "no answer".
    """

    name: str
    read: int
    right: int
    unread: int
    agreed: int
    rows: int
    interval: Interval | None


class _Expression(Struct, frozen=True):
    """A published expression: which match counts, and for which formats."""

    reader: str
    formats: list[Format]
    pattern: str
    last: bool = False


def evaluate(lines: Iterable[tuple[bytes, str]]) -> tuple[list[Precision], list[Precision]]:
    """Return the precision of each rule of Viva, and of every reader: Viva, the rows' own `read`, published
    expressions.

    Raises DataError for rows without a label.
    """
    rules: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    readers: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    published = shipped_table(__file__, "expressions.toml", dict[str, list[_Expression]])["expression"]
    for line, where in lines:
        _, row = decoded(line, where)
        if row.label is None:
            raise DataError(f"{where}: a row to evaluate has a `label`: the answer that people read, or none")
        reading = reading_of(row)
        read = reading.read if reading.committed else ""
        if read:
            rules[f"{row.asked}: {reading.rule or 'whole reply'}"].append((read, row))
        readers["Viva"].append((read, row))
        if row.read is not None:
            readers["the rows' own"].append(("" if row.read in UNREAD else row.read, row))
        tried: dict[str, str] = {}
        for each in published:  # the first matching expression counts
            if row.asked in each.formats:
                tried[each.reader] = tried.get(each.reader) or _matched(each, row.reply)
        for name, text in tried.items():
            readers[name].append((text, row))
    by_rule = sorted((_precision(name, rows) for name, rows in rules.items()), key=lambda rule: -rule.read)
    return by_rule, [_precision(name, rows) for name, rows in readers.items()]


def _matched(each: _Expression, reply: str) -> str:
    matches = list(re.finditer(each.pattern, reply))
    if not matches:
        return ""
    match = matches[-1 if each.last else 0]
    return next((group for group in match.groups() if group), match.group()).strip(" .$")


def _precision(name: str, rows: list[tuple[str, Row]]) -> Precision:
    read_rows = [(read, row) for read, row in rows if read]
    right = sum(_agrees(read, row) for read, row in read_rows)
    unread = sum(not read and row.label not in UNREAD for read, row in rows)
    silent = sum(not read and row.label in UNREAD for read, row in rows)
    return Precision(name, len(read_rows), right, unread, right + silent, len(rows), wilson(right, len(read_rows)))


def _agrees(read: str, row: Row) -> bool:
    """Return whether an answer agrees with the label: by value for numbers and formulas."""
    label = row.label or ""
    if label in UNREAD:
        return False
    if row.asked in ("choice", "choices", "truth"):
        return set(_LETTERS.findall(read.upper())) == set(_LETTERS.findall(label.upper()))
    if row.asked == "number":
        number, _ = read_number(read)
        return number is not None and same_number(number, [label]) is not None
    if row.asked == "math":
        return same_answer(read, [label]) is not None
    return (same_term(read, [label]) is not None) if row.asked == "exact" else exact_match(read, [label]) == 1.0
