"""`viva show`: prompt, answer, extraction, verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from viva.engine.evidence_text import describe_evidence
from viva.engine.folder import RunFolder, find_run
from viva.engine.stages import NO_REPLY_YET
from viva.errors import VivaError
from viva.prompting import prompt_text
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, open_evidence, prepare
from viva.types import OUTCOMES, Choose, Generate, Question, Request, Response, Score, Suspicion, outcome_name
from viva.visible import escape_invisible


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
    opened = prepare(folder, LimitOptions(progress="quiet"))
    wanted = {outcome} if outcome else set(OUTCOMES)
    if wrong or unparsed:
        wanted = ({"wrong"} if wrong else set()) | (
            {"unparsed", "empty", "truncated", "refused"} if unparsed else set()
        )
    shown = found = 0
    with ExitStack() as stack:
        for text, name, graded, question, suspicion in _answers(
            opened, stack, bool(prompts or (prompts is None and identity))
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
    opened: OpenRun,
    stack: ExitStack,
    prompts: bool,
) -> Iterator[tuple[str, str, Score, Question, Suspicion]]:
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
