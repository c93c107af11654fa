"""What all readers turn their files into: items that were asked, with the answers that were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import Struct

from viva.errors import DataError
from viva.prompting import replace_surrogates
from viva.types import StopReason, Usage

MOST_ITEMS = 5_000_000
"""Items that one grading reads; the largest published set has 14,700."""
MOST_TEXT = 2 << 30
"""Characters of all prompts and replies together: they are held in memory until they are matched."""


class Columns(Struct, frozen=True, kw_only=True):
    """Which columns of a table are meant; "" for the usual ones."""

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
    """One thing that was asked, as far as the file tells."""

    where: str
    """File and line, for messages."""
    file: str
    """Items of one file are of one asking; two files may hold the same question twice."""
    group: str = ""
    """What the file is about, such as a subject in its name."""
    ids: tuple[str, ...] = ()
    """What may be the question's id, the likeliest first."""
    texts: tuple[str, ...] = ()
    """What may be the question's text, or holds it: the likeliest first, the whole prompt last."""
    options: tuple[str, ...] = ()
    """The options in the order in which their letters were shown."""
    offered: tuple[str, ...] = ()
    """The continuations that competed by probability."""
    gold: str = ""
    given: list[Given] = []


class Log(Struct, kw_only=True):
    """What one model answered."""

    form: str
    model: str
    """As the file calls it; "" where it does not."""
    items: list[Item]
    notes: list[str] = []


def logs_of(
    form: str, files: Iterable[Path], model_of: Callable[[Path], str], items_of: Callable[[Path], list[Item]]
) -> list[Log]:
    """Return a log a model; files that name none are of the model of their folder."""
    logs: dict[str, Log] = {}
    for file in files:
        model = model_of(file)
        log = logs.setdefault(model or str(file.parent), Log(form=form, model=model, items=[]))
        log.items += items_of(file)
    return list(logs.values())


class Meter:
    """Counts what is held in memory, and refuses more than fits."""

    def __init__(self, path: Path) -> None:
        self._path, self._items, self._text = path, 0, 0

    def add(self, item: Item) -> Item:
        """Return the item itself. Raises DataError where there is too much."""
        self._items += 1
        self._text += sum(map(len, item.texts)) + sum(len(one.text or "") for one in item.given)
        if self._items > MOST_ITEMS or self._text > MOST_TEXT:
            raise DataError(
                f"{self._path} holds more than {MOST_ITEMS:,} items or {MOST_TEXT >> 30} GiB of text: give it in parts"
            )
        return item


def text_of(value: object) -> str:
    """Return a text out of what a JSON file or a table may hold in its place; "" for what is none."""
    if isinstance(value, str):
        return replace_surrogates(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def stop_of(value: object) -> StopReason:
    """Return why a reply ended, in our words: "stop" where nothing is said, "other" for what is none of them."""
    said = text_of(value) or "stop"
    return cast("StopReason", said if said in get_args(StopReason) else "other")


def texts_in(values: Iterable[object]) -> tuple[str, ...]:
    """Return the texts among values, each once."""
    return tuple(dict.fromkeys(text for value in values if (text := text_of(value))))


def said_in(message: object) -> str:
    """Return the words of a chat message, whose content is a text or a list of parts."""
    if not isinstance(message, dict):
        return text_of(message)
    content: Any = next((message[key] for key in ("content", "prompt", "text", "value") if key in message), "")
    if isinstance(content, list):
        return "\n".join(said_in(part) for part in content)
    return text_of(content)
