"""Dumps of Stack Overflow, made up: rows as Posts.xml has them, and enough of them to draw a pool from."""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import polars as pl

from rows import tables_beside
from viva.build.stackexchange.view_line import Line

NEWEST = date(2023, 6, 14)
LANGUAGES = ("javascript", "css", "html", "java", "c#", "php", "go", "ruby", "rust", "c++", "python", "r", "dart")
TABLES = tables_beside(__file__)
OTHERS = TABLES["others"]
ESCAPES = {'"': "&quot;", "\n": "&#xA;", "\r": "&#xD;", "\t": "&#x9;"}
WORDS = TABLES["words"]


def attribute(value: object) -> str:
    """A value in double quotes, as the dumps escape it."""
    return f'"{escape(str(value), ESCAPES)}"'


def row(**values: object) -> bytes:
    """A row with these attributes, in this order; None for one that is not there."""
    shown = "".join(f" {name}={attribute(value)}" for name, value in values.items() if value is not None)
    return f"  <row{shown} />\r\n".encode()


def question(
    identity: int,
    *,
    tags: Sequence[str] = ("python",),
    views: object = 10_000_000,
    accepted: object = None,
    **more: object,
) -> bytes:
    """A question that has its accepted answer in `identity + 1`, and is seen enough at any age up to eight years."""
    values = {
        "Id": identity,
        "PostTypeId": 1,
        "AcceptedAnswerId": identity + 1 if accepted is None else accepted or None,
        "CreationDate": "2022-06-14T21:42:52.667",
        "Score": 7,
        "ViewCount": views,
        "Body": f"<p>Body of {identity} & more</p>\n",
        "OwnerUserId": 8,
        "Title": f"Question {identity}?",
        "Tags": "".join(f"<{tag}>" for tag in tags),
        "AnswerCount": 3,
        "ContentLicense": "CC BY-SA 4.0",
    }
    return row(**{**values, **more})


def answer(identity: int, parent: int, *, score: int = 1, **more: object) -> bytes:
    """An answer."""
    values = {
        "Id": identity,
        "PostTypeId": 2,
        "ParentId": parent,
        "CreationDate": "2022-06-15T01:02:03.000",
        "Score": score,
        "Body": f"<p>Answer {identity}</p>",
        "ContentLicense": "CC BY-SA 4.0",
    }
    return row(**{**values, **more})


def asked(identity: int, *, answers: int = 3, **more: Any) -> list[bytes]:
    """A question and its positively voted answers, the accepted one first."""
    return [question(identity, **more), *(answer(identity + 1 + one, identity) for one in range(answers))]


def posts(rows: Iterable[bytes]) -> bytes:
    """A whole Posts.xml."""
    return b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n' + b"".join(rows) + b"</posts>"


def write_dump(path: Path, rows: Iterable[bytes]) -> Path:
    """Posts.xml of these rows."""
    path.write_bytes(posts(rows))
    return path


def made_up(questions: int, seed: int = 1) -> Iterator[bytes]:
    """Rows of so many questions and four times as many answers, by id, but some answers before their question."""
    dice = random.Random(seed)
    identity = 1
    late: list[bytes] = []
    for _ in range(questions):
        own = identity
        identity += 5
        created = NEWEST - timedelta(days=dice.randrange(2500))
        tags = dice.choice((*LANGUAGES, *LANGUAGES, *OTHERS)).split("|")
        text = " ".join(dice.choices(WORDS, k=20))
        rows = [
            question(
                own,
                tags=(*tags, "made-up"),
                views=int(2 ** dice.uniform(3, 24)),
                accepted=own + 1 if dice.random() < 0.8 else 0,
                CreationDate=f"{created}T12:00:00.000",
                Body=text,
            ),
            *(
                answer(
                    own + 1 + one, own, score=dice.randrange(-1, 9), CreationDate=f"{NEWEST}T00:00:00.000", Body=text
                )
                for one in range(4)
            ),
        ]
        if dice.random() < 0.1:
            rows = rows[::-1]
        late.append(rows.pop())
        yield from rows
        if dice.random() < 0.3:
            yield from late
            late.clear()
    yield from late


def lies_above(line: Line, views: int, age: int) -> bool:
    return bool(pl.select(line.above(pl.lit(views), pl.lit(age))).item())
