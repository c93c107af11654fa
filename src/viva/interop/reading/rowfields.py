"""A row of somebody's data set: which of its fields is an id, the question, its options, its gold answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from viva.interop.reading.rows import said_in, text_of, texts_in

IDS = ("viva_id", "question", "question_id", "id", "qid", "case", "case_id", "task_id", "uid", "sample_id")
"""Names of columns that may hold an id; `question` does in Viva's own files."""
TEXTS = (
    "question", "query", "problem", "stem", "sentence", "statement", "instruction", "input", "prompt", "text", "ctx",
    "content", "messages", "origin_prompt", "题目",
)  # fmt: skip
_OPTIONS = ("choices", "options", "endings", "选项")
_GOLDS = ("answer", "gold", "target", "label", "answerkey", "reference", "答案")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LABEL = re.compile(r"\s*[(\[（]?([A-Za-z])[)\].:、．：）]\s*")


class Fields(Struct, frozen=True, kw_only=True):
    """What was found; empty where nothing was."""

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """The likeliest first; all of them in one at the end, where a question stands in several."""
    options: tuple[str, ...] = ()
    gold: str = ""


def of(row: Mapping[str, object]) -> Fields:
    """Return the fields of a row, by the names that data sets give them, whatever their case."""
    named = {str(name).casefold(): value for name, value in row.items()}
    texts = texts_in(said for name in TEXTS if name in named for said in _sayings(named[name]))
    options = _options(named)
    gold = next((text for name in _GOLDS if (text := text_of(named.get(name)))), "")
    return Fields(
        ids=texts_in(named.get(name) for name in IDS),
        texts=(*texts, "\n".join(texts)) if len(texts) > 1 else texts,
        options=options,
        gold=gold,
    )


def _sayings(value: object) -> list[str]:
    """Return a text; the words of a chat, its last turn alone and all of it; the stem of a question that is a table."""
    if isinstance(value, list):
        turns = [said_in(turn) for turn in value]
        return [turns[-1], "\n".join(turns)] if turns else []
    if isinstance(value, dict):
        return [text_of(value.get("stem")) or said_in(value)]
    return [text_of(value)]


def _options(named: Mapping[str, object]) -> tuple[str, ...]:
    found: object = next((named[name] for name in _OPTIONS if name in named), None)
    if found is None and isinstance(named.get("question"), dict):
        found = next((named["question"][name] for name in _OPTIONS if name in named["question"]), None)  # type: ignore[index,operator]
    if isinstance(found, dict):
        found = found["text"] if isinstance(found.get("text"), list) else list(found.values())
    if isinstance(found, list):
        return unlabelled([said_in(option) for option in found])
    letters: list[str] = []
    for letter in _LETTERS:
        text = text_of(named.get(letter.casefold()))
        if not text:
            break
        letters.append(text)
    return unlabelled(letters) if len(letters) > 1 else ()


def unlabelled(options: Sequence[str]) -> tuple[str, ...]:
    """Return options without the letters in front of them ("A. a stack"), where all have theirs, in order."""
    found = [_LABEL.match(option) for option in options]
    if options and all(
        match is not None and match[1].upper() == letter for match, letter in zip(found, _LETTERS, strict=False)
    ):
        return tuple(option[match.end() :] for option, match in zip(options, found, strict=True) if match is not None)
    return tuple(options)
