"""Comparisons as tables and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct

from viva.analysis.comparing import Anytime, Decision, Difference, Flip
from viva.analysis.estimate import UNSURE, Estimate, clusters_text, interval_text, mean_text, percent, range_text
from viva.analysis.multiplicity import NAMES, Correction
from viva.analysis.posterior import Posterior
from viva.errors import EXIT_OK, flag
from viva.render.findings import Drawing, Findings
from viva.render.result import RANGE
from viva.render.table import (
    COUNT,
    DASH,
    FIGURE,
    NAME,
    PERCENT,
    POINTS,
    SIDE,
    Column,
    Kind,
    P,
    Table,
    between_text,
    fields,
    item,
    signed,
)
from viva.types import outcome_name
from viva.visible import one_line, plural

LEGEND = (
    "Per cent. Difference: the second minus the first, over the questions that both have a score for, with its 95 % "
    "interval."
)
_MARKED = (
    f"{UNSURE} answers are missing: in brackets the least and the most that it can be when they are decided; interval "
    "and p hold whatever they are (– where they can make either the better one)."
)
_ADJUSTED = "p ({name}): adjusted for the {count} tests of this report; ≤ 0.05 holds for all of them together."
_FALSE = (
    "p ({name}): adjusted for the {count} tests of this report; of those ≤ 0.05, at most 5 % are expected to be chance."
)
POWER = (
    "Smallest: the true difference that such a set shows in 80 % of cases (5 %, two-sided, before any adjusting). "
    "For … points: how many questions like these would show a true difference of so much."
)
TESTS = {
    "Welch's t": "Welch's t test of two means",
    "McNemar, exact": "McNemar's exact test",
    "interval": "inverting the interval",
}
MARGIN = (
    "Margin: by where the whole interval at the right lies{of_all}, whatever the missing answers are worth (one-sided "
    "2.5 %). No worse: above minus the margin; equivalent: within it on both sides; open: neither."
)
_OF_ALL = ", which holds for all {count} of this report at once"
POSTERIOR = (
    "P(second better): how probable it is that the second is better, given the questions that both have a score for, "
    "if before them both were as likely to be; the difference is 95 % probable to lie in its interval. Not adjusted "
    "for several comparisons."
)
ANYTIME = (
    "Looked at as often as you like: e, the evidence against no difference ({limit} and more is significant at 5 "
    "%{of_all}), its p, and the interval hold after every question at once and whenever you stop, if the questions "
    "so far are a random draw (asked in a random order). –: where questions do not count alike (--macro-average "
    "question), or belong together."
)
_TIPPING = 3
"""The most pairs for which a note says what missing answers could change."""
_FEW = 8
"""The most contestants whose differences are given to a tenth of a point."""


class Side(Struct, frozen=True, kw_only=True):
    """A contestant: its name, source, and known settings of asking and grading."""

    name: str
    source: str
    settings: dict[str, str]
    estimate: Estimate
    """The contestant's score over all questions that it was asked."""


class Row(Struct, frozen=True, kw_only=True):
    """One comparison."""

    first: str
    second: str
    part: str
    """The value of the tag, or the column; "" for the headline."""
    found: Difference
    smallest: float | None
    questions: dict[str, int | None]
    """Points of difference → number of questions that would show it."""
    gained: tuple[Flip, ...] = ()
    lost: tuple[Flip, ...] = ()
    posterior: Posterior | None = None
    anytime: Anytime | None = None
    at_worst: tuple[float, float] | None = None
    """The interval for decisions up to a margin, valid for all decisions of the report at once."""
    decision: Decision | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """All comparisons of one benchmark."""

    title: str
    by: str
    correction: Correction
    contestants: tuple[Side, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    tests: int = 1
    """Number of decisions, or of tests at all times, that hold at once."""
    ordered: bool = False
    """Whether some are not known to have been asked in a random order."""


def difference_text(difference: Difference) -> str:
    """Return `+3.20 [+0.40, +6.00]`; `+3.20† (−2.10 to +8.00) [−4.90, +10.80]` where answers are missing, and `−9.00 to
    +31.00† [−14.20, +36.00]` where there is a range in place of a difference.
    """
    bounds = (
        DASH
        if difference.floor is None or difference.ceiling is None
        else _between((difference.floor, difference.ceiling))
    )
    if difference.difference is None:
        return DASH if difference.low is None else f"{bounds}{UNSURE}{between_text(difference.low, difference.high)}"
    marked = "" if difference.complete else f"{UNSURE} ({bounds})"
    return f"{POINTS.text(difference.difference)}{marked}{between_text(difference.low, difference.high)}"


def probability(value: float) -> str:
    """Return `0.973`, never rounded to 0 or 1."""
    return "< 0.001" if value < 0.001 else "> 0.999" if value > 0.999 else f"{value:.3f}"


def _between(interval: tuple[float, float]) -> str:
    return " to ".join(map(POINTS.text, interval))


def _change(difference: Difference) -> str:
    return (
        DASH
        if difference.difference is None
        else POINTS.text(difference.difference) + ("" if difference.complete else UNSURE)
    )


def _read(texts: Sequence[str]) -> str:
    """Return every different reading once, with its number of occurrences."""
    counts = Counter(one_line(text, 40) or DASH for text in texts)
    return ", ".join(text if count == 1 else f"{text} ×{count}" for text, count in list(counts.items())[:5])


def _decided(row: Row) -> str:
    return row.decision or "open"


def _differing(row: Row) -> float | None:
    """Return the share of questions that differ; None without pairs."""
    moved = (row.found.wins or 0) + (row.found.losses or 0)
    pairs = moved + (row.found.ties or 0)
    return moved / pairs if pairs else None


def _mean(mean: float | None, between: tuple[float, float] | None) -> str:
    return percent(mean) if between is None else f"{range_text(*between)}{UNSURE}"


_CHANGE, _BETWEEN, _PROBABILITY = Kind(_change), Kind(_between), Kind(probability)
_ENDS = Kind(lambda difference: _between((difference.low, difference.high)))
_SHARE, _READ = Kind(lambda share: percent(share, 0)), Kind(_read, words=True)
SIDES = (Column("first", "first", SIDE, keep=True), Column("second", "second", SIDE, keep=True))
_HOLDING = (
    Column("questions", "found.n", COUNT, drop=4),
    Column("first %", lambda row: _mean(row.found.first, row.found.first_range), FIGURE, key=None, drop=6),
    Column("second %", lambda row: _mean(row.found.second, row.found.second_range), FIGURE, key=None, drop=5),
    Column("difference", "found", Kind(difference_text), keep=True),
)
_COUNTS = (
    Column("second better", "found.wins", COUNT, drop=3), Column("alike", "found.ties", COUNT, drop=2),
    Column("first better", "found.losses", COUNT, drop=1),
)  # fmt: skip
_AT_ANY_TIME = (
    Column("difference", "found", _CHANGE, key=None, drop=1),
    Column("at all times", "anytime", _ENDS, key="anytime", keep=True),
    Column("e", "anytime.e", Kind(lambda e: f"{e:,.3g}" if e < 1e6 else "> 1,000,000")),
    Column("p, at all times", "anytime.p", P, keep=True),
)
_POWER = (
    Column("differing", _differing, PERCENT), Column("error", "found.error", PERCENT),
    Column("smallest", "smallest", PERCENT),
)  # fmt: skip
_FLIPS = (
    Column("question", "flip.question", Kind(one_line, words=True, name=True)),
    Column("first %", "flip.first", _SHARE),
    Column("second %", "flip.second", _SHARE),
    Column("outcome", lambda row: " → ".join(map(outcome_name, (row.flip.first_outcome, row.flip.second_outcome)))),
    Column("read by the first", "flip.first_read", _READ),
    Column("read by the second", "flip.second_read", _READ),
)
_OWN = (
    Column("", "0", NAME), Column("model", "1.name", NAME, keep=True),
    Column("score", "1.estimate", Kind(mean_text), keep=True),
    Column("95 % interval", "1.estimate", Kind(interval_text), drop=1),
)  # fmt: skip
_ORDER = ("equivalent", "open", "no worse", "no better", "better by more", "worse by more")


class Flipped(NamedTuple):
    """A question that flipped, in the row of a pair."""

    first: str
    second: str
    part: str
    flip: Flip


def _table(
    title: str,
    comparison: Comparison,
    columns: Iterable[Column],
    rows: Sequence[Any],
    *,
    short: bool = False,
    **more: Any,
) -> Table:
    """Return a table: columns that identify each row, then these. The title names the pair if there is only one and the
    table has parts, or (`short`) many columns.
    """
    names = (Column(comparison.by, "part", NAME, key="part"),) if any(row.part for row in comparison.rows) else ()
    if (names or short) and len(_pairs(comparison)) == 1:
        title = f"{title} · {comparison.title} · {comparison.rows[0].first} → {comparison.rows[0].second}"
    else:
        title, names = f"{title} · {comparison.title}", (*names, *SIDES)
    return Table(title, (*names, *columns), rows, **more)


def _own_tables(comparison: Comparison, tests: int) -> Iterator[Table]:
    """Yield the tables of differences, of power, and of flipped questions."""
    yield _table(
        "Comparison",
        comparison,
        (*_HOLDING, Column("p", "found.p", P), *_adjusted(comparison, tests), *_COUNTS),
        comparison.rows,
    )
    told = [row for row in comparison.rows if row.smallest is not None]
    if told:
        amounts = (Column(f"for {amount} point{'' if amount == '1' else 's'}", item("questions", amount), COUNT)
                   for amount in told[0].questions)  # fmt: skip
        yield _table("What this set can show", comparison, (*_POWER, *amounts), told, legend=POWER)
    flips = [
        Flipped(row.first, row.second, row.part, flip) for row in comparison.rows for flip in (*row.gained, *row.lost)
    ]
    if flips:
        read = any(row.flip.first_read or row.flip.second_read for row in flips)
        columns = _FLIPS if read else _FLIPS[:-2]
        yield _table("Questions that flipped: gained, then lost", comparison, columns, flips, short=True)


def _adjusted(comparison: Comparison, tests: int) -> tuple[Column, ...]:
    used = comparison.correction != "none" and tests > 1
    return (Column(f"p ({NAMES[comparison.correction]})", "found.adjusted", P),) if used else ()


def _asked(
    comparison: Comparison, margin: float | None, *, bayesian: bool, anytime: bool, many: bool
) -> Iterator[Table]:
    """Yield the tables of --margin (in points), --bayesian and --anytime. `many`: equivalent and open rows come first,
    then clear ones by nearness to the margin, with the number of pairs of each kind.
    """

    def clear(row: Row) -> tuple[int, float]:
        away = abs(abs(row.found.difference or 0.0) - (margin or 0.0) / 100) / (row.found.error or 1.0)
        return 0 if margin is None else _ORDER.index(_decided(row)), away

    rows = sorted(comparison.rows, key=clear) if many else comparison.rows
    of_all = _OF_ALL.format(count=f"{comparison.tests:,}") if comparison.tests > 1 else ""
    if margin is not None:
        decisions = Counter(map(_decided, rows))
        counts = ", ".join(f"{decisions[name]:,} {name}" for name in _ORDER if name in decisions)
        title = f"Up to a margin of {plural(margin, 'point')}{f': {counts}' if many else ''}"
        columns: tuple[Column, ...] = (
            Column("difference", "found", _CHANGE, key=None, drop=not many),
            Column("at worst", "at_worst", _BETWEEN, drop=many), Column("the second is", _decided, keep=True),
        )  # fmt: skip
        yield _table(title, comparison, columns, rows, asked=True, legend=MARGIN.format(of_all=of_all))
    if bayesian:
        odds = {"P(second better)": "better"}
        if any(row.posterior and row.posterior.no_worse is not None for row in rows):
            odds |= {"P(no worse)": "no_worse", "P(equivalent)": "equivalent"}
        columns = (
            _AT_ANY_TIME[0], Column("95 % probable", "posterior", _ENDS, key="posterior"),
            *(Column(title, f"posterior.{name}", _PROBABILITY, keep=True) for title, name in odds.items()),
        )  # fmt: skip
        yield _table("Probably better", comparison, columns, rows, asked=True, legend=POSTERIOR)
    if anytime:
        unsure = " · not asked in a random order, or not known to be" if comparison.ordered else ""
        legend = ANYTIME.format(limit=f"{20 * comparison.tests:,}", of_all=of_all)
        yield _table(
            f"Looked at as often as you like{unsure}", comparison, _AT_ANY_TIME, rows, asked=True, legend=legend
        )


_MATRIX = 3
"""The fewest pairs that a screen shows as a matrix."""
_STAR = "Matrix: the column minus the row, in points{over}. *: p ≤ 0.05, adjusted for the {count} tests of this report."
_ALONE = "Score: each one's own, over all questions that it was asked; in order of what is sure of it."


def _pairs(comparison: Comparison) -> dict[tuple[str, str], Row]:
    """Return every pair's row for the whole set, which is the last of its parts."""
    return {(row.first, row.second): row for row in comparison.rows}


def held(row: Row) -> bool:
    """Return whether a difference is significant after the report's adjustment."""
    p = row.found.p if row.found.adjusted is None else row.found.adjusted
    return p is not None and p <= 0.05


def _screen(comparison: Comparison, tests: int) -> Iterator[Table]:
    """Yield the scores, the best first, with the matrix of differences over the whole set; then the significant
    differences in parts (without parts, over the whole set), the largest first.
    """
    pairs = _pairs(comparison)
    sides = sorted(comparison.contestants, key=lambda side: side.estimate.order, reverse=True)
    counts = sorted({row.found.n for row in pairs.values()})
    few = len(sides) <= _FEW
    numbered = len(counts) > 1 and few

    def cell(row: Row, sign: int) -> str:
        mark = ("" if row.found.complete else UNSURE) + ("*" if held(row) else "")
        number = f" ({row.found.n:,})" if numbered else ""
        return DASH + UNSURE if row.found.difference is None else (
            signed(sign * 100 * row.found.difference, int(few)) + mark + number
        )  # fmt: skip

    behind = {names[::-1]: cell(row, -1) for names, row in pairs.items()}
    behind |= {names: cell(row, 1) for names, row in pairs.items()}
    ranks = [
        (str(place), side, [behind.get((side.name, other.name), "") if index > place else ""
                            for index, other in enumerate(sides, 1)])
        for place, side in enumerate(sides, 1)
    ]  # fmt: skip
    columns = (*_OWN, *(Column(str(index), f"2.{index - 1}", FIGURE) for index in range(2, len(sides) + 1)))
    span = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    over = f" on the {span} questions that both have a score for{' (their number)' if numbered else ''}"
    yield Table(f"Comparison · {comparison.title}", columns, ranks, legend=_STAR.format(count=f"{tests:,}", over=over))
    wholes = set(map(id, pairs.values()))
    by_part = len(wholes) < len(comparison.rows)
    rows = [row for row in comparison.rows if held(row) and not (by_part and id(row) in wholes)]
    rows.sort(key=lambda row: -abs(row.found.difference or 0))
    title = f"{len(rows):,} of {tests:,} differences{f' by {comparison.by}' if by_part else ''} hold"
    yield _table(title, comparison, (*_HOLDING, *_adjusted(comparison, tests)), rows)


def _tipping(row: Row) -> str:
    """Return which missing answers would change the order of two contestants, as a sentence."""
    difference, share = row.found, row.found.tipping or 0.0
    sides = ((row.first, difference.first_unscored), (row.second, difference.second_unscored))
    lost = {name: f"{name}'s missing answers ({plural(n, 'question')})" for name, n in sides if n}
    behind, ahead = (row.first, row.second) if (difference.difference or 0.0) > 0 else (row.second, row.first)
    where = f"{row.part}: " if row.part else ""
    if not 0 < share < 1:
        leader, other = (ahead, behind) if share <= 0 else (behind, ahead)
        return f"{where}{leader} is ahead of {other} whatever became of {' and '.join(lost.values())}."
    digits = 0 if 0.01 <= share <= 0.99 else 2
    needed = (("less than", share, ahead), ("more than", 1 - share, behind))
    need = [f"{than} {100 * part:.{digits}f} % of {lost[name]}" for than, part, name in needed if name in lost]
    return f"{where}{behind} would be ahead of {ahead} if {' and '.join(need)} were right."


def _fragile(comparison: Comparison) -> list[str]:
    """Return notes on orders that missing answers could change, the most fragile first, and the number of further
    ones.
    """
    pairs = _pairs(comparison)
    lost = [row for row in pairs.values() if row.found.tipping is not None and row.found.unscored]
    if len(lost) <= _TIPPING:
        return list(map(_tipping, lost))
    loose = sorted((row for row in lost if (row.found.tipping or 0) > 0), key=lambda row: -(row.found.tipping or 0))
    count = (
        f"{comparison.title}: missing answers could change the order in {len(loose):,} of {len(pairs):,} pairs, "
        f"those that change most easily first ({flag('format', 'json')} has all: tipping)."
    )
    return [count, *map(_tipping, loose[:_TIPPING])]


def closing(comparisons: Sequence[Comparison], tests: int) -> Iterator[str]:
    """Yield the legend, and caveats on the numbers."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    for comparison in comparisons:
        yield from _fragile(comparison)
    names = dict.fromkeys(row.found.test for row in rows if row.found.p is not None)
    by = ", ".join(TESTS[name] for name in names if name in TESTS)
    yield f"{LEGEND} p: two-sided, by {by}." if by else LEGEND
    correction = comparisons[0].correction
    if tests > 1 and correction != "none":
        adjusted = _ADJUSTED if correction == "holm" else _FALSE
        yield adjusted.format(name=NAMES[correction], count=f"{tests:,}")
    if any(row.smallest is not None for row in rows):
        yield POWER
    if any(not row.found.complete for row in rows):
        yield _MARKED
    if any(row.found.ranged for row in rows):
        yield f"{UNSURE} after a range: {RANGE}."
    for comparison in comparisons:
        if clusters := max((side.estimate.clusters for side in comparison.contestants), default=0):
            yield f"{comparison.title}: {clusters_text(clusters)}"
        yield from comparison.notes


def _data(comparisons: Sequence[Comparison], asked: Sequence[tuple[str, type[Struct]]]) -> Table:
    """Return a row for each comparison, in shares of 1. `asked`: the structs of optional results."""
    left = ("test", "first_range", "second_range")
    numbers = [name for name in Difference.__struct_fields__ if name not in left]
    points = next((list(row.questions) for comparison in comparisons for row in comparison.rows), [])
    columns = (
        *fields("0", title="comparison"), Column(None, lambda line: line[0].by if line[1].part else "", key="by"),
        *fields("1", "part", first="first_name", second="second_name"),
        *fields("1.found", "test", *numbers), *fields("1", "smallest"),
        *(Column(None, item("1.questions", amount), key=f"questions_for_{amount}") for amount in points),
        *(column for name, kind in asked
          for column in fields(f"1.{name}", **{each: f"{name}_{each}" for each in kind.__struct_fields__})),
    )  # fmt: skip
    return Table("Comparisons", columns, [(comparison, row) for comparison in comparisons for row in comparison.rows])


def findings(
    comparisons: Sequence[Comparison],
    margin: float | None = None,
    *,
    bayesian: bool = False,
    anytime: bool = False,
    exit_code: int = EXIT_OK,
    verdict: str = "",
    drawing: Drawing = None,
) -> Findings[Sequence[Comparison]]:
    """Return differences, power and flips of every benchmark. `margin`: points up to which a difference does not
    matter.

    Several pairs on one screen: all scores, a matrix of the differences, and the significant parts.
    """  # fmt: skip
    tests = sum(row.found.p is not None for comparison in comparisons for row in comparison.rows)

    def asked(*, many: bool) -> list[Table]:
        tables = (
            _asked(comparison, margin, bayesian=bayesian, anytime=anytime, many=many) for comparison in comparisons
        )
        return list(chain.from_iterable(zip(*tables, strict=True)))

    shown = asked(many=False)
    notes = [*dict.fromkeys(table.legend for table in shown), *closing(comparisons, tests)]
    first = None
    if any(len(_pairs(comparison)) >= _MATRIX for comparison in comparisons):
        tables = [table for comparison in comparisons for table in _screen(comparison, tests)]
        legends = [*filter(None, (table.legend for table in tables)), _ALONE]
        first = [*asked(many=True), *tables], [*legends, *(line for line in notes if line != POWER)]
    shown += [table for comparison in comparisons for table in _own_tables(comparison, tests)]
    for comparison in comparisons:
        of = f" · {comparison.title}"
        shown += [
            Table(f"Pairs{of}", fields("", *Row.__struct_fields__), comparison.rows),
            Table(f"Contestants{of}", fields("", *Side.__struct_fields__), comparison.contestants),
            Table(f"Notes{of}", (Column(None, str, key="note"),), comparison.notes),
        ]
    shown.append(Table("Benchmarks", fields("", "title", "by", "correction", "tests", "ordered"), comparisons))
    kinds = ((bayesian, "posterior", Posterior), (anytime, "anytime", Anytime))
    return Findings(
        found=comparisons, shown=shown, rows=_data(comparisons, [(name, kind) for given, name, kind in kinds if given]),
        notes=notes, first=first, exit_code=exit_code, verdict=verdict, drawing=drawing,
    )  # fmt: skip
