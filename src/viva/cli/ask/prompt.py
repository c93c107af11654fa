"""`viva show EXAM --prompt`: the exact text."""

from __future__ import annotations

import click
import msgspec

from viva.contracts import Exam
from viva.errors import VivaError
from viva.prompting import estimate_tokens, prompt_text
from viva.runs.config import TaskOptions
from viva.runs.exams import open_exams
from viva.types import Choose, Question, Sampling
from viva.visible import escape_invisible, escaped


def show_prompt(benchmark: str, identity: str | None, choice: TaskOptions, *, raw: bool) -> None:
    """Print the prompt of one question, exemplars included; `raw`: as JSON, as it goes over the wire."""
    exams = [exam for exam, _ in open_exams((benchmark,), choice, asking=True)]
    for exam in exams:
        question = next((q for q in exam.questions() if identity in (None, q.id)), None)
        if question is not None:
            _show(exam, question, raw=raw)
            return
    first = next(iter(exams[0].questions())).id
    raise VivaError(f"{benchmark} has no question {identity!r} with these options; ids look like {first!r}")


def _show(exam: Exam, question: Question, *, raw: bool) -> None:
    """Print the prompt, with what is not part of it on stderr."""
    request = exam.request(question, 0, Sampling(seed=exam.spec.seed))
    prompt = request.prompt
    if raw:
        click.echo(escaped(msgspec.json.encode(prompt).decode()))
        return
    text = prompt_text(prompt)
    if not isinstance(prompt, str):
        click.echo(f"--- {len(prompt)} message(s), role {prompt[0].role} ---", err=True)
    # Rendered text must be exact, but never able to drive the terminal.
    click.echo(escape_invisible(text))
    click.echo(f"--- {len(text):,} characters, roughly {estimate_tokens(text):,} tokens ---", err=True)
    if request.dropped:
        click.echo(f"--- {request.dropped} exemplars did not fit and were left out ---", err=True)
    if isinstance(request, Choose):
        shown = " ".join(repr(text) for text in request.continuations)
        click.echo(f"--- one of these follows, by {request.by}: {escape_invisible(shown)} ---", err=True)
