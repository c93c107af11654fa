"""Matched items as the rows that a run keeps: `question`, `sample`, `text`, and what else is known of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from viva.errors import DataError
from viva.interop.reading.matching import Match, bare
from viva.interop.reading.rows import Given, Item
from viva.scorers.choice import read_choice
from viva.types import Question

TURNED = "its options stood in another order, and its letters cannot be turned back"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def rows_of(matches: Iterable[Match]) -> Iterator[dict[str, Any]]:
    """Return a row an answer. Raises DataError where a question was answered twice under one number."""
    seen: dict[tuple[str, int], str] = {}
    for match in matches:
        for given in match.item.given:
            key = (match.question.id, given.sample)
            if key in seen:
                raise DataError(
                    f"question {key[0]!r}, sample {key[1]} is answered twice: {seen[key]}; {match.item.where}. Give "
                    "the file that is meant, or number the samples 0, 1, ..."
                )
            seen[key] = match.item.where
            text = said(given, match.item, match.question)
            row: dict[str, Any] = {"question": key[0], "sample": key[1], "text": text}
            if given.stop_reason != "stop":
                row["stop_reason"] = given.stop_reason
            if text is None:
                row["error"] = given.error or (TURNED if given.text is not None else "no answer")
            elif text != given.text:
                row["said"] = given.text
            if given.usage is not None:
                row["usage"] = {"input": given.usage.input, "output": given.usage.output}
            yield row


def said(given: Given, item: Item, question: Question) -> str | None:
    """Return what was answered, with letters as they stand in our question: options may have been shown in another
    order.

    None where there is no answer, and where its letters cannot be turned back.
    """
    text = given.text
    if text is None or question.kind not in ("choice", "choices") or not question.options:
        return text
    ours = [bare(option) for option in question.options]
    shown = [bare(option) for option in item.options]
    if given.picked is not None:
        known = len(shown) == len(item.offered) and given.picked < len(shown)
        return _letter(shown[given.picked] if known else bare(text), ours) or text
    if not shown or shown == ours or sorted(shown) != sorted(ours):
        return text
    if question.kind == "choices" or text.lstrip().startswith("{"):
        return None  # several letters, or a rationale that speaks of them: nobody could turn all of them back
    letter = read_choice(text, letters=_LETTERS[: len(shown)], options=item.options).read
    if len(letter) != 1 or letter not in _LETTERS[: len(shown)]:
        return text
    return _letter(shown[_LETTERS.index(letter)], ours) or text


def _letter(option: str, ours: list[str]) -> str:
    """Return the letter of an option; "" where it is none of them, or two."""
    return _LETTERS[ours.index(option)] if ours.count(option) == 1 else ""
