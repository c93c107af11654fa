"""What experts said of answers: reviews.jsonl, an append-only file of who gave what, when, and what it was before.

The last line of a reviewer about an aspect of an item counts; a line whose `after` is None takes the mark back. A line
is known by its `id`, so one that is posted twice is written once.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct


class Review(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of reviews.jsonl."""

    id: str
    """Made by the page that was posted: 32 hexadecimal digits."""
    at: float
    """Seconds since 1970, UTC."""
    reviewer: str
    item: str
    """Which answer: `item_key`."""
    about: dict[str, str] = {}
    """The same for people: exam, model, question, sample."""
    aspect: str
    before: float | None = None
    """This reviewer's mark until now."""
    after: float | None = None
    """This reviewer's mark from now on; None takes it back."""
    draft: float | None = None
    """The verdict that was there."""
    blind: bool = False
    """Whether the reviewer marked without seeing it."""
    comment: str = ""
    text_before: str | None = None
    text_after: str | None = None
    """An edited text, where the item can be edited."""


def item_key(exam: str, model: str, question: str, sample: int, reply: str) -> str:
    """32 hexadecimal digits for one answer; another reply to the same question is another item."""
    content = msgspec.json.encode([exam, model, question, sample, reply])
    return hashlib.blake2b(content, digest_size=16).hexdigest()
