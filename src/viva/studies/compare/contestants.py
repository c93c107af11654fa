"""Who is compared with whom: contestants, what tells them apart, and what would make a comparison unfair.

A contestant is one model's scores on one exam. What its run remembers (the parts of its signature) says how it was
asked; contestants are called by what differs among them, and nothing else:

    runs/a runs/b                    two models                       openai/x, openai/y
    runs/zero runs/five              one model, other shots           0-shot, 5-shot
    runs/grid                        two models in two languages      openai/x · en, openai/x · zh, openai/y · en, …
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns, Text
from viva.analysis.comparing import Flip
from viva.analysis.estimate import Estimate
from viva.benchmarks import find_benchmark
from viva.errors import DataError, VivaError, option
from viva.languages import renumbered
from viva.render.result import settings
from viva.runs.score_table import QUESTION, rows_of
from viva.runs.scorefile import score_rows
from viva.studies.compare.tables import Row
from viva.studies.item_scores import ScoreSet
from viva.studies.ways_of_asking import FACTORS, PARTS, apart, called, factors_between, telling
from viva.types import Aggregate
from viva.visible import one_line, some

_MINOR = ("prompt", "max_tokens", "context", "only", "limit", "questions", "shard", "data", "benchmark")
"""What contestants are called by only where nothing above tells them apart."""
_SHAPES_PROMPT = ("lang", "shots", "cot", "form", "choose", "rationale")


class Contestant(Struct, kw_only=True, eq=False):
    """One model's scores on one exam, with how several answers to a question count."""

    scored: ScoreSet
    settings: dict[str, str]
    """The parts of its signature; of a table, the model alone."""
    breakdown: Breakdown
    attempts: str = ""
    """As `Line.attempts`, where it is not the headline's own."""
    name: str = ""

    def counted(self, lines: Sequence[Aggregate]) -> list[Aggregate]:
        """Return lines with its own way to count several answers."""
        return [replace(line, attempts=self.attempts or line.attempts) for line in lines]

    @property
    def estimate(self) -> Estimate:
        """Its score, over all questions that it was asked."""
        return self.breakdown.cell(*self.counted([self.scored.headline]))

    def differs(self, other: Contestant) -> frozenset[str]:
        """Return the factors in which the two differ, as far as both say."""
        return factors_between(self.settings, other.settings)

    def before(self, other: Contestant) -> int:
        """Return how many numbers come before those of its questions, where the other's language numbers them alike."""
        records = [one.scored.record for one in (self, other) if one.scored.record and one.scored.record.data]
        specs = [record.spec for record in records]
        if len(specs) < 2 or specs[0].benchmark != specs[1].benchmark or specs[0].language == specs[1].language:
            return 0
        known = find_benchmark(specs[0].benchmark).about.numbering
        return known[specs[0].language] if specs[1].language in known and specs[0].language in known else 0

    def questions(self, lines: Sequence[Aggregate], other: Contestant) -> Columns:
        """Return its scores by question, numbered as the other's are where two languages ask the same."""
        found = self.breakdown.questions(*self.counted(lines))
        question, before = found.texts["question"], self.before(other)
        if not before:
            return found
        named = Text([renumbered(name, before) for name in question.values], question.codes)
        return Columns(found.numbers, {**found.texts, "question": named})


def contestants(found: Iterable[ScoreSet], models: Sequence[str], attempts: Sequence[str]) -> list[Contestant]:
    """Everybody that the sources hold, of these models where any are named, once a way to count attempts.

    Raises DataError for a source that is named twice, VivaError for a model that nobody is.
    """
    everybody: list[Contestant] = []
    seen: set[tuple[str, str, str]] = set()
    others: dict[str, None] = {}
    for one in found:
        place = (str(one.source.resolve()), one.exam, one.model)
        if place in seen:
            raise DataError(f"{one_line(one.model)} of {one.source} is named twice: nothing differs from itself")
        seen.add(place)
        if models and not one.is_called(models):
            others[one_line(one.model)] = None
            continue
        known: dict[str, object] = {"model": one.model}
        if one.run and one.record:
            known = {"choose": "none", **settings(one.run, one.record, one.model, one.opened)}
        breakdown = Breakdown(one.scores, one.headline.attempts)
        for way in attempts or ("",):
            own = {**known, "attempts": way or one.headline.attempts or "mean"}
            asked = {name: str(value) for name, value in own.items()}
            everybody.append(Contestant(scored=one, settings=asked, breakdown=breakdown, attempts=way))
    if not everybody:
        raise VivaError(
            f"{', '.join(models)}: nobody is called so; there are: {', '.join(list(others)[:20])}", field="model"
        )
    return everybody


def grouped(everybody: Sequence[Contestant]) -> dict[str, list[Contestant]]:
    """Contestants of one benchmark together, by its name; tables of item scores go with the runs of one."""
    groups = defaultdict[str, list[Contestant]](list)
    records = [one.scored.record for one in everybody]
    names = [record.spec.name or record.spec.benchmark if record else None for record in records]
    known = {name for name in names if name}
    tables = known.pop() if len(known) == 1 else "item scores"
    for name, one in sorted(zip(names, everybody, strict=True), key=lambda two: two[0] is None):
        groups[name or tables].append(one)
    for group in groups.values():
        _name(group)
    return groups


def _name(group: Sequence[Contestant]) -> None:
    """Call each by what differs among them; where that is not enough, by lesser things, and at last by its run."""
    ways = [one.settings for one in group]
    chosen = telling(ways, apart(ways, _MINOR), [name for name in apart(ways) if PARTS[name].factor])
    names = [called(way, chosen) for way in ways]
    sources = {one.scored.source for one in group}
    short = len({source.name for source in sources}) == len(sources)
    alike = len({*names}) < len(group)
    for one, name in zip(group, names, strict=True):
        where = one_line(one.scored.source.name if short else str(one.scored.source)) if alike else ""
        one.name = " · ".join(filter(None, (name, where))) or one_line(one.scored.model)


Two = tuple[Contestant, Contestant]


def chosen_pairs(
    group: Sequence[Contestant], between: str | None, baseline: str | None, pairs: Sequence[str]
) -> list[Two]:
    """Return who is compared with whom, in the order given.

    `pairs` names them ("base=expert"); `baseline` names one whom all others are compared with; `between` a factor in
    which they must differ ("all": whatever), or several ("shots,cot") in nothing but which they differ. By default a
    pair is left out where a third contestant stands between the two: of two models with 0 and 5 shots each, the first
    model's 0 shots against the second's 5 say nothing that the other four pairs do not.
    """
    if pairs:
        return [two for said in pairs for two in _said_pairs(group, said)]
    if baseline is not None:
        firsts = _meant(group, baseline, "baseline")
        return _nearest([(first, one) for first in firsts for one in group if one not in firsts])
    everything = list(itertools.combinations(group, 2))
    if between == "all":
        return everything
    factors = {name.strip() for name in between.split(",")} if between is not None else set(FACTORS)
    if unknown := factors.difference(FACTORS):
        raise VivaError(f"{min(unknown)!r}: must be {', '.join(FACTORS)} or all", field="between")
    differing = {two: two[0].differs(two[1]) for one, other in everything for two in ((one, other), (other, one))}
    if between is not None and len(factors) > 1:
        found = [two for two in everything if set() < differing[two] <= factors]
    else:
        found = [
            (one, other)
            for one, other in everything
            if (between is None or differing[one, other] & factors)
            and not any(differing[one, third] < differing[one, other] > differing[third, other]
                        for third in group if third not in (one, other))
        ]  # fmt: skip
    there = frozenset[str]().union(*differing.values())
    if between is not None and not found and factors.isdisjoint(there):
        known = ", ".join(sorted(there)) or "nothing"
        raise VivaError(f"{between}: the contestants do not differ in that, but in: {known}", field="between")
    return found


def _said_pairs(group: Sequence[Contestant], said: str) -> list[Two]:
    """Return the pairs that BASE=EXPERT means. A name may hold a "=", so every one is tried."""
    cuts = [(said[:place], said[place + 1 :]) for place, sign in enumerate(said) if sign == "="]
    if not cuts:
        raise VivaError(f"{said!r}: write FIRST=SECOND, as in {option('pairs')} base=expert", field="pairs")
    cut = next((cut for cut in cuts if all(_matching(group, name) for name in cut)), cuts[0])
    both = itertools.product(*(_meant(group, name, "pairs") for name in cut))
    found = _nearest([(one, other) for one, other in both if one is not other])
    # Where both names mean the same contestants, each pair would come twice, once the other way round.
    return [two for place, two in enumerate(found) if two[::-1] not in found[:place]]


def _nearest(found: Sequence[Two]) -> list[Two]:
    """Of several who are meant, those that differ in the least: a base at 5 shots goes with an expert at 5 shots."""
    differing = [(len(first.differs(second)), first, second) for first, second in found]
    least = {second: count for count, _, second in sorted(differing, key=lambda one: -one[0])}
    return [(first, second) for count, first, second in differing if count == least[second]]


def _matching(group: Sequence[Contestant], name: str) -> list[Contestant]:
    """Return whole names before models, models before parts of a name."""
    wanted = name.strip().casefold().rstrip("/")
    for test in (
        lambda one: one.name.casefold() == wanted,
        lambda one: wanted in (one.settings["model"].casefold(), one.settings["model"].casefold().rpartition("/")[2]),
        lambda one: (
            wanted in one.name.casefold()
            or wanted in (one.scored.source.name.casefold(), str(one.scored.source).casefold().rstrip("/"))
        ),
    ):
        if wanted and (found := list(filter(test, group))):
            return found
    return []


def _meant(group: Sequence[Contestant], name: str, field: str) -> list[Contestant]:
    if found := _matching(group, name):
        return found
    there = some([repr(one.name) for one in group], 20)
    raise VivaError(f"{option(field)} {name!r}: nobody is called so; there are: {there}")


def warnings(first: Contestant, second: Contestant) -> Iterator[str]:
    """Yield what makes a comparison unfair, by name, where it is not the one thing that is compared."""
    tables = [one for one in (first, second) if one.scored.record is None]
    if len(tables) == 1:
        yield f"{tables[0].scored.source.name} does not say how it was asked and graded"
    if tables:
        return
    mine, other = first.settings, second.settings
    differing = {key for key in mine if mine[key] != other.get(key)}
    factors = first.differs(second)
    for key, part in PARTS.items():
        if not part.unfair or key not in differing or key not in other or factors == {part.factor}:
            continue  # what the comparison is about is in the names
        # Another language is another file; so are the exemplars, which belong to the fingerprint where any are shown.
        if key == "data" and ("lang" in differing or (mine["shots"] == "0") != (other["shots"] == "0")):
            continue
        if key in ("prompt", "rubric", "max_tokens") and not differing.isdisjoint(_SHAPES_PROMPT):
            continue
        yield f"{part.unfair} ({one_line(mine[key], 40)} and {one_line(other[key], 40)})"
    if mine["attempts"] == other["attempts"] == "best" and factors != {"samples"} and "samples" in differing:
        yield f"the best of another number of answers ({mine['samples']} and {other.get('samples')})"


def with_readings(rows: Sequence[tuple[Row, Two]]) -> list[Row]:
    """Return the rows, each given with whose answers it compares, their flips with what was read."""
    read = defaultdict[Path, dict[tuple[str, str, str], list[str]]](dict)

    def asked(flip: Flip, one: Contestant, other: Contestant) -> list[str]:
        name = renumbered(flip.question, -one.before(other))
        return read[one.scored.source].setdefault((one.scored.exam, one.scored.model, name), [])

    def told(flips: Sequence[Flip], one: Contestant, other: Contestant) -> tuple[Flip, ...]:
        return tuple(
            replace(flip, first_read=asked(flip, one, other), second_read=asked(flip, other, one)) for flip in flips
        )

    found = [replace(row, gained=told(row.gained, *two), lost=told(row.lost, *two)) for row, two in rows]
    for source, texts in read.items():  # the lists are filled after they were given out
        for key, text in _answers(source):
            if key in texts:
                texts[key].append(text)
    return found


def _answers(source: Path) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield exam, model and question with what was read; a table need not say it, and what is no text is left out."""
    if source.is_dir():
        for row in score_rows(source):
            yield (row.exam, row.model, row.question), row.answer
    else:
        for _, cells in rows_of(source):
            question = next((str(cells[name]) for name in QUESTION if name in cells), "")
            if isinstance(text := cells.get("answer"), str):
                yield (source.name, str(cells.get("model", source.name)), question), text
