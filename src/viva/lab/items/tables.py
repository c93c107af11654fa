"""Item statistics and item-response fits, as tables and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.estimate import UNSURE, percent, range_text
from viva.analysis.items.itemscores import Floats, ItemScores, item_scores
from viva.analysis.items.itemstatistics import FEWEST, ItemStatistics, item_statistics
from viva.errors import DataError, flag
from viva.lab.items.curves import dimensions
from viva.lab.items.response import Fitted, Logistic, fit
from viva.lab.items.sources import ItemSources
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, FIGURE, NAME, PERCENT, Column, Kind, Table, fields, figure
from viva.visible import one_line

LEGEND = (
    "Facility: the models' mean score on a question, per cent. Discrimination: the correlation, over models, of the "
    "score on a question with the mean of all others. Alpha [Feldt's 95 % interval]: how far another set of such "
    "questions would order the models alike."
)
RESPONSE = (
    "Ability ± standard error: mean 0 and standard deviation 1 over these models. Difficulty is on the same scale: a "
    "model of that ability answers the question every second time. Infit: 1 where answers are as erratic as the model "
    "says; a question is called erratic above 1.3 and three standard deviations."
)
ERRATIC = 1.3
SURPRISING = 3.0


class Examined(Struct, frozen=True, kw_only=True, eq=False):
    """The analysis of one exam's questions. `fits`: the requested fit, then one for comparison."""

    scores: ItemScores
    statistics: ItemStatistics
    fits: tuple[Fitted, ...] = ()
    notes: tuple[str, ...] = ()


def examined(item_source: ItemSources, irt: Logistic | None = None) -> Examined:
    """Return item statistics and fits of one exam. Raises DataError where no answer has a score."""
    scores = item_scores(item_source.exam, item_source.frames, item_source.headline)
    notes = list(item_source.notes)
    heard = np.atleast_1d(np.isfinite(scores.scores).any(axis=1))
    if not heard.any():
        raise DataError(f"{item_source.exam}: no answer of any model has a score yet")
    if not heard.all():
        silent = ", ".join(name for name, known in zip(scores.models, heard, strict=True) if not known)
        notes.append(f"{item_source.exam}: left out, as they have no score at all: {silent}.")
        scores = scores.of(heard, np.ones(len(scores.questions), dtype=bool))
    fits: tuple[Fitted, ...] = ()
    if irt:
        shares = np.clip(scores.scores, 0.0, 1.0)
        below = int((scores.scores < 0).sum())
        if below:
            notes.append(f"{item_source.exam}: {below:,} scores below 0 count as 0 in the item-response model.")
        several = dimensions(shares, np.full(shares.shape[1], 1 / shares.shape[1]))
        if several is not None and several.several:
            notes.append(
                f"{item_source.exam}: the models differ in more than one ability (largest eigenvalue of residuals "
                f"{several.largest:.2f}, {several.expected:.2f} if it were one): one scale averages over them, and its "
                "errors are too small."
            )
        fits = (fit(shares, irt),)
        if fits[0].log_likelihood is not None:  # only likelihoods can be compared
            fits = (*fits, fit(shares, "1pl" if irt == "2pl" else "2pl"))
    return Examined(scores=scores, statistics=item_statistics(scores.scores), fits=fits, notes=tuple(notes))


class Item(Struct, frozen=True):
    """A question's figures; None where undefined."""

    exam: str
    question: str
    models: int
    """Number of models with a score."""
    facility: float | None
    discrimination: float | None
    p: float | None
    flags: str
    """Reasons to inspect the question."""
    irt: str = ""
    """The item-response model of the fields below."""
    difficulty: float | None = None
    difficulty_error: float | None = None
    a: float | None = None
    a_error: float | None = None
    infit: float | None = None
    outfit: float | None = None


def flags(exam_items: Examined) -> dict[int, str]:
    """Return place of a question → its flags, the gravest first: surely negative, erratic, nobody passes, negative,
    everybody.
    """
    stats = exam_items.statistics
    kinds: list[tuple[str, Sequence[int]]] = [
        ("negative discrimination, more than chance", _worst(stats.surely_negative, stats.discrimination))
    ]
    if exam_items.fits:
        items = exam_items.fits[0].items
        erratic = (items.infit > ERRATIC) & (items.surprise > SURPRISING)
        kinds.append(("erratic (infit)", _worst(erratic, -items.infit)))
    kinds += [
        ("nobody passes", _places(stats.nobody & _all_scored(exam_items))),
        ("no model with a score passes", _places(stats.nobody & ~_all_scored(exam_items))),
        ("negative discrimination", _worst(stats.negative & ~stats.surely_negative, stats.discrimination)),
        ("everybody passes", _places(stats.everybody & _all_scored(exam_items))),
        ("every model with a score passes", _places(stats.everybody & ~_all_scored(exam_items))),
    ]
    whys: dict[int, list[str]] = {}
    for why, places in kinds:
        for place in places:
            whys.setdefault(place, []).append(why)
    return {place: ", ".join(of) for place, of in whys.items()}


def _all_scored(exam_items: Examined) -> NDArray[np.bool_]:
    """Return which questions every model has a score on: others cannot be flagged as never passed."""
    everyone: NDArray[np.bool_] = exam_items.statistics.models == len(exam_items.scores.models)
    return everyone


def _places(which: NDArray[np.bool_]) -> list[int]:
    return list(map(int, np.flatnonzero(which)))


def _worst(which: np.ndarray, by: Floats) -> list[int]:
    places = np.flatnonzero(which)
    return [int(place) for place in places[np.argsort(by[places], kind="stable")]]


def _tables(exam_items: Examined, items: Sequence[Item], listed: int) -> Iterator[Table]:
    """Yield models, the set as a whole, the fits, and at most `listed` flagged questions."""
    exam = exam_items.scores.exam
    yield _models(exam_items)
    yield Table(f"The questions as a set · {exam}", _WHOLE, list(_whole(exam_items)))
    if exam_items.fits:
        yield Table(f"Item-response models · {exam}", _FITS, exam_items.fits)
        order, most = np.argsort(-exam_items.fits[0].items.difficulty, kind="stable"), min(listed, 5)
        places = [*order[:most], *order[max(most, len(order) - most) :]]
        named = [("hardest" if rank < most else "easiest", items[place]) for rank, place in enumerate(places)]
        yield _questions(exam_items, f"Hardest and easiest questions, {exam_items.fits[0].logistic.upper()}", named)
    flagged = flags(exam_items)
    if flagged and listed:
        title = f"Questions to look at · {exam}"
        if len(flagged) > listed:
            title += f" ({listed:,} of {len(flagged):,}; {flag('items', 'N')}, {flag('format')} csv lists all)"
        yield _questions(exam_items, title, [(why, items[place]) for place, why in list(flagged.items())[:listed]])


def _models(exam_items: Examined) -> Table:
    scores, fit = exam_items.scores, exam_items.fits[0] if exam_items.fits else None
    there, means = np.isfinite(scores.scores).sum(axis=1), _means(scores)
    rows = [
        (
            *(name, None if name in scores.ranges else _null(means[place]), scores.ranges.get(name)),
            *(int(there[place]), len(scores.questions) - int(there[place])),
            *((float(fit.ability[place]), float(fit.ability_error[place])) if fit else (None, None)),
        )
        for place in np.argsort(-means, kind="stable")
        for name in (scores.models[place],)
    ]
    columns = (
        Column("model", "0", NAME), Column("mean score", lambda row: row, Kind(_mean_text), None),
        Column(None, "1", key="score"), Column(None, "2", key="range"), Column("questions", "3", COUNT),
        Column("unscored", "4", COUNT),
        Column("ability" if fit else None, lambda row: "{:.3f} ± {:.3f}".format(*row[5:]), FIGURE, None),
        Column(None, "5", key="ability"), Column(None, "6", key="ability_error"),
    )  # fmt: skip
    return Table(f"Models · {scores.exam}", columns, rows)


def _mean_text(row: tuple[Any, ...]) -> str:
    """Return the mean or its range, with † if questions have no score."""
    _, mean, between, _, unscored, *_ = row
    return (range_text(*between) if between else percent(mean)) + (UNSURE if unscored else "")


def _means(item_scores_of: ItemScores) -> Floats:
    """Return the models' scores, averaged as in the exam's headline: by weight, and over groups if it does so."""
    shares = np.where(np.isfinite(item_scores_of.scores), item_scores_of.shares, 0.0)
    means: Floats = (shares * np.nan_to_num(item_scores_of.scores)).sum(axis=1) / shares.sum(axis=1)
    return means


_CORRELATION = figure(".3f")
_ALPHA = Kind(lambda alpha: f"{alpha.value:.3f} [{alpha.low:.3f}, {alpha.high:.3f}]")
_LIKELIHOOD = figure(",.1f")
_WHOLE = (
    Column("", "0", NAME, "figure"),
    Column("value", lambda row: row[2].none if row[1] is None else row[2].text(row[1]), FIGURE, None),
    Column(None, "1", key="value"),
)
_FITS = (
    Column("", "logistic", Kind(str.upper, words=True, name=True), "model"),
    Column("log-likelihood", "log_likelihood", _LIKELIHOOD, "log_likelihood"),
    Column("parameters", "parameters", COUNT),
    Column("AIC", "aic", _LIKELIHOOD, "aic"), Column("BIC", "bic", _LIKELIHOOD, "bic"),
    Column("guessed %", "guessing", PERCENT, "guessing"), Column("steps", "iterations", COUNT),
    Column("converged", lambda fit: "yes" if fit.converged else f"NO (last move {fit.change:.4f})", FIGURE, None),
    *fields("", "converged"),
)  # fmt: skip


def _whole(exam_items: Examined) -> Iterator[tuple[str, object, Kind]]:
    """Yield label, value and kind of each figure of the whole set."""
    stats, everyone = exam_items.statistics, _all_scored(exam_items)
    defined = stats.discrimination[np.isfinite(stats.discrimination)]
    binary = stats.reliability and stats.reliability.binary
    yield "questions", len(stats.facility), COUNT
    yield "models", len(exam_items.scores.models), COUNT
    yield "KR-20" if binary else "Cronbach's alpha", stats.reliability, _ALPHA
    yield "mean facility", float(stats.facility.mean()), PERCENT
    yield "median discrimination", float(np.median(defined)) if len(defined) else None, _CORRELATION
    yield "nobody passes", int((stats.nobody & everyone).sum()), COUNT
    yield "everybody passes", int((stats.everybody & everyone).sum()), COUNT
    if not everyone.all():
        yield "without a score of some model", int((~everyone).sum()), COUNT
    yield "negative discrimination", int(stats.negative.sum()), COUNT
    yield "… more than chance", int(stats.surely_negative.sum()), COUNT


def _questions(exam_items: Examined, title: str, rows: Sequence[tuple[str, Item]]) -> Table:
    fitted, gaps, count = bool(exam_items.fits), not _all_scored(exam_items).all(), len(exam_items.scores.models)

    def erring(name: str) -> Column:
        text = Kind(lambda item: f"{getattr(item, name):.2f} ± {getattr(item, f'{name}_error'):.2f}")
        return Column(
            name if fitted else None, lambda row: None if getattr(row[1], name) is None else row[1], text, None
        )

    columns = (
        Column("question", "1.question", NAME), Column("why", "0"),
        Column("models" if gaps else None, "1.models", Kind(lambda models: f"{models:,} of {count:,}"), "models"),
        Column("facility", "1.facility", PERCENT), Column("discrimination", "1.discrimination", _CORRELATION),
        Column("p", "1.p", _CORRELATION), erring("difficulty"), erring("a"),
        *fields("1", "difficulty", "difficulty_error", "a", "a_error"),
        Column("infit" if fitted else None, "1.infit", figure(".2f"), "infit"),
    )  # fmt: skip
    return Table(title, columns, rows)


def _items(exam_items: Examined) -> Iterator[Item]:
    stats, why = exam_items.statistics, flags(exam_items)
    columns = {"facility": stats.facility, "discrimination": stats.discrimination, "p": stats.p}
    if exam_items.fits:
        i = exam_items.fits[0].items
        columns |= {"difficulty": i.difficulty, "difficulty_error": i.difficulty_error, "a": i.discrimination}
        columns |= {"a_error": i.discrimination_error, "infit": i.infit, "outfit": i.outfit}
    for place, question in enumerate(exam_items.scores.questions):
        yield Item(
            exam=exam_items.scores.exam,
            question=question,
            models=int(stats.models[place]),
            flags=why.get(place, ""),
            irt=exam_items.fits[0].logistic if exam_items.fits else "",
            **{name: _null(column[place]) for name, column in columns.items()},
        )


def _null(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def findings(every: tuple[Examined, ...], listed: int, drawing: Drawing = None) -> Findings[tuple[Examined, ...]]:
    """Return models, questions to look at, and questions by difficulty, an exam after the other, at most `listed`
    questions a table; `rows` has one a question."""
    notes = [LEGEND, *([RESPONSE] if any(each.fits for each in every) else [])]
    items = [(each, list(_items(each))) for each in every]
    return Findings(
        found=every, shown=[table for each, own in items for table in _tables(each, own, listed)],
        rows=Table("Questions", fields("", *Item.__struct_fields__), [item for _, own in items for item in own]),
        notes=[*notes, *dict.fromkeys(note for each in every for note in notes_on(each))], drawing=drawing,
    )  # fmt: skip


def notes_on(exam_items: Examined) -> list[str]:
    """Return notes on the effects of few models, gaps and fractional scores."""
    scores, stats = exam_items.scores, exam_items.statistics
    exam, models = scores.exam, len(scores.models)
    notes = list(exam_items.notes)
    if not np.isfinite(scores.scores).all():
        notes.append(f"{UNSURE} {exam}: the mean leaves out questions without a score.")
    if scores.ranges:
        named = ", ".join(one_line(model, 40) for model in list(scores.ranges)[:6]) + (
            f" and {len(scores.ranges) - 6:,} more" if len(scores.ranges) > 6 else ""
        )
        notes.append(
            f"{exam}: of {named} only answers are scored of which one thing could be said (a similarity can only say "
            "right, an unreadable reply can only be wrong): their score is a range, and facility, discrimination and "
            f"ability are of what was decided, not of the questions; grade these with {flag('judge', 'MODEL')} first."
        )
    if scores.unasked:
        notes.append(f"{exam}: {scores.unasked:,} questions without a score of any model are left out.")
    if models < FEWEST:
        notes.append(f"{exam}: discrimination and alpha are over models, and take {FEWEST}; here {_are(models)}.")
    elif models < 10:
        notes.append(
            f"{exam}: with {models} models chance alone moves a question's discrimination from −1 to 1; of questions "
            "that tell nobody apart, half would be negative."
        )
    if stats.reliability and stats.reliability.left_out:
        notes.append(f"{exam}: alpha leaves out {stats.reliability.left_out:,} questions that some model lacks.")
    if exam_items.fits:
        if exam_items.fits[0].log_likelihood is None:
            notes.append(
                f"{exam}: scores between 0 and 1 count as that share of an answer, several answers to a question as "
                "their mean: errors are rather too wide, and there is no likelihood, AIC or BIC."
            )
        else:
            notes.append(
                "AIC and BIC take estimates as if no prior held them together; for BIC a model is one observation."
            )
        if models < 10:
            notes.append(
                f"{exam}: {models} models say little about each of {len(scores.questions):,} questions; what they do "
                "not say comes from the prior, that is from the other questions."
            )
        notes += [
            f"{exam}: the {fit.logistic.upper()} did not converge in {fit.iterations:,} steps: do not use it."
            for fit in exam_items.fits
            if not fit.converged
        ]
    return notes


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"
