"""Contestants: their names, their pairs, and what would make a comparison unfair.

A contestant is one model's scores on one exam. The parts of its run's signature say how it was asked; names of
contestants contain only the parts that differ among them:

    runs/a runs/b                    two models                       openai/x, openai/y
    runs/zero runs/five              one model, other shots           0-shot, 5-shot
    runs/grid                        two models in two languages      openai/x · en, openai/x · zh, openai/y · en, …
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns, Text
from viva.benchmarks import find_benchmark
from viva.errors import DataError, VivaError, option
from viva.languages import renumbered
from viva.render.result import settings
from viva.runs.score_table import QUESTION, rows_of
from viva.runs.scorefile import score_rows
from viva.studies.compare.tables import Row, Side
from viva.studies.item_scores import ScoreSet
from viva.studies.ways_of_asking import FACTORS, PARTS, apart, called, factors_between, telling
from viva.types import Aggregate
from viva.visible import one_line, some

_MINOR = ("prompt", "max_tokens", "context", "only", "limit", "questions", "shard", "data", "benchmark")
"""Parts used in names only if no other part distinguishes the contestants."""
_SHAPES_PROMPT = ("lang", "shots", "cot", "form", "choose", "rationale")


class Contestant(Side, kw_only=True, eq=False):
    """One model's scores on one exam, with how several answers to a question count.

    `settings`: the parts of its signature; for a table, the model alone.
    """

    scored: ScoreSet
    breakdown: Breakdown
    attempts: str = ""
    """As `Aggregate.attempts`; "" for that of the headline."""

    def differs(self, other: Contestant) -> frozenset[str]:
        """Return the factors in which the two differ, as far as both say."""
        return factors_between(self.settings, other.settings)

    def before(self, other: Contestant) -> int:
        """Return the offset of its questions' numbers where the other's language numbers the same questions; else 0."""
        records = [side.scored.record for side in (self, other) if side.scored.record and side.scored.record.data]
        specs = [record.spec for record in records]
        if len(specs) < 2 or specs[0].benchmark != specs[1].benchmark or specs[0].language == specs[1].language:
            return 0
        known = find_benchmark(specs[0].benchmark).about.numbering
        return known[specs[0].language] if specs[1].language in known and specs[0].language in known else 0

    def questions(self, lines: Sequence[Aggregate], other: Contestant) -> Columns:
        """Return its scores by question, numbered as the other's are where two languages ask the same."""
        scores = self.breakdown.questions(*counted(lines, self.attempts))
        question, before = scores.texts["question"], self.before(other)
        if not before:
            return scores
        named = Text([renumbered(name, before) for name in question.values], question.codes)
        return Columns(scores.numbers, {**scores.texts, "question": named})


def counted(lines: Sequence[Aggregate], attempts: str) -> list[Aggregate]:
    """Return lines in which several answers to a question count so."""
    return [replace(line, attempts=attempts or line.attempts) for line in lines]


def contestants(sets: Iterable[ScoreSet], ways: Sequence[str]) -> Iterator[Contestant]:
    """Yield the contestants of the sources, once for each of the `ways` in which several answers count. Raises
    DataError for a source that is named twice.
    """
    seen: set[tuple[str, str, str]] = set()
    for scored in sets:
        place = (str(scored.source.resolve()), scored.exam, scored.model)
        if place in seen:
            raise DataError(f"{one_line(scored.model)} of {scored.source} is named twice: nothing differs from itself")
        seen.add(place)
        known: dict[str, object] = {"model": scored.model}
        if scored.run and scored.record:
            known = {"choose": "none", **settings(scored.run, scored.record, scored.model, scored.opened)}
        breakdown = Breakdown(scored.scores, scored.headline.attempts)
        for attempts in ways or ("",):
            own = {**known, "attempts": attempts or scored.headline.attempts or "mean"}
            yield Contestant(
                source=str(scored.source), settings={name: str(value) for name, value in own.items()},
                estimate=breakdown.cell(*counted([scored.headline], attempts)), scored=scored, breakdown=breakdown,
                attempts=attempts, shuffled=bool(scored.record and scored.record.spec.shuffle),
            )  # fmt: skip


def grouped(everybody: Iterable[Contestant]) -> dict[str, list[Contestant]]:
    """Group contestants by benchmark, and name them; tables of item scores go with the runs of one."""
    groups = defaultdict[str, list[Contestant]](list)
    for contestant in everybody:
        record = contestant.scored.record
        groups[record.spec.name or record.spec.benchmark if record else ""].append(contestant)
    tables = groups.pop("", [])
    if tables:
        groups[next(iter(groups)) if len(groups) == 1 else "item scores"] += tables
    for group in groups.values():
        _name(group)
    return groups


def _name(group: Sequence[Contestant]) -> None:
    """Name each by what differs in the group; where that is ambiguous, by minor parts, and finally by its run."""
    ways = [contestant.settings for contestant in group]
    chosen = telling(ways, apart(ways, _MINOR), [name for name in apart(ways) if PARTS[name].factor])
    names = [called(way, chosen) for way in ways]
    sources = {contestant.scored.source for contestant in group}
    short = len({source.name for source in sources}) == len(sources)
    alike = len({*names}) < len(group)
    for contestant, name in zip(group, names, strict=True):
        where = one_line(contestant.scored.source.name if short else contestant.source) if alike else ""
        contestant.name = " · ".join(filter(None, (name, where))) or one_line(contestant.scored.model)


Two = tuple[Contestant, Contestant]


def chosen_pairs(
    group: Sequence[Contestant], between: str | None, baseline: str | None, pairs: Sequence[str]
) -> list[Two]:
    """Return the pairs to compare, in the order given.

    `pairs` names them ("base=expert"); `baseline` is compared with all others; `between` is a factor in which they must
    differ ("all": any), or several ("shots,cot") outside which they must not differ. By default a pair is left out if a
    third contestant lies between the two: of two models with 0 and 5 shots each, the first model's 0 shots against the
    second's 5 say nothing that the other four pairs do not.
    """
    if pairs:
        return [two for pair in pairs for two in _said_pairs(group, pair)]
    if baseline is not None:
        firsts = _meant(group, baseline, "baseline")
        return _nearest([(first, rest) for first in firsts for rest in group if rest not in firsts])
    everything = list(itertools.combinations(group, 2))
    if between == "all":
        return everything
    factors = {name.strip() for name in between.split(",")} if between is not None else set(FACTORS)
    if unknown := factors.difference(FACTORS):
        raise VivaError(f"{min(unknown)!r}: must be {', '.join(FACTORS)} or all", field="between")
    differing = {two: two[0].differs(two[1]) for pair in everything for two in (pair, pair[::-1])}
    if between is not None and len(factors) > 1:
        chosen = [two for two in everything if set() < differing[two] <= factors]
    else:
        chosen = [
            (first, other)
            for first, other in everything
            if (between is None or differing[first, other] & factors)
            and not any(differing[first, third] < differing[first, other] > differing[third, other]
                        for third in group if third not in (first, other))
        ]  # fmt: skip
    there = frozenset[str]().union(*differing.values())
    if between is not None and not chosen and factors.isdisjoint(there):
        known = ", ".join(sorted(there)) or "nothing"
        raise VivaError(f"{between}: the contestants do not differ in that, but in: {known}", field="between")
    return chosen


def _said_pairs(group: Sequence[Contestant], text: str) -> list[Two]:
    """Return the pairs that BASE=EXPERT means. A name may contain "=", so every "=" is tried as the separator."""
    cuts = [(text[:place], text[place + 1 :]) for place, sign in enumerate(text) if sign == "="]
    if not cuts:
        raise VivaError(f"{text!r}: write FIRST=SECOND, as in {option('pairs')} base=expert", field="pairs")
    cut = next((cut for cut in cuts if all(_matching(group, name) for name in cut)), cuts[0])
    both = itertools.product(*(_meant(group, name, "pairs") for name in cut))
    pairs = _nearest([(first, other) for first, other in both if first is not other])
    # If both names match the same contestants, each pair would occur twice, in both directions.
    return [two for place, two in enumerate(pairs) if two[::-1] not in pairs[:place]]


def _nearest(pairs: Sequence[Two]) -> list[Two]:
    """Return the pairs that differ in the fewest factors: a base at 5 shots goes with an expert at 5 shots."""
    differing = [(len(first.differs(second)), first, second) for first, second in pairs]
    least = {second: count for count, _, second in sorted(differing, key=lambda row: -row[0])}
    return [(first, second) for count, first, second in differing if count == least[second]]


def _matching(group: Sequence[Contestant], name: str) -> list[Contestant]:
    """Return contestants by name, else by model, run or its folder's name, else by part of the name."""
    wanted = name.strip().casefold().rstrip("/")
    named = [
        (each, each.name.casefold(), [text.casefold().rstrip("/") for text in (
            each.scored.model, each.scored.model.rpartition("/")[2], each.scored.source.name, each.source
        )])
        for each in group
    ]  # fmt: skip
    return (
        [each for each, own, _ in named if own == wanted]
        or [each for each, _, others in named if wanted in others]
        or [each for each, own, _ in named if wanted and wanted in own]
    )


def _meant(group: Sequence[Contestant], name: str, field: str) -> list[Contestant]:
    if matching := _matching(group, name):
        return matching
    there = some([repr(contestant.name) for contestant in group], 20)
    raise VivaError(f"{option(field)} {name!r}: nobody is called so; there are: {there}")


def warnings(first: Contestant, second: Contestant) -> Iterator[str]:
    """Yield differences that make a comparison unfair, unless they are what is compared."""
    tables = [contestant for contestant in (first, second) if contestant.scored.record is None]
    if len(tables) == 1:
        yield f"{tables[0].scored.source.name} does not say how it was asked and graded"
    if tables:
        return
    mine, other = first.settings, second.settings
    differing = {key for key in mine if mine[key] != other.get(key)}
    factors = first.differs(second)
    for key, part in PARTS.items():
        if not part.unfair or key not in differing or key not in other or factors == {part.factor}:
            continue  # the compared factor is in the names
        # Another language is another file; so are the exemplars, which belong to the fingerprint where any are shown.
        if key == "data" and ("lang" in differing or (mine["shots"] == "0") != (other["shots"] == "0")):
            continue
        if key in ("prompt", "rubric", "max_tokens") and not differing.isdisjoint(_SHAPES_PROMPT):
            continue
        yield f"{part.unfair} ({one_line(mine[key], 40)} and {one_line(other[key], 40)})"
    if mine["attempts"] == other["attempts"] == "best" and factors != {"samples"} and "samples" in differing:
        yield f"the best of another number of answers ({mine['samples']} and {other.get('samples')})"


def read_flips(rows: Iterable[tuple[Row, Two]]) -> None:
    """Add the readings of both answers to the flips of these rows."""
    asked = defaultdict[Path, defaultdict[tuple[str, str, str], list[list[str]]]](lambda: defaultdict(list))
    for row, (first, second) in rows:
        for flip in (*row.gained, *row.lost):
            for side, other, read in ((first, second, flip.first_read), (second, first, flip.second_read)):
                scored, name = side.scored, renumbered(flip.question, -side.before(other))
                asked[scored.source][scored.exam, scored.model, name].append(read)
    for source, flips in asked.items():
        for key, text in _answers(source):
            for read in flips.get(key, ()):
                read.append(text)


def _answers(source: Path) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield (exam, model, question) and the reading; tables may lack readings, and those that are not text are
    skipped.
    """
    if source.is_dir():
        for row in score_rows(source):
            yield (row.exam, row.model, row.question), row.answer
    else:
        for _, cells in rows_of(source):
            question = next((str(cells[name]) for name in QUESTION if name in cells), "")
            if isinstance(text := cells.get("answer"), str):
                yield (source.name, str(cells.get("model", source.name)), question), text
