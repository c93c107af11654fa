"""Comparisons as tables and as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.anytime import Anytime
from viva.analysis.comparing import Difference, Flip
from viva.analysis.multiplicity import NAMES, Correction
from viva.analysis.posterior import Posterior
from viva.reports.grids import WORDS
from viva.reports.printing import StudyResult
from viva.reports.result import RANGE, UNSURE, Grid, p_text, percent, signed
from viva.types import outcome_name
from viva.visible import one_line, plural

LEGEND = (
    "Per cent. Difference: the second minus the first, over the questions that both have a score for, with its 95 % "
    "interval; wins: questions on which the second is better."
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
    "adjusted Wald": (
        "a t test with two more questions, one a whole point up and one down (the two were not asked equally often)"
    ),
    "sign, exact": "an exact sign test",
    "sign, nearly exact": "a sign test",
    "permutation, exact": "a sign-flip permutation test of all signs",
    "permutation, nearly exact": "a sign-flip permutation test of all signs (nearly exact: some answers are missing)",
    "permutation, random": "a sign-flip permutation test of random signs (the smallest p it can give: {resolution})",
}
MARGIN = (
    "Margin: by where the whole 95 % interval lies (one-sided 2.5 %), at worst: moved outwards as far as answers "
    "without a score could move it. No worse: above minus the margin; equivalent: within it on both sides; open: "
    "neither."
)
LARGEST = "the largest that it can be, whatever the verdicts are that are not there"
POSTERIOR = (
    "P(second better): how probable it is that the second is better, given the questions that both have a score for, "
    "if before them both were as likely to be; the difference is 95 % probable to lie in its interval. Not adjusted "
    "for several comparisons."
)
ANYTIME = (
    "Looked at as often as you like: e, the evidence against no difference (20 and more is significant at 5 %), its p, "
    "and the interval hold after every question at once and whenever you stop, if the questions so far are a random "
    "draw (asked in a random order). –: where questions do not count alike (--macro-average question), or belong "
    "together."
)
_TIPPING = 3
"""Pairs of which it is said what missing answers could change."""
_LISTED = 12
"""Notes of a kind that are shown; the others are counted."""


class Side(Struct, frozen=True, kw_only=True):
    """A contestant: what it is called, where it is from, and all that is known of how it was asked and graded."""

    name: str
    source: str
    settings: dict[str, str]


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


class Comparison(Struct, frozen=True, kw_only=True):
    """All comparisons of one benchmark."""

    title: str
    by: str
    correction: Correction
    contestants: tuple[Side, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def difference_text(found: Difference) -> str:
    """`+3.20 [+0.40, +6.00]`, and `−9.00 to +31.00† [−14.20, +36.00]` where there is no difference but a range."""
    if found.one_sided:
        between = "" if found.low is None else f" [{signed(100 * found.low)}, {signed(100 * (found.high or 0))}]"
        return f"{_bounds(found)}{UNSURE}{between}"
    if found.difference is None:
        return "–"
    if found.low is None or found.high is None:
        return signed(100 * found.difference)
    return f"{signed(100 * found.difference)} [{signed(100 * found.low)}, {signed(100 * found.high)}]"


def test_text(p: float | None, found: Difference) -> str:
    """`0.012`, and `≤ 0.012` where it depends on verdicts that are not there."""
    return p_text(p) if p is None or p < 0.001 or not found.one_sided else f"≤ {p_text(p)}"


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
    bounded = any(_bounds(row.found) for row in one.rows)
    adjusted = one.correction != "none" and tests > 1
    header = (
        *names, "questions", "first %", "second %", "difference", "p",
        *((f"p ({NAMES[one.correction]})",) if adjusted else ()), "wins", "ties", "losses",
        *(("bounds",) if bounded else ()),
    )  # fmt: skip
    rows = tuple(
        (
            *cells(row), f"{row.found.n:,}", _mean(row.found.first, row.found.first_range, row.found),
            _mean(row.found.second, row.found.second_range, row.found), difference_text(row.found),
            test_text(row.found.p, row.found), *((test_text(row.found.adjusted, row.found),) if adjusted else ()),
            *("–" if count is None else f"{count:,}" for count in (row.found.wins, row.found.ties, row.found.losses)),
            *((_bounds(row.found),) if bounded else ()),
        )
        for row in one.rows
    )  # fmt: skip
    return Grid(f"Comparison · {one.title}{title}", header, rows, drop=_DROP, keep=_KEEP)


_DROP = ("losses", "ties", "wins", "questions", "bounds", "second %", "first %")
_KEEP = ("first", "second", "difference")


def _decisions(one: Comparison, margin: float) -> Grid:
    """What can be said of the second, up to a margin in points."""
    names, cells, title = _names(one, short=False)
    rows = tuple(
        (
            *cells(row),
            difference_text(row.found),
            _between(row.found.whatever_is_lost()),
            row.found.against(margin / 100),
        )
        for row in one.rows
    )
    header = (*names, "difference", "at worst", "the second is")
    return Grid(
        f"Up to a margin of {margin:g} points · {one.title}{title}", header, rows,
        drop=("difference",), keep=("first", "second", "the second is"), asked=True, legend=MARGIN,
    )  # fmt: skip


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
    return Grid(
        f"Looked at as often as you like · {one.title}{title}", header, rows,
        drop=("difference",), keep=("first", "second", "at all times", "p, at all times"), asked=True, legend=ANYTIME,
    )  # fmt: skip


_ORDER = ("equivalent", "open", "no worse", "no better", "better by more", "worse by more")


def _unclear_first(one: Comparison, margin: float | None) -> Comparison:
    """Equivalent and open rows first, those that are clear last; of these what is nearest to the margin, in points."""

    def clear(row: Row) -> tuple[int, float]:
        away = abs(abs(row.found.difference or 0.0) - (margin or 0.0) / 100) / (row.found.error or 1.0)
        return 0 if margin is None else _ORDER.index(row.found.against(margin / 100)), away

    return replace(one, rows=tuple(sorted(one.rows, key=clear)))


def _counted(one: Comparison, margin: float) -> Grid:
    """The decisions of many pairs: how many there are of each, and the differences without their intervals."""
    grid = _decisions(one, margin)
    at = grid.header.index("difference")
    rows = tuple(
        (*cells[:at], _change(row.found), *cells[at + 1 :]) for cells, row in zip(grid.rows, one.rows, strict=True)
    )
    decided = [row[-1] for row in grid.rows]
    counts = ", ".join(f"{decided.count(name):,} {name}" for name in _ORDER if name in decided)
    title = f"Up to a margin of {margin:g} points: {counts} · {one.title}"
    return Grid(title, grid.header, rows, drop=("at worst",), keep=grid.keep, asked=True, legend=grid.legend)


def _change(found: Difference) -> str:
    return "–" if found.difference is None else signed(100 * found.difference)


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
    lost = " and ".join(f"{name}'s missing or unreadable answers ({plural(n, 'question')})" for name, n in sides if n)
    if not 0 < found.tipping < 1:
        leader, other = (ahead, behind) if found.tipping <= 0 else (behind, ahead)
        return f"{where}{leader} is ahead of {other} whatever became of {lost}."
    digits = 0 if 0.01 <= found.tipping <= 0.99 else 2
    share, rest = (f"{100 * value:.{digits}f} %" for value in (found.tipping, 1 - found.tipping))
    answers, need = "missing or unreadable answers", []
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
        "those that change most easily first (--format json has all: tipping)."
    )
    return [count, *map(_tipping, loose[:_TIPPING])]


def _left_out(found: Sequence[Comparison]) -> str:
    """The notes on questions without a score, of many pairs in one."""
    rows = [row.found for one in found for row in _pairs(one).values()]
    lost = [row.unscored for row in rows if row.unscored]
    return (
        f"{UNSURE} {len(lost):,} of {len(rows):,} pairs leave out questions that have no score on one side or both, "
        f"{min(lost, default=0):,} to {max(lost, default=0):,} of them; --all has each pair's bounds."
    )


_MATRIX = 3
"""From so many pairs on, a screen shows them as a matrix."""
_STAR = "Matrix: row minus column, in points. *: p ≤ 0.05, adjusted for the {count} tests of this report."


def _pairs(one: Comparison) -> dict[tuple[str, str], Row]:
    """Every pair's row of the whole: the last of its parts, which is the mean of all."""
    return {(row.first, row.second): row for row in one.rows}


def _held(row: Row) -> bool:
    """Whether a difference is more than chance, adjusted as the report adjusts."""
    p = row.found.p if row.found.adjusted is None else row.found.adjusted
    return p is not None and p <= 0.05


def _matrix(one: Comparison, tests: int) -> Grid:
    """Who is how far ahead of whom, the best first: differences of the wholes, row minus column."""
    pairs = _pairs(one)
    scores: dict[str, float] = {}
    for (first, second), row in pairs.items():
        for name, mean in ((first, row.found.first), (second, row.found.second)):
            scores[name] = max(scores.get(name, -1.0), -1.0 if mean is None else mean)
    names = sorted(scores, key=lambda name: -scores[name])
    digits = 1 if len(names) <= 8 else 0

    def cell(above: str, below: str) -> str:
        row, sign = (pairs.get((below, above)), 1) if (below, above) in pairs else (pairs.get((above, below)), -1)
        if row is None or row.found.difference is None:
            return "" if row is None else f"–{UNSURE}"
        return signed(sign * 100 * row.found.difference, digits) + ("*" if _held(row) else "")

    header = ("", "model", "score", *(str(number) for number in range(2, len(names) + 1)))
    rows = tuple(
        (
            str(place + 1), name, "–" if scores[name] < 0 else percent(scores[name], 1),
            *("" if at <= place else cell(name, other) for at, other in enumerate(names) if at),
        )
        for place, name in enumerate(names)
    )  # fmt: skip
    return Grid(
        f"Comparison · {one.title}", header, rows, keep=("model", "score"), legend=_STAR.format(count=f"{tests:,}")
    )


def _holding(one: Comparison, tests: int) -> Grid:
    """The differences in parts that are more than chance, the largest first; without parts, of the wholes."""
    wholes = {id(row) for row in _pairs(one).values()}
    has_parts = any(id(row) not in wholes for row in one.rows)
    rows = [row for row in one.rows if _held(row) and not (has_parts and id(row) in wholes)]
    rows.sort(key=lambda row: -abs(row.found.difference or 0))
    title = f"{len(rows):,} of {tests:,} differences{f' by {one.by}' if has_parts else ''} hold · {one.title}"
    shown = _differences(replace(one, rows=tuple(rows)), tests)
    at = [number for number, name in enumerate(shown.header) if name not in ("p", "wins", "ties", "losses", "bounds")]
    drop = ("questions", "first %", "second %")
    cells = tuple(tuple(row[number] for number in at) for row in shown.rows)
    return Grid(title, tuple(shown.header[number] for number in at), cells, drop=drop, keep=_KEEP)


def _mean(mean: float | None, between: tuple[float, float] | None, found: Difference) -> str:
    if between is not None:
        return f"{percent(between[0])}–{percent(between[1])}{UNSURE}"
    return percent(mean) + (UNSURE if found.unscored and mean is not None else "")


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
    if any(row.found.one_sided for row in rows):
        lines.append(f"{UNSURE} after a range: {RANGE}.")
        lines.append(f"p of a range: {LARGEST}; there is none where they can make either the better one.")
    for one in found:
        lines += one.notes[:_LISTED]
        if len(one.notes) > _LISTED:
            lines.append(f"… and {plural(len(one.notes) - _LISTED, 'more note')}; --format json has all.")
    return lines


def tests_of(found: Sequence[Comparison]) -> int:
    """How many tests there are in all."""
    return sum(1 for one in found for row in one.rows if row.found.p is not None)


def _tests(rows: Sequence[Row]) -> str:
    names = dict.fromkeys(row.found.test for row in rows)
    finest = max((row.found.resolution or 0.0 for row in rows), default=0.0)
    return ", ".join(TESTS[name].format(resolution=f"{finest:f}".rstrip("0")) for name in names if name in TESTS)


def _bounds(found: Difference) -> str:
    """What the difference would be if all that is unscored counted for the one or the other."""
    if found.floor is None or found.ceiling is None or found.ceiling - found.floor < 1e-9:
        return ""
    return f"{signed(100 * found.floor)} to {signed(100 * found.ceiling)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Comparisons(StudyResult):
    """Contestants compared, benchmark by benchmark."""

    found: tuple[Comparison, ...]
    margin: float | None = None
    """Points up to which a difference does not matter."""
    bayesian: bool = False
    anytime: bool = False
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
        """The legend, and what must be known beside the numbers."""
        asked = ((self.margin is not None, MARGIN), (self.bayesian, POSTERIOR), (self.anytime, ANYTIME))
        return [*(text for there, text in asked if there), *closing(self.found)]

    def overview(self) -> tuple[Sequence[Grid], Sequence[str]]:
        """Of several pairs, a matrix of the differences in all, and the few of the parts that hold."""
        if all(len(_pairs(one)) < _MATRIX for one in self.found):
            return self.tables(), self.closing()
        tests = tests_of(self.found)
        grids = [grid for one in self.found for grid in (_matrix(one, tests), _holding(one, tests))]
        unsure = [note for one in self.found for note in one.notes if note.startswith(UNSURE)]
        shown = self
        if len(unsure) >= _MATRIX:
            fewer = [replace(one, notes=tuple(note for note in one.notes if note not in unsure)) for one in self.found]
            shown = dataclasses.replace(self, found=tuple(fewer))
        lines = [line for line in shown.closing() if line != POWER]
        lines += [] if shown is self else [_left_out(self.found)]
        return [*self._decisions(many=True), *grids], [_STAR.format(count=f"{tests:,}"), *lines]

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """A row a comparison, in shares of 1."""
        numbers = [name for name in Difference.__struct_fields__ if name not in ("test", "first_range", "second_range")]
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

    drawing = "viva.reports.charts.comparing:comparing_chart"

    def drawn(self) -> tuple[object, ...]:
        """Differences with their intervals."""
        return (self.found,)
