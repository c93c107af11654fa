"""One answer with all that belongs to it, as a report's item browser shows it."""

from __future__ import annotations

from msgspec import Struct

from viva.types import Outcome, points_of


class Answered(Struct, frozen=True, kw_only=True):
    """One answer: what was asked, what came back, what it earned and why. Every text is hostile, and whole."""

    exam: str
    model: str
    question: str
    """The question's id."""
    sample: int
    repeat: int
    outcome: Outcome
    value: float | None
    tags: dict[str, str] = {}
    weight: int = 1
    asked: str = ""
    """The question's own text, without instructions and exemplars; "" where the questions are not at hand."""
    prompt: str = ""
    """What the model was sent, exactly; "" where the questions are not at hand."""
    reply: str = ""
    gold: str = ""
    answer: str = ""
    """What was read in the reply."""
    explanation: str = ""
    """How it was read, and why it earned what it did."""
    evidence: tuple[tuple[str, str], ...] = ()
    """(who, what they said): the sandbox, the encoder, judges, experts."""
    failure: str = ""
    """Why there is no reply; "" where there is one."""

    @property
    def points(self) -> float | None:
        """What it counts for in a mean; see `points_of`."""
        return points_of(self.outcome, self.value)
