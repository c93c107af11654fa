"""The form that all readers return: items that were asked, with their answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.errors import DataError
from viva.io.tables import KEY
from viva.prompting import replace_surrogates
from viva.types import StopReason, Usage

START = 1 << 16
"""Bytes of a file's beginning by which its form is told."""
MOST_ITEMS = 5_000_000
"""Items that one grading reads; the largest published set has 14,700."""
MOST_TEXT = 2 << 30
"""Characters of all prompts and replies together: they are held in memory until they are matched."""


class Columns(Struct, frozen=True, kw_only=True):
    """Names of a table's columns; "" for the usual ones."""

    question: str = ""
    text: str = ""


class Given(Struct, kw_only=True):
    """One answer. `text` is None where there is none, and `error` says why."""

    text: str | None
    sample: int = 0
    picked: int | None = None
    """The option that was most probable, by its position in the item's `offered`; `text` is what it reads."""
    stop_reason: StopReason = "stop"
    error: str = ""
    usage: Usage | None = None


class Item(Struct, kw_only=True):
    """One question that was asked, as far as the file says it."""

    where: str
    """File and line, for messages."""
    file: str
    """Items of one file are of one asking; two files may hold the same question twice."""
    group: str = ""
    """Topic of the file, such as a subject in its name."""
    ids: tuple[str, ...] = ()
    """Candidates for the question's id, the likeliest first."""
    texts: tuple[str, ...] = ()
    """Texts that may be the question or contain it: the likeliest first, the whole prompt last."""
    options: tuple[str, ...] = ()
    """The options in the order in which their letters were shown."""
    offered: tuple[str, ...] = ()
    """The continuations that competed by probability."""
    gold: str = ""
    given: list[Given] = []


class Log(Struct, kw_only=True):
    """All items and answers of one model."""

    form: str
    model: str
    """Name in the file; "" where it has none."""
    items: list[Item]
    notes: list[str] = []


def logs_of(
    form: str, files: Iterable[Path], model_of: Callable[[Path], str], items_of: Callable[[Path], list[Item]]
) -> list[Log]:
    """Return one log for each model; files that name none belong to the model of their folder."""
    logs: dict[str, Log] = {}
    for file in files:
        model = model_of(file)
        log = logs.setdefault(model or str(file.parent), Log(form=form, model=model, items=[]))
        log.items += items_of(file)
    return list(logs.values())


def files_in(paths: Iterable[Path], inside: Callable[[Path], Iterable[Path]]) -> list[Path]:
    """Return the given files, and those that `inside` finds in the given folders, each once."""
    return list(dict.fromkeys(file for path in paths for file in (inside(path) if path.is_dir() else [path])))


def replies_of(values: Iterable[object], missing: str) -> list[Given]:
    """Return an answer for each reply, in the order of the samples; `missing` is the error of one that is no text."""
    return [
        Given(text=text_of(value), sample=sample)
        if isinstance(value, str)
        else Given(text=None, sample=sample, error=missing)
        for sample, value in enumerate(values)
    ]


class Meter:
    """Limit on the items and characters held in memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._items, self._text = path, 0, 0

    def add(self, item: Item) -> Item:
        """Count an item and return it. Raises DataError beyond `MOST_ITEMS` or `MOST_TEXT`."""
        self._items += 1
        self._text += sum(map(len, item.texts)) + sum(len(given.text or "") for given in item.given)
        if self._items > MOST_ITEMS or self._text > MOST_TEXT:
            raise DataError(
                f"{self._path} holds more than {MOST_ITEMS:,} items or {MOST_TEXT >> 30} GiB of text: give it in parts"
            )
        return item


def text_of(value: object) -> str:
    """Return a value of JSON or a table as a text; "" for what is neither text nor number."""
    if isinstance(value, str):
        return replace_surrogates(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def texts_in(values: Iterable[object]) -> tuple[str, ...]:
    """Return the texts among values, each once."""
    return tuple(dict.fromkeys(text for value in values if (text := text_of(value))))


def said_in(message: object) -> str:
    """Return the text of a chat message, whose content is a text or a list of parts."""
    if not isinstance(message, dict):
        return text_of(message)
    content: Any = next((message[key] for key in ("content", "prompt", "text", "value") if key in message), "")
    if isinstance(content, list):
        return "\n".join(said_in(part) for part in content)
    return text_of(content)


IDS = (
    "viva_id", "custom_id", "question", "question_id", "id", "qid", "case", "case_id", "task_id", "uid", "sample_id",
    KEY,
)  # fmt: skip
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
    """The recognised fields of a row; empty where there are none."""

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """The likeliest first; at the end all joined, since a question may be spread over several."""
    options: tuple[str, ...] = ()
    gold: str = ""


def of(row: Mapping[str, object]) -> Fields:
    """Return the fields of a row, recognised by common column names in any case."""
    named = {str(name).casefold(): value for name, value in row.items()}
    texts = texts_in(saying for name in TEXTS if name in named for saying in _sayings(named[name]))
    options = _options(named)
    gold = next((text for name in _GOLDS if (text := text_of(named.get(name)))), "")
    return Fields(
        ids=texts_in(named.get(name) for name in IDS),
        texts=(*texts, "\n".join(texts)) if len(texts) > 1 else texts,
        options=options,
        gold=gold,
    )


def _sayings(value: object) -> list[str]:
    """Return the texts in a value: a text; a chat's last turn and the whole chat; the stem of an object."""
    if isinstance(value, list):
        turns = [said_in(turn) for turn in value]
        return [turns[-1], "\n".join(turns)] if turns else []
    if isinstance(value, dict):
        return [text_of(value.get("stem")) or said_in(value)]
    return [text_of(value)]


def _options(named: Mapping[str, object]) -> tuple[str, ...]:
    options: object = next((named[name] for name in _OPTIONS if name in named), None)
    if options is None and isinstance(named.get("question"), dict):
        options = next((named["question"][name] for name in _OPTIONS if name in named["question"]), None)  # type: ignore[index,operator]
    if isinstance(options, dict):
        options = options["text"] if isinstance(options.get("text"), list) else list(options.values())
    if isinstance(options, list):
        return unlabelled([said_in(option) for option in options])
    letters: list[str] = []
    for letter in _LETTERS:
        text = text_of(named.get(letter.casefold()))
        if not text:
            break
        letters.append(text)
    return unlabelled(letters) if len(letters) > 1 else ()


def unlabelled(options: Sequence[str]) -> tuple[str, ...]:
    """Return options without the letters in front of them ("A. a stack"), where all have theirs, in order."""
    labels = [_LABEL.match(option) for option in options]
    if options and all(
        match is not None and match[1].upper() == letter for match, letter in zip(labels, _LETTERS, strict=False)
    ):
        return tuple(option[match.end() :] for option, match in zip(options, labels, strict=True) if match is not None)
    return tuple(options)
