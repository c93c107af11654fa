"""Scores over size: fits, predictions, breaks."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.sizes.scaling import KINDS, Kind
from viva.analysis.sizes.scalinggroups import Group, Point, best_of_size, frontier, grouped, studied
from viva.commands import command
from viva.engine.budget import Positive
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.render.result import left_out
from viva.studies.item_scores import Sources
from viva.studies.model_table import NONE, Families, read_families
from viva.studies.scaling.chart import drawing
from viva.studies.scaling.sizedmodels import Parameters, ScalingData, Source, found_in, read_sizes
from viva.studies.scaling.tables import Scaling, findings
from viva.visible import one_line


class ScalingConfig(Struct, kw_only=True):
    """How scores grow with the number of parameters, in a benchmark's published table (clrbench, syneval, ...), in a
    table of your own (a row a model), or in runs: curves, what they predict, and how far to trust that.

    \b
    viva scaling csbench --fit family --model 'Qwen1.5-*' --fit-on 7,14,32,72 --predict 110
    viva scaling infibench --fit segments --by domain --chart break.svg
    viva scaling runs/* --sizes sizes.csv --fit log --predict 400
    """

    sources: Sources
    fit: Annotated[
        tuple[str, ...],
        note(
            "The curve; several: repeat, or with commas. family: 1 - 1/(a·ln(bx + 1) + 1), CS-Bench's; "
            "log: a line over log size; logistic: log odds over log size; power: ceiling - drop·x^-exponent; average: "
            "the mean of these four, whose interval allows for not knowing which; segments: two lines that meet at a "
            "break, tested against one.  [default: log; with --predict average]",
            metavar="log|family|average|...",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...], note("A curve for each value; several: each combination.", metavar="family|domain|type|...")
    ] = ()
    predict: Annotated[
        tuple[str, ...], note("The score at this many billions; such models judge it.", metavar="SIZE")
    ] = ()
    fit_on: Annotated[tuple[str, ...], note("Fit models of these sizes only, as papers do.", metavar="SIZE,...")] = ()
    reach: Annotated[
        tuple[str, ...],
        note("At which size the curves reach this model's score, as in GPT-4-0613, drawn as a line; repeatable."),
    ] = ()
    parameters: Annotated[
        Parameters, note("Of mixtures of experts: all parameters, or those that a token passes through.")
    ] = "total"
    model: Annotated[tuple[str, ...], note("Only these, as in 'Qwen1.5-*'; repeatable.", metavar="PATTERN")] = ()
    exclude: Annotated[tuple[str, ...], note("Leave these models out.", metavar="PATTERN")] = ()
    where: Annotated[
        tuple[str, ...], note("Only models of which this is said: domain=Code.", metavar="WORD=VALUE")
    ] = ()
    best: Annotated[bool, note("Only the best model of each size.")] = False
    frontier: Annotated[
        bool, note("Fit the models that set a new best as sizes grow, as InfiBench's Figure 4 does; draw all.")
    ] = False
    table: Annotated[str | None, note("Which published table (`viva published BENCHMARK`).", metavar="NAME")] = None
    score: Annotated[str | None, note("Which column is the score.", metavar="COLUMN")] = None
    sizes: Annotated[Path | None, note("CSV `model,billions[,active]`, where names do not say it.", metavar="FILE")] = (
        None
    )
    families: Families = None
    questions: Annotated[
        Positive | None,
        note("On how many questions each score of a table rests, for intervals where no model is left over."),
    ] = None


@command(ScalingConfig, chart="Draw it")
def study(config: ScalingConfig) -> Findings[tuple[Scaling, ...]]:
    """How scores grow with the number of parameters: curves, what they predict, and how far to trust that.

    Raises VivaError where too few models have a size and a score.
    """
    kinds = _curve_kinds(config)
    asked = Source(
        table=config.table,
        score=config.score,
        parameters=config.parameters,
        sizes=read_sizes(config.sizes) if config.sizes else {},
        questions=config.questions,
    )
    found = tuple(_fitted(one, kinds, config) for one in found_in(config.sources, asked))
    return findings(found, partial(drawing, found))


def _fitted(found: ScalingData, kinds: Sequence[Kind], config: ScalingConfig) -> Scaling:
    """Fits, predictions and breaks of the chosen models."""
    references = _references(found, config.reach)
    found = _chosen(found, config)
    notes: list[str] = []
    if config.families not in (None, NONE):
        named = read_families(Path(config.families), [point.model for point in found.points], notes)
        points = zip(found.points, named, strict=True)
        models = (replace(one, words={**one.words, "family": family}) for one, family in points)
        found = replace(found, models=(*models, *found.sizeless))
    groups: list[Group] = []
    for name, members in grouped(found.points, _parts(config.by)).items():
        kept = best_of_size(members) if config.best else members
        groups.append(
            studied(
                name,
                kept,
                kinds,
                _numbers(config.predict, option("predict")),
                _numbers(config.fit_on, option("fit_on")),
                references,
                by_family=config.families != NONE,
                only=frontier(kept) if config.frontier else None,
            )
        )
    fitted = [group for group in groups if group.fits]
    if not fitted:
        if groups:
            why = f"{groups[0].name}: {groups[0].skipped[0] if groups[0].skipped else 'there are no models left'}"
        else:
            unknown = ", ".join(one_line(point.model, 40) for point in found.sizeless[:6])
            why = (
                f"nobody's size is known: {unknown} ({option('sizes', 'FILE')} gives sizes)"
                if unknown
                else "there are no models"
            )
            why = left_out(found.ranges) if found.ranges and not unknown else why
        raise DataError(f"{found.title}: no curve can be fitted; {why}")
    return Scaling(
        title=found.title
        + (", best of each size" if config.best else "")
        + (", models that set a new best fitted" if config.frontier else ""),
        parameters=config.parameters,
        groups=tuple(groups),
        references=references,
        sizeless=tuple(point.model for point in found.sizeless if point not in references),
        ranges=found.ranges,
        notes=tuple(notes),
    )


def _references(found: ScalingData, patterns: Sequence[str]) -> tuple[Point, ...]:
    """Return the models that --reach names, whatever the other options leave out. Raises VivaError for one that fits
    none.
    """
    models = (*found.points, *found.sizeless)
    chosen: dict[str, Point] = {}
    for pattern in patterns:
        fitting = [point for point in models if _matches(point.model, pattern)]
        if not fitting:
            known = ", ".join(one_line(point.model, 40) for point in (*found.sizeless, *found.points)[:12])
            raise VivaError(f"{pattern!r} fits no model of {found.title}, which has: {known}, …", field="reach")
        chosen |= {point.model: point for point in fitting}
    return tuple(sorted(chosen.values(), key=lambda point: -point.score))


def _chosen(found: ScalingData, config: ScalingConfig) -> ScalingData:
    """Return what --model, --exclude and --where leave. Raises VivaError for a pattern or condition that fits no
    model.
    """
    words = {point.model: point.words for point in (*found.points, *found.sizeless)}
    for called, patterns in ((option("model"), config.model), (option("exclude"), config.exclude)):
        for pattern in patterns:
            if not any(_matches(model, pattern) for model in words):
                known = ", ".join(one_line(model, 40) for model in list(words)[:12])
                raise VivaError(f"{called} {pattern!r} fits no model of {found.title}, which has: {known}, …")
    for condition in config.where:
        word, _, value = condition.partition("=")
        values = sorted({said.get(word, "") for said in words.values()} - {""})
        if value not in values:
            known = ", ".join(one_line(value, 40) for value in values) or "nothing"
            raise VivaError(f"{condition!r} fits no model of {found.title}; {word!r} is one of: {known}", field="where")

    def kept(model: str) -> bool:
        return (
            (not config.model or any(_matches(model, pattern) for pattern in config.model))
            and not any(_matches(model, pattern) for pattern in config.exclude)
            and all(words[model].get(word) == value for word, _, value in (one.partition("=") for one in config.where))
        )

    return replace(found, models=tuple(point for point in found.models if kept(point.model)))


def _matches(model: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(model.casefold(), pattern.casefold())


def _curve_kinds(config: ScalingConfig) -> list[Kind]:
    """Return the kinds of curves that are asked for. Raises VivaError for unknown ones."""
    asked = list(dict.fromkeys(_parts(config.fit))) or ["average" if config.predict else "log"]
    for name in asked:
        if name not in KINDS:
            raise VivaError(f"{name!r} is no curve; there are {', '.join(KINDS)}", field="fit")
    return cast("list[Kind]", asked)


def _numbers(values: Sequence[str], called: str) -> list[float]:
    found: list[float] = []
    for part in _parts(values):
        try:
            size = float(part.lower().removesuffix("b"))
        except ValueError:
            size = 0.0
        if not 0 < size < 1e9:
            raise VivaError(f"{called} {part!r} is no size in billions of parameters, as 7 or 110")
        found.append(size)
    return found


def _parts(values: Sequence[str]) -> list[str]:
    return [part.strip() for given in values for part in given.split(",") if part.strip()]
