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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.breakdown import Breakdown
from viva.analysis.comparing import Flip
from viva.analysis.estimate import Estimate
from viva.benchmarks import find_benchmark
from viva.engine.scorefile import SCORES
from viva.errors import DataError, VivaError, option
from viva.files import lines, reading
from viva.languages import renumbered
from viva.render.result import settings
from viva.runs.score_table import QUESTION, rows_of
from viva.shipped import shipped_table
from viva.studies.compare.tables import Row
from viva.studies.item_scores import ScoreSet
from viva.types import Aggregate, Language
from viva.visible import one_line, some

_TABLE = shipped_table(__file__, "factors.toml", dict[str, dict[str, Any]])
FACTORS: dict[str, list[str]] = _TABLE["factors"]
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
        return frozenset(
            factor
            for factor, keys in FACTORS.items()
            if any(key in self.settings and key in other.settings and self.settings[key] != other.settings[key]
                   for key in keys)
        )  # fmt: skip


def numbering(first: Contestant, second: Contestant) -> Mapping[Language, int] | None:
    """Return the numbers before the first question of two languages that are numbered alike; None where ids are
    compared as they are.
    """
    specs = [one.scored.record.spec for one in (first, second) if one.scored.record and one.scored.record.data]
    if len(specs) < 2 or specs[0].benchmark != specs[1].benchmark:
        return None
    known = find_benchmark(specs[0].benchmark).about.numbering
    both = {spec.language for spec in specs}
    return known if len(both) > 1 and both <= known.keys() else None


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
            raise DataError(f"{one_line(one.model, 60)} of {one.source} is named twice: nothing differs from itself")
        seen.add(place)
        if models and not one.is_called(models):
            others[one_line(one.model, 60)] = None
            continue
        breakdown = Breakdown(one.scores, one.headline.attempts)
        known = _settings(one)
        everybody += [
            Contestant(
                scored=one,
                settings={**known, "attempts": way or one.headline.attempts or "mean"},
                breakdown=breakdown,
                attempts=way,
            )
            for way in attempts or ("",)
        ]
    if not everybody:
        raise VivaError(
            f"{', '.join(models)}: nobody is called so; there are: {', '.join(list(others)[:20])}", field="model"
        )
    return everybody


def _settings(one: ScoreSet) -> dict[str, str]:
    if one.run is None or one.record is None:
        return {"model": one.model}
    known = {name: str(value) for name, value in settings(one.run, one.record, one.model, one.opened).items()}
    return {"choose": "none", **known}


def grouped(everybody: Sequence[Contestant]) -> list[tuple[str, list[Contestant]]]:
    """Contestants of one benchmark together, with its name; tables of item scores go with the runs of one."""
    groups: dict[str, list[Contestant]] = {}
    tables: list[Contestant] = []
    for one in everybody:
        if one.scored.record is None:
            tables.append(one)
        else:
            spec = one.scored.record.spec
            groups.setdefault(spec.name or spec.benchmark, []).append(one)
    if tables and len(groups) == 1:
        next(iter(groups.values())).extend(tables)
    elif tables:
        groups["item scores"] = tables
    for group in groups.values():
        _name(group)
    return list(groups.items())


def _name(group: Sequence[Contestant]) -> None:
    """Call each by what differs among them; where that is not enough, by lesser things, and at last by its run."""
    major = [key for keys in FACTORS.values() for key in keys]
    chosen = [key for key in major if _values(group, key) > 1]
    for key in _MINOR:
        if _values(group, key) > 1 and len(_names(group, [*chosen, key])) > len(_names(group, chosen)) < len(group):
            chosen.append(key)
    for one in group:
        one.name = _called(one, chosen)
    if len({one.name for one in group}) < len(group):
        sources = {one.scored.source.name for one in group}
        short = len(sources) == len({one.scored.source for one in group})
        for one in group:
            where = one_line(one.scored.source.name if short else str(one.scored.source), 60)
            one.name = " · ".join(filter(None, (one.name, where)))
    for one in group:
        one.name = one.name or one_line(one.scored.model, 60)


def _values(group: Sequence[Contestant], key: str) -> int:
    return len({one.settings[key] for one in group if key in one.settings})


def _names(group: Sequence[Contestant], keys: Sequence[str]) -> set[str]:
    return {_called(one, keys) for one in group}


def _called(one: Contestant, keys: Sequence[str]) -> str:
    return " · ".join(_called_part(key, one.settings[key]) for key in keys if key in one.settings)


def _called_part(key: str, value: str) -> str:
    words = _TABLE["called"].get(key, {"else": f"{key} {{value}}"})
    return str(words.get(value, words["else"])).replace("{value}", one_line(value, 60 if key == "model" else 40))


def chosen_pairs(
    group: Sequence[Contestant], between: str | None, baseline: str | None, pairs: Sequence[str]
) -> list[tuple[Contestant, Contestant]]:
    """Return who is compared with whom, in the order given.

    `pairs` names them ("base=expert"); `baseline` names one whom all others are compared with; `between` a factor in
    which they must differ ("all": whatever), or several ("shots,cot") in nothing but which they differ. By default a
    pair is left out where a third contestant stands between the two: of two models with 0 and 5 shots each, the first
    model's 0 shots against the second's 5 say nothing that the other four pairs do not.
    """
    if pairs:
        return [two for said in pairs for two in _said_pairs(group, said)]
    if baseline is not None:
        firsts = _meant(group, baseline, option("baseline"))
        found = [(first, one) for first in firsts for one in group if one not in firsts]
        return _nearest(found) if len(firsts) > 1 else found
    everything = list(itertools.combinations(group, 2))
    if between == "all":
        return everything
    differing = {(id(one), id(other)): one.differs(other) for one, other in everything}
    differing |= {(other, one): found for (one, other), found in differing.items()}
    direct = [
        (one, other)
        for one, other in everything
        if not any(
            differing[id(one), id(third)] < differing[id(one), id(other)] > differing[id(third), id(other)]
            for third in group
            if third is not one and third is not other
        )
    ]
    if between is None:
        return direct
    factors = {name.strip() for name in between.split(",")}
    if unknown := factors.difference(FACTORS):
        raise VivaError(f"{min(unknown)!r}: must be {', '.join(FACTORS)} or all", field="between")
    several = len(factors) > 1
    found = [
        (one, other)
        for one, other in (everything if several else direct)
        if (differences := differing[id(one), id(other)]) & factors and not (several and differences - factors)
    ]
    if not found and factors.isdisjoint(factor for differences in differing.values() for factor in differences):
        there = ", ".join(sorted({factor for differences in differing.values() for factor in differences}))
        raise VivaError(
            f"{between}: the contestants do not differ in that, but in: {there or 'nothing'}", field="between"
        )
    return found


def _said_pairs(group: Sequence[Contestant], said: str) -> list[tuple[Contestant, Contestant]]:
    """Return the pairs that BASE=EXPERT means. A name may hold a "=", so every one is tried."""
    cuts = [(said[:place], said[place + 1 :]) for place, sign in enumerate(said) if sign == "="]
    for first, second in cuts:
        if _matching(group, first) and _matching(group, second):
            both = itertools.product(_matching(group, first), _matching(group, second))
            found = _nearest([(one, other) for one, other in both if one is not other])
            # Where both names mean the same contestants, each pair would come twice, once the other way round.
            return [two for place, two in enumerate(found) if two[::-1] not in found[:place]]
    if not cuts:
        raise VivaError(f"{said!r}: write FIRST=SECOND, as in {option('pairs')} base=expert", field="pairs")
    first, second = cuts[0]
    _meant(group, first, option("pairs"))
    _meant(group, second, option("pairs"))
    return []


def _nearest(found: Sequence[tuple[Contestant, Contestant]]) -> list[tuple[Contestant, Contestant]]:
    """Of several who are meant, those that differ in the least: a base at 5 shots goes with an expert at 5 shots."""
    if not found:
        return []
    least = {
        id(second): min(len(one.differs(second)) for one, other in found if other is second) for _, second in found
    }
    return [(first, second) for first, second in found if len(first.differs(second)) == least[id(second)]]


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
        found = [one for one in group if wanted and test(one)]
        if found:
            return found
    return []


def _meant(group: Sequence[Contestant], name: str, called: str) -> list[Contestant]:
    found = _matching(group, name)
    if not found:
        there = some([repr(one.name) for one in group], 20)
        raise VivaError(f"{called} {name!r}: nobody is called so; there are: {there}")
    return found


def warnings(first: Contestant, second: Contestant) -> Iterator[str]:
    """Yield what makes a comparison unfair, by name, where it is not the one thing that is compared."""
    mine, other = first.settings, second.settings
    if (first.scored.record is None) != (second.scored.record is None):
        table = first if first.scored.record is None else second
        yield f"{table.scored.source.name} does not say how it was asked and graded"
        return
    factors = first.differs(second)
    for key, what in _TABLE["unfair"].items():
        if mine.get(key) == other.get(key) or key not in mine or key not in other:
            continue
        own = next((factor for factor, keys in FACTORS.items() if key in keys), None)
        if own and factors == {own}:
            continue  # it is what the comparison is about, and in the names
        # Another language is another file; so are the exemplars, which belong to the fingerprint where any are shown.
        if key == "data" and (mine["lang"] != other["lang"] or (mine["shots"] == "0") != (other["shots"] == "0")):
            continue
        if key in ("prompt", "rubric", "max_tokens") and any(mine.get(one) != other.get(one) for one in _SHAPES_PROMPT):
            continue
        yield f"{what} ({one_line(mine[key], 40)} and {one_line(other[key], 40)})"
    best = mine["attempts"] == other["attempts"] == "best"
    if best and factors != {"samples"} and mine.get("samples") != other.get("samples"):
        yield f"the best of another number of answers ({mine.get('samples')} and {other.get('samples')})"


class _Read(Struct):
    """The few fields of a row of scores that are wanted here."""

    exam: str
    model: str
    question: str
    answer: str = ""


Told = Mapping[tuple[Path, str, str, str], Sequence[str]]
"""Source, exam, model and question → what was read. Questions also go by the number that all languages share."""


def with_readings(rows: Sequence[Row], sides: Sequence[tuple[ScoreSet, ScoreSet]]) -> Iterator[Row]:
    """Yield the rows, their flips with what was read; `sides` says whose answers each row compares."""
    wanted = defaultdict[Path, set[str]](set)
    for row, both in zip(rows, sides, strict=True):
        for one in both:
            wanted[one.source].update(flip.question for flip in (*row.gained, *row.lost))
    before = {(one.exam, one.model): _before(one) for both in sides for one in both}
    told = defaultdict[tuple[Path, str, str, str], list[str]](list)
    for source, questions in wanted.items():
        read = () if not questions else _of_run(source) if source.is_dir() else _of_table(source)
        for exam, model, question, text in read:
            for name in {question, renumbered(question, before.get((exam, model), 0))} & questions:
                told[source, exam, model, name].append(text)
    for row, both in zip(rows, sides, strict=True):
        yield replace(row, gained=_with(row.gained, both, told), lost=_with(row.lost, both, told))


def _with(flips: Sequence[Flip], both: tuple[ScoreSet, ScoreSet], told: Told) -> tuple[Flip, ...]:
    return tuple(
        replace(
            flip,
            **{
                f"{side}_read": tuple(told.get((one.source, one.exam, one.model, flip.question), ()))
                for side, one in zip(("first", "second"), both, strict=True)
            },
        )
        for flip in flips
    )


def _before(one: ScoreSet) -> int:
    """Return how many numbers come before those of the exam's questions, where other languages number them alike."""
    if one.record is None or not one.record.data:
        return 0
    return find_benchmark(one.record.spec.benchmark).about.numbering.get(one.record.spec.language, 0)


def _of_run(source: Path) -> Iterator[tuple[str, str, str, str]]:
    decode = msgspec.json.Decoder(_Read).decode
    with reading(source / SCORES) as content:
        for line in lines(content, source / SCORES):
            row = decode(line)
            yield row.exam, row.model, row.question, row.answer


def _of_table(source: Path) -> Iterator[tuple[str, str, str, str]]:
    """A table need not say what was read; what is no text is left out."""
    for _, row in rows_of(source):
        question = next((str(row[name]) for name in QUESTION if name in row), "")
        if isinstance(text := row.get("answer"), str):
            yield source.name, str(row.get("model", source.name)), question, text
