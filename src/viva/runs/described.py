"""Answers as text: prompt, reply, what was read in it, the verdict and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from viva.engine.evidence_text import describe_evidence
from viva.engine.stages import NO_REPLY_YET
from viva.prompting import prompt_text
from viva.runs.open import OpenRun, open_evidence
from viva.types import Choose, Generate, Question, Request, Response, Score, Suspicion, outcome_name
from viva.visible import escape_invisible


def described_answers(
    opened: OpenRun, stack: ExitStack, *, prompts: bool
) -> Iterator[tuple[str, str, Score, Question, Suspicion]]:
    """Every answer: as text for a terminal (with its prompt where asked), its model, score, question and suspicion."""
    answers = opened.folder.journal("responses")
    stack.callback(answers.close)
    evidence_store = open_evidence(opened, stack)
    for evaluation in opened.evaluations:
        for question, key, request in evaluation.requests():
            entry = answers.read(key)
            response = entry.response() if entry else NO_REPLY_YET
            evidence = evidence_store.about(evaluation, question, request.sample, response)
            score = evaluation.exam.score(question, response, evidence)
            whose = f"{evaluation.label} {question.id}, sample {request.sample}, {evaluation.model.name}"
            lines = [escape_invisible(f"=== {whose}: {outcome_name(score.outcome)}")]
            if prompts:
                # The key covers the prompt: that the answer was found under it proves this is what was sent.
                lines += [f"--- prompt (request {key.hex()})", escape_invisible(prompt_text(request.prompt))]
            lines += _replied(request, response)
            if entry and entry.usage and isinstance(request, Generate):
                lines[-1] += (
                    f"\n    ({entry.usage.output} tokens, stopped by {entry.stop_reason}, {entry.seconds:.2f} s)"
                )
            lines.append(
                f"--- read: {escape_invisible(score.answer, limit=200) or '–'}   gold: "
                f"{escape_invisible(question.answer or '–')}"
            )
            lines.append(f"--- why: {escape_invisible(score.explanation, limit=1000)}")
            suspicion = evidence_store.suspicion(evaluation.exam, question, response)
            lines += [
                f"--- {escape_invisible(who)}: {escape_invisible(said, limit=2000)}"
                for who, said in describe_evidence(evidence, suspicion)
            ]
            yield "\n".join(lines) + "\n", evaluation.model.name, score, question, suspicion


def _replied(request: Request, response: Response) -> list[str]:
    """What came back: a text, or how probable each continuation is."""
    if not isinstance(request, Choose) or response.error:
        return ["--- reply", escape_invisible(response.text, limit=4000)]
    lines = [f"--- log-probability, by {request.by}"]
    for text, one in zip(request.continuations, response.likelihoods, strict=False):
        least = "at most " if one.bound else ""
        of = f" ({one.tokens} tokens)" if one.tokens != 1 else ""
        lines.append(f"    {least}{one.logprob:.4f}{of}  {escape_invisible(repr(text), limit=200)}")
    return lines
