"""Contestants compared, question by question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from viva.analysis.anytime import anytime
from viva.analysis.columns import Columns, Text
from viva.analysis.comparing import apart, compared, compared_apart, counting_alike, decided, flips, paired
from viva.analysis.multiplicity import adjusted
from viva.analysis.posterior import posterior
from viva.analysis.uncertainty import LEVEL
from viva.analysis.wording import UNSURE
from viva.commands import command
from viva.errors import EXIT_GATE, EXIT_OK, DataError, VivaError, flag, option
from viva.languages import renumbered
from viva.render.findings import Findings
from viva.studies.compare.chart import comparing_chart
from viva.studies.compare.choices import FLIPS, MOST, POINTS, CompareConfig
from viva.studies.compare.contestants import (
    Contestant,
    chosen_pairs,
    contestants,
    grouped,
    numbering,
    warnings,
    with_readings,
)
from viva.studies.compare.publishedsweeps import PUBLISHED, compare_published
from viva.studies.compare.tables import Comparison, Row, Side, findings
from viva.studies.item_scores import EXAM, existing, score_sets
from viva.types import Aggregate
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
    found, alone = _compared(existing(config.sources, PUBLISHED), config)
    verdict, failed = _gate(found, alone, config) if config.fail_if else ("", False)
    return findings(
        found, config.margin, bayesian=config.bayesian, anytime=config.anytime, verdict=verdict,
        exit_code=EXIT_GATE if failed else EXIT_OK, drawing=partial(comparing_chart, found),
    )  # fmt: skip


def _gate(found: Sequence[Comparison], alone: Sequence[str], config: CompareConfig) -> tuple[str, bool]:
    """Return what the gate says in a sentence, and whether it fails: of any pair, or of an exam that only one was
    asked.
    """
    rows = [(one, row) for one in found for row in one.rows]
    worse = config.fail_if == "worse"
    bad = [
        (one, row)
        for one, row in rows
        if (
            row.decision == "worse by more"
            if worse
            else row.decision not in ("no worse", "equivalent", "better by more")
        )
    ]
    missing = [] if worse else [f"{title}: one contestant alone" for title in alone]
    named = [
        f"{one.title}{f' {row.part}' if row.part else ''}: {row.second} against {row.first} ({_at_worst(row)})"
        for one, row in bad[:_NAMED]
    ]
    more = len(bad) - len(named)
    said = "; ".join([*named, *([f"{more:,} more"] if more > 0 else []), *missing])
    wanted = "worse by more than" if worse else "not shown to be no worse by"
    count, margin = plural(len(rows), "decision"), plural(config.margin or 0, "point")
    if said:
        return f"gate failed, {wanted} {margin}: {said}; of {count}", True
    held = "none is shown to be worse by more than" if worse else "all are shown to be no worse by"
    return f"gate passed: of {count} {held} {margin}", False


def _at_worst(row: Row) -> str:
    if row.at_worst is None:
        return "nothing to decide by"
    return " to ".join(f"{100 * end:+.2f}" for end in row.at_worst)


def _compared(paths: Sequence[Path], config: CompareConfig) -> tuple[list[Comparison], list[str]]:
    """Comparisons, benchmark by benchmark, and the benchmarks of which there is one contestant alone."""
    found_sets = score_sets(paths, config.by or EXAM, config.macro_average, cluster=config.cluster or "")
    everybody = contestants(found_sets, config.model, _ways(config))
    groups = grouped(everybody)
    there = "; ".join(f"{title}: {', '.join(one.name for one in group[:5])}" for title, group in groups)
    nobody = f"a comparison takes two contestants on the same questions; here are {there}"
    chosen, problems = {}, [VivaError(nobody)]
    for at, (title, group) in enumerate(groups):
        if len(group) > 2 and not (config.pairs or config.baseline or config.between):
            # The second is behind, in every table.
            group = sorted(group, key=lambda one: one.estimate.order, reverse=True)  # noqa: PLW2901
            groups[at] = title, group
        try:  # what one benchmark's contestants do not differ in, another's may
            chosen[title] = chosen_pairs(group, config.between, config.baseline, config.pairs) if len(group) > 1 else []
        except VivaError as problem:
            problems.append(problem)
    pairs = sum(map(len, chosen.values()))
    if not pairs:
        raise problems[-1]
    if pairs > MOST:
        raise VivaError(
            f"{len(everybody):,} contestants make {pairs:,} pairs: name one to compare with "
            f"({option('baseline', 'NAME')}), or "
            f"whom to compare ({option('model', 'NAME')}, {option('pairs', 'FIRST=SECOND')})"
        )
    flips = config.flips if config.flips is not None else FLIPS if pairs == 1 and not config.by else 0
    tests = sum(len(_lines(*two)) for every in chosen.values() for two in every) if config.correct != "none" else 1
    found = [
        _comparison(title, group, chosen[title], flips, tests, config) for title, group in groups if chosen.get(title)
    ]
    if config.unpaired and (config.cluster or config.flips or config.bayesian or config.anytime):
        raise VivaError(
            f"compares means: without it, {option('cluster')}, {option('flips')}, {option('bayesian')} and "
            f"{option('anytime')} have pairs",
            field="unpaired",
        )
    if not any(one.rows for one in found):
        raise DataError(f"no two of these were asked a question in common. {' '.join(found[0].notes[:3])}")
    every = iter(adjusted([row.found.p for one in found for row in one.rows], config.correct))
    alone = [title for title, _ in groups if not chosen.get(title)]
    return [
        replace(one, rows=tuple(replace(row, found=replace(row.found, adjusted=next(every))) for row in one.rows))
        for one in found
    ], alone


def _ways(config: CompareConfig) -> list[str]:
    if config.aggregate is None:
        return []
    ways = [way.strip() for way in config.aggregate.split(",")]
    for way in ways:
        if not _AGGREGATE.fullmatch(way):
            raise VivaError(
                f"{way!r}: write mean, best, best@K, pass@K or pass^K, as in best@1,best@10", field="aggregate"
            )
    return list(dict.fromkeys(ways))


def _comparison(
    title: str,
    group: Sequence[Contestant],
    pairs: Sequence[tuple[Contestant, Contestant]],
    flips: int,
    tests: int,
    config: CompareConfig,
) -> Comparison:
    rows: list[Row] = []
    sides: list[tuple[Contestant, Contestant]] = []
    notes: dict[str, None] = {}
    for first, second in pairs:
        here = list(_rows(first, second, flips, tests, config))
        if any(row.found.n or row.found.unscored for row in here):
            rows += here
            sides += [(first, second)] * len(here)
            notes.update(dict.fromkeys(_notes(first, second, here, config)))
        elif config.pairs or config.between or len(pairs) == 1:
            raise DataError(
                f"{_disjoint(first, second)}: compare contestants that were asked the same set, or only their means "
                f"({option('unpaired')})"
            )
        else:
            notes[f"Left out: {_disjoint(first, second)}."] = None
    compared = {id(one) for two in sides for one in two}
    return Comparison(
        title=title,
        by=config.by or "",
        correction=config.correct,
        contestants=tuple(
            Side(name=one.name, source=str(one.scored.source), settings=one.settings, estimate=one.estimate)
            for one in group
            if id(one) in compared
        ),
        rows=tuple(with_readings(rows, [(first.scored, second.scored) for first, second in sides])),
        notes=tuple(notes),
        tests=tests,
        ordered=config.anytime and any(not shuffled(one) for one in group),
    )


def _disjoint(first: Contestant, second: Contestant) -> str:
    return f"{first.name} and {second.name} have no question in common"


def _lines(first: Contestant, second: Contestant) -> list[str]:
    """Return the columns or values of --by, else one."""
    return list(dict.fromkeys([*first.scored.lines, *second.scored.lines]))


def _rows(first: Contestant, second: Contestant, flips: int, tests: int, config: CompareConfig) -> Iterator[Row]:
    """Yield a row a column or value of --by, else one."""
    for name in _lines(first, second):
        lines = first.scored.lines.get(name) or second.scored.lines[name]
        row = _row(first, second, name, lines, flips, tests, config)
        if not config.by or row.found.n or row.found.unscored:
            yield row


def _questions(one: Contestant, other: Contestant, lines: Sequence[Aggregate]) -> Columns:
    """Return a contestant's scores by question, numbered as the other's are where two languages ask the same."""
    found = one.breakdown.questions(*one.counted(lines))
    before = numbering(one, other)
    if before is None or one.scored.record is None:
        return found
    question, first = found.texts["question"], before[one.scored.record.spec.language]
    named = Text([renumbered(name, first) for name in question.values], question.codes)
    return Columns(found.numbers, {**found.texts, "question": named})


def _row(
    first: Contestant,
    second: Contestant,
    part: str,
    lines: Sequence[Aggregate],
    limit: int,
    tests: int,
    config: CompareConfig,
) -> Row:
    """Return the difference on the questions of these lines, and what was asked of it."""
    over = next((line.over for line in lines if line.over), "")
    sides = _questions(first, second, lines), _questions(second, first, lines)
    pairs = None if config.unpaired else paired(*sides, over)
    found = compared(pairs) if pairs else compared_apart(*sides, over)
    alike = counting_alike(pairs) if pairs and config.anytime else None
    margin = config.margin and config.margin / 100
    worst = None
    if margin is not None and found.low is not None:
        worst = (pairs.spreads() if pairs else apart(*sides, over)).interval(1 - (1 - LEVEL) / tests)
    points = [f"{point:g}" for point in config.detect] or list(POINTS)
    return Row(
        first=first.name,
        second=second.name,
        part=part if config.by else "",
        found=found,
        smallest=found.smallest,
        questions={point: found.questions_for(float(point) / 100) for point in points},
        gained=tuple(flips(pairs, limit, "gained")) if pairs else (),
        lost=tuple(flips(pairs, limit, "lost")) if pairs else (),
        posterior=posterior(pairs, margin, config.seed) if pairs and config.bayesian else None,
        anytime=None if alike is None else anytime(alike, tests),
        at_worst=worst,
        decision=None if margin is None else decided(worst, margin),
    )


def shuffled(one: Contestant) -> bool:
    """Return whether it is known to have been asked in a random order."""
    return bool(one.scored.record and one.scored.record.spec.shuffle)


def _notes(first: Contestant, second: Contestant, rows: Sequence[Row], config: CompareConfig) -> Iterator[str]:
    """Yield what is unfair, and what is not in the numbers, of the whole set or of its largest part."""
    both = f"{first.name} → {second.name}"
    unfair = list(warnings(first, second))
    if unfair:
        yield f"Not a fair comparison, {both}: {'; '.join(unfair)}."
    if first.scored is second.scored:
        yield f"{both}: the same answers, counted in two ways: p says that it is no chance, not that it matters."
    if config.unpaired:
        yield f"{both}: means of two sets as if drawn apart; the same questions to both would show smaller differences."
        return
    ordered = [one.name for one in (first, second) if not shuffled(one)]
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
