"""`viva scaling`: how scores grow with the number of parameters, and what that predicts."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec import Struct

from viva.cli.analysisoptions import chart_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.cli.scalingpoints import Found, Parameters, Source, found_in, read_sizes
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.scaling import Kind
    from viva.analysis.scalinggroups import Group
    from viva.reports.scaling import Scaling

_PATH = click.Path(path_type=Path)


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    fit: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    predict: tuple[str, ...] = ()
    fit_on: tuple[str, ...] = ()
    parameters: str = "total"
    models: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    best: bool = False
    table: str | None = None
    score: str | None = None
    sizes: Path | None = None
    questions: int | None = None
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


@click.command(name="scaling", short_help="How scores grow with size: fits, predictions, breaks.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@click.option(
    "--fit",
    multiple=True,
    metavar="family|log|segments",
    help="The curve; several: repeat, or with commas. family: 1 - 1/(a·ln(bx + 1) + 1), CS-Bench's; log: a line over "
    "log size; segments: two lines that meet at a break, tested against one.  [default: log]",
)
@click.option(
    "--by", multiple=True, metavar="family|domain|type|...", help="A curve for each value; several: each combination."
)
@click.option("--predict", multiple=True, metavar="SIZE", help="The score at this many billions; such models judge it.")
@click.option("--fit-on", multiple=True, metavar="SIZE,...", help="Fit models of these sizes only, as papers do.")
@click.option(
    "--parameters",
    type=click.Choice(["total", "active"]),
    default="total",
    show_default=True,
    help="Of mixtures of experts: all parameters, or those that a token passes through.",
)
@click.option("--model", "models", multiple=True, metavar="PATTERN", help="Only these, as in 'Qwen1.5-*'; repeatable.")
@click.option("--without", multiple=True, metavar="PATTERN", help="Leave these models out.")
@click.option("--where", multiple=True, metavar="WORD=VALUE", help="Only models of which this is said: domain=Code.")
@click.option("--best", is_flag=True, help="Only the best model of each size.")
@click.option("--table", metavar="NAME", help="Which published table (`viva published BENCHMARK`).")
@click.option("--score", metavar="COLUMN", help="Which column is the score.")
@click.option("--sizes", type=_PATH, metavar="FILE", help="CSV `model,billions[,active]`, where names do not say it.")
@click.option(
    "--questions",
    type=click.IntRange(1),
    help="On how many questions each score of a table rests, for intervals where no model is left over.",
)
@chart_option()
@tables_options
def scaling_command(sources: tuple[str, ...], **given: Any) -> int:
    """How scores grow with the number of parameters, in the published tables of csbench, infibench, cmmlu or syneval,
    in a table of your own (a row a model), or in runs: curves, what they predict, and how far to trust that.

    \b
    viva scaling csbench --fit family --model 'Qwen1.5-*' --fit-on 7,14,32,72 --predict 110
    viva scaling infibench --fit segments --by domain --chart break.svg
    viva scaling runs/* --sizes sizes.csv --fit log --predict 400
    """
    from viva.reports.charts import save

    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    kinds = _kinds(wanted)
    asked = Source(
        table=wanted.table,
        score=wanted.score,
        parameters=cast("Parameters", wanted.parameters),
        sizes=read_sizes(wanted.sizes) if wanted.sizes else {},
        questions=wanted.questions,
    )
    found = [_scaling(one, kinds, wanted) for one in found_in(sources, asked)]
    if wanted.chart is not None:
        from viva.reports.charts.scaling import chart

        if len(found) > 1:
            raise VivaError(
                f"a chart shows one exam, and here are {', '.join(one.title for one in found)}: name one's runs"
            )
        save(chart(found[0]), wanted.chart)
    emit(_printed(found, wanted), wanted.out)
    return 0


def _scaling(found: Found, kinds: Sequence[Kind], wanted: Wanted) -> Scaling:
    from viva.analysis.scalinggroups import best_of_size, grouped, studied
    from viva.reports.scaling import Scaling

    found = _chosen(found, wanted)
    groups: list[Group] = []
    for name, members in grouped(found.points, _parts(wanted.by)).items():
        kept = best_of_size(members) if wanted.best else members
        groups.append(
            studied(name, kept, kinds, _numbers(wanted.predict, "--predict"), _numbers(wanted.fit_on, "--fit-on"))
        )
    fitted = [group for group in groups if group.fits]
    if not fitted:
        if groups:
            why = f"{groups[0].name}: {groups[0].skipped[0] if groups[0].skipped else 'there are no models left'}"
        else:
            unknown = ", ".join(one_line(model, 40) for model in list(found.sizeless)[:6])
            why = f"nobody's size is known: {unknown} (--sizes FILE gives sizes)" if unknown else "there are no models"
        raise DataError(f"{found.title}: no curve can be fitted; {why}")
    return Scaling(
        title=found.title + (", best of each size" if wanted.best else ""),
        parameters=wanted.parameters,
        groups=tuple(groups),
        sizeless=tuple(found.sizeless),
    )


def _chosen(found: Found, wanted: Wanted) -> Found:
    """What --model, --without and --where leave. Raises VivaError for a pattern or condition that fits no model."""
    words = {**{point.model: point.words for point in found.points}, **found.sizeless}
    for option, patterns in (("--model", wanted.models), ("--without", wanted.without)):
        for pattern in patterns:
            if not any(_matches(model, pattern) for model in words):
                known = ", ".join(one_line(model, 40) for model in list(words)[:12])
                raise VivaError(f"{option} {pattern!r} fits no model of {found.title}, which has: {known}, …")
    for condition in wanted.where:
        word, _, value = condition.partition("=")
        values = sorted({said.get(word, "") for said in words.values()} - {""})
        if value not in values:
            known = ", ".join(one_line(value, 40) for value in values) or "nothing"
            raise VivaError(f"--where {condition!r} fits no model of {found.title}; {word!r} is one of: {known}")

    def kept(model: str) -> bool:
        return (
            (not wanted.models or any(_matches(model, pattern) for pattern in wanted.models))
            and not any(_matches(model, pattern) for pattern in wanted.without)
            and all(words[model].get(word) == value for word, _, value in (one.partition("=") for one in wanted.where))
        )

    return Found(
        title=found.title,
        points=tuple(point for point in found.points if kept(point.model)),
        sizeless={model: said for model, said in found.sizeless.items() if kept(model)},
    )


def _matches(model: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(model.casefold(), pattern.casefold())


def _kinds(wanted: Wanted) -> list[Kind]:
    from viva.analysis.scaling import KINDS

    asked = list(dict.fromkeys(_parts(wanted.fit))) or ["log"]
    for name in asked:
        if name not in KINDS:
            raise VivaError(f"--fit {name!r} is no curve; there are {', '.join(KINDS)}")
    return cast("list[Kind]", asked)


def _numbers(values: Sequence[str], option: str) -> list[float]:
    found: list[float] = []
    for part in _parts(values):
        try:
            size = float(part.lower().removesuffix("b"))
        except ValueError:
            size = 0.0
        if not 0 < size < 1e9:
            raise VivaError(f"{option} {part!r} is no size in billions of parameters, as 7 or 110")
        found.append(size)
    return found


def _parts(values: Sequence[str]) -> list[str]:
    return [part.strip() for given in values for part in given.split(",") if part.strip()]


def _printed(found: Sequence[Scaling], wanted: Wanted) -> str:
    from viva.reports import scaling as report

    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, width=width, colour=colour)
