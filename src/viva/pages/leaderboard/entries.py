"""Runs and the papers' rows as the content of a site."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from viva.analysis.breakdown import Breakdown
from viva.analysis.estimate import Estimate
from viva.contracts import Exam
from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.errors import DataError, StorageError, VivaError, flag
from viva.pages.leaderboard.boards import (
    BenchmarkPage,
    Dimension,
    Entry,
    Facts,
    Row,
    Site,
    dimensions,
    own_boards,
    page_name,
)
from viva.pages.leaderboard.publishedboards import ModelFacts, published_boards, published_entries
from viva.providers import traits_of
from viva.published import about
from viva.published.catalogue import catalogue
from viva.render.result import settings, signature
from viva.render.table import outcomes_text
from viva.runs.exams import data_notes, reopen
from viva.runs.following import Followed, Tokens
from viva.runs.open import recorded_price
from viva.runs.score_table import rows_of
from viva.runs.scorefile import ADAPTIVE, fault, runs_in
from viva.runs.scoring import BASELINE, regraded
from viva.studies.item_scores import AUTO, EXAM, FORMAT, ScoreSet, score_sets
from viva.studies.ways_of_asking import in_words
from viva.types import SCORED, UNREADABLE, Aggregate, Usage
from viva.version import __version__
from viva.visible import one_line

OWN_QUESTIONS = "questions/"
"""Prefix of page names of question files, so that none can pass for a benchmark."""
Used = Mapping[tuple[str, str], Tokens]
"""Tokens of a run's answers, by model and benchmark."""
TABLES = "item scores"
"""The page of tables of item scores."""


def site_of(title: str, entries: Sequence[Entry], left_out: Sequence[str], *, published: bool) -> Site:
    """Return the site: a page for each benchmark and model; `published`: with the papers' boards."""
    asked = dict.fromkeys(entry.benchmark for entry in entries) or catalogue()
    return Site(
        title=one_line(title, 120) or "Leaderboard",
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        viva=__version__,
        benchmarks=tuple(benchmark_page(name, entries, published=published) for name in asked),
        notes=tuple(f"Left out: {why}." for why in left_out),
    )


def benchmark_page(name: str, entries: Sequence[Entry], *, published: bool) -> BenchmarkPage:
    """Return the page of a benchmark or question file: boards of the entries that are its own, then the papers'."""
    known = name in catalogue()
    paper = about(name) if known else None
    boards = own_boards([entry for entry in entries if entry.benchmark == name])
    title = name.removeprefix(OWN_QUESTIONS)
    return BenchmarkPage(
        name=name,
        title=paper.title if paper else title.capitalize() if name == TABLES else title,
        page=f"{name}.html" if known else page_name("benchmark", name),
        paper=paper.paper if paper else "",
        url=paper.url if paper else "",
        boards=(*boards, *(published_boards(name) if published else ())),
    )


def sound_sources(sources: Sequence[Path], left_out: list[str], *, regrade: bool) -> Iterator[Path]:
    """Yield tables as they are, and runs whose scores match their files; `left_out` gets the others."""
    for source in sources:
        for path in runs_in(source) if source.is_dir() else [source]:
            if not path.is_dir():
                yield path
                continue
            if regrade:
                regraded(path)
            try:
                trouble, adaptive = fault(path), RunFolder.open(path).record.adaptive
            except VivaError as problem:
                if path == source:
                    raise
                left_out.append(f"{one_line(path.name, 80)}: {problem}")
                continue
            if adaptive is not None:
                left_out.append(f"{one_line(path.name, 80)} {ADAPTIVE}")
            elif trouble is None:
                yield path
            elif trouble.kind == "missing":
                left_out.append(f"{one_line(path.name, 80)}: not graded yet (viva resume {one_line(str(path), 200)})")
            else:
                left_out.append(
                    f"{one_line(path.name, 80)} {trouble.why} ({flag('regrade')} grades it again, asking nobody)"
                )


def entries_of(sources: Iterable[Path], known: ModelFacts, left_out: list[str]) -> Iterator[Entry]:
    """Yield results to rank; `left_out` gets those without a score, and the reason."""
    exams: dict[bytes, Exam] = {}
    for path in sources:
        used = functools.cache(functools.partial(_used, path))
        for scored in score_sets([path], _columns_of(path)):
            exam = _reopened(scored.record, exams) if scored.record else None
            breakdown = Breakdown(scored.scores, scored.headline.attempts, exam.layouts() if exam else ())
            overall, model = breakdown.cell(scored.headline), one_line(scored.model)
            if not overall.n:
                raise DataError(f"{scored.source} has no answers of {model} to {scored.exam}: grade it first")
            if not SCORED & overall.outcomes.keys():
                why = "no reply could be read" if UNREADABLE & overall.outcomes.keys() else "nothing was answered"
                label = f"{one_line(path.name, 80)}: {model} on {scored.exam}"
                left_out.append(f"{label}: {why} ({outcomes_text(overall)})")
                continue
            about = dimensions(exam.layouts(), scored.headline, breakdown.label) if exam else _formats(scored)
            entry = _entry(scored, breakdown, about, known.of(scored.model))
            if exam and scored.run and scored.record:
                entry = _of_run(entry, scored, scored.run, scored.record, exam, overall, used)
            yield entry


def _columns_of(source: Path) -> str:
    """Return the `by` of `score_sets` for a source; a table without a column `format` gets only the headline."""
    if source.is_dir():
        return AUTO
    _, first = next(rows_of(source), (0, {}))
    return AUTO if FORMAT in first else EXAM


def _reopened(record: ExamRecord, exams: dict[bytes, Exam]) -> Exam:
    key = msgspec.json.encode(record, order="deterministic")
    if key not in exams:
        exams[key] = reopen(record)
    return exams[key]


Lined = Sequence[tuple[Dimension, Sequence[Aggregate]]]
"""Dimensions, with the lines that average each."""


def _formats(scored: ScoreSet) -> Lined:
    return [
        (Dimension(layout="format", row=name, column="", group="By format", label=name), lines)
        for name, lines in scored.lines.items()
        if lines != (scored.headline,)
    ]


def _entry(scored: ScoreSet, breakdown: Breakdown, about: Lined, facts: Facts) -> Entry:
    """Return a result with its figures, as of a table of item scores: without settings, only equal sets of questions
    are ranked together.
    """

    def cell(*lines: Aggregate) -> Estimate | None:
        measured = breakdown.cell(*lines)
        return measured if measured.mean is not None or measured.ranged else None

    questions = len(scored.scores.texts["question"].values)
    return Entry(
        benchmark=TABLES,
        row=Row(
            model=scored.model,
            own=True,
            kind="baseline" if scored.model.startswith(BASELINE) else "model",
            score=cell(scored.headline),
            facts=facts,
            origin=scored.source.name,
            exam=scored.exam,
        ),
        figures={dimension.place: cell(*lines) for dimension, lines in about},
        dimensions=[dimension for dimension, _ in about],
        settings={"settings": "unknown", "n": questions, "data": _asked(scored)},
        questions=breakdown.questions(scored.headline),
        over=scored.headline.over,
        notes=("Item scores of a table: how these models were asked is not known to Viva.",),
    )


def _of_run(
    entry: Entry,
    scored: ScoreSet,
    run: RunRecord,
    record: ExamRecord,
    exam: Exam,
    overall: Estimate,
    used: Callable[[], Used],
) -> Entry:
    """Return a result with what its run records."""
    spec = record.spec
    beside = published_entries(
        spec,
        sample=record.data is None,
        answers=record.samples or run.samples,
        questions=record.questions,
    )
    if entry.row.kind == "baseline":  # a baseline alone brings no published rows onto a board
        beside = [other for other in beside if other.row.kind == "baseline"]
    notes = data_notes(exam, Path(record.data) if record.data else None)
    if beside and not overall.same_parts:
        beside = []
        lacks = ", ".join(overall.lacks[:4]) or "the questions"
        notes = [*notes, f"{one_line(scored.model)}: too little of {lacks} is scored to stand beside published rows."]
    plain = replace(scored.opened, adapted=None) if scored.opened else None
    sent, wanted = (settings(run, record, scored.model, opened) for opened in (scored.opened, plain))
    forced = {name: str(value) for name, value in sent.items() if value != wanted.get(name)}
    return replace(
        entry,
        benchmark=f"{OWN_QUESTIONS}{spec.name}" if spec.name else spec.benchmark,
        row=replace(
            entry.row,
            signature=signature(run, record, scored.model, scored.opened),
            forced=in_words(forced),
            cost=_cost(scored, run, spec.benchmark, used),
        ),
        settings=wanted,
        asked=_asked(scored),
        forced=forced,
        beside=beside,
        notes=notes,
    )


def _used(run: Path) -> Used:
    """Return the tokens of a run's answers, as far as they can be read."""
    answers = Followed(run / "responses.jsonl")
    with suppress(StorageError):
        answers.refresh()
    return answers.used


def _cost(scored: ScoreSet, run: RunRecord, benchmark: str, used: Callable[[], Used]) -> float | None:
    """Return the cost of 1,000 answers in US dollars, without judges; None if tokens or price are unknown, or are not
    separable by exam.
    """
    opened, exams = scored.opened, [each.spec.benchmark for each in run.exams]
    if opened is None or exams.count(benchmark) > 1 or not traits_of(opened.name).paid:
        return None
    own = [took for who, took in used().items() if who in ((opened.shown, benchmark), (opened.name, benchmark))]
    price = recorded_price(opened, run.prices, batched=RunFolder(scored.source, run).batched())
    if price is None or not own or any(took.uncounted for took in own):
        return None
    total = Usage(sum(took.input for took in own), sum(took.output for took in own))
    return 1000 * price.cost(total) / sum(took.answers for took in own)


def _asked(scored: ScoreSet) -> str:
    """Return a hash of the names of the questions that were asked."""
    names = sorted(scored.scores.texts["question"].values)
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()[:12]
