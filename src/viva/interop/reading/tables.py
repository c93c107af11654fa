"""A row of a table that holds answers: which column is the question (its id, or its text), and which the reply."""

from __future__ import annotations

from collections.abc import Mapping

from viva.errors import DataError, option
from viva.interop.reading import rows
from viva.interop.reading.rows import Columns, Given, Item, said_in, stop_of, text_of, texts_in

TEXT = ("text", "reply", "response", "prediction", "generation", "answer", "output", "completion", "model_output")
"""Columns that hold replies, the first that is there; `text` before `answer`, which may be the gold one."""


def item_of(row: Mapping[str, object], file: str, where: str, columns: Columns) -> Item:
    """Return an item with one answer. Raises DataError for a row without the columns."""
    text = _column(row, columns.text, TEXT, where, "--text-column")
    rest = {name: value for name, value in row.items() if name not in (text, "sample", "stop_reason")}
    known = rows.of(rest)
    ids, texts = known.ids, known.texts
    if columns.question:
        _column(row, columns.question, (), where, "--question-column")
        asked = text_of(row[columns.question]) or said_in(_last(row[columns.question]))
        ids, texts = texts_in((asked,)), texts_in((asked,))
    elif not ids and not texts:
        raise DataError(
            f"{where}: which column is the question? It has: {_names(row)}; say {option('question_column', 'NAME')}"
        )
    sample = text_of(row.get("sample") or 0)
    if not sample.isdecimal() or len(sample) > 9:
        raise DataError(f"{where}: sample {sample[:60]!r} is no whole number from 0")
    reply = _last(row[text])
    return Item(
        where=where,
        file=file,
        ids=ids,
        texts=texts,
        options=known.options,
        gold=known.gold,
        given=[
            Given(
                text=None if reply is None else said_in(reply),
                sample=int(sample),
                stop_reason=stop_of(row.get("stop_reason")),
                error="no answer was written down" if reply is None else "",
            )
        ],
    )


def _last(value: object) -> object:
    """Return the last turn, where a column holds a conversation."""
    if isinstance(value, list):
        return value[-1] if value else None
    return value


def _column(row: Mapping[str, object], named: str, usual: tuple[str, ...], where: str, option: str) -> str:
    if named and named not in row:
        raise DataError(f"{where}: no column {named!r}; it has: {_names(row)}")
    found = named or next((name for name in usual if name in row), "")
    if not found:
        raise DataError(f"{where}: no column with the replies; it has: {_names(row)}; say {option} NAME")
    return found


def _names(row: Mapping[str, object]) -> str:
    return ", ".join(repr(name)[:60] for name in list(row)[:20]) or "none"
