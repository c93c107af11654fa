"""`viva compare`: is one contestant better than another, and could this set have shown it?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.multiplicity import Correction
from viva.cli.analysisoptions import chart_option, correct_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.runs.item_scores import EXAM, PLAIN, existing

if TYPE_CHECKING:
    import polars as pl

    from viva.analysis.comparing import Difference, Pairs
    from viva.cli.contestants import Contestant
    from viva.reports.comparing import Comparison, Row
    from viva.types import Line

FACTORS = (
    "models", "languages", "shots", "cot", "form", "rationale", "extraction", "sampling", "samples", "attempts",
    "judges", "seeds", "all",
)  # fmt: skip
PUBLISHED = ("infibench", "csbench")
"""Benchmarks that can be named in place of a run."""
POINTS = ("1", "2", "5")
"""Differences in points of per cent for which the number of questions is told."""
MOST = 500
"""Comparisons that anybody reads."""
FLIPS = 10
"""Flipped questions that are shown of a single pair, each way."""
_ATTEMPTS = re.compile(r"mean|best|(best|pass)@[1-9][0-9]{0,3}")


class Wanted(Struct, kw_only=True):
    """What is to be compared, and how it is told."""

    between: str | None = None
    baseline: str | None = None
    pairs: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    by: str | None = None
    over: str | None = None
    cluster: str | None = None
    unpaired: bool = False
    attempts: str | None = None
    correct: Correction = "holm"
    flips: int | None = None
    detect: tuple[float, ...] = ()
    seed: int = 0
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


@click.command(name="compare", short_help="Who is better, question by question, and is it chance?")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|TABLE...")
@click.option(
    "--between",
    type=click.Choice(FACTORS),
    metavar="|".join(FACTORS),
    help="Only pairs that differ in this; `all`: every pair.  [default: pairs with nobody in between]",
)
@click.option("--baseline", metavar="NAME", help="Only pairs of this contestant and each other.")
@click.option("--pairs", multiple=True, metavar="FIRST=SECOND", help="Only this pair (base=expert); repeatable.")
@click.option("--model", multiple=True, metavar="NAME", help="Only this model; repeatable.")
@click.option("--by", metavar="TABLE|TAG", help="A row for each column of this table of models, or value of this tag.")
@click.option(
    "--over",
    metavar="TAG",
    help=f"The overall mean averages the values of this tag first; `{PLAIN}`: the plain mean.  [default: the paper's]",
)
@click.option("--cluster", metavar="TAG", help="Questions with one value of this tag (one text, say) are no two.")
@click.option(
    "--unpaired",
    is_flag=True,
    help="Compare means of sets that have no question in common, or none that can be told to be the same.",
)
@click.option(
    "--attempts",
    metavar="WAY,...",
    help="What several answers to a question count as: mean, best, best@K, pass@K; several are compared.  "
    "[default: as the exam's headline]",
)
@correct_option
@click.option(
    "--flips",
    type=click.IntRange(0),
    metavar="N",
    help=f"Show N questions that were gained and N that were lost.  [default: {FLIPS} of a single pair]",
)
@click.option(
    "--detect",
    type=click.FloatRange(0, 100, min_open=True),
    multiple=True,
    metavar="POINTS",
    help=f"How many questions would show a difference of so many points? Repeatable.  [default: {', '.join(POINTS)}]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of permutation tests by random signs.")
@chart_option()
@tables_options
def compare_command(sources: tuple[str, ...], **given: Any) -> int:
    """Compare contestants (models, shots, chain of thought, sampling, languages, gradings, checkpoints) on the same
    questions: differences with 95 % intervals, tests, wins and losses, the questions that flipped, and what
    difference the set could have shown.

    A source is a run folder, a folder of runs, or a table of item scores; or `infibench` or `csbench`: the published
    sampling sweep, and expert models against the chat models of their families.

    \b
    viva compare runs/a runs/b                            what differs is found by itself
    viva compare runs/a runs/b --by domain --correct bh --chart gains.svg
    viva compare runs/sweep --baseline 'T 0.2' --attempts best@1,best@10
    viva compare runs/* --pairs llama2-7b=codellama-7b --flips 20
    viva compare infibench
    """
    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    if len(sources) == 1 and sources[0] in PUBLISHED and not Path(sources[0]).exists():
        from viva.cli.comparepublished import compare_published

        return compare_published(sources[0], wanted)
    found = compared_sources(existing(sources, PUBLISHED), wanted)
    if wanted.chart is not None:
        from viva.reports import charts
        from viva.reports.charts.comparing import comparing_chart

        charts.save(comparing_chart(found), wanted.chart)
    emit(_printed(found, wanted), wanted.out)
    return 0


def compared_sources(paths: Sequence[Path], wanted: Wanted) -> list[Comparison]:
    """Comparisons of what the sources hold. Raises VivaError where nothing there can be compared."""
    from viva.analysis.multiplicity import adjusted
    from viva.cli.contestants import chosen_pairs, contestants, grouped
    from viva.runs.item_scores import scored

    tags = [wanted.cluster] if wanted.cluster else []
    everybody = contestants(scored(paths, wanted.by or EXAM, wanted.over, tags), wanted.model, _ways(wanted))
    groups = grouped(everybody)
    chosen, problems = {}, [VivaError(_nobody(groups))]
    for title, group in groups:
        try:  # what one benchmark's contestants do not differ in, another's may
            chosen[title] = chosen_pairs(group, wanted.between, wanted.baseline, wanted.pairs) if len(group) > 1 else []
        except VivaError as problem:
            problems.append(problem)
    pairs = sum(map(len, chosen.values()))
    if not pairs:
        raise problems[-1]
    if pairs > MOST:
        raise VivaError(
            f"{len(everybody):,} contestants make {pairs:,} pairs: name one to compare with (--baseline NAME), or "
            "whom to compare (--model NAME, --pairs FIRST=SECOND)"
        )
    flips = wanted.flips if wanted.flips is not None else FLIPS if pairs == 1 and not wanted.by else 0
    found = [_comparison(title, group, chosen[title], flips, wanted) for title, group in groups if chosen.get(title)]
    if wanted.unpaired and (wanted.cluster or wanted.flips):
        raise VivaError("--unpaired compares means: there are no pairs to cluster or to flip")
    if not any(one.rows for one in found):
        raise DataError(f"no two of these were asked a question in common. {' '.join(found[0].notes[:3])}")
    every = iter(adjusted([row.found.p for one in found for row in one.rows], wanted.correct))
    return [
        replace(one, rows=tuple(replace(row, found=replace(row.found, adjusted=next(every))) for row in one.rows))
        for one in found
    ]


def _nobody(groups: Sequence[tuple[str, list[Contestant]]]) -> str:
    there = "; ".join(f"{title}: {', '.join(one.name for one in group[:5])}" for title, group in groups)
    return f"a comparison takes two contestants on the same questions; here are {there}"


def _ways(wanted: Wanted) -> list[str]:
    if wanted.attempts is None:
        return []
    ways = [way.strip() for way in wanted.attempts.split(",")]
    for way in ways:
        if not _ATTEMPTS.fullmatch(way):
            raise VivaError(f"--attempts {way!r}: write mean, best, best@K or pass@K, as in best@1,best@10")
    return list(dict.fromkeys(ways))


def _comparison(
    title: str,
    group: Sequence[Contestant],
    pairs: Sequence[tuple[Contestant, Contestant]],
    flips: int,
    wanted: Wanted,
) -> Comparison:
    from viva.cli.reading import with_readings
    from viva.reports.comparing import Comparison, Side

    rows: list[Row] = []
    sides: list[tuple[Contestant, Contestant]] = []
    notes: dict[str, None] = {}
    for first, second in pairs:
        here = list(_rows(first, second, flips, wanted))
        if any(row.found.n or row.found.unscored for row in here):
            rows += here
            sides += [(first, second)] * len(here)
            notes.update(dict.fromkeys(_notes(first, second, here, wanted)))
        elif wanted.pairs or wanted.between or len(pairs) == 1:
            raise DataError(
                f"{_disjoint(first, second)}: compare contestants that were asked the same set, or only their means "
                "(--unpaired)"
            )
        else:
            notes[f"Left out: {_disjoint(first, second)}."] = None
    compared = {id(one) for two in sides for one in two}
    return Comparison(
        title=title,
        by=wanted.by or "",
        correction=wanted.correct,
        contestants=tuple(
            Side(name=one.name, source=str(one.scored.source), settings=one.settings)
            for one in group
            if id(one) in compared
        ),
        rows=tuple(with_readings(rows, [(first.scored, second.scored) for first, second in sides])),
        notes=tuple(notes),
    )


def _disjoint(first: Contestant, second: Contestant) -> str:
    return f"{first.name} and {second.name} have no question in common"


def _rows(first: Contestant, second: Contestant, flips: int, wanted: Wanted) -> Iterator[Row]:
    """A row a column or value of --by, else one."""
    names = dict.fromkeys([*first.scored.lines, *second.scored.lines])
    for name in names:
        lines = first.scored.lines.get(name) or second.scored.lines[name]
        found, pairs = _compared_on(first, second, lines, wanted)
        if not wanted.by or found.n or found.unscored:
            yield _row(first, second, name if wanted.by else "", pairs, found, flips, wanted)


def _compared_on(
    first: Contestant, second: Contestant, lines: Sequence[Line], wanted: Wanted
) -> tuple[Difference, Pairs | None]:
    """The difference on the questions of these lines, and the pairs that it is of."""
    from viva.analysis.comparing import compared, compared_apart, paired

    over = next((line.over for line in lines if line.over), "")
    sides = [_questions(first, second, lines), _questions(second, first, lines)]
    if wanted.unpaired:
        return compared_apart(sides[0], sides[1], over), None
    pairs = paired(sides[0], sides[1], over, wanted.cluster or "")
    return compared(pairs, wanted.seed), pairs


def _questions(one: Contestant, other: Contestant, lines: Sequence[Line]) -> pl.DataFrame:
    """A contestant's scores by question, numbered as the other's are where two languages ask the same."""
    import polars as pl

    from viva.cli.contestants import numbering

    counted = (replace(line, attempts=one.attempts or line.attempts) for line in lines)
    found = one.breakdown.questions(*counted)
    number = numbering(one, other)
    if number is None or one.scored.record is None:
        return found
    numbers = [number(question, one.scored.record.spec.language) for question in found["question"]]
    return found.with_columns(question=pl.Series(numbers, dtype=pl.String))


def _row(
    first: Contestant,
    second: Contestant,
    part: str,
    pairs: Pairs | None,
    found: Difference,
    limit: int,
    wanted: Wanted,
) -> Row:
    from viva.analysis.comparing import flips
    from viva.reports.comparing import Row

    points = [f"{point:g}" for point in wanted.detect] or list(POINTS)
    return Row(
        first=first.name,
        second=second.name,
        part=part,
        found=found,
        smallest=found.smallest,
        questions={point: found.questions_for(float(point) / 100) for point in points},
        gained=tuple(flips(pairs, limit, "gained")) if pairs else (),
        lost=tuple(flips(pairs, limit, "lost")) if pairs else (),
    )


def _notes(first: Contestant, second: Contestant, rows: Sequence[Row], wanted: Wanted) -> Iterator[str]:
    """What is unfair, and what is not in the numbers, of the whole set or of its largest part."""
    from viva.cli.contestants import warnings
    from viva.reports.result import UNSURE

    both = f"{first.name} → {second.name}"
    unfair = list(warnings(first, second))
    if unfair:
        yield f"Not a fair comparison, {both}: {'; '.join(unfair)}."
    if first.scored is second.scored:
        yield f"{both}: the same answers, counted in two ways: p says that it is no chance, not that it matters."
    if wanted.unpaired:
        yield f"{both}: means of two sets as if drawn apart; the same questions to both would show smaller differences."
        return
    whole = max(rows, key=lambda row: row.found.n + row.found.unscored).found
    if whole.only_first or whole.only_second:
        yield (
            f"{both}: {whole.n + whole.unscored:,} questions are in both; {whole.only_first:,} of the first and "
            f"{whole.only_second:,} of the second alone are left out."
        )
    if whole.unscored:
        yield (
            f"{UNSURE} {both}: {whole.unscored:,} questions have no score on one side or both and are left out; the "
            "bounds say what the difference would be if all of that spoke for the first, and for the second."
        )


def _printed(found: Sequence[Comparison], wanted: Wanted) -> str:
    from viva.reports import comparing as report

    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, width=width, colour=colour)
