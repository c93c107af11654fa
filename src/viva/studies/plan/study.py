"""How many questions and answers a decision needs, from earlier runs or from assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from viva.errors import DataError, VivaError
from viva.runs.config import note
from viva.runs.item_scores import EXAM, score_sets
from viva.studies.options import OnlyExams, OnlyModels, Runs
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.power import Basis, Scatter
    from viva.reports.plan import Assumption, Plan
    from viva.runs.item_scores import ScoreSet
    from viva.studies.plan.answers import Answers

SCORE = 70.0
CORRELATION = 0.35
"""Of the right answers of two models where nothing is known: the median of 120 pairs of 16 models on MMLU-Pro."""
DIFFERENCES = (1.0, 2.0, 3.0, 5.0)
QUESTIONS = (100, 200, 500, 1_000, 2_000, 5_000)
Share = Annotated[float, Meta(ge=0, le=1)]
Points = Annotated[float, Meta(gt=0, lt=100)]
Count = Annotated[int, Meta(ge=1, le=10**7)]


class PlanConfig(Struct, kw_only=True):
    """What is to be decided, and what it is planned from."""

    sources: Runs = ()
    difference: Annotated[
        tuple[Points, ...],
        note("Two models differ by so many points of per cent; repeatable.  [default: 1, 2, 3, 5]"),
    ] = ()
    interval: Annotated[
        tuple[Points, ...], note("A score's 95 % interval is to be so many points wide; repeatable.")
    ] = ()
    power: Annotated[float, Meta(gt=0.05, lt=1, description="The chance to see a difference that is there.")] = 0.8
    questions: Annotated[
        tuple[Count, ...], note("What can so many questions show? Repeatable.  [default: 100 to 5,000, and all]")
    ] = ()
    samples: Annotated[tuple[Count, ...], note("Answers to each question; repeatable.  [default: 1]")] = ()
    max_cost: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        note("What can so many US dollars show, for both models? From runs that asked."),
    ] = None
    price: Annotated[
        tuple[str, ...], note("US dollars per million tokens, if the list price is unknown or you pay another.")
    ] = ()
    cluster: Annotated[str | None, note("Questions with the same value of this tag belong together.")] = None
    score: Annotated[
        Points | None, note(f"Without runs, which say it themselves: the score, in per cent.  [default: {SCORE:g}]")
    ] = None
    correlation: Annotated[
        Share | None,
        note(f"Of two models' right answers over questions.  [default: that of two runs, else {CORRELATION:g}]"),
    ] = None
    within: Annotated[
        Share | None,
        note(
            "Share of an answer's variance that is chance, the question being the same (0: always the same answer).  "
            "[default: that of runs with several answers, else 0]"
        ),
    ] = None
    model: OnlyModels = ()
    exam: OnlyExams = ()


def study(config: PlanConfig) -> Plan:
    """Plan a comparison or a score's interval. Raises VivaError where runs are of several exams, or share no question,
    and where assumptions contradict each other."""
    from viva.reports.plan import Plan

    if config.sources and config.score is not None:
        raise VivaError(f"--score {config.score:g}: the runs say what the score is; leave --score out, or the runs")
    runs = [] if not config.sources else list(_answers(config.sources, config))
    basis, assumptions = _measured(runs, config) if runs else _assumed(config)
    samples = config.samples or (1,)
    questions = config.questions or tuple(sorted({*QUESTIONS, basis.questions or QUESTIONS[-1]}))
    if config.max_cost is not None:
        questions = tuple(dict.fromkeys(_affordable(basis, config.max_cost, number) for number in samples))
    return Plan(
        basis=basis,
        assumptions=tuple(assumptions),
        differences=config.difference or DIFFERENCES,
        widths=config.interval,
        questions=questions,
        samples=samples,
        power=config.power,
        budget=config.max_cost,
        priced=bool(config.price),
    )


def _affordable(basis: Basis, budget: float, samples: int) -> int:
    """Questions that both models can be asked so often for so many dollars."""
    if basis.dollars is None:
        raise VivaError("--max-cost: no run here says what an answer costs; name one that asked, with --price IN/OUT")
    questions = int(budget / (2 * samples * basis.dollars)) if basis.dollars else QUESTIONS[-1]
    if questions < 1:
        raise VivaError(
            f"--max-cost {budget:g}: one question costs {2 * samples * basis.dollars:.2g} US$ for two models"
        )
    return questions


def _answers(sources: Sequence[Path], config: PlanConfig) -> Iterator[Answers]:
    from viva.studies.plan.answers import answers_of

    found: dict[str, Answers] = {}
    exams: dict[str, None] = {}
    for one in score_sets(sources, EXAM, tags=(config.cluster,) if config.cluster else (), first_cell=True):
        if (config.model and not one.is_called(config.model)) or (config.exam and one.exam not in config.exam):
            continue
        exams[one.exam] = None
        if len(exams) > 1:
            continue  # refused below, by all their names
        if one.model in found:
            raise DataError(f"{one_line(one.model, 60)} is in {one.source} and in a run before it: name one of them")
        _refuse_unknown(one, config.cluster)
        found[one.model] = answers_of(one, config.cluster)
    if not found:
        raise VivaError(f"no scores of such a model or exam in {', '.join(map(str, sources))}")
    if len(exams) > 1:
        raise VivaError(f"a plan is for one exam, and here are {', '.join(exams)}: name one with --exam")
    yield from found.values()


def _refuse_unknown(one: ScoreSet, cluster: str | None) -> None:
    if cluster and f"tag:{cluster}" not in one.scores.columns:
        known = ", ".join(name.removeprefix("tag:") for name in one.scores.columns if name.startswith("tag:"))
        raise DataError(f"--cluster {cluster!r}: {one.exam} in {one.source} has no such tag; it has: {known or 'none'}")


def _assumed(config: PlanConfig) -> tuple[Basis, list[Assumption]]:
    from viva.analysis.power import Basis
    from viva.reports.plan import Assumption

    score = (config.score or SCORE) / 100
    correlation = CORRELATION if config.correlation is None else config.correlation
    within = config.within or 0.0
    if config.cluster:
        raise VivaError(f"--cluster {config.cluster!r} is measured on runs: name one")
    single, pair, apart = _scatters(score * (1 - score), within, correlation)
    assumed = [
        Assumption("score", f"{100 * score:g} %", "assumed" if config.score is None else "--score"),
        _correlation(correlation, config, "assumed: the median of 120 pairs of models on MMLU-Pro (.22 to .54)"),
        _within(within, config, "assumed: an answer is the same whenever it is asked for"),
    ]
    basis = Basis(single=single, pair=pair, apart=apart, score=score, correlation=correlation if not within else None)
    return basis, assumed


def _correlation(value: float, config: PlanConfig, origin: str) -> Assumption:
    from viva.reports.plan import Assumption

    said = "--correlation" if config.correlation is not None else origin
    return Assumption("correlation of two models' answers", f"{value:.2f}", said)


def _within(share: float, config: PlanConfig, origin: str) -> Assumption:
    from viva.reports.plan import Assumption

    said = "--within" if config.within is not None else origin
    return Assumption("share of chance in an answer", f"{100 * share:.0f} %", said)


def _scatters(whole: float, within: float, correlation: float) -> tuple[Scatter, Scatter, Scatter]:
    """Of a score, of a difference on the same questions and on others, from the variance of one answer."""
    from viva.analysis.power import Scatter

    if correlation + within > 1:
        raise VivaError(
            f"--correlation {correlation:g} and --within {within:g} contradict each other: what is chance does not "
            f"correlate, so that at most {1 - within:g} can"
        )
    chance = within * whole
    return (
        Scatter(between=whole - chance, within=chance),
        Scatter(between=2 * whole * (1 - correlation) - 2 * chance, within=2 * chance),
        Scatter(between=2 * (whole - chance), within=2 * chance),
    )


def _measured(runs: Sequence[Answers], config: PlanConfig) -> tuple[Basis, list[Assumption]]:
    from viva.analysis.power import Basis
    from viva.reports.plan import Assumption
    from viva.runs.open import prices_said
    from viva.studies.plan.answers import median_pair, took

    alone = [one.measured() for one in runs]
    named = f"{len(runs)} models" if len(runs) > 1 else runs[0].model
    score = sum(one.mean for one in alone) / len(alone)
    repeated = [each for each in alone if each.separated]
    told = bool(repeated) and config.within is None
    single = _mean([each.scatter for each in repeated or alone])
    if not told:
        single = _separated(single, (config.within or 0.0) * (single.between + single.within))
    share = single.within / (single.between + single.within) if single.between + single.within else 0.0
    assumptions = [
        Assumption("score", f"{100 * score:.1f} %", f"the mean of {named}" if len(runs) > 1 else named),
        _within(share, config, named if told else "assumed: the runs have one answer a question"),
    ]
    seconds, dollars = took(runs, prices_said(config.price))
    pair = median_pair(runs)
    if pair is None or config.correlation is not None:
        correlation = CORRELATION if config.correlation is None else config.correlation
        _, difference, _ = _scatters(1.0, share, min(correlation, 1 - share))
        whole = single.between + single.within
        together = _clustered(difference, single.clustered, whole)
        assumptions.append(_correlation(correlation, config, "assumed: there is one model"))
        disagree = None
    else:
        told = pair.measured.separated and config.within is None
        together = pair.measured.scatter if told else _separated(pair.measured.scatter, 2 * single.within)
        correlation = pair.correlation
        assumptions.append(_correlation(correlation, config, f"{pair.first} and {pair.second}"))
        disagree = together if pair.zero_one and not share else None
    for design in dict.fromkeys(each.design for each in runs if each.design):
        assumptions.append(Assumption("answers", f"the first of {design}", "`viva variance` has what the others move"))
    if config.cluster:
        raised = f"{together.clustered:.2f} times the variance of a difference, {single.clustered:.2f} of a score"
        assumptions.append(Assumption(f"questions of one {config.cluster}", raised, named))
    zero_one = all(each.zero_one for each in runs) and not share and not config.cluster
    basis = Basis(
        single=single,
        pair=together,
        apart=_clustered(_doubled(single), single.clustered, 1.0),
        score=score,
        correlation=correlation if zero_one else None,
        disagree=disagree if not config.cluster else None,
        questions=min(each.questions for each in alone),
        seconds=seconds,
        dollars=dollars,
    )
    return basis, assumptions


def _separated(scatter: Scatter, chance: float) -> Scatter:
    """The same variance of one answer, with so much of it chance."""
    from viva.analysis.power import Scatter

    whole = scatter.between + scatter.within
    return Scatter(between=max(0.0, whole - chance), within=min(chance, whole), clustered=scatter.clustered)


def _mean(scatters: Sequence[Scatter]) -> Scatter:
    """Of several models' scores: so their differences on other questions scatter twice as much."""
    from viva.analysis.power import Scatter

    each = [(one.between, one.within, one.clustered) for one in scatters]
    between, within, clustered = (sum(values) / len(each) for values in zip(*each, strict=True))
    return Scatter(between=between, within=within, clustered=clustered)


def _doubled(scatter: Scatter) -> Scatter:
    from viva.analysis.power import Scatter

    return Scatter(between=2 * scatter.between, within=2 * scatter.within)


def _clustered(scatter: Scatter, clustered: float, whole: float) -> Scatter:
    from viva.analysis.power import Scatter

    return Scatter(between=whole * scatter.between, within=whole * scatter.within, clustered=clustered)
