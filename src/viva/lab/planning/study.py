"""Plans of comparisons, from earlier runs or from assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from viva.commands import command
from viva.errors import DataError, VivaError, flag, option
from viva.fields import note
from viva.studies.item_scores import EXAM, OnlyExams, OnlyModels, Runs, score_sets
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.lab.planning.answers import Answers, Took
    from viva.lab.planning.power import Basis, Scatter
    from viva.lab.planning.tables import Assumption, Plan
    from viva.render.findings import Findings

SCORE = 70.0
CORRELATION = 0.35
"""Default correlation of two models' right answers: the median of 120 pairs of 16 models on MMLU-Pro."""
DIFFERENCES = (1.0, 2.0, 3.0, 5.0)
QUESTIONS = (100, 200, 500, 1_000, 2_000, 5_000)
Share = Annotated[float, Meta(ge=0, le=1)]
Points = Annotated[float, Meta(gt=0, lt=100)]
Count = Annotated[int, Meta(ge=1, le=10**7)]


class PlanConfig(Struct, kw_only=True):
    """How many questions, answers, dollars and hours does it take to tell two models apart, or to know a score so well;
    and what can a given number of questions show?

    From earlier runs (of one model, or better of two on the same questions), or without any from a score and a
    correlation. Asks nobody.

    \b
    viva plan                                              two models at 70 %, nothing known of them
    viva plan --score 90 --difference 1                    close to the top, a difference of a point
    viva plan runs/a runs/b --difference 2 --power 0.9     from two runs: how they scatter, what they cost
    viva plan runs/a --samples 1 --samples 10              do more answers to each question help?
    viva plan --questions 500 --interval 4                 what 500 show; questions for 4 points of interval
    viva plan runs/a --cluster passage                     questions on one passage tell less than single ones
    viva plan --icc 0.2 --cluster-size 5                   the same without a run
    """

    sources: Runs = ()
    difference: Annotated[
        tuple[Points, ...],
        note("Two models differ by so many points of per cent; repeatable.  [default: 1, 2, 3, 5]", metavar="POINTS"),
    ] = ()
    interval: Annotated[
        tuple[Points, ...], note("A score's 95 % interval is to be so many points wide; repeatable.", metavar="POINTS")
    ] = ()
    power: Annotated[float, Meta(gt=0.05, lt=1, description="The chance to see a difference that is there.")] = 0.8
    questions: Annotated[
        tuple[Count, ...],
        note("What can so many questions show? Repeatable.  [default: 100 to 5,000, and all]"),
    ] = ()
    samples: Annotated[tuple[Count, ...], note("Answers to each question; repeatable.  [default: 1]")] = ()
    repeats: Annotated[
        Count, note("Times that the whole run is repeated; each question has --samples answers in each.")
    ] = 1
    max_cost: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        note("What can so many US dollars show, for both models? From runs that asked.", metavar="DOLLARS"),
    ] = None
    max_time: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        note(
            "What can so many hours show, for both models at the pace of the runs? From runs that asked.",
            metavar="HOURS",
        ),
    ] = None
    price: Annotated[
        tuple[str, ...],
        note(
            "US dollars per million tokens, if the list price is unknown or you pay another.", metavar="[MODEL=]IN/OUT"
        ),
    ] = ()
    cluster: Annotated[
        str | None,
        note(
            "Questions of the runs with the same value of this tag belong together. Fewer questions are drawn from the "
            "runs' clusters; for more, clusters like them are added.",
            metavar="TAG",
        ),
    ] = None
    icc: Annotated[
        Share | None,
        note("Share of the variance between questions that those of one cluster have in common.  [default: measured]"),
    ] = None
    cluster_size: Annotated[Count | None, note("Questions of each cluster; a larger set has more clusters.")] = None
    clusters: Annotated[
        Annotated[int, Meta(ge=2, le=10**7)] | None,
        note("How many clusters there are; a larger set has more questions in each."),
    ] = None
    score: Annotated[
        Points | None,
        note(
            f"Without runs, which say it themselves: the score, in per cent.  [default: {SCORE:g}]", metavar="PER CENT"
        ),
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


@command(PlanConfig)
def study(config: PlanConfig) -> Findings[Plan]:
    """Plan a comparison or a score's interval. Raises VivaError where runs are of several exams, or share no question,
    and where assumptions contradict each other."""
    from viva.lab.planning.tables import Plan, findings

    if config.sources and config.score is not None:
        raise VivaError(
            f"{config.score:g}: the runs say what the score is; leave {option('score')} out, or the runs", field="score"
        )
    runs = [] if not config.sources else list(_answers(config.sources, config))
    basis, assumptions, consumed = _measured(runs, config) if runs else (*_assumed(config), None)
    basis, more = _clustered(basis, config, runs)
    assumptions += more
    samples = tuple(number * config.repeats for number in config.samples or (1,))
    questions = config.questions or tuple(sorted({*QUESTIONS, basis.questions or QUESTIONS[-1]}))
    if config.max_cost is not None or config.max_time is not None:
        questions = tuple(dict.fromkeys(_affordable(basis, config, number) for number in samples))
    plan = Plan(
        basis=basis,
        assumptions=tuple(assumptions),
        differences=config.difference or DIFFERENCES,
        widths=config.interval,
        questions=questions,
        samples=samples,
        power=config.power,
        budget=config.max_cost,
        hours=config.max_time,
        priced=bool(config.price),
        thoughts=consumed.thoughts if consumed else 0.0,
        judges=consumed.judges if consumed else (),
        left_out=consumed.left_out if consumed else (),
    )
    return findings(plan)


def _affordable(basis: Basis, config: PlanConfig, samples: int) -> int:
    """Return the number of questions that both models can be asked `samples` times within the budgets of dollars and
    hours.
    """
    limits = (
        (option("max_cost"), config.max_cost, basis.dollars, "costs", "US$", f", with {option('price', 'IN/OUT')}"),
        (option("max_time"), config.max_time, basis.seconds and basis.seconds / 3600, "takes", "h", ""),
    )
    most = []
    for called, budget, each, does, unit, more in limits:
        if budget is None:
            continue
        if each is None:
            raise VivaError(f"{called}: no run here says what an answer {does}; name one that asked{more}")
        if each and budget < 2 * samples * each:
            raise VivaError(f"{called} {budget:g}: one question {does} {2 * samples * each:.2g} {unit} for two models")
        most.append(int(budget / (2 * samples * each)) if each else QUESTIONS[-1])
    return min(most)


def _answers(sources: Sequence[Path], config: PlanConfig) -> Iterator[Answers]:
    from viva.lab.planning.answers import answers_of
    from viva.published import catalogue

    for source in sources:
        if str(source) in catalogue() and not source.exists():
            raise VivaError(
                f"{source}: its published scores are means, and a plan takes scores of single questions. Plan from "
                f"such a mean ({option('score', 'PER')} CENT), or name a run of it"
            )
    answers: dict[str, Answers] = {}
    exams: dict[str, None] = {}
    for scored in score_sets(
        sources, EXAM, cluster=config.cluster or "", first_cell=True, models=config.model, exams=config.exam
    ):
        exams[scored.exam] = None
        if len(exams) > 1:
            continue  # refused below, with all such names
        if scored.model in answers:
            raise DataError(
                f"{one_line(scored.model, 60)} is in {scored.source} and in a run before it: name one of them"
            )
        answers[scored.model] = answers_of(scored)
    if len(exams) > 1:
        raise VivaError(f"a plan is for one exam, and here are {', '.join(exams)}: name one with {option('exam')}")
    yield from answers.values()


def _assumed(config: PlanConfig) -> tuple[Basis, list[Assumption]]:
    from viva.lab.planning.power import Basis
    from viva.lab.planning.tables import Assumption

    score = (config.score or SCORE) / 100
    correlation = CORRELATION if config.correlation is None else config.correlation
    within = config.within or 0.0
    if config.cluster:
        raise VivaError(
            f"{config.cluster!r} is measured on runs: name one, or assume {option('icc')} with "
            f"{option('cluster_size')}",
            field="cluster",
        )
    single, pair, apart = _scatters(score * (1 - score), within, correlation)
    assumed = [
        Assumption("score", f"{100 * score:g} %", "assumed" if config.score is None else flag("score")),
        _correlation(correlation, config, "assumed: the median of 120 pairs of models on MMLU-Pro (.22 to .54)"),
        _within(within, config, "assumed: an answer is the same whenever it is asked for"),
    ]
    zero_one = not within and config.icc is None
    basis = Basis(single=single, pair=pair, apart=apart, score=score, correlation=correlation if zero_one else None)
    return basis, assumed


def _clustered(basis: Basis, config: PlanConfig, runs: Sequence[Answers]) -> tuple[Basis, list[Assumption]]:
    """Return the basis with the assumed clusters and their shared variance."""
    from viva.lab.planning.power import Clusters
    from viva.lab.planning.tables import Assumption

    number, size = config.clusters, config.cluster_size
    if number and size:
        raise VivaError(
            f"{number} and {option('cluster_size')} {size}: name one of them; {option('questions')} says how many "
            "there are",
            field="clusters",
        )
    together = any(run.cluster is not None for run in runs)
    if (number or size) and not together and config.icc is None:
        called = f"{option('clusters')} {number}" if number else f"{option('cluster_size')} {size}"
        raise VivaError(
            f"{called}: say how alike the questions of one are: {option('icc')}, or {option('cluster', 'TAG')} of runs"
        )
    if config.icc is None and not together:
        return basis, []
    measured = max(runs, key=lambda answers: len(answers.questions)).measured().scatter.clusters if runs else None
    design = Clusters.so_many(number) if number else Clusters.of_size(size) if size else measured
    if design is None:
        raise VivaError(
            f"{config.icc:g}: say how many questions a cluster has ({option('cluster_size')}), or {option('clusters')}",
            field="icc",
        )
    scatters = (basis.single, basis.pair, basis.apart)
    single, pair, apart = (
        replace(scatter, clusters=design, shared=_shared(scatter, config.icc)) for scatter in scatters
    )
    alike = f"{_ratio(single)} of a score, {_ratio(pair)} of a difference"
    origin = flag("icc") if config.icc is not None else "the runs"
    return replace(basis, single=single, pair=pair, apart=apart), [
        _design(config, runs),
        Assumption(f"ICC within a {config.cluster or 'cluster'}", alike, origin),
    ]


def _design(config: PlanConfig, runs: Sequence[Answers]) -> Assumption:
    from viva.lab.planning.tables import Assumption

    if config.clusters:
        return Assumption("clusters", f"{config.clusters:,}, of however many questions", flag("clusters"))
    if config.cluster_size:
        return Assumption("clusters", f"of {config.cluster_size:,} questions each", flag("cluster_size"))
    first = max(runs, key=lambda answers: len(answers.questions))
    count = first.cluster_count
    if count < 2:
        raise DataError(f"all questions of {first.source} are of one cluster, which tells nothing of others")
    return Assumption(
        "clusters",
        f"{count:,} of {len(first.questions) / count:.3g} questions",
        f"{config.cluster or 'as declared,'} of the runs",
    )


def _shared(scatter: Scatter, icc: float | None) -> float:
    return scatter.shared if icc is None else icc * scatter.between


def _ratio(scatter: Scatter) -> str:
    return f"{scatter.shared / scatter.between if scatter.between else 0.0:.3f}"


def _correlation(value: float, config: PlanConfig, origin: str) -> Assumption:
    from viva.lab.planning.tables import Assumption

    source = flag("correlation") if config.correlation is not None else origin
    return Assumption("correlation of two models' answers", f"{value:.2f}", source)


def _within(share: float, config: PlanConfig, origin: str) -> Assumption:
    from viva.lab.planning.tables import Assumption

    source = flag("within") if config.within is not None else origin
    return Assumption("share of chance in an answer", f"{100 * share:.0f} %", source)


def _scatters(whole: float, within: float, correlation: float) -> tuple[Scatter, Scatter, Scatter]:
    """Return the scatter of a score, of a difference on the same questions and on different ones, from the variance of
    one answer.
    """
    from viva.lab.planning.power import Scatter

    if correlation + within > 1:
        raise VivaError(
            f"{correlation:g} and {option('within')} {within:g} contradict each other: what is chance does not "
            f"correlate, so that at most {1 - within:g} can",
            field="correlation",
        )
    chance = within * whole
    return (
        Scatter(between=whole - chance, within=chance),
        Scatter(between=2 * whole * (1 - correlation) - 2 * chance, within=2 * chance),
        Scatter(between=2 * (whole - chance), within=2 * chance),
    )


def _measured(runs: Sequence[Answers], config: PlanConfig) -> tuple[Basis, list[Assumption], Took]:
    from viva.lab.planning.answers import median_pair, took
    from viva.lab.planning.power import Basis
    from viva.lab.planning.tables import Assumption
    from viva.runs.open import prices_said

    alone = [run.measured() for run in runs]
    named = f"{len(runs)} models" if len(runs) > 1 else runs[0].model
    score = sum(answers.mean for answers in alone) / len(alone)
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
    consumed = took(runs, prices_said(config.price))
    pair = median_pair(runs)
    grouped = config.icc is not None or any(run.cluster is not None for run in runs)
    if pair is None or config.correlation is not None:
        correlation = CORRELATION if config.correlation is None else config.correlation
        _, together, _ = _scatters(single.between + single.within, share, min(correlation, 1 - share))
        alike = single.shared / single.between if single.between else 0.0
        together = replace(together, shared=alike * together.between)
        assumptions.append(_correlation(correlation, config, "assumed: there is one model"))
        disagree = None
    else:
        told = pair.measured.separated and config.within is None
        together = pair.measured.scatter if told else _separated(pair.measured.scatter, 2 * single.within)
        correlation = pair.correlation
        assumptions.append(_correlation(correlation, config, f"{pair.first} and {pair.second}"))
        disagree = together if pair.zero_one and not share and not grouped else None
    for design in dict.fromkeys(each.design for each in runs if each.design):
        assumptions.append(Assumption("answers", f"the first of {design}", "`viva variance` has what the others move"))
    zero_one = all(each.zero_one for each in runs) and not share and not grouped
    basis = Basis(
        single=single,
        pair=together,
        apart=replace(single, between=2 * single.between, within=2 * single.within, shared=2 * single.shared),
        score=score,
        correlation=correlation if zero_one else None,
        disagree=disagree,
        questions=min(each.questions for each in alone),
        seconds=consumed.seconds,
        dollars=consumed.dollars,
    )
    return basis, assumptions, consumed


def _separated(scatter: Scatter, chance: float) -> Scatter:
    """Return the scatter with the same variance of one answer, of which `chance` is within questions."""
    whole = scatter.between + scatter.within
    between = max(0.0, whole - chance)
    return replace(scatter, between=between, within=min(chance, whole), shared=min(scatter.shared, between))


def _mean(scatters: Sequence[Scatter]) -> Scatter:
    """Return the mean scatter of several models' scores: differences on different questions scatter twice as much."""
    each = [(scatter.between, scatter.within, scatter.shared) for scatter in scatters]
    between, within, shared = (sum(values) / len(each) for values in zip(*each, strict=True))
    return replace(scatters[0], between=between, within=within, shared=shared)
