"""One answer of a run with question, reply, score and evidence: the record behind reports, exports and data frames."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from viva.engine.journal import Entry
from viva.engine.stages import NO_REPLY_YET
from viva.prompting import prompt_text
from viva.types import Choose, Evidence, Prompt, Question, Request, Response, ScoreRow


class Answer(Struct, frozen=True, kw_only=True, gc=False):
    """Question, reply, score and reasons. No text is escaped or shortened: all of them are untrusted."""

    row: ScoreRow
    response: Response
    question: Question | None = None
    """None where the question set is not available."""
    request: Request | None = None
    said: tuple[tuple[str, str], ...] = ()
    """(source, text) of the sandbox, the encoder, judges and experts."""
    seconds: float = 0.0
    at: float = 0.0
    """Time of the reply, in seconds since 1970; 0 where unknown."""

    @property
    def asked(self) -> str:
        """The question's own text, without instructions and exemplars; "" without a question."""
        return self.question.text if self.question else ""

    @property
    def prompt(self) -> Prompt:
        """The prompt as it was sent to the model; "" without a question."""
        return self.request.prompt if self.request else ""

    @property
    def prompt_text(self) -> str:
        """The prompt as one text."""
        return prompt_text(self.prompt)

    @property
    def reply(self) -> str:
        """The reply: its text, or the probability of each continuation, a line each."""
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
    """Return the answer of a row of scores, as its journal has it."""
    return Answer(
        row=row,
        response=entry.response() if entry else NO_REPLY_YET,
        question=question,
        request=request,
        said=said,
        seconds=entry.seconds if entry else 0.0,
        at=entry.at if entry else 0.0,
    )


SHARED = "program, sharing a process with its test"
_WHERE = {"separate": "program, its test in a process of its own", "shared": SHARED}


def describe_evidence(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield (source, text) of each piece of evidence. The texts are untrusted: nothing is escaped or cut here."""
    for execution in evidence.executions:
        verdict_text = f"{execution.verdict}: {execution.detail}".rstrip(": ") if execution else "not run yet"
        yield _WHERE.get(execution.isolation, "program") if execution else "program", verdict_text
    for aspect, value in evidence.similarities.items():
        yield f"similarity of the {aspect}", f"{value:.4f}"
    for opinion in evidence.opinions:
        yield f"judge {opinion.judge} on the {opinion.aspect}", opinion.text
    for opinion in evidence.failed:
        yield f"judge {opinion.judge} on the {opinion.aspect}, no verdict", opinion.text
    for mark in evidence.marks:
        yield f"expert {mark.reviewer} on the {mark.aspect}", f"{mark.value:g} {mark.comment}".rstrip()


def thought_size(response: Response) -> str:
    """Return the length of a model's thoughts before its reply: `3,012 tokens, 12,048 characters`; "" if unknown."""
    counted = response.usage.reasoning if response.usage else 0
    tokens = [f"{counted:,} tokens"] if counted else []
    characters = [f"{len(response.reasoning):,} characters"] if response.reasoning else []
    return ", ".join([*tokens, *characters])


def reply_text(request: Request, response: Response) -> str:
    """Return the reply: its text, or the probability of each continuation, a line each."""
    if not isinstance(request, Choose) or response.error:
        return response.text
    lines = [f"log-probability, by {request.by}"]
    for text, likelihood in zip(request.continuations, response.likelihoods, strict=False):
        least = "at most " if likelihood.bound else ""
        of = f" ({likelihood.tokens} tokens)" if likelihood.tokens != 1 else ""
        lines.append(f"{least}{likelihood.logprob:.4f}{of}  {text!r}")
    return "\n".join(lines)
