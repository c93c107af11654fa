"""`viva show`: prompt, answer, extraction, verdict of answers; or the prompt of a question before any run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import msgspec
from msgspec import Meta, Struct

from viva.benchmarks import BENCHMARKS, question_file
from viva.cli.options import Choice, GroupedCommand, derive, refuse_given
from viva.contracts import Exam
from viva.engine.budget import Positive
from viva.errors import VivaError
from viva.fields import note, options, pick
from viva.prompting import estimate_tokens, prompt_text
from viva.render.terminal import LINES
from viva.runs.answers import FINER, described_answers, finer
from viva.runs.config import TaskOptions
from viva.runs.exams import open_exams
from viva.runs.open import prepare
from viva.runs.scorefile import open_run_folder
from viva.types import OUTCOMES, Choose, Question, Sampling, StopReason, outcome_name
from viva.visible import escape_invisible, escaped, one_line, plural, toml_lines

MOST = 20
"""Most questions listed by --by-question."""
CUT: dict[str, StopReason] = {"thinking": "thinking", "answer": "length"}
"""Option's value → stop reason in the journal."""
UNREAD = ("unparsed", "empty", "truncated", "refused")

FINER_NAMES = {name: word for word, (_, name) in FINER.items()}
OUTCOME_WORDS = (*map(outcome_name, OUTCOMES), *FINER_NAMES)


class OutcomeChoice(Choice):
    """An outcome's displayed or stored word; hyphens may stand for blanks."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the displayed word. Raises BadParameter."""
        wanted = str(value).casefold().replace("-", " ")
        stored = {outcome.replace("-", " "): outcome_name(outcome) for outcome in OUTCOMES}
        short = {word.replace("-", " "): name for word, (_, name) in FINER.items()}
        return super().convert({**short, **stored}.get(wanted, wanted), param, ctx)


ASKING = options(TaskOptions, without=("limit", "shard", "shuffle", "strict", "panel", "rubric"))


class ShowOptions(Struct, kw_only=True):
    """Which answers of a run, and what of them."""

    wrong: Annotated[bool, note("Only what was graded wrong.")] = False
    unparsed: Annotated[bool, note("Only what could not be read (unparsed, empty, truncated, refused).")] = False
    suspicious: Annotated[bool, note("Only programs that passed a test with which they shared a process.")] = False
    cut_off: Annotated[
        Literal["thinking", "answer"] | None,
        note("Only what the limit of tokens cut off: while the model was thinking, or in the answer."),
    ] = None
    model: Annotated[str | None, note("Only this model: its name, or any part that is no other's.")] = None
    exam: Annotated[str | None, note("Only this exam: its name, or any part that is no other's.")] = None
    sample: Annotated[Annotated[int, Meta(ge=0)] | None, note("Only this answer to each question, from 0.")] = None
    limit: Annotated[Positive | None, note("At most so many answers.  [default: one screen]")] = None
    everything: Annotated[bool, note("All answers.", spelled=("--all",))] = False
    by_question: Annotated[bool, note("Instead of the answers, how many of each question's are such.")] = False
    reasoning: Annotated[bool, note("Show all that a model thought, not just how it began.")] = False


@click.command(cls=GroupedCommand)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN|EXAM")
@click.option(
    "--question",
    "identity",
    metavar="ID",
    help="One question, with all its samples; of EXAM: which.  [default: the first]",
)
@derive(ShowOptions)
@click.option("--outcome", type=OutcomeChoice(OUTCOME_WORDS), metavar="WORD", help=f"Only: {', '.join(OUTCOME_WORDS)}.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON an answer, or (--by-question) a question.")
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="Show the exact text that a model was sent, or would be.  [default: with --question only]",
)
@click.option("--template", is_flag=True, help="Instead: the texts of EXAM's prompts, as --prompts takes them.")
@derive(TaskOptions, only=tuple(ASKING))
def show_command(
    run: Path, identity: str | None, prompt: bool | None, template: bool, as_json: bool, **given: Any
) -> int:
    """Show answers of RUN with what was read where, and why they scored as they did. With --prompt, the prompt of one
    question of EXAM (a benchmark, a question file, a card), exemplars included; with --template, its prompts' texts.

    \b
    viva show runs/NAME --wrong
    viva show runs/NAME --outcome refused --by-question      which questions are refused, and how often
    viva show runs/NAME --outcome 'not judged'               any word of the screen, also 'right for the wrong reason'
    viva show cmmlu --prompt --shots 5 --question agronomy/0
    viva show csbench --template > mine.toml                 to change: viva run csbench --prompts mine.toml
    """
    is_run = [*run.glob("run.json"), *run.glob("*/run.json")]  # a folder of data may have its benchmark's name
    if not is_run and (prompt or template or str(run) in BENCHMARKS or question_file(str(run))):
        if not (prompt or template):
            raise VivaError(f"{run} is an exam, no run folder: viva show {run} --prompt shows what a model is sent")
        refuse_given((*ShowOptions.__struct_fields__, "outcome"), "is about the answers of a run, and here is an exam")
        exams = [exam for exam, _ in open_exams((str(run),), pick(TaskOptions, given), asking=True)]
        if template:
            refuse_given(("prompt", "identity"), "is about one question, and --template about all: leave one out")
            show_templates(str(run), exams, raw=as_json)
        else:
            show_prompt(str(run), exams, identity, raw=as_json)
        return 0
    refuse_given((*ASKING, "template"), "is about an exam that nobody was asked yet: viva show EXAM --prompt")
    return _show_answers(run, identity, pick(ShowOptions, given), given["outcome"], prompt, as_json=as_json)


def _show_answers(
    run: Path, identity: str | None, config: ShowOptions, outcome: str | None, prompts: bool | None, *, as_json: bool
) -> int:
    """Print answers of a run, as many as a screen holds; return the exit code."""
    folder = open_run_folder(run)
    opened = prepare(folder)
    model = config.model and _named(config.model, [each_model.name for each_model in opened.models], "model")
    exam = config.exam and _named(config.exam, [evaluation.label for evaluation in opened.evaluations], "exam")
    finely = FINER_NAMES.get(outcome or "")
    wanted = {*(["wrong"] if config.wrong else []), *(UNREAD if config.unparsed else [])}
    if not wanted:
        wanted = {name for name in OUTCOMES if finely or outcome in (None, outcome_name(name))}
    place = {"question": identity, "model": model, "exam": exam, "sample": config.sample}
    shown = matching = lines = 0
    everything = config.everything or identity is not None
    counts: dict[tuple[str, str], list[int]] = {}
    with_prompts = bool(prompts or (prompts is None and identity))
    for answer in described_answers(opened, prompts=with_prompts, reasoning=config.reasoning):
        row = answer.answer.row
        if any(named not in (None, getattr(row, name)) for name, named in place.items()):
            continue
        count = counts.setdefault((row.question, row.model), [0, 0])
        count[1] += 1
        if not (
            row.outcome in wanted
            and (not config.cut_off or row.stopped == CUT[config.cut_off])
            and (not finely or finer(row, row.stopped) == finely)
            and (not config.suspicious or answer.shared)
        ):
            continue
        count[0] += 1
        matching += 1
        if config.by_question or (config.limit is not None and shown >= config.limit):
            continue
        if config.limit is None and not everything:
            lines += answer.text.count("\n") + 1 if lines <= LINES else 0
            if shown and lines > LINES:
                continue
        click.echo(_json(answer.data()) if as_json else answer.text)
        shown += 1
    if identity and not matching:
        raise VivaError(f"{folder.path} has no such answer to question {identity!r}")
    if config.by_question:
        shown = _tell_counts(counts, len(counts) if everything else config.limit or MOST, as_json=as_json)
    more = "; --limit N or --all shows more" if shown < matching and config.limit is None else ""
    click.echo(f"{shown:,} of {plural(matching, 'answer')} shown{more}", err=True)
    return 0


def _named(part: str, every: Iterable[str], what: str) -> str:
    """Return the only model or exam with this name or part of a name. Raises VivaError for none or several."""
    names = list(dict.fromkeys(every))
    matching = [name for name in names if name == part] or [
        name for name in names if part.casefold() in name.casefold()
    ]
    if len(matching) == 1:
        return matching[0]
    among = matching or names
    problem = f"fits several {what}s" if matching else f"is no part of {'an' if what == 'exam' else 'a'} {what}'s name"
    raise VivaError(f"--{what} {part!r} {problem}; here are: {', '.join(one_line(name, 80) for name in among)}")


def _json(data: object) -> str:
    return escaped(msgspec.json.encode(data).decode())


def _tell_counts(counts: Mapping[tuple[str, str], Sequence[int]], limit: int, *, as_json: bool) -> int:
    """Print the questions with most such answers. Returns the number of these answers."""
    from viva.render.table import COUNT, NAME, Column, Table
    from viva.render.terminal import tables_terminal

    rows = sorted(((key, count) for key, count in counts.items() if count[0]), key=lambda row: (-row[1][0], row[0]))
    if as_json:
        for (question, model), (such, of) in rows[:limit]:
            click.echo(_json({"question": question, "model": model, "such": such, "of": of}))
        return sum(count[0] for _, count in rows[:limit])
    columns = (
        Column("question", "0.0", NAME), Column("model", "0.1", NAME), Column("such answers", "1.0", COUNT),
        Column("of", "1.1", COUNT),
    )  # fmt: skip
    questions = len({question for (question, _), _ in rows})
    closing = [f"{questions:,} of {len({question for question, _ in counts}):,} questions have such answers."]
    click.echo(tables_terminal([Table("Such answers by question", columns, rows[:limit])], closing), nl=False)
    return sum(count[0] for _, count in rows[:limit])


def show_templates(benchmark: str, exams: Sequence[Exam], *, raw: bool) -> None:
    """Print the templates of all prompts as TOML; `raw`: as JSON. Raises VivaError where the exams' differ."""
    first, *others = ({name: text for name, text in exam.templates.items() if name != "data"} for exam in exams)
    if any(other != first for other in others):
        names = ", ".join(exam.spec.label for exam in exams)
        raise VivaError(f"{benchmark} is several exams, each with templates of its own: name one of {names}")
    click.echo(_json(first) if raw else "\n".join(toml_lines(first)))


def show_prompt(benchmark: str, exams: Sequence[Exam], identity: str | None, *, raw: bool) -> None:
    """Print the prompt of one question, exemplars included; `raw`: as JSON, as it goes over the wire."""
    for exam in exams:
        question = next((q for q in exam.questions() if identity in (None, q.id)), None)
        if question is not None:
            _show(exam, question, raw=raw)
            return
    first = next(iter(exams[0].questions())).id
    raise VivaError(f"{benchmark} has no question {identity!r} with these options; ids look like {first!r}")


def _show(exam: Exam, question: Question, *, raw: bool) -> None:
    """Print the prompt on stdout, and everything else on stderr."""
    request = exam.request(question, 0, Sampling(seed=exam.spec.seed))
    prompt = request.prompt
    if raw:
        click.echo(_json(prompt))
        return
    text = prompt_text(prompt)
    if not isinstance(prompt, str):
        click.echo(f"--- {len(prompt)} message(s), role {prompt[0].role} ---", err=True)
    # The text must be exact, but must not control the terminal.
    click.echo(escape_invisible(text))
    click.echo(f"--- {len(text):,} characters, roughly {estimate_tokens(text):,} tokens ---", err=True)
    if request.dropped:
        click.echo(f"--- {request.dropped} exemplars did not fit and were left out ---", err=True)
    if isinstance(request, Choose):
        shown = " ".join(repr(text) for text in request.continuations)
        click.echo(f"--- one of these follows, by {request.by}: {escape_invisible(shown)} ---", err=True)
