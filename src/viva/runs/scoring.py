"""Scoring a run from its journals: scores file, results, estimates of adaptive runs, marks of canaries, costs of
judging.

Also here: the published rows that the tables of a run show (`--published-rows`).

Bundled samples have none, since their questions are Viva's own; a baseline is compared with published baselines only.
This holds for tables, every printed form, reports and charts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from viva.benchmarks import find_benchmark
from viva.engine.folder import ExamRecord, RunRecord
from viva.errors import DataError, flag, option
from viva.published import NEAREST, NONE, Neighbour, neighbours, published_rows
from viva.render.result import Result, comparable
from viva.types import ExamSpec

if TYPE_CHECKING:
    from viva.analysis.breakdown import Table


import functools
import itertools
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from operator import attrgetter

from viva.analysis.estimate import Estimate, percent
from viva.contracts import Exam
from viva.engine.budget import Consumed, Consumption, cut_off
from viva.engine.folder import AdaptiveRecord, ModelRecord, RunFolder
from viva.engine.journal import Journal
from viva.engine.stages import recorded, scores, with_questions
from viva.providers import traits_of
from viva.render.result import DECIDERS, OPEN, UNREAD, CanaryMarks, Decided, Report, Several, signature
from viva.render.run_tables import judging_notes
from viva.render.table import signed
from viva.runs.config import LimitOptions, OutputOptions
from viva.runs.draws import Until, estimate, estimated_cell, question_scores, read_draws
from viva.runs.open import QUIET, OpenRun, open_evidence, prepare
from viva.runs.progress import Screen
from viva.runs.scorefile import new_scores, score_rows
from viva.scorers.resolution import spread
from viva.types import ANSWER, SCORED, Aggregate, Constant, Decider, Response, Score, ScoreRow, StopReason, TableSpec
from viva.visible import one_line

BASELINE = "baseline/"
"""Prefix of the names of baselines, which are compared with published baselines only."""
_SAMPLE = "the bundled sample's questions are Viva's own, and nobody published a figure of those"


def settings_of(exams: Iterable[ExamRecord]) -> list[tuple[ExamSpec, bool]]:
    """Return (settings, whether it asks the bundled sample) of each exam of a run."""
    return [(exam.spec, exam.data is None) for exam in exams]


def refuse_unknown(asked: str, exams: Iterable[tuple[ExamSpec, bool]]) -> None:
    """Refuse a name without a published row in any exam (settings, whether of the bundled sample).

    Called before a long run. Raises DataError with similar names of the last exam that has any: among several versions
    none is chosen.
    """
    exams = list(exams)
    if _names(asked) and exams and all(sample for _, sample in exams):
        raise DataError(
            f"{asked!r}: {_SAMPLE}; ask the published questions ({option('data', 'DIR')}), or leave it out",
            field="published_rows",
        )
    sets = [rows for spec, sample in exams if not sample and (rows := neighbours(spec))]
    for name in _names(asked):
        problem: DataError | None = None
        for everything in sets:
            try:
                published_rows(everything, name, None, "")
                break
            except DataError as unknown:
                problem = unknown if problem is None or "mean" in str(unknown) else problem
        else:
            raise problem or DataError(
                f"{name!r}: nothing was published that compares with these questions", field="published_rows"
            )


def with_published_rows(result: Result, asked: str, run: RunRecord) -> Result:
    """Return the result with published rows in its tables. Names that this exam lacks are left to other exams.

    A user's own set has rows only if asked for, the bundled sample never has any, and a baseline only published
    baselines. Where the score lacks parts, the nearest rows are chosen by the largest scored part.
    """
    exam = next(each for each in run.exams if each.spec.label == result.exam)
    if exam.data is None or (not _names(asked) and _is_custom(exam)):
        return result
    everything = neighbours(
        exam.spec, answers=exam.samples or run.samples, questions=exam.questions, template=_template(run, result.model)
    )
    if result.model.startswith(BASELINE):
        everything = tuple(neighbour for neighbour in everything if neighbour.kind == "baseline")
    score = result.overall.mean
    if not result.overall.same_parts:
        cell, score = _largest(everything, result.tables)
        parts = [msgspec.structs.replace(neighbour, score=neighbour.figures.get(cell)) for neighbour in everything]
        everything = tuple(part for part in parts if part.score is not None or _names(asked))
    rows = published_rows(everything, asked, score, result.model) if not _names(asked) else _named(everything, asked)
    kept = comparable(rows, [result])
    lost = bool(everything) and asked != NONE and not result.overall.same_parts
    return msgspec.structs.replace(result, beside=kept, withheld=lost)


def _template(run: RunRecord, model: str) -> str:
    """Return the template family that a model is asked with; "" for its own template."""
    record = run.model(model)
    if record is None:
        return ""
    return record.weights.template if record.weights else record.template


def _named(everything: tuple[Neighbour, ...], asked: str) -> tuple[Neighbour, ...]:
    return tuple(
        {neighbour.model: neighbour for name in _names(asked) for neighbour in _known(everything, name)}.values()
    )


def _largest(rows: Sequence[Neighbour], tables: Sequence[Table]) -> tuple[tuple[str, str, str], float | None]:
    """Return the cell with most answers among those with published figures, and its mean."""
    known = {cell for neighbour in rows for cell in neighbour.figures}
    means = [
        (cell.n, (table.name, row, column), cell.mean)
        for table in tables
        for row, cells in zip(table.rows, table.cells, strict=True)
        for column, cell in zip(table.columns, cells, strict=True)
        if (table.name, row, column) in known and cell.same_parts and cell.mean is not None
    ]
    _, place, mean = max(means, default=(0, ("", "", ""), None), key=lambda candidate: candidate[0])
    return place, mean


def _is_custom(exam: ExamRecord) -> bool:
    """Return whether the exam's set was written by `viva build infibench export`."""
    if exam.data is None or not find_benchmark(exam.spec.benchmark).about.built_sets:
        return False
    from viva.benchmarks.infibench.caseset import find_built

    with contextlib.suppress(DataError):
        return find_built(Path(exam.data)) is not None
    return False


def unknown_notes(asked: str, exams: Iterable[ExamRecord], models: Iterable[str]) -> list[str]:
    """Return notes on named rows that an exam lacks (another exam of the run has each), and on models that get none."""
    notes: list[str] = []
    for exam in exams if _names(asked) else ():
        label = exam.spec.label
        if exam.data is None:
            notes.append(f"{label}: {flag('published_rows')} {asked!r} has no row to show: {_SAMPLE}.")
            continue
        everything = neighbours(exam.spec)
        for name in _names(asked):
            try:
                published_rows(everything, name, None, "")
            except DataError as unknown:
                notes.append(f"{label}: {unknown}" + ("" if str(unknown).endswith("?") else "."))
        if not everything:
            notes.append(
                f"{label}: nothing was published that compares with it, so {flag('published_rows')} has no row to show."
            )
    rules = [model for model in dict.fromkeys(models) if model.startswith(BASELINE)]
    if _names(asked) and rules:
        notes.append(
            f"{', '.join(rules)}: beside a baseline stand published baselines only, whatever "
            f"{flag('published_rows')} says."
        )
    return notes


def _known(everything: tuple[Neighbour, ...], name: str) -> Iterator[Neighbour]:
    try:
        yield from published_rows(everything, name, None, "")
    except DataError:
        return


def _names(asked: str) -> list[str]:
    return [] if asked.strip() in ("", NONE, NEAREST) else [name.strip() for name in asked.split(",") if name.strip()]


_UNDECIDED = frozenset({"error", "not asked", "unsound"})
_BY_RULE: Mapping[str, Decider] = {ANSWER: "rule"}
POOR = 0.9
"""Share of agreeing verdicts below which a note is shown."""
_CHUNK = 4096
_VALUES = 40
"""Most values of a tag that makes a table, where the exam's own tables are unknown."""


def grade_run(opened_run: OpenRun, output: OutputOptions) -> Report:
    """Score every answer, rewrite scores.jsonl, and aggregate what `output` shows. Sends no request."""
    folder, record = opened_run.folder, opened_run.folder.record
    results: list[Result] = []
    screen = Screen(opened_run.limits.progress)
    expected = sum(exam.questions for exam in record.exams) * len(record.models) * record.samples * record.repeats
    with ExitStack() as stack:
        stack.callback(screen.close)
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened_run, stack)
        averages = [(exam.headline(), exam.layouts()) for exam in opened_run.exams]
        write = stack.enter_context(new_scores(folder.path, averages)).write
        graded = itertools.count(1)
        for evaluation, known in zip(opened_run.evaluations, known_results(opened_run, counted=False), strict=True):
            consumption = Consumption(evaluation.price)
            every = _shown(scores(evaluation, answers, evidence_store, consumption.count), screen, graded, expected)
            average = evaluation.exam.headline(), evaluation.exam.layouts()
            result = result_of(known, _written(every, write), average, shortened=not output.everything)
            if not recorded(evaluation):
                result = msgspec.structs.replace(result, consumed=consumption.consumed())
            results.append(with_published_rows(result, output.published_rows, record))
    headline = opened_run.exams[0].headline()
    return report_of(folder, headline, results, opened_run, published=output.published_rows)[0]


def report_of(
    folder: RunFolder,
    headline: Aggregate,
    results: Sequence[Result],
    opened: OpenRun | None,
    *,
    published: str = NONE,
    rows: Sequence[Sequence[ScoreRow]] | None = None,
) -> tuple[Report, list[str], dict[str, Consumed]]:
    """Return a run's results with their notes, the same for terminal, report and page; those of the notes that explain
    scores of an adaptive run; and each judge's consumption.

    `opened`: None without the questions; `published`: the published rows to show; `rows`: as for `with_estimates`.
    """
    results, estimates = with_estimates(folder, headline, results, rows)
    notes = [*estimates, *unknown_notes(published, folder.record.exams, [result.model for result in results])]
    judging = judging_consumed(opened) if opened else {}
    canaries = canary_marks(opened) if opened else ()
    notes += [*judging_notes(judging), *(opened.notes() if opened else ())]
    if any(result.reviewed for result in results):
        notes.append(
            "Experts' marks count before verdicts, where there are any: a mean of both depends on what was marked. "
            f"`viva agreement {folder.path}` says how far the verdicts can be trusted, and what the experts' mean "
            f"would be."
        )
    notes += canary_notes(canaries)
    report = Report(run=str(folder.path), results=tuple(results), notes=tuple(notes), canaries=canaries)
    return report, estimates, judging


NO_ROWS = OutputOptions(published_rows="none")


def regraded(
    path: Path,
    output: OutputOptions = NO_ROWS,
    limits: LimitOptions = QUIET,
) -> Report:
    """Grade a run again from its answers, verdicts and marks, without sending requests.

    Raises VivaError where its questions are missing, StorageError where another process writes to it or it is
    read-only.
    """
    folder = RunFolder.open(path)
    opened = prepare(folder, limits)
    with folder.lock():
        return grade_run(opened, output)


def known_results(opened: OpenRun, *, counted: bool = True) -> list[Result]:
    """Return the ungraded result of every evaluation; `counted`: with the answers' consumption."""
    record = opened.folder.record
    took = _consumed(opened) if counted else [None] * len(opened.evaluations)
    exams = dict(zip(map(id, opened.exams), record.exams, strict=True))
    models = dict(zip((model.name for model in opened.models), record.models, strict=True))
    return [
        msgspec.structs.replace(
            known_result(record, exams[id(evaluation.exam)], name, models[name], sound=True),
            constant=constant_of(evaluation.exam),
            consumed=consumed,
        )
        for evaluation, consumed in zip(opened.evaluations, took, strict=True)
        for name in (evaluation.model.name,)
    ]


def known_result(record: RunRecord, exam: ExamRecord, model: str, opened: ModelRecord | None, *, sound: bool) -> Result:
    """Return a result with the data of run.json; `sound`: whether its benchmark is available."""
    return Result(
        exam=exam.spec.label,
        benchmark=exam.spec.benchmark,
        language=exam.spec.language,
        model=model,
        overall=Estimate(),
        tables=(),
        signature=signature(record, exam, model, opened),
        judged=bool(record.judges) and exam.asks_judges,
        trained=opened.trained if opened else None,
        pass_line=find_benchmark(exam.spec.benchmark).about.pass_line if sound else None,
    )


def result_of(
    known: Result,
    rows: Iterable[ScoreRow],
    average: tuple[Aggregate, Sequence[TableSpec]] | None,
    *,
    shortened: bool = False,
    codes: array[int] | None = None,
) -> Result:
    """Return the result of one model on one exam, with the exam's headline and tables, or tables by tag where these are
    unknown; `shortened`: without tables of details; `codes`: gets every row's outcome, as its place in OUTCOMES.
    """
    from viva.analysis.breakdown import Breakdown, frame

    deciding = DeciderCounts()
    isolations, outcomes, cut = Counter[str](), Counter[str](), Counter[StopReason]()

    def watched() -> Iterator[ScoreRow]:
        source = iter(rows)
        while taken := list(itertools.islice(source, _CHUNK)):
            deciding.watch_all(taken)
            isolations.update(map(attrgetter("isolation"), taken))
            outcomes.update(map(attrgetter("outcome"), taken))
            cut.update(itertools.chain.from_iterable(map(cut_off, taken)))
            yield from taken

    scored = frame(watched())
    if codes is not None:
        codes.frombytes(scored.texts["outcome"].codes.tobytes())
    tags = {tag: text.values for tag, text in scored.tags.items()}
    headline, layouts = average or (Aggregate("mean"), list(_by_tag(tags)))
    breakdown = Breakdown(scored, headline.attempts, layouts)
    took = known.consumed
    return msgspec.structs.replace(
        known,
        overall=breakdown.cell(headline),
        answers=dict(outcomes),
        tables=tuple(
            breakdown.table(layout, known.exam, known.model) for layout in layouts if not (layout.detail and shortened)
        ),
        decided=deciding.decided(),
        reviewed=deciding.reviewed,
        programs=isolations["separate"] + isolations["shared"],
        shared=isolations["shared"],
        consumed=took and msgspec.structs.replace(took, right=outcomes["right"]),
        cut_off=dict(cut),
    )


def _by_tag(tags: Mapping[str, Collection[str]]) -> Iterator[TableSpec]:
    for tag, values in tags.items():
        if 1 < len(values) <= _VALUES:
            rows = tuple(Aggregate(value, where={tag: (value,)}) for value in sorted(values))
            yield TableSpec(tag, f"By {tag}", (*rows, Aggregate("all")), (Aggregate("mean"),))


def _consumed(opened: OpenRun) -> list[Consumed | None]:
    """Return the consumption of every evaluation's answers; None for recorded replies."""
    totals: list[Consumed | None] = []
    with ExitStack() as stack:
        journal: Journal | None = None
        for evaluation in opened.evaluations:
            if recorded(evaluation):
                totals.append(None)
                continue
            if journal is None:
                journal = opened.folder.journal("responses", write=False)
                stack.callback(journal.close)
            consumption = Consumption(evaluation.price)
            for _, _, entry in evaluation.answers(journal):
                if entry:
                    consumption.count(entry)
            totals.append(consumption.consumed(0))
    return totals


@functools.lru_cache(maxsize=4)
def constant_of(exam: Exam) -> Constant | None:
    """Score the best constant answer of an exam; cached for all its models, since it takes seconds."""
    return exam.constant()


def _shown(rows: Iterator[ScoreRow], screen: Screen, graded: Iterator[int], expected: int) -> Iterator[ScoreRow]:
    """Yield the rows unchanged, showing progress over all models where that takes long."""
    for row, number in zip(rows, graded, strict=False):
        if screen.due():
            screen.show(f"grading: {number:,}/{expected:,}")
        yield row


def _written(rows: Iterator[ScoreRow], write: Callable[[bytes], object]) -> Iterator[ScoreRow]:
    """Yield the rows unchanged, also writing each to the file: a run can have more rows than fit in memory."""
    encode = msgspec.json.Encoder().encode
    for row in rows:
        write(encode(row) + b"\n")
        yield row


def judging_consumed(opened: OpenRun) -> dict[str, Consumed]:
    """Return judge → consumption of all its replies, also unreadable and repeated ones; recorded and reused verdicts
    count as nothing."""
    totals = {
        judge.model.name: Consumption(judge.price)
        for judge in opened.judges
        if not traits_of(judge.model.identity.get("provider", "")).recorded
    }
    if totals:
        journal = opened.folder.journal("annotations", write=False)
        try:
            for entry in journal.lines():
                if entry.model in totals:
                    totals[entry.model].count_judging(entry)
        finally:
            journal.close()
    return {name: took.consumed(0) for name, took in totals.items() if took.replies}


def canary_marks(opened: OpenRun) -> tuple[CanaryMarks, ...]:
    """Return every judge's marks of a run's canaries, by exam, from the journals alone."""
    judge_panel, canaries = opened.judge_panel, opened.folder.record.canaries
    if judge_panel is None or not canaries:
        return ()
    marks: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    with ExitStack() as stack:
        evidence_store = open_evidence(opened, stack)
        for exam, question, canary in with_questions(canaries, opened.exams):
            response = Response(text=canary.text)
            for judge in judge_panel.judges:
                into = marks.setdefault((exam.spec.label, judge.model.name), [])
                for opinion in evidence_store.opinions(judge, exam, question, response, {}):
                    into.append((canary.mark, exam.mark(question, opinion) if opinion else None))
    return tuple(
        CanaryMarks(exam=exam, judge=judge, known=tuple(k for k, _ in pairs), given=tuple(g for _, g in pairs))
        for (exam, judge), pairs in marks.items()
        if pairs
    )


def with_estimates(
    folder: RunFolder,
    headline: Aggregate,
    results: Sequence[Result],
    rows: Sequence[Sequence[ScoreRow]] | None = None,
) -> tuple[list[Result], list[str]]:
    """Return an adaptive run's results with estimates, and notes on them; for other runs the results unchanged and [].

    Tables of parts are left out, since the drawn questions are no sample of a part. `rows`: of each result, by default
    from scores.jsonl. Questions drawn after these were read do not count.
    """
    from viva.analysis.breakdown import frame

    adaptive = folder.record.adaptive
    if adaptive is None:
        return list(results), []
    if rows is None:
        by_model = itertools.groupby(score_rows(folder.path), key=lambda row: row.model)  # an adaptive run has one exam
        frames = [frame(mine) for _, mine in by_model]
    else:
        frames = [frame(mine) for mine in rows]
    if len(frames) < len(results):  # nothing was drawn yet
        return list(results), []
    scored = [question_scores(mine, headline) for mine in frames]
    read = set(frames[0].texts["question"].values)
    until, draws = read_draws(folder)
    draws = [draw for draw in draws if draw.question in read]
    estimated = [
        msgspec.structs.replace(
            result,
            overall=estimated_cell(result.overall, draws, mine, target, until),
            tables=(),
            estimated=adaptive.questions,
        )
        for target, (result, mine) in enumerate(zip(results, scored, strict=True))
    ]
    answers = min(sum(draw.question in mine for draw in draws) for mine in scored)
    notes = [_note(estimated[0].exam, answers, len(draws), adaptive, until)]
    if until.kind == "score":
        low, high = estimated[0].overall.low, estimated[0].overall.high
        above, below = low is not None and low > until.value, high is not None and high < until.value
        side = "above" if above else "below" if below else "not known to be above or below"
        notes.append(f"{one_line(results[0].model, 40)}: the score is {side} {100 * until.value:g} %.")
    if until.kind == "difference":
        known = estimate(draws, scored, len(scored), until)
        a, b = (one_line(result.model, 40) for result in results)
        low, high = known.low or 0.0, known.high or 0.0
        better = f"{a} is better" if low > 0 else f"{b} is better" if high < 0 else "it is not known yet"
        points = " to ".join(signed(100 * value) for value in (low, high))
        notes.append(
            f"{a} less {b}: {signed(100 * (known.mean or 0.0))} points ({points}, whenever one looks): {better}."
        )
    return estimated, notes


def _note(exam: str, answers: int, drawn: int, adaptive: AdaptiveRecord, until: Until) -> str:
    of = f"{drawn:,}" if answers == drawn else f"{answers:,} scored of {drawn:,}"
    holds = "for a number chosen before" if until.kind == "number" else "whenever one looks or stops"
    missing = "" if answers == drawn else ", and whatever those without a score would have got"
    return (
        f"{exam}: adaptive, an estimate for all {adaptive.questions:,} questions from {of}, drawn where "
        f"{adaptive.known:,} other models' scores predict least ({flag('until')} {one_line(adaptive.until, 40)}); "
        "its interval "
        f"holds {holds}{missing}. Tables of parts are left out: what was drawn is no sample of them."
    )


class DeciderCounts:
    """Counts of who decided each aspect, over scores."""

    def __init__(self) -> None:
        self._by = defaultdict[str, Counter[str]](Counter)
        self._spreads = defaultdict[str, list[float]](list)
        self._answers = 0

    def watch_all(self, rows: Sequence[ScoreRow]) -> None:
        """Count several scores; those decided by a rule alone, maybe a million, are counted by outcome."""
        if any(map(attrgetter("decided"), rows)) or any(map(attrgetter("verdicts"), rows)):
            for row in rows:
                self.watch(row)
            return
        for outcome, count in Counter(map(attrgetter("outcome"), rows)).items():
            self._answers += 0 if outcome in _UNDECIDED else count
            if outcome in SCORED:
                self._by[ANSWER]["rule"] += count

    def watch(self, score: Score | ScoreRow) -> None:
        """Count one score; without a reply or gold, nothing was decided."""
        if score.outcome in _UNDECIDED:
            return
        self._answers += 1
        # A score without deciders is a rule's: exams without rationales name only other deciders.
        decided = score.decided or (_BY_RULE if score.outcome in SCORED else {})
        for aspect, decider in decided.items():
            self._by[aspect][decider] += 1
        if score.outcome == "ungraded":
            for aspect in score.verdicts:
                if aspect not in score.decided:
                    self._by[aspect][OPEN] += 1
        for aspect, verdicts in score.verdicts.items():
            if len(verdicts) > 1:
                self._spreads[aspect].append(spread(verdicts))

    @property
    def reviewed(self) -> bool:
        """Whether experts decided anything."""
        return any(deciders["expert"] for deciders in self._by.values())

    def decided(self) -> Decided:
        """Return the counts; empty where rules decided everything."""
        counts: dict[str, dict[str, int]] = {}
        if any(set(counted) - {"rule"} for counted in self._by.values()):
            for aspect, counted in self._by.items():
                counts[aspect] = {name: counted[name] for name in (*DECIDERS, OPEN)}
                counts[aspect][UNREAD] = self._answers - counted.total()
        several = {
            aspect: Several(len(spreads), spreads.count(0.0) / len(spreads), statistics.fmean(spreads))
            for aspect, spreads in self._spreads.items()
        }
        return Decided(self._answers, counts, several)


def canary_notes(marks_by_judge: Sequence[CanaryMarks]) -> list[str]:
    """Return a note for every judge whose marks of known answers differ."""
    return [
        f"{marks.judge} gave {percent(marks.agreement, 0)} % of the canaries of {marks.exam} their known "
        "marks: read its verdicts with care."
        for marks in marks_by_judge
        if marks.agreement is not None and marks.agreement < POOR
    ]
