"""A question drawn with a known probability, as it is written down: with all that an estimate takes beside the answers.

What reads it may be anybody's file, so every number has its bounds.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1.000001)]
Positive = Annotated[float, Meta(ge=1e-12, le=1e12)]
Bounded = Annotated[float, Meta(ge=-1e12, le=1e12)]


class Term(Struct, frozen=True, kw_only=True):
    """What was predicted of one of the estimated means before a draw. Shares of 1."""

    predicted: Bounded
    """The value of the question drawn."""
    rest: Bounded
    """What all questions that were left add to the mean, this one included."""
    variance: Positive
    """Of the estimate that this draw makes."""
    down: Bounded
    """A bound on how far this estimate's last term can be below 0, whatever is drawn and answered."""
    up: Bounded


class Draw(Struct, frozen=True, kw_only=True):
    """One question drawn."""

    question: str
    round: int
    share: Share
    """Of the full score."""
    probability: Annotated[float, Meta(ge=1e-12, le=1.000001)]
    """Of this question, among those that were left."""
    left: Share
    """The share of the full score that these questions are, this one included."""
    terms: tuple[Term, ...]
    """A term for every mean that is estimated."""
