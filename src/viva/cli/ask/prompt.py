"""`viva prompt`: the exact text."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from msgspec import UNSET

from viva.cli.options import exam_options
from viva.contracts import Exam
from viva.errors import VivaError
from viva.prompting import estimate_tokens, prompt_text
from viva.runs.config import TaskOptions, pick
from viva.runs.exams import open_exams
from viva.types import Choose, Question, Sampling
from viva.visible import escape_invisible, escaped


@click.command(name="prompt", short_help="Show the exact text that a model would be sent.")
@click.argument("benchmark")
@click.option("--question", "identity", metavar="ID", help="Which question.  [default: the first]")
@click.option("--raw", "--json", "raw", is_flag=True, help="As JSON, exactly as it goes over the wire.")
@exam_options
def prompt_command(benchmark: str, identity: str | None, raw: bool, **given: Any) -> int:
    """Show the prompt of one question of BENCHMARK, exemplars included."""
    exams = [exam for exam, _ in open_exams((benchmark,), pick(TaskOptions, given), asking=True)]
    for exam in exams:
        question = next((q for q in exam.questions() if identity in (None, q.id)), None)
        if question is not None:
            _show(exam, question, raw=raw)
            return 0
    first = next(iter(exams[0].questions())).id
    raise VivaError(f"{benchmark} has no question {identity!r} with these options; ids look like {first!r}")


def _show(exam: Exam, question: Question, *, raw: bool) -> None:
    """Print the prompt of a question, or of each cell of its design, with what is not part of it on stderr."""
    design = exam.spec.vary
    samples = 1 if design is UNSET else len(design.cells)
    for sample in range(samples):
        request = exam.request(question, sample, Sampling(seed=exam.spec.seed))
        prompt = request.prompt
        if raw:
            click.echo(escaped(msgspec.json.encode(prompt).decode()))
            continue
        if design is not UNSET:
            click.echo(f"=== {escape_invisible(design.answer_name(sample, samples))} ===", err=True)
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
