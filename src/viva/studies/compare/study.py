"""Comparison of contestants, question by question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from viva.analysis.comparing import anytime, apart, compared, compared_apart, counting_alike, decided, flips, paired
from viva.analysis.estimate import UNSURE
from viva.analysis.multiplicity import adjusted
from viva.analysis.posterior import posterior
from viva.analysis.uncertainty import LEVEL
from viva.commands import command
from viva.errors import EXIT_GATE, EXIT_OK, DataError, VivaError, flag, option
from viva.render.findings import Findings
from viva.render.table import signed
from viva.studies.compare.chart import comparing_chart
from viva.studies.compare.choices import FLIPS, MOST, POINTS, CompareConfig
from viva.studies.compare.contestants import (
    Contestant,
    Two,
    chosen_pairs,
    contestants,
    grouped,
    warnings,
    with_readings,
)
from viva.studies.compare.publishedsweeps import PUBLISHED, compare_published
from viva.studies.compare.tables import Comparison, Row, Side, findings
from viva.studies.item_scores import EXAM, existing, score_sets
from viva.visible import plural

_AGGREGATE = re.compile(r"mean|best|(best@|pass@|pass\^)[1-9][0-9]{0,3}")
_NAMED = 3
"""Pairs that a failed gate names."""


@command(CompareConfig, chart="Draw it")
def study(config: CompareConfig) -> Findings[Any]:
    """Compare contestants on the same questions: differences with intervals, tests, wins and losses, the questions that
    flipped, and what difference the set could have shown. Raises VivaError where nothing there can be compared.
    """
    if config.sources[0] in PUBLISHED and not Path(config.sources[0]).exists():
        return compare_published(config.sources, config)
    if config.fail_if and config.margin is None:
        raise VivaError(f"{config.fail_if}: say how much worse matters: {option('margin', 'POINTS')}", field="fail_if")
    if config.unpaired and (config.cluster or config.flips or config.bayesian or config.anytime):
        raise VivaError(
            f"compares means: without it, {option('cluster')}, {option('flips')}, {option('bayesian')} and "
            f"{option('anytime')} have pairs",
            field="unpaired",
        )
    ways = [] if config.aggregate is None else [way.strip() for way in config.aggregate.split(",")]
    if wrong := [way for way in ways if not _AGGREGATE.fullmatch(way)]:
        raise VivaError(
            f"{wrong[0]!r}: write mean, best, best@K, pass@K or pass^K, as in best@1,best@10", field="aggregate"
        )
    sets = score_sets(
        existing(config.sources, PUBLISHED), config.by or EXAM, config.macro_average, cluster=config.cluster or ""
    )
    groups = grouped(contestants(sets, config.model, list(dict.fromkeys(ways))))
    comparisons = _compared(groups, config)
    titles = {comparison.title for comparison in comparisons}
    verdict, failed = _gate(comparisons, [title for title in groups if title not in titles], config)
    return findings(
        comparisons, config.margin, bayesian=config.bayesian, anytime=config.anytime, verdict=verdict,
        exit_code=EXIT_GATE if failed else EXIT_OK, drawing=partial(comparing_chart, comparisons),
    )  # fmt: skip


def _gate(comparisons: Sequence[Comparison], alone: Sequence[str], config: CompareConfig) -> tuple[str, bool]:
    """Return the gate's verdict as a sentence, and whether it fails: on any pair, or on an exam with one contestant."""
    if not config.fail_if:
        return "", False
    if config.fail_if == "worse":
        bad, wanted, held = {"worse by more"}, "worse by more than", "none is shown to be worse by more than"
        alone = ()
    else:
        bad, wanted = {"worse by more", "no better", "open"}, "not shown to be no worse by"
        held = "all are shown to be no worse by"
    rows = [(comparison, row) for comparison in comparisons for row in comparison.rows]
    failed = [
        f"{' '.join(filter(None, (comparison.title, row.part)))}: {row.second} against {row.first} ({_at_worst(row)})"
        for comparison, row in rows if row.decision in bad
    ]  # fmt: skip
    more = [f"{len(failed) - _NAMED:,} more"] if len(failed) > _NAMED else []
    failures = [*failed[:_NAMED], *more, *(f"{title}: one contestant alone" for title in alone)]
    count, margin = plural(len(rows), "decision"), plural(config.margin or 0, "point")
    if failures:
        return f"gate failed, {wanted} {margin}: {'; '.join(failures)}; of {count}", True
    return f"gate passed: of {count} {held} {margin}", False


def _at_worst(row: Row) -> str:
    return " to ".join(signed(100 * end) for end in row.at_worst) if row.at_worst else "nothing to decide by"


def _compared(groups: dict[str, list[Contestant]], config: CompareConfig) -> list[Comparison]:
    """Return the requested comparisons of each benchmark that has any."""
    there = "; ".join(
        f"{title}: {', '.join(contestant.name for contestant in group[:5])}" for title, group in groups.items()
    )
    problem = VivaError(f"a comparison takes two contestants on the same questions; here are {there}")
    chosen: dict[str, list[Two]] = {}
    for title, group in groups.items():
        if len(group) > 2 and not (config.pairs or config.baseline or config.between):
            # So that in every table the second is behind.
            group.sort(key=lambda contestant: contestant.estimate.order, reverse=True)
        try:  # the factor may differ in another benchmark
            if len(group) > 1 and (pairs := chosen_pairs(group, config.between, config.baseline, config.pairs)):
                chosen[title] = pairs
        except VivaError as unknown:
            problem = unknown
    pairs = [two for every in chosen.values() for two in every]
    if not pairs:
        raise problem
    if len(pairs) > MOST:
        raise VivaError(
            f"{sum(map(len, groups.values())):,} contestants make {len(pairs):,} pairs: name one to compare with "
            f"({option('baseline', 'NAME')}), or whom to compare ({option('model', 'NAME')}, "
            f"{option('pairs', 'FIRST=SECOND')})"
        )
    if config.flips is None:
        config = replace(config, flips=FLIPS if len(pairs) == 1 and not config.by else 0)
    tests = sum(len(_lines(two)) for two in pairs) if config.correct != "none" else 1
    comparisons = [_comparison(title, groups[title], pairs, tests, config) for title, pairs in chosen.items()]
    if not any(comparison.rows for comparison in comparisons):
        raise DataError(f"no two of these were asked a question in common. {' '.join(comparisons[0].notes[:3])}")
    every = iter(adjusted([row.found.p for comparison in comparisons for row in comparison.rows], config.correct))
    return [
        replace(
            comparison,
            rows=tuple(replace(row, found=replace(row.found, adjusted=next(every))) for row in comparison.rows),
        )
        for comparison in comparisons
    ]


def _comparison(
    title: str, group: Sequence[Contestant], pairs: Sequence[Two], tests: int, config: CompareConfig
) -> Comparison:
    rows: list[tuple[Row, Two]] = []
    notes: dict[str, None] = {}
    for two in pairs:
        here = [_row(two, name, tests, config) for name in _lines(two)]
        here = [row for row in here if row.found.n or row.found.unscored]
        disjoint = f"{two[0].name} and {two[1].name} have no question in common"
        if not here and (config.pairs or len(pairs) == 1):
            raise DataError(
                f"{disjoint}: compare contestants that were asked the same set, or only their means "
                f"({option('unpaired')})"
            )
        rows += [(row, two) for row in here]
        notes |= dict.fromkeys(_notes(*two, here, config) if here else [f"Left out: {disjoint}."])
    compared = {contestant for _, two in rows for contestant in two}
    return Comparison(
        title=title,
        by=config.by or "",
        correction=config.correct,
        contestants=tuple(
            Side(
                name=contestant.name,
                source=str(contestant.scored.source),
                settings=contestant.settings,
                estimate=contestant.estimate,
            )
            for contestant in group
            if contestant in compared
        ),
        rows=tuple(with_readings(rows)),
        notes=tuple(notes),
        tests=tests,
        ordered=config.anytime and not all(map(shuffled, group)),
    )


def _lines(two: Two) -> list[str]:
    """Return the columns or values of --by, else one."""
    return list(dict.fromkeys(name for contestant in two for name in contestant.scored.lines))


def _row(two: Two, part: str, tests: int, config: CompareConfig) -> Row:
    """Return the difference on the questions of these lines, with the requested tests."""
    first, second = two
    lines = first.scored.lines.get(part) or second.scored.lines[part]
    over = next((line.over for line in lines if line.over), "")
    sides = first.questions(lines, second), second.questions(lines, first)
    pairs = None if config.unpaired else paired(*sides, over)
    difference = compared(pairs) if pairs else compared_apart(*sides, over)
    alike = counting_alike(pairs) if pairs and config.anytime else None
    margin = config.margin and config.margin / 100
    worst = None
    if margin is not None and difference.low is not None:
        worst = (pairs.spreads() if pairs else apart(*sides, over)).interval(1 - (1 - LEVEL) / tests)
    points = [f"{point:g}" for point in config.detect] or list(POINTS)
    limit = config.flips or 0
    return Row(
        first=first.name,
        second=second.name,
        part=part if config.by else "",
        found=difference,
        smallest=difference.smallest,
        questions={point: difference.questions_for(float(point) / 100) for point in points},
        gained=tuple(flips(pairs, limit, "gained")) if pairs else (),
        lost=tuple(flips(pairs, limit, "lost")) if pairs else (),
        posterior=posterior(pairs, margin, config.seed) if pairs and config.bayesian else None,
        anytime=None if alike is None else anytime(alike, tests),
        at_worst=worst,
        decision=None if margin is None else decided(worst, margin),
    )


def shuffled(contestant: Contestant) -> bool:
    """Return whether the contestant is known to have been asked in a random order."""
    return bool(contestant.scored.record and contestant.scored.record.spec.shuffle)


def _notes(first: Contestant, second: Contestant, rows: Sequence[Row], config: CompareConfig) -> Iterator[str]:
    """Yield notes on unfairness and on what the numbers omit, for the whole set or its largest part."""
    both = f"{first.name} → {second.name}"
    if unfair := list(warnings(first, second)):
        yield f"Not a fair comparison, {both}: {'; '.join(unfair)}."
    if "best@" in first.attempts + second.attempts:
        yield "best@K: to expect of K answers drawn from all (`viva score`: unbiased), not the best of each K in order."
    if first.scored is second.scored:
        yield f"{both}: the same answers, counted in two ways: p says that it is no chance, not that it matters."
    if config.unpaired:
        yield f"{both}: means of two sets as if drawn apart; the same questions to both would show smaller differences."
        return
    ordered = [contestant.name for contestant in (first, second) if not shuffled(contestant)]
    if config.anytime and ordered:
        yield (
            f"{both}: not asked in a random order, or not known to be: {', '.join(ordered)}. The test at all times "
            f"is then right only once both have answered every question; `viva run {flag('shuffle')}` asks in a "
            "random order."
        )
    whole = max(rows, key=lambda row: row.found.n + row.found.unscored).found
    if whole.only_first or whole.only_second:
        yield (
            f"{both}: {whole.n + whole.unscored:,} questions are in both; {whole.only_first:,} of the first and "
            f"{whole.only_second:,} of the second alone are left out."
        )
    if whole.unscored:
        yield (
            f"{UNSURE} {both}: {plural(whole.unscored, 'question has', 'questions have')} no score on one side or "
            "both: left out of the difference, and in its bounds and interval."
        )
