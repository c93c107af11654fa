"""Evidence about an answer, as the engine would have gathered it."""

from __future__ import annotations

from viva.types import ANSWER, Evidence, Opinion


def heard(*replies: str, aspect: str = ANSWER, judge: str = "judge") -> Evidence:
    """What one judge replied, sample after sample."""
    return Evidence(opinions=[Opinion(judge, aspect, reply) for reply in replies])
