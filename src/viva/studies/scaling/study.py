"""Scores over size: fits, predictions, breaks."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from viva.analysis.sizes.scaling import KINDS, Kind
from viva.analysis.sizes.scalinggroups import Group, Point, best_of_size, frontier, grouped, studied
from viva.commands import command
from viva.errors import DataError, VivaError, option
from viva.render.findings import Findings
from viva.render.result import left_out
from viva.studies.model_table import NONE, read_families
from viva.studies.scaling.chart import drawing
from viva.studies.scaling.sizedmodels import ScalingConfig, ScalingData, found_in, read_sizes
from viva.studies.scaling.tables import Scaling, findings
from viva.visible import one_line, some


@command(ScalingConfig, chart="Draw it")
def study(config: ScalingConfig) -> Findings[tuple[Scaling, ...]]:
    """How scores grow with the number of parameters: curves, what they predict, and how far to trust that.

    Raises VivaError where too few models have a size and a score.
    """
    kinds = _curve_kinds(config)
    sizes = read_sizes(config.sizes) if config.sizes else {}
    sources = found_in(config, sizes)
    known = {point.model for source in sources for point in source.models}
    strange = [one_line(name, 40) for name in sizes if name not in known]
    notes = [f"{config.sizes} has sizes of {some(strange, 6)}, and no model here is called so."] if strange else []
    scalings = tuple(_fitted(source, kinds, config, [*notes]) for source in sources)
    return findings(scalings, partial(drawing, scalings))


def _fitted(data: ScalingData, kinds: Sequence[Kind], config: ScalingConfig, notes: list[str]) -> Scaling:
    """Return fits, predictions and breaks of the chosen models."""
    models = (*data.sizeless, *data.points)
    named = _called(models, config.reach, data.title, "reach")  # also models that other options leave out
    references = tuple(sorted(named.values(), key=lambda point: -point.score))
    data = _chosen(data, config)
    points: Sequence[Point] = data.points
    if config.families not in (None, NONE):
        families = read_families(Path(config.families), [point.model for point in points], notes)
        words = [{**point.words, "family": family} for point, family in zip(points, families, strict=True)]
        points = [replace(point, words=words_of) for point, words_of in zip(points, words, strict=True)]
    predict, fit_on = _numbers(config.predict, "predict"), _numbers(config.fit_on, "fit_on")
    groups: list[Group] = []
    for name, members in grouped(points, _parts(config.by)).items():
        kept = best_of_size(members) if config.best else members
        only = frontier(kept) if config.frontier else None
        groups.append(
            studied(name, kept, kinds, predict, fit_on, references, by_family=config.families != NONE, only=only)
        )
    if not any(group.fits for group in groups):
        raise DataError(f"{data.title}: no curve can be fitted; {_why_not(data, groups)}")
    best = ", best of each size" if config.best else ""
    return Scaling(
        title=f"{data.title}{best}{', models that set a new best fitted' if config.frontier else ''}",
        parameters=config.parameters,
        groups=tuple(groups),
        references=references,
        sizeless=tuple(point.model for point in data.sizeless if point not in references),
        ranges=data.ranges,
        notes=tuple(notes),
    )


def _why_not(data: ScalingData, groups: Sequence[Group]) -> str:
    """Return why no group has a curve."""
    if groups:
        return f"{groups[0].name}: {next(iter(groups[0].skipped), 'there are no models left')}"
    if data.sizeless:
        unknown = ", ".join(one_line(point.model, 40) for point in data.sizeless[:6])
        return f"nobody's size is known: {unknown} ({option('sizes', 'FILE')} gives sizes)"
    return left_out(data.ranges) if data.ranges else "there are no models"


def _called(models: Sequence[Point], patterns: Sequence[str], title: str, field: str) -> dict[str, Point]:
    """Return the models that match the patterns. Raises VivaError for a pattern that matches none."""
    chosen: dict[str, Point] = {}
    for pattern in patterns:
        fitting = [point for point in models if fnmatch.fnmatchcase(point.model.casefold(), pattern.casefold())]
        if not fitting:
            known = ", ".join(one_line(point.model, 40) for point in models[:12])
            raise VivaError(f"{pattern!r} fits no model of {title}, which has: {known}, …", field=field)
        chosen |= {point.model: point for point in fitting}
    return chosen


def _chosen(data: ScalingData, config: ScalingConfig) -> ScalingData:
    """Return the models that --model, --exclude and --where select. Raises VivaError for a pattern or condition that
    matches none.
    """
    models = (*data.points, *data.sizeless)
    named = _called(models, config.model, data.title, "model")
    dropped = _called(models, config.exclude, data.title, "exclude")
    kept = [point for point in data.models if (point.model in named or not named) and point.model not in dropped]
    for condition in config.where:
        word, _, value = condition.partition("=")
        values = sorted({point.words.get(word, "") for point in models} - {""})
        if value not in values:
            known = ", ".join(one_line(value, 40) for value in values) or "nothing"
            raise VivaError(f"{condition!r} fits no model of {data.title}; {word!r} is one of: {known}", field="where")
        kept = [point for point in kept if point.words.get(word) == value]
    return replace(data, models=tuple(kept))


def _curve_kinds(config: ScalingConfig) -> list[Kind]:
    """Return the kinds of curves that are asked for. Raises VivaError for unknown ones."""
    asked = list(dict.fromkeys(_parts(config.fit))) or ["average" if config.predict else "log"]
    for name in asked:
        if name not in KINDS:
            raise VivaError(f"{name!r} is no curve; there are {', '.join(KINDS)}", field="fit")
    return cast("list[Kind]", asked)


def _numbers(values: Sequence[str], field: str) -> list[float]:
    numbers: list[float] = []
    for part in _parts(values):
        try:
            size = float(part.lower().removesuffix("b"))
        except ValueError:
            size = 0.0
        if not 0 < size < 1e9:
            raise VivaError(f"{part!r} is no size in billions of parameters, as 7 or 110", field=field)
        numbers.append(size)
    return numbers


def _parts(values: Sequence[str]) -> list[str]:
    return [part.strip() for given in values for part in given.split(",") if part.strip()]
