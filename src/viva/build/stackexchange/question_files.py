"""Kits → one question file: the tree of each question.yaml, with the tags of a set, written as YAML.

What is written is read again and compared: a set says what its experts approved, or is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from viva.benchmarks.custom.positions import Listing, Node, Scalar, read_yaml
from viva.benchmarks.custom.positions import Mapping as Entries
from viva.benchmarks.custom.questionloading import MAX_BYTES, read_content
from viva.benchmarks.custom.questionmodel import OwnQuestion
from viva.build.stackexchange.kitchecks import at
from viva.errors import DataError

_WIDTH = 1_000_000


def question_node(text: str, tags: Mapping[str, str]) -> Node:
    """The question of a question.yaml, with these tags in place of its own."""
    node = at(read_yaml(text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")), "questions", 0)
    assert isinstance(node, Entries)
    given = _mapping({name: _text(value) for name, value in tags.items()})
    return Entries(tuple((key, given if key.value == "tags" else value) for key, value in node.entries), 0, 0)


def emit(title: str, questions: Sequence[Node], *, blocks: bool = True) -> bytes:
    """A question file as YAML. Without `blocks` every text is in quotes: less readable, and right for any text."""
    import yaml

    root = _mapping({"title": _text(title), "questions": Listing(tuple(questions), 0, 0)})
    events = [yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False), *_events(root, blocks)]
    events += [yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent()]
    written: str = yaml.emit(events, allow_unicode=True, width=_WIDTH)
    return written.encode("utf-8")


def verify(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> None:
    """Raise DataError unless the file reads as these questions, tags included."""
    if len(content) > MAX_BYTES:
        raise DataError(f"{name} would have {len(content):,} bytes; a question file has at most {MAX_BYTES:,}")
    read = read_content(content, Path(name))
    if read.errors:
        raise DataError(f"{name} cannot be written so that it is read as it was meant: {read.errors[0]}")
    if len(read.questions) != len(wanted):
        raise DataError(f"{name} would hold {len(read.questions):,} of {len(wanted):,} questions")
    for one, other in zip(read.questions, wanted, strict=True):
        if _bare(one) != _bare(other):
            raise DataError(f"{other.id} cannot be written so that it is read as it was meant; simplify its YAML")


def reads_as(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> bool:
    """Whether `verify` is content."""
    try:
        verify(content, wanted, name)
    except DataError:
        return False
    return True


def _bare(own: OwnQuestion) -> OwnQuestion:
    """A question without the lines that it stands in."""
    examples = tuple(msgspec.structs.replace(example, line=0) for example in own.examples)
    return msgspec.structs.replace(own, line=0, examples=examples)


def _text(text: str) -> Scalar:
    return Scalar(text, 0, 0, quoted=True, block="\n" in text)


def _mapping(entries: Mapping[str, Node]) -> Entries:
    return Entries(tuple((Scalar(name, 0, 0), node) for name, node in entries.items()), 0, 0)


def _events(node: Node, blocks: bool) -> Iterator[Any]:
    """The tree as PyYAML's events. A text is quoted or a block, whatever it looks like; the rest is plain."""
    import yaml

    if isinstance(node, Scalar):
        if node.null:
            yield yaml.ScalarEvent(None, None, (True, True), "null")
        elif blocks and node.block and node.value.strip():
            yield yaml.ScalarEvent(None, None, (True, True), node.value, style="|")
        else:
            yield yaml.ScalarEvent(
                None, None, (True, True), node.value, style='"' if node.quoted or node.block else None
            )
    elif isinstance(node, Listing):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
        for item in node.items:
            yield from _events(item, blocks)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
        for name, value in node.entries:
            yield from _events(name, blocks)
            yield from _events(value, blocks)
        yield yaml.MappingEndEvent()
