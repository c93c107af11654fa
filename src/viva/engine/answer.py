"""One answer of a run with all that belongs to it: what reports, exports and data frames are made of."""

from __future__ import annotations

from msgspec import Struct

from viva.engine.evidence_text import reply_text
from viva.engine.journal import Entry
from viva.engine.stages import NO_REPLY_YET
from viva.prompting import prompt_text
from viva.types import Prompt, Question, Request, Response, ScoreRow


class Answer(Struct, frozen=True, kw_only=True):
    """What was asked, what came back, what it earned and why. Every text is a stranger's, and whole."""

    row: ScoreRow
    response: Response
    question: Question | None = None
    """None where the questions are not at hand."""
    request: Request | None = None
    said: tuple[tuple[str, str], ...] = ()
    """(who, what they said): the sandbox, the encoder, judges, experts."""
    seconds: float = 0.0
    at: float = 0.0
    """When it came, in seconds since 1970; 0 where that is not known."""

    @property
    def asked(self) -> str:
        """The question's own text, without instructions and exemplars; "" where the questions are not at hand."""
        return self.question.text if self.question else ""

    @property
    def prompt(self) -> Prompt:
        """What the model was sent; "" where the questions are not at hand."""
        return self.request.prompt if self.request else ""

    @property
    def prompt_text(self) -> str:
        """The same as one text."""
        return prompt_text(self.prompt)

    @property
    def reply(self) -> str:
        """What came back: the text, or how probable each continuation is, a line each."""
        return reply_text(self.request, self.response) if self.request else self.response.text

    @property
    def failure(self) -> str:
        """Why there is no reply; "" where there is one."""
        return f"{self.response.error.kind}: {self.response.error.message}" if self.response.error else ""

    @property
    def gold(self) -> str:
        """The gold answer; "" where there is none, or it is not to be told."""
        return (self.question.answer or "") if self.question else ""

    @property
    def target(self) -> list[str]:
        """The gold answer and its other wordings."""
        if self.question is None or self.question.answer is None:
            return []
        return [self.question.answer, *self.question.accepted]


def answer_of(
    row: ScoreRow,
    entry: Entry | None,
    question: Question | None = None,
    request: Request | None = None,
    said: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """The answer of a row of scores, as its journal has it."""
    return Answer(
        row=row,
        response=entry.response() if entry else NO_REPLY_YET,
        question=question,
        request=request,
        said=said,
        seconds=entry.seconds if entry else 0.0,
        at=entry.at if entry else 0.0,
    )
