"""Comparisons as tables and as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.anytime import Anytime
from viva.analysis.comparing import Decision, Difference, Flip
from viva.analysis.estimate import Estimate
from viva.analysis.multiplicity import NAMES, Correction
from viva.analysis.posterior import Posterior
from viva.analysis.wording import UNSURE, clusters_text, interval_text, mean_text, percent, range_text
from viva.errors import EXIT_OK, flag
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.result import RANGE
from viva.render.table import Grid, p_text, signed
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
    """`+3.20 [+0.40, +6.00]`; `+3.20† (−2.10 to +8.00) [−4.90, +10.80]` where answers are missing, and
    `−9.00 to +31.00† [−14.20, +36.00]` where there is a range in place of a difference."""
    if found.difference is None:
        return "–" if found.low is None else f"{_bounds(found)}{UNSURE}{_interval(found)}"
    marked = "" if found.complete else f"{UNSURE} ({_bounds(found)})"
    return f"{signed(100 * found.difference)}{marked}{_interval(found)}"


def _interval(found: Difference) -> str:
    return (
        "" if found.low is None or found.high is None else f" [{signed(100 * found.low)}, {signed(100 * found.high)}]"
    )


def comparison_grids(one: Comparison, tests: int) -> list[Grid]:
    """Differences, power, and the questions that flipped. `tests`: how many p-values were adjusted together."""
    return [grid for grid in (_differences(one, tests), _power(one), _flips(one)) if grid is not None]


def _names(one: Comparison, *, short: bool) -> tuple[tuple[str, ...], Callable[[Row], tuple[str, ...]], str]:
    """The columns that say what a row is about, and what the title says in their place where it is always the same.

    `short`: the table has much else to say.
    """
    has_parts = any(row.part for row in one.rows)
    alone = (has_parts or short) and len(_pairs(one)) == 1
    header = (*((one.by,) if has_parts else ()), *(() if alone else ("first", "second")))
    title = f" · {one.rows[0].first} → {one.rows[0].second}" if alone else ""

    def cells(row: Row) -> tuple[str, ...]:
        return (*((row.part,) if has_parts else ()), *(() if alone else (row.first, row.second)))

    return header, cells, title


def _differences(one: Comparison, tests: int) -> Grid:
    names, cells, title = _names(one, short=False)
    adjusted = one.correction != "none" and tests > 1
    header = (
        *names, "questions", "first %", "second %", "difference", "p",
        *((f"p ({NAMES[one.correction]})",) if adjusted else ()), "second better", "alike", "first better",
    )  # fmt: skip
    rows = tuple(
        (
            *cells(row), f"{row.found.n:,}", _mean(row.found.first, row.found.first_range),
            _mean(row.found.second, row.found.second_range), difference_text(row.found),
            p_text(row.found.p), *((p_text(row.found.adjusted),) if adjusted else ()),
            *("–" if count is None else f"{count:,}" for count in (row.found.wins, row.found.ties, row.found.losses)),
        )
        for row in one.rows
    )  # fmt: skip
    return Grid(f"Comparison · {one.title}{title}", header, rows, drop=_DROP, keep=_KEEP)


_DROP = ("first better", "alike", "second better", "questions", "second %", "first %")
_KEEP = ("first", "second", "difference")


def _decisions(one: Comparison, margin: float) -> Grid:
    """What can be said of the second, up to a margin in points."""
    names, cells, title = _names(one, short=False)
    rows = tuple(
        (
            *cells(row),
            _change(row.found),
            _between(row.at_worst),
            row.decision or "open",
        )
        for row in one.rows
    )
    header = (*names, "difference", "at worst", "the second is")
    return Grid(
        f"Up to a margin of {plural(margin, 'point')} · {one.title}{title}", header, rows,
        drop=("difference",), keep=("first", "second", "the second is"), asked=True, legend=_margin(one),
    )  # fmt: skip


def _margin(one: Comparison) -> str:
    return MARGIN.format(of_all=_OF_ALL.format(count=f"{one.tests:,}") if one.tests > 1 else "")


def _looked_at(one: Comparison) -> str:
    of_all = _OF_ALL.format(count=f"{one.tests:,}") if one.tests > 1 else ""
    return ANYTIME.format(limit=f"{20 * one.tests:,}", of_all=of_all)


def _beliefs(one: Comparison) -> Grid:
    """How probable it is that the second is better, and, with a margin, no worse or equivalent."""
    names, cells, title = _names(one, short=False)
    margin = any(row.posterior and row.posterior.no_worse is not None for row in one.rows)
    header = (
        *names, "difference", "95 % probable", "P(second better)", *(("P(no worse)", "P(equivalent)") if margin else ())
    )  # fmt: skip

    def told(row: Row) -> tuple[str, ...]:
        found = row.posterior
        if found is None:
            return ("–",) * (4 if margin else 2)
        odds = (found.better, *((found.no_worse, found.equivalent) if margin else ()))
        return _between((found.low, found.high)), *(probability(each) for each in odds)

    rows = tuple((*cells(row), _change(row.found), *told(row)) for row in one.rows)
    return Grid(
        f"Probably better · {one.title}{title}", header, rows, drop=("difference",),
        keep=("first", "second", *header[len(names) + 2 :]), asked=True, legend=POSTERIOR,
    )  # fmt: skip


def _at_any_time(one: Comparison) -> Grid:
    """The test that may be looked at as often as one likes."""
    names, cells, title = _names(one, short=False)
    rows = tuple(
        (*cells(row), _change(row.found), *(("–",) * 3 if found is None else (
            _between((found.low, found.high)), f"{found.e:,.3g}" if found.e < 1e6 else "> 1,000,000", p_text(found.p))))
        for row in one.rows
        for found in (row.anytime,)
    )  # fmt: skip
    header = (*names, "difference", "at all times", "e", "p, at all times")
    unsure = " · not asked in a random order, or not known to be" if one.ordered else ""
    return Grid(
        f"Looked at as often as you like{unsure} · {one.title}{title}", header, rows,
        drop=("difference",), keep=("first", "second", "at all times", "p, at all times"), asked=True,
        legend=_looked_at(one),
    )  # fmt: skip


_ORDER = ("equivalent", "open", "no worse", "no better", "better by more", "worse by more")


def _unclear_first(one: Comparison, margin: float | None) -> Comparison:
    """Equivalent and open rows first, those that are clear last; of these what is nearest to the margin, in points."""

    def clear(row: Row) -> tuple[int, float]:
        away = abs(abs(row.found.difference or 0.0) - (margin or 0.0) / 100) / (row.found.error or 1.0)
        return 0 if margin is None else _ORDER.index(row.decision or "open"), away

    return replace(one, rows=tuple(sorted(one.rows, key=clear)))


def _counted(one: Comparison, margin: float) -> Grid:
    """The decisions of many pairs, and how many there are of each."""
    grid = _decisions(one, margin)
    decided = [row[-1] for row in grid.rows]
    counts = ", ".join(f"{decided.count(name):,} {name}" for name in _ORDER if name in decided)
    title = f"Up to a margin of {plural(margin, 'point')}: {counts} · {one.title}"
    return replace(grid, title=title, drop=("at worst",))


def _change(found: Difference) -> str:
    return "–" if found.difference is None else signed(100 * found.difference) + ("" if found.complete else UNSURE)


def probability(value: float | None) -> str:
    """`0.973`, and never 0 or 1, which nothing is."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else "> 0.999" if value > 0.999 else f"{value:.3f}"


def _between(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{signed(100 * interval[0])} to {signed(100 * interval[1])}"


def _tipping(row: Row) -> str:
    """What would change the order of two contestants; "" where nothing is unscored."""
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
    """Which orders missing answers could change, those that change most easily first, and how many more there are."""
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
    """Every pair's row of the whole: the last of its parts, which is the mean of all."""
    return {(row.first, row.second): row for row in one.rows}


def _held(row: Row) -> bool:
    """Whether a difference is more than chance, adjusted as the report adjusts."""
    p = row.found.p if row.found.adjusted is None else row.found.adjusted
    return p is not None and p <= 0.05


def _matrix(one: Comparison, tests: int) -> Grid:
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
        mark = ("" if row.found.complete else UNSURE) + ("*" if _held(row) else "")
        number = f" ({row.found.n:,})" if len(counts) > 1 and digits else ""
        return signed(sign * 100 * row.found.difference, digits) + mark + number

    header = ("", "model", "score", "95 % interval", *(str(number) for number in range(2, len(sides) + 1)))
    rows = tuple(
        (
            str(place + 1), side.name, mean_text(side.estimate), interval_text(side.estimate),
            *("" if at <= place else cell(side, other) for at, other in enumerate(sides) if at),
        )
        for place, side in enumerate(sides)
    )  # fmt: skip
    some = f"{min(counts):,} to {max(counts):,}" if len(counts) > 1 else f"{next(iter(counts)):,}"
    over = f" on the {some} questions that both have a score for" + (
        " (their number)" if len(counts) > 1 and digits else ""
    )
    return Grid(
        f"Comparison · {one.title}", header, rows, drop=("95 % interval",), keep=("model", "score"),
        legend=_STAR.format(count=f"{tests:,}", over=over),
    )  # fmt: skip


def _holding(one: Comparison, tests: int) -> Grid:
    """The differences in parts that are more than chance, the largest first; without parts, of the wholes."""
    wholes = {id(row) for row in _pairs(one).values()}
    has_parts = any(id(row) not in wholes for row in one.rows)
    rows = [row for row in one.rows if _held(row) and not (has_parts and id(row) in wholes)]
    rows.sort(key=lambda row: -abs(row.found.difference or 0))
    title = f"{len(rows):,} of {tests:,} differences{f' by {one.by}' if has_parts else ''} hold · {one.title}"
    shown = _differences(replace(one, rows=tuple(rows)), tests)
    left = ("p", "second better", "alike", "first better")
    at = [number for number, name in enumerate(shown.header) if name not in left]
    drop = ("questions", "first %", "second %")
    cells = tuple(tuple(row[number] for number in at) for row in shown.rows)
    return Grid(title, tuple(shown.header[number] for number in at), cells, drop=drop, keep=_KEEP)


def _mean(mean: float | None, between: tuple[float, float] | None) -> str:
    return percent(mean) if between is None else f"{range_text(*between)}{UNSURE}"


def _power(one: Comparison) -> Grid | None:
    told = [row for row in one.rows if row.smallest is not None]
    if not told:
        return None
    names, cells, title = _names(one, short=False)
    points = list(told[0].questions)
    header = (
        *names,
        "differing",
        "error",
        "smallest",
        *(f"for {amount} point{'' if amount == '1' else 's'}" for amount in points),
    )
    rows = tuple(
        (
            *cells(row), _differing(row.found), percent(row.found.error),
            percent(row.smallest),
            *("–" if count is None else f"{count:,}" for count in row.questions.values()),
        )
        for row in told
    )  # fmt: skip
    return Grid(f"What this set can show · {one.title}{title}", header, rows, legend=POWER)


def _differing(found: Difference) -> str:
    """The share of questions that differ; of no pairs there is none."""
    moved = (found.wins or 0) + (found.losses or 0)
    pairs = moved + (found.ties or 0)
    return percent(moved / pairs) if pairs else "–"


def _flips(one: Comparison) -> Grid | None:
    if not any(row.gained or row.lost for row in one.rows):
        return None
    names, cells, title = _names(one, short=True)
    read = any(flip.first_read or flip.second_read for row in one.rows for flip in (*row.gained, *row.lost))
    whose = ("read by the first", "read by the second") if read else ()
    header = (*names, "question", "first %", "second %", "outcome", *whose)
    rows = tuple(
        (
            *cells(row), one_line(flip.question, 60), percent(flip.first, 0), percent(flip.second, 0),
            f"{outcome_name(flip.first_outcome)} → {outcome_name(flip.second_outcome)}",
            *((_read(flip.first_read), _read(flip.second_read)) if read else ()),
        )
        for row in one.rows
        for flip in (*row.gained, *row.lost)
    )  # fmt: skip
    return Grid(f"Questions that flipped: gained, then lost · {one.title}{title}", header, rows)


def _read(texts: Sequence[str]) -> str:
    """Every different reading once, with how often it was there."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[one_line(text, 40) or "–"] = counts.get(one_line(text, 40) or "–", 0) + 1
    return ", ".join(text if count == 1 else f"{text} ×{count}" for text, count in list(counts.items())[:5])


def closing(found: Sequence[Comparison]) -> list[str]:
    """The legend, and what must be known beside the numbers."""
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
    """How many tests there are in all."""
    return sum(1 for one in found for row in one.rows if row.found.p is not None)


def _tests(rows: Sequence[Row]) -> str:
    names = dict.fromkeys(row.found.test for row in rows if row.found.p is not None)
    return ", ".join(TESTS[name] for name in names if name in TESTS)


def _bounds(found: Difference) -> str:
    """What the difference can be when all that is missing is decided."""
    return _between(None if found.floor is None or found.ceiling is None else (found.floor, found.ceiling))


@dataclasses.dataclass(frozen=True, repr=False)
class Comparisons(StudyResult):
    """Contestants compared, benchmark by benchmark."""

    found: tuple[Comparison, ...]
    margin: float | None = None
    """Points up to which a difference does not matter."""
    bayesian: bool = False
    anytime: bool = False
    exit_code: int = EXIT_OK
    verdict: str = ""
    drawing: Drawing = None
    words = WORDS | {
        "the second is",
        "first",
        "second",
        "question",
        "read by the first",
        "read by the second",
        "outcome",
    }

    def tables(self) -> list[Grid]:
        """Differences, power and flips of every benchmark."""
        tests = tests_of(self.found)
        return [*self._decisions(), *(grid for one in self.found for grid in comparison_grids(one, tests))]

    def _decisions(self, *, many: bool = False) -> list[Grid]:
        found = [_unclear_first(one, self.margin) for one in self.found] if many else self.found
        decisions = _counted if many else _decisions
        grids = [] if self.margin is None else [decisions(one, self.margin) for one in found]
        grids += [_beliefs(one) for one in found] if self.bayesian else []
        return grids + ([_at_any_time(one) for one in found] if self.anytime else [])

    def closing(self) -> list[str]:
        """The legend, and what must be known next to the numbers."""
        asked = ((self.margin is not None, _margin), (self.bayesian, lambda _: POSTERIOR), (self.anytime, _looked_at))
        return [*(text(self.found[0]) for there, text in asked if there), *closing(self.found)]

    def overview(self) -> tuple[Sequence[Grid], Sequence[str]]:
        """Of several pairs everybody's score with a matrix of the differences, and the few of the parts that hold."""
        if all(len(_pairs(one)) < _MATRIX for one in self.found):
            return self.tables(), self.closing()
        tests = tests_of(self.found)
        grids = [grid for one in self.found for grid in (_matrix(one, tests), _holding(one, tests))]
        lines = [line for line in self.closing() if line != POWER]
        legends = [grid.legend for grid in grids if grid.legend]
        return [*self._decisions(many=True), *grids], [*legends, _ALONE, *lines]

    def records(self) -> Records:
        """A row a comparison, in shares of 1."""
        left = ("test", "first_range", "second_range")
        numbers = [name for name in Difference.__struct_fields__ if name not in left]
        points = next((list(row.questions) for one in self.found for row in one.rows), [])
        header = ["comparison", "by", "part", "first_name", "second_name", "test", *numbers, "smallest"]
        more = [("posterior", each) for each in Posterior.__struct_fields__] if self.bayesian else []
        more += [("anytime", each) for each in Anytime.__struct_fields__] if self.anytime else []
        header += [f"questions_for_{amount}" for amount in points]
        return [*header, *(f"{name}_{each}" for name, each in more)], [
            (
                *(one.title, one.by if row.part else "", row.part, row.first, row.second, row.found.test),
                *(getattr(row.found, name) for name in numbers),
                *(row.smallest, *row.questions.values()),
                *(getattr(getattr(row, name), each, None) for name, each in more),
            )
            for one in self.found
            for row in one.rows
        ]

    def data(self) -> object:
        """Comparisons, and the lines below the tables."""
        return {"comparisons": list(self.found), "closing": self.closing()}
