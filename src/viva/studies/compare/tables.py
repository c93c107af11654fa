"""Comparisons as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.anytime import Anytime
from viva.analysis.comparing import Decision, Difference, Flip
from viva.analysis.estimate import Estimate
from viva.analysis.multiplicity import NAMES, Correction
from viva.analysis.posterior import Posterior
from viva.analysis.wording import UNSURE, clusters_text, interval_text, mean_text, percent, range_text
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
"""Pairs of which it is said what missing answers could change."""
_FEW = 8
"""Contestants whose differences are told to a tenth of a point."""
_LISTED = 12
"""Notes of a kind that are shown; the others are counted."""


class Side(Struct, frozen=True, kw_only=True):
    """A contestant: what it is called, where it is from, and all that is known of how it was asked and graded."""

    name: str
    source: str
    settings: dict[str, str]
    estimate: Estimate
    """Its own score, over all questions that it was asked."""


class Row(Struct, frozen=True, kw_only=True):
    """One comparison."""

    first: str
    second: str
    part: str
    """The value of the tag, or the column; "" for the headline."""
    found: Difference
    smallest: float | None
    questions: dict[str, int | None]
    """Points of difference → questions that would show it."""
    gained: tuple[Flip, ...] = ()
    lost: tuple[Flip, ...] = ()
    posterior: Posterior | None = None
    anytime: Anytime | None = None
    at_worst: tuple[float, float] | None = None
    """The interval that decides up to a margin: of all decisions of the report at once."""
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
    """Decisions, or tests at all times, that hold at once."""
    ordered: bool = False
    """Whether some are not known to have been asked in a random order."""


def difference_text(found: Difference) -> str:
    """Return `+3.20 [+0.40, +6.00]`; `+3.20† (−2.10 to +8.00) [−4.90, +10.80]` where answers are missing, and `−9.00 to
    +31.00† [−14.20, +36.00]` where there is a range in place of a difference.
    """
    if found.difference is None:
        return DASH if found.low is None else f"{_bounds(found)}{UNSURE}{between_text(found.low, found.high)}"
    marked = "" if found.complete else f"{UNSURE} ({_bounds(found)})"
    return f"{POINTS.text(found.difference)}{marked}{between_text(found.low, found.high)}"


def _names(one: Comparison, *, short: bool = False) -> tuple[tuple[Column, ...], str]:
    """Return the columns that say what a row is about, and what the title says in their place where it is always the
    same.

    `short`: the table has much else to say.
    """
    parts = (Column(one.by, "part", NAME, key="part"),) if any(row.part for row in one.rows) else ()
    if (parts or short) and len(_pairs(one)) == 1:
        return parts, f" · {one.rows[0].first} → {one.rows[0].second}"
    return (*parts, *SIDES), ""


def _table(title: str, one: Comparison, columns: Sequence[Column], **more: Any) -> Table:
    """Return a table of these rows: what each is about, then these columns."""
    names, about = _names(one)
    return Table(f"{title} · {one.title}{about}", (*names, *columns), one.rows, **more)


SIDES = (Column("first", "first", SIDE, keep=True), Column("second", "second", SIDE, keep=True))


def _differences(one: Comparison, tests: int, *, holding: bool = False) -> Table:
    """Return the differences; `holding`: of those that are more than chance, what they are."""
    adjusted = one.correction != "none" and tests > 1
    columns = (
        Column("questions", "found.n", COUNT, drop=4),
        Column("first %", "found", _FIRST, key=None, drop=6 - holding),
        Column("second %", "found", _SECOND, key=None, drop=5 + holding),
        Column("difference", "found", Kind(difference_text), keep=True),
        *(() if holding else (Column("p", "found.p", P),)),
        *((Column(f"p ({NAMES[one.correction]})", "found.adjusted", P),) if adjusted else ()),
        *(() if holding else _COUNTS),
    )  # fmt: skip
    return _table("Comparison", one, columns)


_FIRST = Kind(lambda found: _mean(found.first, found.first_range))
_SECOND = Kind(lambda found: _mean(found.second, found.second_range))
_COUNTS = (
    Column("second better", "found.wins", COUNT, drop=3), Column("alike", "found.ties", COUNT, drop=2),
    Column("first better", "found.losses", COUNT, drop=1),
)  # fmt: skip


def _decisions(one: Comparison, margin: float, *, many: bool = False) -> Table:
    """Return what can be said of the second, up to a margin in points; `many`: also how many pairs there are of
    each.
    """
    columns = (
        Column("difference", "found", _CHANGE, key=None, drop=not many),
        Column("at worst", "at_worst", _BETWEEN, drop=many), Column("the second is", _decided, keep=True),
    )  # fmt: skip
    decided = list(map(_decided, one.rows))
    counts = ", ".join(f"{decided.count(name):,} {name}" for name in _ORDER if name in decided)
    title = f"Up to a margin of {plural(margin, 'point')}"
    shown = _table(title, one, columns, asked=True, legend=MARGIN.format(of_all=_of_all(one)))
    return replace(shown, title=f"{title}: {counts} · {one.title}") if many else shown


def _decided(row: Row) -> str:
    return row.decision or "open"


def _of_all(one: Comparison) -> str:
    return _OF_ALL.format(count=f"{one.tests:,}") if one.tests > 1 else ""


def _beliefs(one: Comparison) -> Table:
    """Return how probable it is that the second is better, and, with a margin, no worse or equivalent."""
    odds = {"P(second better)": "better"}
    if any(row.posterior and row.posterior.no_worse is not None for row in one.rows):
        odds |= {"P(no worse)": "no_worse", "P(equivalent)": "equivalent"}
    columns = (
        Column("difference", "found", _CHANGE, key=None, drop=1),
        Column("95 % probable", "posterior", _BETWEEN_ENDS, key="posterior"),
        *(Column(title, f"posterior.{name}", _PROBABILITY, keep=True) for title, name in odds.items()),
    )  # fmt: skip
    return _table("Probably better", one, columns, asked=True, legend=POSTERIOR)


def _at_any_time(one: Comparison) -> Table:
    """Return the test that may be looked at as often as one likes."""
    columns = (
        Column("difference", "found", _CHANGE, key=None, drop=1),
        Column("at all times", "anytime", _BETWEEN_ENDS, key="anytime", keep=True),
        Column("e", "anytime.e", Kind(lambda e: f"{e:,.3g}" if e < 1e6 else "> 1,000,000")),
        Column("p, at all times", "anytime.p", P, keep=True),
    )  # fmt: skip
    unsure = " · not asked in a random order, or not known to be" if one.ordered else ""
    legend = ANYTIME.format(limit=f"{20 * one.tests:,}", of_all=_of_all(one))
    return _table(f"Looked at as often as you like{unsure}", one, columns, asked=True, legend=legend)


_ORDER = ("equivalent", "open", "no worse", "no better", "better by more", "worse by more")


def _unclear_first(one: Comparison, margin: float | None) -> Comparison:
    """Equivalent and open rows first, those that are clear last; of these what is nearest to the margin, in points."""

    def clear(row: Row) -> tuple[int, float]:
        away = abs(abs(row.found.difference or 0.0) - (margin or 0.0) / 100) / (row.found.error or 1.0)
        return 0 if margin is None else _ORDER.index(row.decision or "open"), away

    return replace(one, rows=tuple(sorted(one.rows, key=clear)))


def probability(value: float) -> str:
    """Return `0.973`, and never 0 or 1, which nothing is."""
    return "< 0.001" if value < 0.001 else "> 0.999" if value > 0.999 else f"{value:.3f}"


def _between(interval: tuple[float, float]) -> str:
    return " to ".join(map(POINTS.text, interval))


_CHANGE = Kind(
    lambda found: (
        DASH if found.difference is None else POINTS.text(found.difference) + ("" if found.complete else UNSURE)
    )
)
_BETWEEN, _PROBABILITY = Kind(_between), Kind(probability)
_BETWEEN_ENDS = Kind(lambda found: _between((found.low, found.high)))


def _tipping(row: Row) -> str:
    """Return what would change the order of two contestants; "" where nothing is unscored."""
    found = row.found
    if found.tipping is None or found.difference is None or not found.unscored:
        return ""
    sides = [(row.first, found.first_unscored), (row.second, found.second_unscored)]
    (ahead, missing), (behind, others) = reversed(sides) if found.difference > 0 else sides
    where = f"{row.part}: " if row.part else ""
    lost = " and ".join(f"{name}'s missing answers ({plural(n, 'question')})" for name, n in sides if n)
    if not 0 < found.tipping < 1:
        leader, other = (ahead, behind) if found.tipping <= 0 else (behind, ahead)
        return f"{where}{leader} is ahead of {other} whatever became of {lost}."
    digits = 0 if 0.01 <= found.tipping <= 0.99 else 2
    share, rest = (f"{100 * value:.{digits}f} %" for value in (found.tipping, 1 - found.tipping))
    answers, need = "missing answers", []
    if missing:
        need.append(f"less than {share} of {ahead}'s {answers} ({plural(missing, 'question')})")
    if others:
        said = "" if missing else f" {answers}"
        need.append(f"more than {rest} of {behind}'s{said} ({plural(others, 'question')})")
    return f"{where}{behind} would be ahead of {ahead} if {' and '.join(need)} were right."


def _fragile(one: Comparison) -> list[str]:
    """Return which orders missing answers could change, those that change most easily first, and how many more there
    are.
    """
    lost = [row for row in _pairs(one).values() if row.found.tipping is not None and row.found.unscored]
    if len(lost) <= _TIPPING:
        return list(map(_tipping, lost))
    loose = sorted((row for row in lost if (row.found.tipping or 0) > 0), key=lambda row: -(row.found.tipping or 0))
    count = (
        f"{one.title}: missing answers could change the order in {len(loose):,} of {len(_pairs(one)):,} pairs, "
        f"those that change most easily first ({flag('format', 'json')} has all: tipping)."
    )
    return [count, *map(_tipping, loose[:_TIPPING])]


_MATRIX = 3
"""From so many pairs on, a screen shows them as a matrix."""
_STAR = "Matrix: the column minus the row, in points{over}. *: p ≤ 0.05, adjusted for the {count} tests of this report."
_ALONE = "Score: each one's own, over all questions that it was asked; in order of what is sure of it."


def _pairs(one: Comparison) -> dict[tuple[str, str], Row]:
    """Return every pair's row of the whole: the last of its parts, which is the mean of all."""
    return {(row.first, row.second): row for row in one.rows}


def held(row: Row) -> bool:
    """Return whether a difference is more than chance, adjusted as the report adjusts."""
    p = row.found.p if row.found.adjusted is None else row.found.adjusted
    return p is not None and p <= 0.05


def _matrix(one: Comparison, tests: int) -> Table:
    """Everybody's own score, the best first, and who is how far behind whom: differences of the wholes."""
    pairs = _pairs(one)
    sides = sorted(one.contestants, key=lambda side: side.estimate.order, reverse=True)
    counts = {row.found.n for row in pairs.values()}
    digits = 1 if len(sides) <= _FEW else 0

    def cell(above: Side, below: Side) -> str:
        row, sign = pairs.get((above.name, below.name)), 1
        if row is None:
            row, sign = pairs.get((below.name, above.name)), -1
        if row is None:
            return ""
        if row.found.difference is None:
            return f"–{UNSURE}"
        mark = ("" if row.found.complete else UNSURE) + ("*" if held(row) else "")
        number = f" ({row.found.n:,})" if len(counts) > 1 and digits else ""
        return signed(sign * 100 * row.found.difference, digits) + mark + number

    rows = [
        Ranked(str(place), side, {at: cell(side, other) if at > place else "" for at, other in enumerate(sides, 1)})
        for place, side in enumerate(sides, 1)
    ]
    columns = (*_OWN, *(Column(str(at), item("behind", at), FIGURE) for at in range(2, len(sides) + 1)))
    some = f"{min(counts):,} to {max(counts):,}" if len(counts) > 1 else f"{next(iter(counts)):,}"
    over = f" on the {some} questions that both have a score for" + (
        " (their number)" if len(counts) > 1 and digits else ""
    )
    return Table(f"Comparison · {one.title}", columns, rows, legend=_STAR.format(count=f"{tests:,}", over=over))


class Ranked(NamedTuple):
    """A contestant, and how far behind it others are, by their places."""

    place: str
    side: Side
    behind: Mapping[int, str]


_OWN = (
    Column("", "place", NAME), Column("model", "side.name", NAME, keep=True),
    Column("score", "side.estimate", Kind(mean_text), keep=True),
    Column("95 % interval", "side.estimate", Kind(interval_text), drop=1),
)  # fmt: skip


def _holding(one: Comparison, tests: int) -> Table:
    """Return the differences in parts that are more than chance, the largest first; without parts, of the wholes."""
    wholes = {id(row) for row in _pairs(one).values()}
    has_parts = any(id(row) not in wholes for row in one.rows)
    rows = [row for row in one.rows if held(row) and not (has_parts and id(row) in wholes)]
    rows.sort(key=lambda row: -abs(row.found.difference or 0))
    title = f"{len(rows):,} of {tests:,} differences{f' by {one.by}' if has_parts else ''} hold · {one.title}"
    shown = _differences(replace(one, rows=tuple(rows)), tests, holding=True)
    return replace(shown, title=title)


def _mean(mean: float | None, between: tuple[float, float] | None) -> str:
    return percent(mean) if between is None else f"{range_text(*between)}{UNSURE}"


def _power(one: Comparison) -> Iterator[Table]:
    told = [row for row in one.rows if row.smallest is not None]
    if not told:
        return
    columns = (
        Column("differing", _differing, PERCENT), Column("error", "found.error", PERCENT),
        Column("smallest", "smallest", PERCENT),
        *(Column(f"for {amount} point{'' if amount == '1' else 's'}", item("questions", amount), COUNT)
          for amount in told[0].questions),
    )  # fmt: skip
    yield _table("What this set can show", replace(one, rows=tuple(told)), columns, legend=POWER)


def _differing(row: Row) -> float | None:
    """Return the share of questions that differ; of no pairs there is none."""
    moved = (row.found.wins or 0) + (row.found.losses or 0)
    pairs = moved + (row.found.ties or 0)
    return moved / pairs if pairs else None


class Flipped(NamedTuple):
    """A question that flipped, in the row of a pair."""

    first: str
    second: str
    part: str
    flip: Flip


def _flips(one: Comparison) -> Iterator[Table]:
    rows = [Flipped(row.first, row.second, row.part, flip) for row in one.rows for flip in (*row.gained, *row.lost)]
    if rows:
        names, title = _names(one, short=True)
        whose = _WHOSE if any(row.flip.first_read or row.flip.second_read for row in rows) else ()
        yield Table(f"Questions that flipped: gained, then lost · {one.title}{title}", (*names, *_FLIPS, *whose), rows)


def _read(texts: Sequence[str]) -> str:
    """Return every different reading once, with how often it was there."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[one_line(text, 40) or "–"] = counts.get(one_line(text, 40) or "–", 0) + 1
    return ", ".join(text if count == 1 else f"{text} ×{count}" for text, count in list(counts.items())[:5])


_SHARE, _READ = Kind(lambda share: percent(share, 0)), Kind(_read, words=True)
_FLIPS = (
    Column("question", "flip.question", Kind(lambda name: one_line(name, 60), words=True, name=True)),
    Column("first %", "flip.first", _SHARE),
    Column("second %", "flip.second", _SHARE),
    Column("outcome", lambda row: " → ".join(map(outcome_name, (row.flip.first_outcome, row.flip.second_outcome)))),
)  # fmt: skip
_WHOSE = (
    Column("read by the first", "flip.first_read", _READ),
    Column("read by the second", "flip.second_read", _READ),
)


def closing(found: Sequence[Comparison]) -> list[str]:
    """Return the legend, and what must be known beside the numbers."""
    rows = [row for one in found for row in one.rows]
    tests = tests_of(found)
    said = _tests(rows)
    lines = [line for one in found for line in _fragile(one)]
    lines.append(f"{LEGEND} p: two-sided, by {said}." if said else LEGEND)
    correction = found[0].correction
    if tests > 1 and correction != "none":
        adjusted = _ADJUSTED if correction == "holm" else _FALSE
        lines.append(adjusted.format(name=NAMES[correction], count=f"{tests:,}"))
    if any(row.smallest is not None for row in rows):
        lines.append(POWER)
    if any(not row.found.complete for row in rows):
        lines.append(_MARKED)
    if any(row.found.ranged for row in rows):
        lines.append(f"{UNSURE} after a range: {RANGE}.")
    for one in found:
        clusters = max((side.estimate.clusters for side in one.contestants), default=0)
        lines += [f"{one.title}: {clusters_text(clusters)}"] if clusters else []
        lines += one.notes[:_LISTED]
        if len(one.notes) > _LISTED:
            lines.append(f"… and {plural(len(one.notes) - _LISTED, 'more note')}; {flag('format', 'json')} has all.")
    return lines


def tests_of(found: Sequence[Comparison]) -> int:
    """Return how many tests there are in all."""
    return sum(1 for one in found for row in one.rows if row.found.p is not None)


def _tests(rows: Sequence[Row]) -> str:
    names = dict.fromkeys(row.found.test for row in rows if row.found.p is not None)
    return ", ".join(TESTS[name] for name in names if name in TESTS)


def _bounds(found: Difference) -> str:
    """Return what the difference can be when all that is missing is decided."""
    return DASH if found.floor is None or found.ceiling is None else _between((found.floor, found.ceiling))


class Line(NamedTuple):
    """A row of the data."""

    one: Comparison
    row: Row


def _data(found: Sequence[Comparison], own: Sequence[tuple[str, type[Struct]]]) -> Table:
    """Return a row a comparison, in shares of 1. `own`: what options asked for."""
    left = ("test", "first_range", "second_range")
    numbers = [name for name in Difference.__struct_fields__ if name not in left]
    points = next((list(row.questions) for one in found for row in one.rows), [])
    columns = (
        *fields("one", title="comparison"), Column(None, lambda line: line.one.by if line.row.part else "", key="by"),
        *fields("row", "part", first="first_name", second="second_name"),
        *fields("row.found", "test", *numbers), *fields("row", "smallest"),
        *(Column(None, item("row.questions", amount), key=f"questions_for_{amount}") for amount in points),
        *(column for name, kind in own
          for column in fields(f"row.{name}", **{each: f"{name}_{each}" for each in kind.__struct_fields__})),
    )  # fmt: skip
    return Table("Comparisons", columns, [Line(one, row) for one in found for row in one.rows])


def findings(
    found: Sequence[Comparison],
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

    On one screen: of several pairs everybody's score with a matrix of the differences, and the few parts that hold.
    """  # fmt: skip
    tests = tests_of(found)

    def decisions(*, many: bool) -> list[Table]:
        ranked = [_unclear_first(one, margin) for one in found] if many else found
        tables = [] if margin is None else [_decisions(one, margin, many=many) for one in ranked]
        tables += [_beliefs(one) for one in ranked] if bayesian else []
        return tables + ([_at_any_time(one) for one in ranked] if anytime else [])

    shown = decisions(many=False)
    notes = [*dict.fromkeys(table.legend for table in shown), *closing(found)]
    for one in found:
        shown += [_differences(one, tests), *_power(one), *_flips(one)]
    first = None
    if any(len(_pairs(one)) >= _MATRIX for one in found):
        tables = [table for one in found for table in (_matrix(one, tests), _holding(one, tests))]
        legends = [table.legend for table in tables if table.legend]
        first = (
            [*decisions(many=True), *tables], [*legends, _ALONE, *(line for line in notes if line != POWER)]
        )  # fmt: skip
    for one in found:
        of = f" · {one.title}"
        shown += [
            Table(f"Pairs{of}", fields("", *Row.__struct_fields__), one.rows),
            Table(f"Contestants{of}", fields("", *Side.__struct_fields__), one.contestants),
            Table(f"Notes{of}", (Column(None, str, key="note"),), one.notes),
        ]
    shown.append(Table("Benchmarks", fields("", "title", "by", "correction", "tests", "ordered"), found))
    more = [
        (name, kind)
        for there, name, kind in ((bayesian, "posterior", Posterior), (anytime, "anytime", Anytime))
        if there
    ]
    return Findings(
        found=found, shown=shown, rows=_data(found, more), notes=notes, first=first, exit_code=exit_code,
        verdict=verdict, drawing=drawing,
    )  # fmt: skip
