"""Contents of a run's report: results, and their tables and notes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, get_args

import msgspec
from msgspec import Struct

from viva.analysis.breakdown import Table as ScoreTable
from viva.analysis.estimate import UNSURE, Estimate, bounds_text, cell_text, percent
from viva.benchmarks.rationale.combining import Q_A, Q_AR
from viva.engine.budget import Consumed, who_answered
from viva.engine.folder import settings as settings  # noqa: PLC0414
from viva.engine.folder import signature as signature  # noqa: PLC0414
from viva.errors import flag
from viva.published import Neighbour
from viva.render.table import (
    COUNT,
    ESTIMATE,
    FIGURE,
    NAME,
    OUTCOMES,
    Column,
    Kind,
    Table,
    counted,
    crossed,
    figure,
    item,
    outcomes_text,
)
from viva.types import NOT_ASKED, UNANSWERED, Constant, Decider, Served, StopReason, outcome_name
from viva.visible import one_line, some

MIXED = "§"
"""Marks a score of answers from several models or providers."""
LEFT_OUT = (
    "the mean leaves out what was not scored; its bounds are the least and the most that the score can be when that is "
    "decided, and the interval holds whatever it is"
)
FILLED = "the estimate takes what was predicted for what was not scored"
"""Meaning of the mark on a mean, and on the estimate of an adaptive run."""
_NAMED = 4
"""The most parts named in a note."""
_NO_REPLY = frozenset({"error", NOT_ASKED, "unsound"})
RANGE = (
    "there is no mean, since what is decided there depends on what it is worth (a similarity can only say right, an "
    "unreadable reply can only be wrong) and says nothing of the answers that wait for a verdict. The range is from "
    "the least to the most that the score can be when they are decided; the interval holds it whatever they are (by "
    "Imbens and Manski)"
)
"""Note on cells without a mean."""


DECIDERS: tuple[Decider, ...] = get_args(Decider)
OPEN = "undecided"
UNREAD = "not read"
"""Decider of answers with nothing to decide: empty, refused, or unreadable in this aspect."""


class Several(Struct, frozen=True):
    """Answers with several verdicts: how many, the share on which all judges agree, and the mean of their spreads."""

    answers: int
    unanimous: float
    spread: float


class Decided(Struct, frozen=True):
    """Number of answers by decider and aspect, and agreement of judges."""

    answers: int = 0
    counts: dict[str, dict[str, int]] = {}
    """Aspect → decider → number of answers."""
    several: dict[str, Several] = {}


def deciding_tables(decided: Decided, about: str) -> list[Table]:
    """Return tables of the deciders of each aspect, in shares of all answers, and of the judges' agreement."""
    share = Kind(lambda count: f"{count:,} ({percent(count / decided.answers, 1)} %)")
    deciders = (Column(name, item("1", name), share) for name in (*DECIDERS, OPEN, UNREAD))
    titled = (
        ("Who decided", (_ASPECT, *deciders), decided.counts),
        ("How far the judges agreed (`viva agreement` says more)", _AGREED, decided.several),
    )
    return [Table(f"{title}{about}", columns, list(rows.items())) for title, columns, rows in titled if rows]


_ASPECT = Column("", "0", NAME)
_AGREED = (
    _ASPECT, Column("answers with several verdicts", "1.answers", COUNT),
    Column("unanimous", "1.unanimous", Kind(lambda share: f"{percent(share, 1)} %")),
    Column("mean spread", "1.spread", figure(".3f")),
)  # fmt: skip


NEAR = 0.2
"""The largest distance from the known mark of an agreeing verdict: on 0, ½, 1 the same mark, on 1 to 10 up to two
steps."""


class CanaryMarks(Struct, frozen=True, kw_only=True):
    """One judge's marks for the canaries of one exam."""

    exam: str
    judge: str
    known: tuple[float, ...]
    """The known mark for every requested verdict."""
    given: tuple[float | None, ...]
    """The judge's marks; None for an unreadable reply or no decision."""

    @property
    def agreement(self) -> float | None:
        """The share of verdicts that agree; missing ones do not. None where none was requested."""
        near = [
            mark is not None and abs(mark - known) <= NEAR + 1e-9
            for known, mark in zip(self.known, self.given, strict=True)
        ]
        return statistics.fmean(near) if near else None

    def mean(self, *, right: bool) -> tuple[float | None, int]:
        """Return the mean mark of answers known to be right (from ½ on), or wrong, and the number of verdicts."""
        pairs = zip(self.known, self.given, strict=True)
        marks = [mark for known, mark in pairs if mark is not None and (known >= 0.5) == right]
        return (statistics.fmean(marks) if marks else None), len(marks)


def _mean_mark(*, right: bool) -> Column:
    def value(marks: CanaryMarks) -> str:
        mean, count = marks.mean(right=right)
        return f"{percent(mean)} ({count:,})"

    return Column(f"known {'right' if right else 'wrong'}: mean mark", value, FIGURE)


_CANARIES = (
    Column("exam", "exam", NAME), Column("judge", "judge", NAME),
    Column("verdicts", lambda marks: len(marks.known), COUNT), _mean_mark(right=True), _mean_mark(right=False),
    Column(f"within {NEAR:g} of the known mark", "agreement", Kind(lambda share: f"{percent(share, 1)} %")),
    Column("no mark", lambda marks: marks.given.count(None), COUNT),
)  # fmt: skip


def canaries_table(marks: Sequence[CanaryMarks]) -> Table:
    """Return a row an exam and judge, marks in per cent of the full mark."""
    return Table("Canaries: answers with known marks, in no mean", _CANARIES, marks)


class Result(Struct, frozen=True, kw_only=True):
    """One model's result on one exam."""

    exam: str
    benchmark: str
    language: str
    model: str
    overall: Estimate
    answers: dict[str, int] = {}
    """Outcome → number of answers; `overall` counts questions, whatever the number of samples."""
    tables: tuple[ScoreTable, ...]
    signature: str
    judged: bool = False
    """Whether there was a judge of its answers."""
    decided: Decided = Decided()
    """Set only if other deciders than a rule took part."""
    reviewed: bool = False
    """Whether experts decided any answer."""
    trained: float | None = None
    """Tokens that a checkpoint was trained on, if known."""
    programs: int = 0
    shared: int = 0
    """Number of answers with executed programs of known isolation, and of those that shared a process with a test."""
    beside: tuple[Neighbour, ...] = ()
    """Published rows to show in the tables, each with its settings."""
    pass_line: float | None = None
    """The lowest share with which people pass such an examination."""
    constant: Constant | None = None
    withheld: bool = False
    """Whether published figures are left out because the means to compare with lack parts."""

    estimated: int = 0
    """Number of questions that the overall score is estimated for if only some were asked; 0 if all were."""
    consumed: Consumed | None = None
    """Tokens, time and cost of the answers; None for recorded replies."""
    cut_off: dict[StopReason, int] = {}
    """Stop reason → number of replies that the token limit cut off before an answer."""

    @property
    def answer(self) -> Estimate | None:
        """The score of the answers alone (Q→A), where the score is of answers with their reasons (Q→AR)."""
        for table in self.tables:
            if {Q_A, Q_AR} <= set(table.columns):
                alone, both = map(table.columns.index, (Q_A, Q_AR))
                for cells in table.cells:
                    if cells[both] == self.overall:
                        return cells[alone]
        return None

    @property
    def missing(self) -> int:
        """Number of missing replies, which asking again may bring."""
        return sum(self.overall.outcomes.get(outcome, 0) for outcome in ("error", NOT_ASKED))

    @property
    def answered(self) -> bool:
        """Whether any reply came."""
        return any(count for outcome, count in self.overall.outcomes.items() if outcome not in _NO_REPLY)


class Report(Struct, frozen=True, kw_only=True):
    """A run's results, with notes."""

    run: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    canaries: tuple[CanaryMarks, ...] = ()
    """Judges' marks for answers whose marks are known."""


def comparable(rows: Iterable[Neighbour], results: Sequence[Result]) -> tuple[Neighbour, ...]:
    """Return published rows cut to the figures that measure the same quantity as all `results`.

    A published figure is over all parts of its set, so comparing it with a mean that lacks some (ungraded formats,
    subjects not asked) would mislead.
    """
    apart = {
        (table.name, row, column)
        for result in results
        for table in result.tables
        for row, cells in zip(table.rows, table.cells, strict=True)
        for column, cell in zip(table.columns, cells, strict=True)
        if not cell.same_parts
    }
    whole = all(result.overall.same_parts for result in results)
    kept = [
        msgspec.structs.replace(
            neighbour,
            score=neighbour.score if whole else None,
            figures={cell: figure for cell, figure in neighbour.figures.items() if cell not in apart},
        )
        for neighbour in rows
    ]
    return tuple(neighbour for neighbour in kept if neighbour.score is not None or neighbour.figures)


def beside_of(results: Sequence[Result]) -> tuple[Neighbour, ...]:
    """Return the published rows of the results, each once."""
    rows = {(neighbour.model, neighbour.condition): neighbour for result in results for neighbour in result.beside}
    return comparable(rows.values(), results)


def left_out(models: Sequence[str]) -> str:
    """Return a note on models left out of charts and fits because their score is a range."""
    named = some([one_line(model, 40) for model in models], _NAMED)
    return (
        f"left out, since a score is a range there, with answers that wait for a verdict: {named}; grade these with "
        f"{flag('judge', 'MODEL')}."
    )


PUBLISHED = Kind(percent, none="")
"""Published scores in per cent, blank in the many rows without one."""
_EITHER = Kind(lambda cell: cell_text(cell) if isinstance(cell, Estimate) else percent(cell))


def score_table(scores: ScoreTable, beside: Sequence[Neighbour] = ()) -> Table:
    """Return the cells with, for every row, its number of answers and their outcomes (of its last column).

    A published row becomes a column, right of the one that it corresponds to.
    """
    position, published = _published_columns(scores, beside)
    rows = [(label, *cells) for label, cells in zip(scores.rows, scores.cells, strict=True) if cells[-1].n]
    last = str(len(scores.columns))
    columns = [Column(name, str(place), ESTIMATE) for place, name in enumerate(scores.columns, 1)]
    columns[position:position] = (Column(name, _figure(figures), PUBLISHED) for name, figures in published.items())
    rest = (counted((cells[-1] for cells in scores.cells), last), Column("outcomes", last, OUTCOMES))
    return Table(f"{scores.title} · {scores.exam} · {scores.model}", (Column("", "0", NAME), *columns, *rest), rows)


def _figure(figures: Mapping[str, float]) -> Callable[[Sequence[str]], float | None]:
    return lambda row: figures.get(row[0])


def _published_columns(table: ScoreTable, beside: Sequence[Neighbour]) -> tuple[int, dict[str, dict[str, float]]]:
    """Return the place of published columns, and header → row → figure, for every published row with figures here.

    They correspond to the column with the most known figures, of several the last, which is the average.
    """
    of_columns = [
        {
            f"{neighbour.model} (published)": figures
            for neighbour in beside
            if (figures := {row: figure for row in table.rows
                            if (figure := neighbour.figures.get((table.name, row, column))) is not None})
        }
        for column in table.columns
    ]  # fmt: skip
    fullest = max(range(len(of_columns)), key=lambda place: (sum(map(len, of_columns[place].values())), place))
    return fullest + 1, of_columns[fullest]


class Line(NamedTuple):
    """A model on an exam: its result, or its published score."""

    model: str
    exam: str
    result: Result | None
    published: float | None = None


Published = Sequence[tuple[str, Neighbour]]
"""Published rows, each with the exam that it is compared with."""


def score_lines(results: Sequence[Result], published: Published = ()) -> list[Line]:
    """Return results, then published scores, each with its model and exam."""
    return [
        *(Line(result.model, result.exam, result) for result in results),
        *(Line(f"{neighbour.model} (published)", exam, None, neighbour.score) for exam, neighbour in published),
    ]


WHO = (Column("model", "model", NAME), Column("exam", "exam", NAME, keep=True))


def score_column(results: Sequence[Result], text: Callable[[Estimate], str]) -> Column:
    """Return the column of scores of `score_lines`, marked where several models answered."""
    marked = mixed(results)

    def score(line: Line) -> str:
        if line.result is None:
            return percent(line.published)
        return text(line.result.overall) + (MIXED if line.model in marked else "")

    return Column("score", score, FIGURE, keep=True)


def count_column(results: Sequence[Result]) -> Column:
    """Return the column of counts behind the scores of `score_lines`; an estimate shows the number of its questions."""
    rests = counted((result.overall for result in results), "result.overall")

    def count(result: Result) -> str:
        of = f" of {result.estimated:,}" if result.estimated else ""
        return f"{result.overall.n:,}{f' {result.overall.unit}' if rests.title == 'n' else ''}{of}"

    return Column(rests.title, "result", Kind(count, none=""))


def summary(results: Sequence[Result], published: Published = ()) -> Table:
    """Return a table of overall scores, a row for each model and exam; then published ones."""
    columns = (
        *WHO,
        score_column(results, cell_text),
        count_column(results),
        Column("outcomes", "result.overall", Kind(outcomes_text, "", words=True, yields=True)),
    )
    return Table("Summary (per cent, 95 % interval)", columns, score_lines(results, published))


def side_by_side(results: Sequence[Result]) -> list[Table]:
    """Return tables, for every model on one benchmark in several languages, of the last columns of its tables."""
    tables: list[Table] = []
    groups = defaultdict[tuple[str, str], list[Result]](list)
    for result in results:
        groups[result.benchmark, result.model].append(result)
    for (benchmark, model), of_exam in groups.items():
        if len({result.language for result in of_exam}) < 2:
            continue
        for same in zip(*(result.tables for result in of_exam), strict=False):
            if same[0].detail or same[0].across:
                continue
            columns = [
                (of.language, {label: cells[-1] for label, cells in zip(scores.rows, scores.cells, strict=True)})
                for of, scores in zip(of_exam, same, strict=True)
            ]
            title = f"{same[0].title}, languages side by side · {benchmark} · {model}"
            tables.append(crossed(title, "", columns, ESTIMATE))
    return tables


def across_models(results: Sequence[Result], *, details: bool = True) -> list[Table]:
    """Return the tables with a row a model, for every exam taken by several models: the paper's main tables.

    Published rows come last, and are marked; with one of them a single model has such a table, too.
    """
    tables: list[Table] = []
    for exam in dict.fromkeys(result.exam for result in results):
        of_exam = [result for result in results if result.exam == exam]
        for table in of_exam[0].tables:
            if not table.across or (table.detail and not details):
                continue
            # Runs of different questions may have different columns.
            rows: list[tuple[str, Mapping[str, object]]] = [
                (result.model, dict(zip(own.columns, own.cells[0], strict=True)))
                for result in of_exam
                for own in result.tables
                if own.name == table.name
            ]
            names = list(dict.fromkeys(name for _, cells in rows for name in cells))
            for neighbour in beside_of(of_exam):
                figures = {name: neighbour.figures.get((table.name, table.rows[0], name)) for name in names}
                if any(figure is not None for figure in figures.values()):
                    rows.append((f"{neighbour.model} (published)", figures))
            if len(rows) > 1:
                columns = (Column(name, item("1", name), _EITHER) for name in names)
                tables.append(Table(f"{table.title} · {exam}", (Column("model", "0", NAME), *columns), rows))
    return tables


def published_notes(results: Sequence[Result]) -> list[str]:
    """Return a note for each exam and source of published figures, with their different settings."""
    lines: dict[tuple[str, str, str], None] = {}
    for result in results:
        for neighbour in result.beside:
            lines[result.exam, neighbour.source.cited, neighbour.condition] = None
    benchmarks = {result.exam: result.benchmark for result in results}
    apart = [
        f"{result.model} on {result.exam}: too little of {some(result.overall.lacks, _NAMED) or 'it'} is scored for a "
        "published score beside this one; published figures stand only beside means over the same parts."
        for result in results
        if result.withheld and not result.overall.same_parts
    ]
    return apart + [
        f"Published beside {exam}, each figure for the column before it: {source}; {condition}. "
        f"`viva published {benchmarks[exam]}` has the whole tables, and what contradicts itself in them."
        for exam, source, condition in lines
    ]


def constant_notes(results: Sequence[Result]) -> list[str]:
    """Return a note on the best constant answer's score on each exam, and the number of tests that prove nothing."""
    scores, tests = list[str](), list[str]()
    for exam, constant in {result.exam: result.constant for result in results}.items():
        if constant is None:
            continue
        texts = dict.fromkeys(
            f"{text.count(chr(10)) + 1:,} keywords" if "\n" in text else one_line(text, 20)
            for text in constant.answers.values()
        )
        scores.append(f"{percent(constant.score)} on {exam} ({', '.join(texts)})")
        if constant.unproven:
            tests.append(f"{len(constant.unproven):,} of {constant.tested:,} questions with tests on {exam}")
    passed = f"; a program that does nothing passes {', '.join(tests)}" if tests else ""
    return [f"The best constant answer scores {', '.join(scores)}{passed}."] if scores else []


def headline_column(shown: Sequence[tuple[ScoreTable, Estimate]]) -> int:
    """Return the place of the column that averages as the headline does, with every model's overall score; else the
    last.

    CMMLU's published average is over subjects, InfiBench's is the best of ten: neither is its tables' last column.
    """
    columns = range(len(shown[0][0].columns))
    places = [
        column
        for column in columns
        if all(any(row[column] == overall for row in table.cells) for table, overall in shown)
    ]
    return places[0] if places else columns[-1]


def _passed(result: Result) -> str:
    """Return a note on the parts above the pass line, below it, and undecided, by the intervals of the first table."""
    line, cell = result.pass_line, result.overall
    if line is None or cell.mean is None or not cell.complete or not result.tables:
        return ""
    table = result.tables[0]
    column = headline_column([(table, cell)])
    groups: dict[str, list[str]] = {"above it": [], "below it": [], "too near to tell": []}
    for label, cells in zip(table.rows, table.cells, strict=True):
        if (figure := cells[column]).low is not None and figure.high is not None:
            side = "above it" if figure.low >= line else "below it" if figure.high < line else "too near to tell"
            groups[side].append(one_line(label, 40))
    names_by_side = "; ".join(f"{side}: {', '.join(names)}" for side, names in groups.items() if names)
    verdict = "passes" if cell.mean >= line else "does not reach"
    return (
        f"{result.model} on {result.exam}: {percent(cell.mean)} {verdict} the pass line of {100 * line:g} %"
        f"{f' (by 95 % intervals {names_by_side})' if names_by_side else ''}."
    )


def groups_text(cell: Estimate) -> str:
    """Return `, and is over 4 of 8 groups` if a mean over groups lacks some; else ""."""
    some = cell.scored_groups < cell.groups
    return f", and is over {cell.scored_groups:,} of {cell.groups:,} groups" if some else ""


def mixed(results: Sequence[Result]) -> dict[str, str]:
    """Return model → the several models or providers that answered in its name, over all exams."""
    served: dict[str, list[Served]] = {}
    for result in results:
        served.setdefault(result.model, []).extend(result.consumed.served if result.consumed else ())
    return {model: who for model, answered_by in served.items() if (who := who_answered(answered_by))}


def mixed_notes(models: Mapping[str, str]) -> list[str]:
    """Return notes on the mark of such models' scores."""
    return [f"{MIXED} {one_line(model)}: {who}." for model, who in models.items()]


UNDECIDED = (
    "the judges said `none` or had no majority, which stands; or a verdict is missing or unreadable: `viva resume` "
    "asks for it"
)
"""Reasons for answers without a verdict from a judge that was asked."""


def unjudged() -> str:
    """Return what answers need that no judge was asked about."""
    return f"open answers and rationales need {flag('judge', 'MODEL')}, programs a sandbox (viva doctor)"


def footnotes(results: Sequence[Result]) -> list[str]:
    """Return notes on marked means; the bounds of each are in the table."""
    notes = [*constant_notes(results), *mixed_notes(mixed(results))]
    for result in results:
        if result.programs:
            notes.append(
                f"{result.model} on {result.exam}: of {result.programs:,} answers with programs, {result.shared:,} "
                "shared a process with their test, which a program written against Viva's harness could fool; "
                "`viva show` says which, `viva docs safety` what that means."
            )
        cell = result.overall
        if note := _passed(result):
            notes.append(note)
        if cell.complete:
            continue
        left = {name: count for name, count in cell.outcomes.items() if count and name in UNANSWERED}
        counts = ", ".join(f"{count:,} {outcome_name(name)}" for name, count in left.items())
        if not result.answered:
            notes.append(f"{result.model} on {result.exam}: nothing was answered ({counts}), so there is no table.")
            continue
        if result.estimated:
            notes.append(
                f"{UNSURE} {result.model} on {result.exam}: {counts} of the questions drawn; the estimate "
                "takes what was predicted for them."
            )
            continue
        hint = f" ({UNDECIDED if result.judged else unjudged()})" if "ungraded" in left else ""
        if cell.ranged:
            notes.append(f"{UNSURE} {result.model} on {result.exam}: {counts}{hint}, and the score is a range.")
            continue
        bounds = f"over all {cell.n:,} the score lies between {bounds_text(cell).replace('–', ' and ')}"
        notes.append(
            f"{UNSURE} {result.model} on {result.exam}: the mean leaves out {counts}{hint}{groups_text(cell)}; "
            f"{bounds}."
        )
    printed = (cell for result in results for table in result.tables for row in table.cells for cell in row)
    if any(cell.ranged for cell in (*(result.overall for result in results), *printed)):
        notes.append(f"{UNSURE} after a range: {RANGE}.")
    return notes
