"""Evidence of an answer as text: what sandbox, encoder, judges and experts found."""

from __future__ import annotations

from collections.abc import Iterator

from viva.contracts import Suspicion
from viva.types import Choose, Evidence, Request, Response


def describe_evidence(evidence: Evidence, suspicion: Suspicion) -> Iterator[tuple[str, str]]:
    """(who, what they said). The texts are hostile: nothing is made visible or cut here."""
    for execution in evidence.executions:
        said = f"{execution.verdict}: {execution.detail}".rstrip(": ") if execution else "not run yet"
        if execution and execution.suspect:
            said = f"it also passed a twin of its test that expects something else: look at it. {said}"
        where = {"separate": ", its test in a process of its own", "shared": ", sharing a process with its test"}
        yield f"program{where.get(execution.isolation, '') if execution else ''}", said
    if suspicion.passed and not suspicion.examined:
        yield "constructs", "not examined: its syntax tree is not to be had here"
    for flag in suspicion.flags:
        yield f"construct: {flag.construct}", f"{flag.reason}{f': {flag.line}' if flag.line else ''}"
    for aspect, value in evidence.similarities.items():
        yield f"similarity of the {aspect}", f"{value:.4f}"
    for opinion in evidence.opinions:
        yield f"judge {opinion.judge} on the {opinion.aspect}", opinion.text
    for opinion in evidence.failed:
        yield f"judge {opinion.judge} on the {opinion.aspect}, no verdict", opinion.text
    for mark in evidence.marks:
        yield f"expert {mark.reviewer} on the {mark.aspect}", f"{mark.value:g} {mark.comment}".rstrip()


def thought_size(response: Response) -> str:
    """How long a model thought before its reply: `3,012 tokens, 12,048 characters`; "" where nothing is known of it."""
    counted = response.usage.reasoning if response.usage else 0
    tokens = [f"{counted:,} tokens"] if counted else []
    characters = [f"{len(response.reasoning):,} characters"] if response.reasoning else []
    return ", ".join([*tokens, *characters])


def reply_text(request: Request, response: Response) -> str:
    """What came back: the text, or how probable each continuation is, a line each."""
    if not isinstance(request, Choose) or response.error:
        return response.text
    lines = [f"log-probability, by {request.by}"]
    for text, one in zip(request.continuations, response.likelihoods, strict=False):
        least = "at most " if one.bound else ""
        of = f" ({one.tokens} tokens)" if one.tokens != 1 else ""
        lines.append(f"{least}{one.logprob:.4f}{of}  {text!r}")
    return "\n".join(lines)
