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
    read_flips,
    warnings,
)
from viva.studies.compare.publishedpairs import PUBLISHED, compare_published
from viva.studies.compare.tables import Comparison, Row, findings
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
    ways = [way.strip() for way in config.aggregate.split(",")] if config.aggregate is not None else []
    if wrong := [way for way in ways if not _AGGREGATE.fullmatch(way)]:
        raise VivaError(
            f"{wrong[0]!r}: write mean, best, best@K, pass@K or pass^K, as in best@1,best@10", field="aggregate"
        )
    sets = score_sets(
        existing(config.sources, PUBLISHED), config.by or EXAM, config.macro_average, cluster=config.cluster or "",
        models=config.model, exams=config.exam,
    )  # fmt: skip
    groups = grouped(contestants(sets, list(dict.fromkeys(ways))))
    comparisons = _compared(groups, config)
    titles = {comparison.title for comparison in comparisons}
    verdict, failed = _gate(comparisons, [title for title in groups if title not in titles], config)
    return findings(
        comparisons, config, verdict=verdict, exit_code=EXIT_GATE if failed else EXIT_OK,
        drawing=partial(comparing_chart, comparisons),
    )  # fmt: skip


def _gate(comparisons: Sequence[Comparison], alone: Sequence[str], config: CompareConfig) -> tuple[str, bool]:
    """Return the gate's verdict as a sentence, and whether it fails: on any pair, or on an exam with one contestant."""
    if not config.fail_if:
        return "", False
    bad, wanted, held = {"worse by more"}, "worse by more than", "none is shown to be worse by more than"
    if config.fail_if == "not-shown":
        bad |= {"no better", "open"}
        wanted, held = "not shown to be no worse by", "all are shown to be no worse by"
    rows = [(comparison, row) for comparison in comparisons for row in comparison.rows]
    failed = [
        f"{' '.join(filter(None, (comparison.title, row.part)))}: {row.second} against {row.first} ({_at_worst(row)})"
        for comparison, row in rows if row.decision in bad
    ]  # fmt: skip
    more = [f"{len(failed) - _NAMED:,} more"] if len(failed) > _NAMED else []
    single = [f"{title}: one contestant alone" for title in alone if config.fail_if == "not-shown"]
    count, margin = plural(len(rows), "decision"), plural(config.margin or 0, "point")
    if failures := [*failed[:_NAMED], *more, *single]:
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
    count = sum(map(len, chosen.values()))
    if not count:
        raise problem
    if count > MOST:
        raise VivaError(
            f"{sum(map(len, groups.values())):,} contestants make {count:,} pairs: name one to compare with "
            f"({option('baseline', 'NAME')}), or whom to compare ({option('model', 'NAME')}, "
            f"{option('pairs', 'FIRST=SECOND')})"
        )
    if config.flips is None:
        config = replace(config, flips=FLIPS if count == 1 and not config.by else 0)
    tests = 1
    if config.correct != "none":
        tests = sum(len(_lines(two)) for pairs in chosen.values() for two in pairs)
    comparisons = [_comparison(title, groups[title], pairs, tests, config) for title, pairs in chosen.items()]
    rows = [row for comparison in comparisons for row in comparison.rows]
    if not rows:
        raise DataError(f"no two of these were asked a question in common. {' '.join(comparisons[0].notes[:3])}")
    for row, p in zip(rows, adjusted([row.found.p for row in rows], config.correct), strict=True):
        row.found = replace(row.found, adjusted=p)
    return comparisons


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
    read_flips(rows)
    there = {contestant for _, two in rows for contestant in two}
    return Comparison(
        title=title, by=config.by or "", contestants=[contestant for contestant in group if contestant in there],
        rows=[row for row, _ in rows], notes=list(notes), tests=tests,
    )  # fmt: skip


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
    points = [f"{point:g}" for point in config.detect] or POINTS
    row = Row(
        first=first.name, second=second.name, part=part if config.by else "", found=difference,
        questions={point: difference.questions_for(float(point) / 100) for point in points},
    )  # fmt: skip
    margin = config.margin and config.margin / 100
    if margin is not None:
        if difference.low is not None:
            spreads = pairs.spreads() if pairs else apart(*sides, over)
            row.at_worst = spreads.interval(1 - (1 - LEVEL) / tests)
        row.decision = decided(row.at_worst, margin)
    if pairs:
        row.gained, row.lost = (flips(pairs, config.flips or 0, direction) for direction in ("gained", "lost"))
        row.posterior = posterior(pairs, margin, config.seed) if config.bayesian else None
        if config.anytime and (alike := counting_alike(pairs)) is not None:
            row.anytime = anytime(alike, tests)
    return row


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
    ordered = [contestant.name for contestant in (first, second) if not contestant.shuffled]
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
