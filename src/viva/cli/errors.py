"""`viva errors`: why were the wrong answers wrong? The error types of CS-Bench, labelled by judges."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from viva.benchmarks.csbench.errors import GROUPS, PAPERS, ErrorTypes, type_names
from viva.benchmarks.csbench.loading import KINDS
from viva.cli.analysisoptions import chart_option
from viva.cli.consent import confirm_endpoints
from viva.cli.options import consent_options, engine_options, tables_options
from viva.cli.output import check_writable, emit, screen
from viva.cli.run import judges_anew
from viva.engine.asking import Tally, Task
from viva.engine.batchlog import BatchLog
from viva.engine.budget import Budget
from viva.engine.folder import RunFolder, find_run
from viva.engine.journal import Journal
from viva.engine.labelling import STAGE, Labelled, Labelling, keys_wanted, labelled, labels_wanted
from viva.engine.stages import Bench, Judge, Sitting
from viva.errors import VivaError
from viva.prompting import read_templates
from viva.reports.text import json_text
from viva.runs.batches import Post, Queue, open_post, refuse_unbatched
from viva.runs.config import Limits, pick
from viva.runs.execute import Stage, ask_all, ending_of, work_through
from viva.runs.open import Examination, gather, open_bench, prepare
from viva.runs.rejudge import Anew
from viva.types import ExamSpec
from viva.visible import harmless

if TYPE_CHECKING:
    from viva.reports.errors import Told

NO_TAG = "none"
BATCHES = f"{STAGE}.batches.jsonl"
"""The batches in which judges are asked for labels; those of the run itself are in a file of their own."""
LABEL_SUFFIXES = (".csv", ".json", ".jsonl")


class Wanted(Struct, kw_only=True):
    """Who labels what, and how it is told."""

    judge: tuple[str, ...] = ()
    judge_samples: int = 1
    judge_base_url: str | None = None
    judge_key_env: str | None = None
    question_format: tuple[str, ...] = ()
    instructions: Path | None = None
    by: str = "domain"
    labels: Path | None = None
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


@click.command(name="errors", short_help="Why wrong answers are wrong: CS-Bench's error types, by a judge.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    multiple=True,
    required=True,
    metavar="MODEL[@URL]",
    help="Model that labels. Repeat for a panel: a type counts where more than half of them name it.",
)
@click.option("--judge-samples", type=click.IntRange(1), default=1, show_default=True, help="Replies per answer.")
@click.option(
    "--judge-base-url", metavar="URL", help="The judge's server.  [default: that of the run's judges, else models]"
)
@click.option("--judge-key-env", metavar="NAME", help="Environment variable with the judge's key.")
@click.option(
    "--question-format",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help=f"Wrong answers to questions of this format; repeatable.  [default: {PAPERS}, as in the paper]",
)
@click.option(
    "--instructions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file that replaces texts of the judge's instructions (benchmarks/csbench/errors.toml).",
)
@click.option(
    "--by", default="domain", show_default=True, metavar="TAG", help=f"Also by this tag; `{NO_TAG}`: by none."
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write every wrong answer's labels: .csv, .json, .jsonl.",
)
@chart_option("Draw it by model")
@engine_options
@consent_options
@tables_options
def errors_command(run: Path, **given: Any) -> int:
    """Let judges label which types of error the wrong answers of RUN (CS-Bench) show, and count them by model: complete
    and partial conceptual errors and confusions in questions of knowledge; errors of concept, logic and mathematics in
    questions of reasoning. Replies are kept in errors.jsonl of the run folder: the same command goes on where it
    stopped, and asks nobody twice.

    \b
    viva run csbench --shots 5 --cot --only comprehension --model openai/NAME --run runs/NAME     as in the paper
    viva errors runs/NAME --judge openai/JUDGE --max-cost 2
    viva errors runs/NAME --judge openai/A --judge anthropic/B --labels labels.csv --chart errors.svg
    """
    wanted, limits = pick(Wanted, given), pick(Limits, given)
    check_writable(wanted.out)
    if wanted.labels is not None and wanted.labels.suffix.lower() not in LABEL_SUFFIXES:
        raise VivaError(f"--labels {wanted.labels}: labels are written as {', '.join(LABEL_SUFFIXES)}")
    check_writable(wanted.labels)
    folder = RunFolder.open(find_run(run))
    folder.lock()
    try:
        code, told, rows = _labelled(folder, wanted, limits)
    finally:
        folder.unlock()
    if wanted.labels is not None:
        emit(_labels_text(rows, wanted.labels.suffix.lower()), wanted.labels)
    if wanted.chart is not None:
        _draw(told, wanted.chart)
    emit(_printed(told, wanted), wanted.out)
    return code


def _labelled(folder: RunFolder, wanted: Wanted, limits: Limits) -> tuple[int, Told, list[Labelled]]:
    """Ask what is missing, and read all that there is."""
    over = read_templates(wanted.instructions) if wanted.instructions else None
    types = ErrorTypes(wanted.question_format or (PAPERS,), over)
    examination = prepare(folder, Limits(progress="quiet"))
    sittings = [sitting for sitting in examination.sittings if _fits(sitting.exam.spec)]
    if not sittings:
        said = ", ".join(dict.fromkeys(sitting.label for sitting in examination.sittings))
        raise VivaError(
            f"{folder.path} holds {said}: error types are those of CS-Bench, for answers that models wrote in words "
            "(`viva run csbench --shots 5 --cot`; not --rationale, not --choose)"
        )
    _check(sittings, wanted)
    anew = Anew(judge=wanted.judge, judge_base_url=wanted.judge_base_url, judge_key_env=wanted.judge_key_env)
    if limits.batch is None and BatchLog.begun(folder.path, (), BATCHES):
        limits.batch = True
    if not wanted.judge_base_url:  # a judge is where the run's judges or models are
        confirm_endpoints(folder, limits)
    bench = open_bench(judges_anew(folder.record, anew), wanted.judge_samples, folder.record.seed, limits)
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        gathered = gather(examination, stack)  # by the run's own judges
        examination.limits, examination.bench = limits, bench
        journal = folder.journal(STAGE)
        stack.callback(journal.close)
        works = [
            Labelling(sitting=sitting, labeller=types, bench=bench, answers=answers, gathered=gathered)
            for sitting in sittings
        ]
        refuse_unbatched(examination, [judge.model for judge in bench.judges])
        code = _ask(examination, bench, works, journal, open_post(examination, stack, BATCHES))
        rows = [row for work in works for row in labelled(work, journal)]
    return code, _told(examination, bench, rows, wanted), rows


def _check(sittings: Sequence[Sitting], wanted: Wanted) -> None:
    """Refuse what could not be told at the end, before anybody is asked."""
    tags = next(sittings[0].exam.questions()).tags
    if wanted.by not in (*tags, NO_TAG):
        raise VivaError(f"--by {wanted.by!r}: the questions have no such tag; there are: {', '.join(tags)}, {NO_TAG}")


def _fits(spec: ExamSpec) -> bool:
    return spec.benchmark == "csbench" and not spec.rationale and not spec.choose


def _ask(
    examination: Examination, bench: Bench, works: Sequence[Labelling], journal: Journal, post: Post | None
) -> int:
    total = len(set().union(*(keys_wanted(work) for work in works)))
    ending = ending_of(post, STAGE, "the same command again")
    stage = Stage(
        "labelling", journal, Budget(examination.limits.max_requests, examination.limits.max_cost), total, ending
    )

    def of(judge: Judge) -> Queue:
        def wanted(tally: Tally) -> Iterator[Task]:
            asked: set[bytes] = set()
            for work in works:
                yield from labels_wanted(work, judge, journal, tally, asked)

        return Queue(judge.model, wanted)

    queues = [of(judge) for judge in bench.judges]
    return work_through(
        examination,
        stage,
        lambda run: ask_all(run, STAGE, queues, examination.limits, post),
        [judge.model for judge in bench.judges],
    )


def _told(examination: Examination, bench: Bench, rows: Sequence[Labelled], wanted: Wanted) -> Told:
    from viva.analysis.errortypes import Typed, agreed, counted
    from viva.reports.errors import Told

    by = "" if wanted.by == NO_TAG else wanted.by
    overall, parts = [], []
    for exam in dict.fromkeys(row.exam for row in rows):
        typed = [
            Typed(
                model=row.model,
                question=row.question,
                group=row.tags["tag"],
                tags=row.tags,
                labels=agreed([vote for _, vote in row.votes]),
            )
            for row in rows
            if row.exam == exam
        ]
        overall += counted(exam, typed, GROUPS)
        parts += counted(exam, typed, GROUPS, by) if by else []
    return Told(
        run=str(examination.folder.path),
        judges=tuple(judge.model.name for judge in bench.judges),
        names=type_names(),
        overall=tuple(overall),
        by=by,
        parts=tuple(parts),
        notes=tuple(_notes(examination, bench, rows, wanted)),
    )


def _notes(examination: Examination, bench: Bench, rows: Sequence[Labelled], wanted: Wanted) -> list[str]:
    from viva.analysis.errortypes import agreed

    formats = ", ".join(wanted.question_format or (PAPERS,))
    notes = [f"Wrong answers to: {formats}. Labelled by {', '.join(judge.model.name for judge in bench.judges)}."]
    if not rows:
        notes.append("There is no wrong answer of this format.")
    lost = [row for row in rows if agreed([vote for _, vote in row.votes]) is None]
    silent = sum(all(vote is None for _, vote in row.votes) for row in lost)
    waiting = sum(not any(row.said) for row in lost)
    if waiting:
        notes.append(
            f"{waiting:,} of {len(rows):,} wrong answers have no label yet: no judge has replied. The same command "
            "goes on."
        )
    if silent > waiting:
        notes.append(
            f"{silent - waiting:,} of {len(rows):,} wrong answers have no label: no reply of a judge's could be read."
        )
    if len(lost) > silent:
        notes.append(f"{len(lost) - silent:,} of {len(rows):,} have none since no type has a majority of the judges.")
    for sitting in {sitting.label: sitting for sitting in examination.sittings}.values():
        spec = sitting.exam.spec
        if not _fits(spec):
            notes.append(f"{sitting.label} is left out: its answers are not CS-Bench answers in words.")
        elif not (spec.chain_of_thought and spec.shots == 5):
            how = f"{spec.shots}-shot, {'chain of thought' if spec.chain_of_thought else 'answers only'}"
            notes.append(
                f"{sitting.label} is {how}; the paper labels five-shot chain-of-thought answers"
                + (": without a thought on paper a judge must guess it." if not spec.chain_of_thought else ".")
            )
    return [*notes, *examination.conflicts()]


def _draw(told: Told, path: Path) -> None:
    from viva.reports import charts
    from viva.reports.charts.errors import errors_chart

    if not told.overall:
        raise VivaError(f"--chart {path}: here is no wrong answer to draw")
    charts.save(errors_chart(told.overall, told.names), path)


def _labels_text(rows: Sequence[Labelled], suffix: str) -> str:
    """Every wrong answer, with each judge's labels and what they agree on."""
    from viva.analysis.errortypes import agreed

    if suffix != ".csv":
        found = [{**msgspec.structs.asdict(row), "labels": agreed([vote for _, vote in row.votes])} for row in rows]
        if suffix == ".json":
            return json_text(found)
        return "".join(msgspec.json.encode(one).decode() + "\n" for one in found)
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    tags = list(dict.fromkeys(tag for row in rows for tag in row.tags))
    table.writerow(["exam", "model", "question", "sample", "outcome", "answer", "labels", "votes", *tags])
    for row in rows:
        votes = "; ".join(f"{judge}: {_codes(vote)}" for judge, vote in row.votes)
        said = (row.answer, _codes(agreed([vote for _, vote in row.votes])), votes)
        table.writerow(
            [
                *(harmless(text) for text in (row.exam, row.model, row.question)),
                row.sample,
                row.outcome,
                *map(harmless, (*said, *(row.tags.get(tag, "") for tag in tags))),
            ]
        )
    return out.getvalue()


def _codes(labels: tuple[str, ...] | None) -> str:
    return "?" if labels is None else " ".join(labels) or "none"


def _printed(told: Told, wanted: Wanted) -> str:
    from viva.reports import errors as report

    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](told)
    width, colour = screen(wanted.out)
    return report.as_terminal(told, width=width, colour=colour)
