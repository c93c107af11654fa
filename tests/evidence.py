"""Evidence about an answer, as the engine would collect it."""

from viva.types import ANSWER, Evidence, Opinion


def opinion(reply: str, aspect: str = ANSWER, *, nonce: str = "") -> Opinion:
    """One reply of a judge."""
    return Opinion("judge", aspect, reply, nonce)


def heard(*replies: str, aspect: str = ANSWER, judge: str = "judge") -> Evidence:
    """What one judge replied, sample after sample."""
    return Evidence(opinions=[Opinion(judge, aspect, reply) for reply in replies])
