"""`viva show`: prompt, answer, extraction, verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from viva.engine.folder import RunFolder, find_run
from viva.engine.stages import NO_REPLY_YET
from viva.engine.testimony import testimony
from viva.errors import VivaError
from viva.prompting import prompt_text
from viva.runs.config import Limits
from viva.runs.open import Examination, gather, prepare
from viva.types import OUTCOMES, Choose, Generate, Question, Request, Response, Score, Suspicion
from viva.visible import visible


@click.command(name="show", short_help="Show prompt, reply, what was read in it, and the verdict.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--question", "identity", metavar="ID", help="One question, with all its samples.")
@click.option("--wrong", is_flag=True, help="Only what was graded wrong.")
@click.option("--unparsed", is_flag=True, help="Only what could not be read (unparsed, empty, truncated, refused).")
@click.option(
    "--suspicious",
    is_flag=True,
    help="Only passed programs that passed a twin of their test or use constructs rarely needed.",
)
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only this outcome.")
@click.option("--model", help="Only this model.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many answers.")
@click.option("--prompts/--no-prompts", default=None, help="Show the prompts.  [default: with --question only]")
def show_command(
    run: Path,
    identity: str | None,
    wrong: bool,
    unparsed: bool,
    suspicious: bool,
    outcome: str | None,
    model: str | None,
    limit: int,
    prompts: bool | None,
) -> int:
    """Show answers of RUN with what was read where, and why they scored as they did."""
    folder = RunFolder.open(find_run(run))
    examination = prepare(folder, Limits(progress="quiet"))
    wanted = {outcome} if outcome else set(OUTCOMES)
    if wrong or unparsed:
        wanted = ({"wrong"} if wrong else set()) | (
            {"unparsed", "empty", "truncated", "refused"} if unparsed else set()
        )
    shown = found = 0
    with ExitStack() as stack:
        for text, name, graded, question, suspicion in _answers(
            examination, stack, bool(prompts or (prompts is None and identity))
        ):
            if identity not in (None, question.id) or graded.outcome not in wanted or model not in (None, name):
                continue
            if suspicious and not suspicion.any:
                continue
            found += 1
            if shown < limit:
                click.echo(text)
                shown += 1
    if identity and not found:
        raise VivaError(f"{folder.path} has no such answer to question {identity!r}")
    click.echo(f"{shown:,} of {found:,} answers shown", err=True)
    return 0


def _answers(
    examination: Examination,
    stack: ExitStack,
    prompts: bool,
) -> Iterator[tuple[str, str, Score, Question, Suspicion]]:
    answers = examination.folder.journal("responses")
    stack.callback(answers.close)
    gathered = gather(examination, stack)
    for sitting in examination.sittings:
        for question, key, request in sitting.requests():
            entry = answers.read(key)
            response = entry.response() if entry else NO_REPLY_YET
            evidence = gathered.about(sitting, question, request.sample, response)
            score = sitting.exam.score(question, response, evidence)
            whose = f"{sitting.label} {question.id}, sample {request.sample}, {sitting.model.name}"
            lines = [visible(f"=== {whose}: {score.outcome}")]
            if prompts:
                # The key covers the prompt: that the answer was found under it proves this is what was sent.
                lines += [f"--- prompt (request {key.hex()})", visible(prompt_text(request.prompt))]
            lines += _replied(request, response)
            if entry and entry.usage and isinstance(request, Generate):
                lines[-1] += (
                    f"\n    ({entry.usage.output} tokens, stopped by {entry.stop_reason}, {entry.seconds:.2f} s)"
                )
            lines.append(
                f"--- read: {visible(score.answer, limit=200) or '–'}   gold: {visible(question.answer or '–')}"
            )
            lines.append(f"--- why: {visible(score.explanation, limit=1000)}")
            suspicion = gathered.suspicion(sitting.exam, question, response)
            lines += [
                f"--- {visible(who)}: {visible(said, limit=2000)}" for who, said in testimony(evidence, suspicion)
            ]
            yield "\n".join(lines) + "\n", sitting.model.name, score, question, suspicion


def _replied(request: Request, response: Response) -> list[str]:
    """What came back: a text, or how probable each continuation is."""
    if not isinstance(request, Choose) or response.error:
        return ["--- reply", visible(response.text, limit=4000)]
    lines = [f"--- log-probability, by {request.by}"]
    for text, one in zip(request.continuations, response.likelihoods, strict=False):
        least = "at most " if one.bound else ""
        of = f" ({one.tokens} tokens)" if one.tokens != 1 else ""
        lines.append(f"    {least}{one.logprob:.4f}{of}  {visible(repr(text), limit=200)}")
    return lines
