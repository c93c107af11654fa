"""Paired counterfactuals: a judge's request with the same answer in another form. Pure.

The request of a rubric quotes the answer between two lines that carry its hash (`viva.prompting.fence`). Only the text
between them is replaced, so that every benchmark's own rubric is tested unchanged. Probes that add text have a control
as long as they are: a judge that likes long answers likes both alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import cycle

import msgspec
from msgspec import Struct

from viva.files import shipped_table
from viva.prompting import fence, fill
from viva.types import RATIONALE, Generate, Message, Question

_FENCE = re.compile(r"\n(={8} [0-9a-f]{16} ={8})\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
POSITION = "position"
AGAIN, EMPTY, UNRELATED = "asked again", "empty answer", "unrelated answer"


class Quoted(Struct, frozen=True):
    """Place of the quoted answer in a judge's request: message, start and end."""

    message: int
    start: int
    end: int
    line: str
    """The fence before and after it."""


def quoted(request: Generate) -> Quoted | None:
    """Return the place of the quoted answer; None for a prompt without fences (as published)."""
    for index, message in enumerate(request.prompt if isinstance(request.prompt, tuple) else ()):
        for match in _FENCE.finditer(message.content):
            end = message.content.find(f"\n{match[1]}\n", match.end() - 1)
            if end >= 0:
                return Quoted(index, match.end(), max(end, match.end()), match[1])
    return None


def material(request: Generate, place: Quoted) -> str:
    """Return the quoted text (untrusted)."""
    return request.prompt[place.message].content[place.start : place.end]  # type: ignore[union-attr]


def with_material(request: Generate, quote: Quoted, text: str) -> Generate:
    """Return the request with another text between fences with its hash."""
    line, messages = fence(text), []
    for index, message in enumerate(request.prompt):
        assert isinstance(message, Message)
        content = message.content
        if index == quote.message:
            before, after = (
                content[: quote.start].replace(quote.line, line),
                content[quote.end :].replace(quote.line, line),
            )
            content = f"{before}{text}{after}"
        else:
            content = content.replace(quote.line, line)
        messages.append(Message(message.role, content))
    moved = len(text) - (quote.end - quote.start)
    places = tuple(
        (index, place + moved if index == quote.message and place >= quote.end else place)
        for index, place in request.verdict_at
    )
    return msgspec.structs.replace(request, prompt=tuple(messages), verdict_at=places)


def answer_first(request: Generate, quote: Quoted, question: Question) -> Generate | None:
    """Return the request with the quoted answer before the reference; None if no reference precedes the answer."""
    messages = list(request.prompt)
    message = messages[quote.message]
    assert isinstance(message, Message)
    content = message.content
    block = content.rfind("\n\n", 0, quote.start - len(quote.line) - 1) + 2
    reference = (question.explanation if request.aspect == RATIONALE else str(question.answer or "")).strip()
    place = content.rfind(f"\n{reference}\n\n", 0, block) if reference else -1
    first = content.rfind("\n\n", 0, place) + 2
    end = quote.end + 1 + len(quote.line)
    if place < 0 or first < 2 or block < 2:
        return None
    moved = f"{content[block:end]}\n\n{content[first:block].rstrip()}"
    messages[quote.message] = Message(message.role, f"{content[:first]}{moved}{content[end:]}")
    return msgspec.structs.replace(request, prompt=tuple(messages))


class Probe(Struct, frozen=True):
    """A change of answers, by language, and its comparison: the original answer, or a control."""

    text: dict[str, str]
    control: str = ""


class Neutral(Struct, frozen=True):
    """Sentences without content, of all lengths from the shortest to the longest; `gap` separates two."""

    gap: str
    sentences: list[str]


@cache
def probes() -> Mapping[str, Probe]:
    """Return the probes by name."""
    return msgspec.convert(_table("probes.toml"), dict[str, Probe])


@cache
def neutral_sentences() -> Mapping[str, Neutral]:
    """Return neutral text by language."""
    return msgspec.convert(_table("neutral.toml"), dict[str, Neutral])


def _table(name: str) -> dict[str, object]:
    return shipped_table(__file__, name, dict[str, object])


def neutral(length: int, language: str) -> str | None:
    """Return neutral text of exactly `length` characters; None for fewer than the shortest sentence has."""
    given = neutral_sentences()[language]
    by_length = {len(sentence): sentence for sentence in given.sentences}
    chosen: list[str] = []
    for sentence in cycle(given.sentences):
        if length in by_length:
            return given.gap.join([*chosen, by_length[length]])
        if length < min(by_length):
            return None
        rest = length - len(sentence) - len(given.gap)
        if rest >= min(by_length):
            chosen.append(sentence)
            length = rest
    return None


def control_of(probe: str) -> str:
    """Return the name of a probe's control, if it has one."""
    return f"{probe}: neutral text"


def variants(request: Generate, question: Question, unrelated: str | None) -> Iterator[tuple[str, Generate]]:
    """Yield every probe and control of one request, by name; `unrelated`: an answer to another question."""
    place = quoted(request)
    if place is None:
        return
    answer = material(request, place)
    values = {"answer": answer, "listed": listed(answer), "question": question.text}
    asked = question.language.partition("-")[0]
    for name, probe in probes().items():
        language = asked if asked in probe.text else "en"
        text = fill(probe.text[language], values)
        if probe.control:
            frame = fill(probe.control, {"answer": answer, "neutral": ""})
            added = neutral(len(text) - len(frame), language)
            if added is None:
                continue
            control = fill(probe.control, {"answer": answer, "neutral": added})
            yield control_of(name), with_material(request, place, control)
        yield name, with_material(request, place, text)
    moved = answer_first(request, place, question)
    if moved is not None:
        yield POSITION, moved
    yield AGAIN, msgspec.structs.replace(request, sample=request.sample + 1)
    yield EMPTY, with_material(request, place, "")
    if unrelated is not None:
        yield UNRELATED, with_material(request, place, unrelated)


def listed(answer: str) -> str:
    """Return an answer as a list, a sentence for each item; answers of several lines (programs, lists) are
    unchanged.
    """
    if "\n" in answer.strip():
        return answer
    return "\n".join(f"- {sentence}" for part in _SENTENCE.split(answer) if (sentence := part.strip()))
