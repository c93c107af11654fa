"""Comparisons as tables and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from viva.analysis.comparing import Anytime, Decision, Difference, Flip
from viva.analysis.estimate import UNSURE, Estimate, clusters_text, interval_text, mean_text, percent, range_text
from viva.analysis.multiplicity import NAMES, Correction
from viva.analysis.posterior import Posterior
from viva.errors import flag
from viva.render.findings import Findings
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
from viva.studies.compare.choices import CompareConfig
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
_ADJUSTED = "p ({}): adjusted for the {:,} tests of this report; {}."
_HOLDS: dict[Correction, str] = {
    "holm": "≤ 0.05 holds for all of them together",
    "bh": "of those ≤ 0.05, at most 5 % are expected to be chance",
}
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
    "Margin: by where the whole interval at the right lies{}, whatever the missing answers are worth (one-sided "
    "2.5 %). No worse: above minus the margin; equivalent: within it on both sides; open: neither."
)
_OF_ALL = ", which holds for all {:,} of this report at once"
POSTERIOR = (
    "P(second better): how probable it is that the second is better, given the questions that both have a score for, "
    "if before them both were as likely to be; the difference is 95 % probable to lie in its interval. Not adjusted "
    "for several comparisons."
)
ANYTIME = (
    "Looked at as often as you like: e, the evidence against no difference ({:,} and more is significant at 5 "
    "%{}), its p, and the interval hold after every question at once and whenever you stop, if the questions "
    "so far are a random draw (asked in a random order). –: where questions do not count alike (--macro-average "
    "question), or belong together."
)
_TIPPING = 3
"""The most pairs for which a note says what missing answers could change."""
_FEW = 8
"""The most contestants whose differences are given to a tenth of a point."""


class Side(Struct, kw_only=True, eq=False):
    """A contestant: its name, source, and known settings of asking and grading."""

    name: str = ""
    source: str
    settings: dict[str, str]
    estimate: Estimate
    """The contestant's score over all questions that it was asked."""
    shuffled: bool = False
    """Whether it is known to have been asked in a random order."""


class Row(Struct, kw_only=True):
    """One comparison."""

    first: str
    second: str
    part: str
    """The value of the tag, or the column; "" for the headline."""
    found: Difference
    questions: dict[str, int | None]
    """Points of difference → number of questions that would show it."""
    gained: Sequence[Flip] = ()
    lost: Sequence[Flip] = ()
    posterior: Posterior | None = None
    anytime: Anytime | None = None
    at_worst: tuple[float, float] | None = None
    """The interval for decisions up to a margin, valid for all decisions of the report at once."""
    decision: Decision | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """All comparisons of one benchmark."""

    title: str
    by: str = ""
    contestants: Sequence[Side]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    tests: int = 1
    """Number of decisions, or of tests at all times, that hold at once."""

    @property
    def pairs(self) -> dict[tuple[str, str], Row]:
        """Every pair's row for the whole set, which is the last of its parts."""
        return {(row.first, row.second): row for row in self.rows}


def difference_text(difference: Difference) -> str:
    """Return `+3.20 [+0.40, +6.00]`; `+3.20† (−2.10 to +8.00) [−4.90, +10.80]` where answers are missing, and `−9.00 to
    +31.00† [−14.20, +36.00]` where there is a range in place of a difference.
    """
    low, high, floor, ceiling = difference.low, difference.high, difference.floor, difference.ceiling
    bounds = DASH if floor is None or ceiling is None else _between((floor, ceiling))
    if difference.difference is None:
        return DASH if low is None else f"{bounds}{UNSURE}{between_text(low, high)}"
    return f"{_change(difference)}{'' if difference.complete else f' ({bounds})'}{between_text(low, high)}"


def probability(value: float) -> str:
    """Return `0.973`, never rounded to 0 or 1."""
    return "< 0.001" if value < 0.001 else "> 0.999" if value > 0.999 else f"{value:.3f}"


def _between(interval: tuple[float, float]) -> str:
    return " to ".join(map(POINTS.text, interval))


def _change(difference: Difference) -> str:
    if difference.difference is None:
        return DASH
    return POINTS.text(difference.difference) + ("" if difference.complete else UNSURE)


def _read(texts: Sequence[str]) -> str:
    """Return every different reading once, with its number of occurrences."""
    counts = Counter(one_line(text, 40) or DASH for text in texts)
    return ", ".join(text if count == 1 else f"{text} ×{count}" for text, count in list(counts.items())[:5])


def _differing(row: Row) -> float | None:
    """Return the share of questions that differ; None without pairs."""
    moved = (row.found.wins or 0) + (row.found.losses or 0)
    pairs = moved + (row.found.ties or 0)
    return moved / pairs if pairs else None


def _mean(side: str, drop: int) -> Column:
    """Return the column of one side's mean, or of the range in its place."""

    def text(found: Difference) -> str:
        ends = getattr(found, f"{side}_range")
        return f"{range_text(*ends)}{UNSURE}" if ends else percent(getattr(found, side))

    return Column(f"{side} %", "found", Kind(text), key=None, drop=drop)


_CHANGE, _BETWEEN, _PROBABILITY = Kind(_change), Kind(_between), Kind(probability)
_ENDS = Kind(lambda difference: _between((difference.low, difference.high)))
_SHARE, _READ = Kind(lambda share: percent(share, 0)), Kind(_read, words=True)
SIDES = (Column("first", "first", SIDE, keep=True), Column("second", "second", SIDE, keep=True))
_HOLDING = (
    Column("questions", "found.n", COUNT, drop=4), _mean("first", 6), _mean("second", 5),
    Column("difference", "found", Kind(difference_text), keep=True),
)  # fmt: skip
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
    Column("smallest", "found.smallest", PERCENT),
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
_ORDER: tuple[Decision, ...] = ("equivalent", "open", "no worse", "no better", "better by more", "worse by more")


class Flipped(NamedTuple):
    """A question that flipped, in the row of a pair."""

    first: str
    second: str
    part: str
    flip: Flip


def _table(
    title: str, comparison: Comparison, columns: Iterable[Column], rows: Sequence[Any],
    legend: str = "", *, asked: bool = False, short: bool = False,
) -> Table:  # fmt: skip
    """Return a table: columns that identify each row, then these. The title names the pair if there is only one and the
    table has parts, or (`short`) many columns.
    """
    names = (Column(comparison.by, "part", NAME, key="part"),) if any(row.part for row in comparison.rows) else ()
    title = f"{title} · {comparison.title}"
    if (names or short) and len(comparison.pairs) == 1:
        title += f" · {' → '.join(*comparison.pairs)}"
    else:
        names = (*names, *SIDES)
    return Table(title, (*names, *columns), rows, legend, asked)


def _own_tables(comparison: Comparison, adjusted: Sequence[Column]) -> Iterator[Table]:
    """Yield the tables of differences, of power, and of flipped questions."""
    rows = comparison.rows
    columns = (*_HOLDING, Column("p", "found.p", P), *adjusted, *_COUNTS)
    yield _table("Comparison", comparison, columns, rows)
    if told := [row for row in rows if row.found.smallest is not None]:
        amounts = (Column(f"for {amount} point{'' if amount == '1' else 's'}", item("questions", amount), COUNT)
                   for amount in told[0].questions)  # fmt: skip
        yield _table("What this set can show", comparison, (*_POWER, *amounts), told, POWER)
    flips = [Flipped(row.first, row.second, row.part, flip) for row in rows for flip in (*row.gained, *row.lost)]
    if flips:
        read = any(row.flip.first_read or row.flip.second_read for row in flips)
        columns = _FLIPS if read else _FLIPS[:-2]
        yield _table("Questions that flipped: gained, then lost", comparison, columns, flips, short=True)


def _asked(comparison: Comparison, config: CompareConfig, *, many: bool) -> Iterator[Table]:
    """Yield the tables of --margin (in points), --bayesian and --anytime. `many`: equivalent and open rows come first,
    then clear ones by nearness to the margin, with the number of pairs of each kind.
    """
    rows, margin = comparison.rows, config.margin
    of_all = _OF_ALL.format(comparison.tests) if comparison.tests > 1 else ""
    if many:
        far = (margin or 0.0) / 100
        rows = sorted(rows, key=lambda row: (
            _ORDER.index(row.decision or "open"),
            abs(abs(row.found.difference or 0.0) - far) / (row.found.error or 1.0),
        ))  # fmt: skip
    if margin is not None:
        decisions = Counter(row.decision for row in rows)
        counts = ", ".join(f"{decisions[name]:,} {name}" for name in _ORDER if name in decisions)
        title = f"Up to a margin of {plural(margin, 'point')}{f': {counts}' if many else ''}"
        columns: tuple[Column, ...] = (
            Column("difference", "found", _CHANGE, key=None, drop=not many),
            Column("at worst", "at_worst", _BETWEEN, drop=many), Column("the second is", "decision", keep=True),
        )  # fmt: skip
        yield _table(title, comparison, columns, rows, MARGIN.format(of_all), asked=True)
    if config.bayesian:
        odds = {"P(second better)": "better"}
        odds |= {} if margin is None else {"P(no worse)": "no_worse", "P(equivalent)": "equivalent"}
        columns = (
            _AT_ANY_TIME[0], Column("95 % probable", "posterior", _ENDS, key="posterior"),
            *(Column(title, f"posterior.{name}", _PROBABILITY, keep=True) for title, name in odds.items()),
        )  # fmt: skip
        yield _table("Probably better", comparison, columns, rows, POSTERIOR, asked=True)
    if config.anytime:
        ordered = not all(side.shuffled for side in comparison.contestants)
        title = "Looked at as often as you like"
        title += " · not asked in a random order, or not known to be" if ordered else ""
        legend = ANYTIME.format(20 * comparison.tests, of_all)
        yield _table(title, comparison, _AT_ANY_TIME, rows, legend, asked=True)


_MATRIX = 3
"""The fewest pairs that a screen shows as a matrix."""
_STAR = "Matrix: the column minus the row, in points{}. *: p ≤ 0.05, adjusted for the {:,} tests of this report."
_ALONE = "Score: each one's own, over all questions that it was asked; in order of what is sure of it."


def held(row: Row) -> bool:
    """Return whether a difference is significant after the report's adjustment."""
    p = row.found.p if row.found.adjusted is None else row.found.adjusted
    return p is not None and p <= 0.05


def _screen(comparison: Comparison, adjusted: Sequence[Column], count: int) -> Iterator[Table]:
    """Yield the scores, the best first, with the matrix of differences over the whole set; then the significant
    differences in parts (without parts, over the whole set), the largest first. `count`: tests of the report.
    """
    pairs = comparison.pairs
    sides = sorted(comparison.contestants, key=lambda side: side.estimate.order, reverse=True)
    counts = sorted({row.found.n for row in pairs.values()})
    few = len(sides) <= _FEW
    numbered = len(counts) > 1 and few

    def cell(row: Row, sign: int) -> str:
        if row.found.difference is None:
            return DASH + UNSURE
        marks = ("" if row.found.complete else UNSURE) + ("*" if held(row) else "")
        number = f" ({row.found.n:,})" if numbered else ""
        return signed(sign * 100 * row.found.difference, int(few)) + marks + number

    behind = {names[::-1]: cell(row, -1) for names, row in pairs.items()}
    behind |= {names: cell(row, 1) for names, row in pairs.items()}
    ranks = [
        (str(place), side, [behind.get((side.name, other.name), "") if index > place else ""
                            for index, other in enumerate(sides, 1)])
        for place, side in enumerate(sides, 1)
    ]  # fmt: skip
    columns = (*_OWN, *(Column(str(index), f"2.{index - 1}", FIGURE) for index in range(2, len(sides) + 1)))
    span = " to ".join(f"{number:,}" for number in dict.fromkeys((counts[0], counts[-1])))
    over = f" on the {span} questions that both have a score for{' (their number)' if numbered else ''}"
    yield Table(f"Comparison · {comparison.title}", columns, ranks, _STAR.format(over, count))
    wholes = set(map(id, pairs.values()))
    by_part = len(wholes) < len(comparison.rows)
    rows = [row for row in comparison.rows if held(row) and not (by_part and id(row) in wholes)]
    rows.sort(key=lambda row: -abs(row.found.difference or 0))
    title = f"{len(rows):,} of {count:,} differences{f' by {comparison.by}' if by_part else ''} hold"
    yield _table(title, comparison, (*_HOLDING, *adjusted), rows)


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
    pairs = comparison.pairs
    lost = [row for row in pairs.values() if row.found.tipping is not None and row.found.unscored]
    if len(lost) <= _TIPPING:
        return list(map(_tipping, lost))
    loose = sorted((row for row in lost if (row.found.tipping or 0) > 0), key=lambda row: -(row.found.tipping or 0))
    count = (
        f"{comparison.title}: missing answers could change the order in {len(loose):,} of {len(pairs):,} pairs, "
        f"those that change most easily first ({flag('format', 'json')} has all: tipping)."
    )
    return [count, *map(_tipping, loose[:_TIPPING])]


def _closing(comparisons: Sequence[Comparison], config: CompareConfig, count: int) -> Iterator[str]:
    """Yield the legend, and caveats on the numbers."""
    differences = [row.found for comparison in comparisons for row in comparison.rows]
    for comparison in comparisons:
        yield from _fragile(comparison)
    names = dict.fromkeys(each.test for each in differences if each.p is not None)
    yield LEGEND + (f" p: two-sided, by {', '.join(map(TESTS.__getitem__, names))}." if names else "")
    if count > 1 and config.correct in _HOLDS:
        yield _ADJUSTED.format(NAMES[config.correct], count, _HOLDS[config.correct])
    if any(each.smallest is not None for each in differences):
        yield POWER
    if not all(each.complete for each in differences):
        yield _MARKED
    if any(each.ranged for each in differences):
        yield f"{UNSURE} after a range: {RANGE}."
    for comparison in comparisons:
        if clusters := max((side.estimate.clusters for side in comparison.contestants), default=0):
            yield f"{comparison.title}: {clusters_text(clusters)}"
        yield from comparison.notes


def _data(rows: Sequence[tuple[str, Row]], config: CompareConfig) -> Table:
    """Return a row for each comparison and title of its benchmark, in shares of 1."""
    numbers = [name for name in Difference.__struct_fields__ if name not in ("test", "first_range", "second_range")]
    asked = ((config.bayesian, "posterior", Posterior), (config.anytime, "anytime", Anytime))
    columns = (
        Column(None, "0", key="comparison"), Column(None, lambda line: line[1].part and config.by, key="by"),
        *fields("1", "part", first="first_name", second="second_name"),
        *fields("1.found", "test", *numbers, "smallest"),
        *(Column(None, item("1.questions", amount), key=f"questions_for_{amount}") for amount in rows[0][1].questions),
        *(column for given, name, kind in asked if given
          for column in fields(f"1.{name}", **{each: f"{name}_{each}" for each in kind.__struct_fields__})),
    )  # fmt: skip
    return Table("Comparisons", columns, rows)


def findings(comparisons: Sequence[Comparison], config: CompareConfig, **more: Any) -> Findings[Sequence[Comparison]]:
    """Return differences, power and flips of every benchmark; `more`: chart, verdict and exit code.

    Several pairs on one screen: all scores, a matrix of the differences, and the significant parts.
    """
    rows = [(comparison.title, row) for comparison in comparisons for row in comparison.rows]
    count = sum(row.found.p is not None for _, row in rows)
    used = config.correct != "none" and count > 1
    adjusted = [Column(f"p ({NAMES[config.correct]})", "found.adjusted", P)] if used else []
    shown = [table for each in comparisons for table in _asked(each, config, many=False)]
    notes = [*dict.fromkeys(table.legend for table in shown), *_closing(comparisons, config, count)]
    first = None
    if any(len(comparison.pairs) >= _MATRIX for comparison in comparisons):
        asked = [table for each in comparisons for table in _asked(each, config, many=True)]
        tables = [table for each in comparisons for table in _screen(each, adjusted, count)]
        legends = [*filter(None, (table.legend for table in tables)), _ALONE]
        first = [*asked, *tables], [*legends, *(line for line in notes if line != POWER)]
    shown += [table for each in comparisons for table in _own_tables(each, adjusted)]
    for each in comparisons:
        shown += [
            Table(f"Pairs · {each.title}", fields("", *Row.__struct_fields__), each.rows),
            Table(f"Contestants · {each.title}", fields("", *Side.__struct_fields__), each.contestants),
            Table(f"Notes · {each.title}", (Column(None, "", key="note"),), each.notes),
        ]
    return Findings(found=comparisons, shown=shown, rows=_data(rows, config), notes=notes, first=first, **more)
