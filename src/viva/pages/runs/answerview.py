"""One answer in full: what was asked, what came back, what was read in it, and what everybody said of it."""

from __future__ import annotations

from contextlib import ExitStack

from msgspec import Struct

from viva.engine.answerrecord import describe_evidence, thought_size
from viva.engine.journal import Entry
from viva.engine.stages import NO_REPLY_YET
from viva.pages.runs.following import Followed
from viva.pages.runs.gradedrows import Sheet
from viva.pages.runs.live_tables import Opened
from viva.prompting import prompt_text
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import Choose, Question, Request, Response, Score
from viva.web.pagetext import read_span, reason


class Said(Struct, frozen=True):
    """A piece of evidence: who, and what they said."""

    who: str
    text: str


class Likely(Struct, frozen=True):
    """How probable a continuation is: a natural logarithm."""

    text: str
    logprob: float
    tokens: int
    bound: bool


class Item(Struct, frozen=True, kw_only=True):
    """An answer with all that belongs to it. All texts are hostile."""

    exam: str
    model: str
    question: Question
    sample: int
    samples: int
    key: str
    prompt: str
    thought: str
    """What the model thought before its reply."""
    thought_size: str
    """How long that is; "" where nothing is known of it."""
    reply: str
    """Empty where there is none."""
    read: tuple[int, int] | None
    """Which part of the reply its reading rests on (start, end), where that is known."""
    reason: str
    """Why it was graded so, in words of its reply."""
    failure: str
    """Why there is no reply."""
    likelihoods: tuple[Likely, ...]
    circumstances: tuple[tuple[str, str], ...]
    """Tokens, seconds, attempts."""
    score: Score
    evidence: tuple[Said, ...]


def item_of(sheet: Sheet, place: int, opened: Opened, answers: Followed) -> Item:
    """One answer, graded as it stands now. Raises VivaError where its evidence cannot be read."""
    evaluation = sheet.evaluation
    question, sample = sheet.question(place)
    request = evaluation.request(question, sample)
    key = evaluation.keys.of(request)
    with ExitStack() as stack, answers.reading() as reader:
        entry = reader.read(key)
        response = entry.response() if entry else NO_REPLY_YET
        evidence_store = opened.open_evidence(stack)
        evidence = evidence_store.about(evaluation, question, sample, response)
        said = describe_evidence(evidence)
        statements = tuple(Said(who[:1].upper() + who[1:], text) for who, text in said)
        score = evaluation.exam.score(question, response, evidence)
    return Item(
        exam=evaluation.label,
        model=evaluation.model.name,
        question=question,
        sample=sample,
        samples=evaluation.samples,
        key=key.hex(),
        prompt=prompt_text(request.prompt),
        thought=response.reasoning,
        thought_size=thought_size(response),
        reply=response.text,
        read=read_span(score, response.text),
        reason=reason(score.explanation, response.text),
        failure=f"{response.error.kind}: {response.error.message}" if response.error else "",
        likelihoods=tuple(_likely(request, response)),
        circumstances=tuple(_circumstances(entry)) if entry else (),
        score=score,
        evidence=statements,
    )


def _likely(request: Request, response: Response) -> list[Likely]:
    if not isinstance(request, Choose):
        return []
    pairs = zip(request.continuations, response.likelihoods, strict=False)
    return [Likely(text, one.logprob, one.tokens, one.bound) for text, one in pairs]


def _circumstances(entry: Entry) -> list[tuple[str, str]]:
    cut = CUT_OFF_WORDS.get(entry.stop_reason)
    said: list[tuple[str, str]] = []
    if entry.error is None:
        said.append(("ended", cut) if cut else ("stopped by", entry.stop_reason))
    if entry.usage:
        said += [("tokens in", f"{entry.usage.input:,}"), ("tokens out", f"{entry.usage.output:,}")]
        said += [("of them thought", f"{entry.usage.reasoning:,}")] if entry.usage.reasoning else []
    said += [("seconds", f"{entry.seconds:.2f}")] if entry.seconds else []
    said += [("attempts", str(entry.attempts))] if entry.attempts > 1 else []
    said += [("taken over from", entry.reused)] if entry.reused else []
    return said
