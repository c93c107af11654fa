"""Item statistics and item response of an exam's questions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from viva.analysis.items.itemscores import TRIALS, levels
from viva.commands import command
from viva.errors import DataError, VivaError, flag, option
from viva.fields import note
from viva.studies.item_scores import Runs
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.lab.items.sources import ItemSources
    from viva.render.findings import Findings
    from viva.studies.score_table.tables import Grouping


class ItemsConfig(Struct, kw_only=True):
    """Look at an exam's questions by the scores of several models: run folders (or a folder of runs) and tables of item
    scores. The more models, the more can be told.

    \b
    viva item-analysis runs/ --irt 2pl --chart map.svg                      good and bad questions, abilities
    viva item-analysis runs/ --anchors 100 --families families.csv --out anchors.csv   few questions that predict all
    viva run cmmlu --questions anchors.csv --model openai/NEW       ask a new model only these
    viva item-analysis --predict runs/NEW --anchors-file anchors.csv        its full score, with an interval
    viva item-analysis item_scores.csv.gz --levels --weaker gpt-3.5-turbo --stronger gpt-4-0613
    """

    sources: Runs = ()
    exam: Annotated[str | None, note("Only this exam, where the sources have several.", metavar="NAME")] = None
    irt: Annotated[
        Literal["1pl", "2pl", "3pl"] | None,
        note(
            "Also fit this item-response model: difficulties and abilities on one scale, with errors and fit. Where "
            "questions can be guessed: 3pl."
        ),
    ] = None
    items: Annotated[int, Meta(ge=0, description="List at most so many questions a table.")] = 20
    anchors: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        note(
            "Choose N questions that predict the full score; their error beside random questions. --out "
            "FILE.csv keeps them, for `viva run --questions` and --predict."
        ),
    ] = None
    families: Annotated[
        Path | None,
        note(
            "A table `model,family`: relatives are not predicted from each other when the error of --anchors is found.",
            metavar="FILE",
        ),
    ] = None
    predict: Annotated[
        tuple[Path, ...],
        note(
            "Predict the full scores of this run's models from their answers to the anchors; repeatable.", metavar="RUN"
        ),
    ] = ()
    anchors_file: Annotated[Path | None, note("The anchors for --predict.", metavar="FILE")] = None
    levels: Annotated[bool, note("Every question's level of difficulty, by InfiBench's rule.")] = False
    weaker: Annotated[str | None, note("--levels: the weaker examiner (the paper's is GPT-3.5).", metavar="MODEL")] = (
        None
    )
    stronger: Annotated[str | None, note("--levels: the stronger one (GPT-4 at temperature 0.2).", metavar="MODEL")] = (
        None
    )
    warm: Annotated[
        str | None, note("--levels: the stronger one at temperature 1.0; tells level 3.", metavar="MODEL")
    ] = None
    trials: Annotated[
        int, Meta(ge=1, description="--levels: answers without a point that make a question level 5.")
    ] = TRIALS
    given: Annotated[Path | None, note("--levels: published levels to compare with.", metavar="FILE")] = None


@command(ItemsConfig, chart="Draw it")
def study(config: ItemsConfig) -> Findings[Any]:
    """Look at an exam's questions by the scores of several models: facility, discrimination, item response; or choose
    anchors (few questions that predict the full score), predict from them, or tell levels of difficulty.
    """
    from viva.lab.items.anchors import chosen, predicted
    from viva.lab.items.chart import chart
    from viva.lab.items.sources import item_sources, only_exam
    from viva.lab.items.tables import examined, findings

    _refuse_contradictions(config)
    if config.predict:
        return predicted(config.predict, config.anchors_file, config.exam)
    sources = item_sources(config.sources, config.exam)
    if config.levels or config.anchors is not None:
        only_exam([each.exam for each in sources], "levels" if config.levels else "anchors")
    if config.levels:
        return levelled(sources[0], config)
    if config.anchors is not None:
        return chosen(sources[0], config.anchors, config.families, config.items)
    every = tuple(examined(each, config.irt) for each in sources)
    return findings(every, config.items, partial(chart, every))


def _refuse_contradictions(config: ItemsConfig) -> None:
    """Raise VivaError for options that do not go together."""
    if config.predict:
        if config.sources:
            raise VivaError(
                f"reads the runs that it names, and {config.sources[0]} is one more: leave it out", field="predict"
            )
        if config.anchors_file is None:
            raise VivaError(
                f"needs {option('anchors_file', 'FILE')}: what `viva item-analysis RUN... {flag('anchors', 'N')} "
                f"{flag('out', 'FILE')}.csv` wrote",
                field="predict",
            )
    elif not config.sources:
        raise VivaError("name runs or tables of item scores, as in `viva item-analysis runs/`")
    elif config.anchors_file is not None:
        raise VivaError(
            f"goes with {option('predict')}; to keep chosen anchors say {option('anchors', 'N')} "
            f"{option('out', 'FILE')}.csv",
            field="anchors_file",
        )
    modes = {
        option("predict"): bool(config.predict),
        option("anchors"): config.anchors is not None,
        option("levels"): config.levels,
    }
    asked = [name for name, on in modes.items() if on]
    if len(asked) > 1:
        raise VivaError(f"{asked[0]} and {asked[1]} are two questions: ask them one by one")
    if asked and config.irt:
        raise VivaError(f"belongs to the questions' statistics: leave it out with {asked[0]}", field="irt")
    for name, value in (("weaker", config.weaker), ("stronger", config.stronger)):
        if config.levels and value is None:
            raise VivaError(
                f"needs {option(name, 'MODEL')}: which of the models takes that part in the rule", field="levels"
            )
    if config.families is not None and config.anchors is None:
        raise VivaError(f"{config.families} is for {option('anchors', 'N')}; add it", field="families")
    parts = {
        option("weaker"): config.weaker,
        option("stronger"): config.stronger,
        option("warm"): config.warm,
        option("given"): config.given,
    }
    for called, setting in parts.items():
        if setting is not None and not config.levels:
            raise VivaError(f"{called} {setting} is for {option('levels')}; add {option('levels')}")


STRONGER, WARM = 0.2, 1.0
"""The paper's temperatures."""


def levelled(sources: ItemSources, wanted: ItemsConfig) -> Findings[Grouping]:
    """Return the outcome of InfiBench's rule for five levels of difficulty. Raises DataError for a model that is not
    there.
    """
    from viva.analysis.items.itemscores import answers
    from viva.runs.exams import read_level_file
    from viva.studies.score_table.tables import Grouping, grouping_findings

    def scores(called: str, name: str | None) -> dict[str, list[float | None]] | None:
        if name is None:
            return None
        if name not in sources.frames:
            known = ", ".join(repr(one_line(model, 60)) for model in sources.frames)
            raise DataError(f"{called} {name!r}: {sources.exam} has no such model here; there are: {known}")
        return answers(sources.frames[name])

    weaker, stronger = scores(option("weaker"), wanted.weaker), scores(option("stronger"), wanted.stronger)
    warm = scores(option("warm"), wanted.warm)
    grouping = Grouping(
        table=sources.exam,
        weaker=wanted.weaker or "",
        stronger=wanted.stronger or "",
        warm=wanted.warm or "",
        trials=wanted.trials,
        found=levels(weaker or {}, stronger or {}, warm, trials=wanted.trials),
        given=read_level_file(wanted.given) if wanted.given else {},
    )
    notes = list(sources.notes)
    for name, expected in ((wanted.stronger, STRONGER), (wanted.warm, WARM)):
        told = _temperature(sources, name)
        if told is not None and told != expected:
            notes.append(f"The paper's rule has {name} at temperature {expected:g}; this run asked it at {told:g}.")
    return grouping_findings(grouping, notes)


def _temperature(sources: ItemSources, name: str | None) -> float | None:
    """Return the temperature of a model's run; None if none was sent."""
    scored = sources.found.get(name or "")
    if scored is None or scored.run is None or scored.record is None:
        return None
    return (scored.record.sampling or scored.run.sampling).temperature
