"""Item statistics and item-response fits, as tables and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.itemscores import Floats, ItemScores
from viva.analysis.itemstatistics import FEWEST, ItemStatistics, Reliability
from viva.analysis.wording import UNSURE, percent, range_text
from viva.errors import flag
from viva.lab.items.response import Fitted
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid
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
ITEM_WORDS = WORDS | {"question", "why"}


class Examined(Struct, frozen=True, kw_only=True, eq=False):
    """One exam's questions looked at. `fits`: the one asked for first, then one to compare it with."""

    scores: ItemScores
    statistics: ItemStatistics
    fits: tuple[Fitted, ...] = ()
    notes: tuple[str, ...] = ()


class Flag(Struct, frozen=True, kw_only=True):
    """A question that someone should look at."""

    question: str
    why: str
    place: int


def flags(found: Examined) -> list[Flag]:
    """What is wrong or useless, the gravest first: surely negative, erratic, nobody passes, negative, everybody."""
    stats = found.statistics
    kinds: list[tuple[str, Sequence[int]]] = [
        ("negative discrimination, more than chance", _worst(stats.surely_negative, stats.discrimination))
    ]
    if found.fits:
        items = found.fits[0].items
        erratic = (items.infit > ERRATIC) & (items.surprise > SURPRISING)
        kinds.append(("erratic (infit)", _worst(erratic, -items.infit)))
    kinds += [
        ("nobody passes", _places(stats.nobody & _all_scored(found))),
        ("no model with a score passes", _places(stats.nobody & ~_all_scored(found))),
        ("negative discrimination", _worst(stats.negative & ~stats.surely_negative, stats.discrimination)),
        ("everybody passes", _places(stats.everybody & _all_scored(found))),
        ("every model with a score passes", _places(stats.everybody & ~_all_scored(found))),
    ]
    whys: dict[int, list[str]] = {}
    for why, places in kinds:
        for place in places:
            whys.setdefault(place, []).append(why)
    return [
        Flag(question=found.scores.questions[place], why=", ".join(why), place=place) for place, why in whys.items()
    ]


def _all_scored(found: Examined) -> NDArray[np.bool_]:
    """Return which questions every model has a score on: of others nobody can say that nobody passes."""
    everyone: NDArray[np.bool_] = found.statistics.models == len(found.scores.models)
    return everyone


def _places(which: NDArray[np.bool_]) -> list[int]:
    return list(map(int, np.flatnonzero(which)))


def _worst(which: np.ndarray, by: Floats) -> list[int]:
    places = np.flatnonzero(which)
    return [int(place) for place in places[np.argsort(by[places], kind="stable")]]


def item_grids(found: Examined, listed: int) -> list[Grid]:
    """Models, the set as a whole, the fits, and at most `listed` flagged questions."""
    grids = [_models(found), _whole(found)]
    if found.fits:
        grids.append(_fits(found))
        grids.append(_hardest(found, min(listed, 5)))
    flagged = flags(found)
    if flagged and listed:
        title = f"Questions to look at · {found.scores.exam}"
        if len(flagged) > listed:
            title += f" ({listed:,} of {len(flagged):,}; {flag('items', 'N')}, {flag('format')} csv lists all)"
        grids.append(_questions(found, title, [(flag.place, flag.why) for flag in flagged[:listed]]))
    return grids


def _models(found: Examined) -> Grid:
    scores = found.scores.scores
    there = np.isfinite(scores)
    fit = found.fits[0] if found.fits else None
    header = ("model", "mean score", "questions", "unscored", *(("ability",) if fit else ()))
    means = _means(found.scores)
    order = np.argsort(-means, kind="stable")
    rows = tuple(
        (
            found.scores.models[place],
            _mean_text(found.scores, place, float(means[place])),
            f"{int(there[place].sum()):,}",
            f"{int((~there[place]).sum()):,}",
            *((f"{fit.ability[place]:.3f} ± {fit.ability_error[place]:.3f}",) if fit else ()),
        )
        for place in order
    )
    return Grid(f"Models · {found.scores.exam}", header, rows)


def _mean_text(scores: ItemScores, place: int, mean: float) -> str:
    """Return the mean, or where it lies, marked where questions have no score."""
    between = scores.ranges.get(scores.models[place])
    text = range_text(*between) if between else percent(mean)
    return text if np.isfinite(scores.scores[place]).all() else f"{text}{UNSURE}"


def _means(found: ItemScores) -> Floats:
    """The models' scores as the exam's headline averages questions: by weight, and over groups where it does so."""
    shares = np.where(np.isfinite(found.scores), found.shares, 0.0)
    means: Floats = (shares * np.nan_to_num(found.scores)).sum(axis=1) / shares.sum(axis=1)
    return means


def alpha_text(found: Reliability | None) -> str:
    """`0.953 [0.912, 0.981]`, and a dash for none."""
    return "–" if found is None else f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _whole(found: Examined) -> Grid:
    stats = found.statistics
    name = "KR-20" if stats.reliability and stats.reliability.binary else "Cronbach's alpha"
    defined = np.isfinite(stats.discrimination)
    everyone = _all_scored(found)
    rows = [
        ("questions", f"{len(stats.facility):,}"),
        ("models", f"{len(found.scores.models):,}"),
        (name, alpha_text(stats.reliability)),
        ("mean facility", percent(float(stats.facility.mean()))),
        (
            "median discrimination",
            f"{float(np.median(stats.discrimination[defined])):.3f}" if defined.any() else "–",
        ),
        ("nobody passes", f"{int((stats.nobody & everyone).sum()):,}"),
        ("everybody passes", f"{int((stats.everybody & everyone).sum()):,}"),
        *([("without a score of some model", f"{int((~everyone).sum()):,}")] if not everyone.all() else []),
        ("negative discrimination", f"{int(stats.negative.sum()):,}"),
        ("… more than chance", f"{int(stats.surely_negative.sum()):,}"),
    ]
    return Grid(f"The questions as a set · {found.scores.exam}", ("", "value"), tuple(rows))


def _fits(found: Examined) -> Grid:
    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:,.1f}"

    rows = tuple(
        (
            fit.logistic.upper(),
            text(fit.log_likelihood),
            f"{fit.parameters:,}",
            text(fit.aic),
            text(fit.bic),
            percent(fit.guessing),
            f"{fit.iterations:,}",
            "yes" if fit.converged else f"NO (last move {fit.change:.4f})",
        )
        for fit in found.fits
    )
    header = ("", "log-likelihood", "parameters", "AIC", "BIC", "guessed %", "steps", "converged")
    return Grid(f"Item-response models · {found.scores.exam}", header, rows)


def _hardest(found: Examined, listed: int) -> Grid:
    order = np.argsort(-found.fits[0].items.difficulty, kind="stable")
    places = [*order[:listed], *order[max(listed, len(order) - listed) :]]
    named = [(int(place), "hardest" if rank < listed else "easiest") for rank, place in enumerate(places)]
    return _questions(found, f"Hardest and easiest questions, {found.fits[0].logistic.upper()}", named)


def _questions(found: Examined, title: str, places: Sequence[tuple[int, str]]) -> Grid:
    stats = found.statistics
    fit = found.fits[0] if found.fits else None
    gaps = not _all_scored(found).all()
    header: tuple[str, ...] = ("question", "why", *(("models",) if gaps else ()), "facility", "discrimination", "p")
    if fit:
        header += ("difficulty", "a", "infit")
    rows: list[tuple[str, ...]] = []
    for place, why in places:
        row: tuple[str, ...] = (
            found.scores.questions[place],
            why,
            *((f"{int(stats.models[place]):,} of {len(found.scores.models):,}",) if gaps else ()),
            percent(float(stats.facility[place])),
            _number(stats.discrimination[place]),
            _number(stats.p[place]),
        )
        if fit:
            items = fit.items
            row += (
                f"{items.difficulty[place]:.2f} ± {items.difficulty_error[place]:.2f}",
                f"{items.discrimination[place]:.2f} ± {items.discrimination_error[place]:.2f}",
                _number(items.infit[place], 2),
            )
        rows.append(row)
    return Grid(title, header, tuple(rows))


def _number(value: float, digits: int = 3) -> str:
    return "–" if not math.isfinite(value) else f"{value:.{digits}f}"


def notes_on(found: Examined) -> list[str]:
    """Return what few models, gaps and fractional scores make of the figures."""
    scores, stats = found.scores, found.statistics
    exam, models = scores.exam, len(scores.models)
    notes = list(found.notes)
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
    if found.fits:
        if found.fits[0].log_likelihood is None:
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
            for fit in found.fits
            if not fit.converged
        ]
    return notes


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


@dataclass(frozen=True, repr=False)
class ItemAnalysis(StudyResult):
    """Every exam's questions looked at."""

    every: tuple[Examined, ...]
    listed: int
    """Questions that a table lists at most."""
    drawing: Drawing = None
    words = ITEM_WORDS

    def tables(self) -> list[Grid]:
        """Models, questions to look at, and questions by difficulty."""
        return [grid for one in self.every for grid in item_grids(one, self.listed)]

    def closing(self) -> list[str]:
        """Legends and notes."""
        return [LEGEND, *([RESPONSE] if any(one.fits for one in self.every) else []), *dict.fromkeys(self._notes())]

    def _notes(self) -> list[str]:
        return [note for one in self.every for note in notes_on(one)]

    def records(self) -> Records:
        """Return a row a question, unrounded; empty where there is no figure."""
        header = (
            *("exam", "question", "models", "facility", "discrimination", "p", "flags"),
            *("irt", "difficulty", "difficulty_error", "a", "a_error", "infit", "outfit"),
        )
        return header, [cells for one in self.every for cells in _cells(one)]

    def data(self) -> object:
        """Everything; null where there is no figure."""
        return {"exams": [_plain(one) for one in self.every], "notes": self._notes()}


def _columns(found: Examined) -> dict[str, Floats]:
    """Figures of questions by name."""
    stats = found.statistics
    columns = {"facility": stats.facility, "discrimination": stats.discrimination, "p": stats.p}
    if found.fits:
        i = found.fits[0].items
        columns |= {
            "difficulty": i.difficulty,
            "difficulty_error": i.difficulty_error,
            "a": i.discrimination,
            "a_error": i.discrimination_error,
            "infit": i.infit,
            "outfit": i.outfit,
        }
    return columns


def _cells(found: Examined) -> Iterator[Sequence[object]]:
    columns, why = _columns(found).values(), {flag.place: flag.why for flag in flags(found)}
    logistic = found.fits[0].logistic if found.fits else ""
    for place, question in enumerate(found.scores.questions):
        facility, discrimination, p, *fitted = (_null(float(column[place])) for column in columns)
        named = (found.scores.exam, question, int(found.statistics.models[place]), facility, discrimination, p)
        yield *named, why.get(place, ""), logistic, *(fitted or [None] * 6)


def _plain(found: Examined) -> dict[str, object]:
    stats, scores, means = found.statistics, found.scores, _means(found.scores)
    columns, why = _columns(found), {flag.place: flag.why for flag in flags(found)}
    return {
        "exam": scores.exam,
        "models": [
            {
                "model": name,
                "score": None if name in scores.ranges else _null(float(means[place])),
                **({"range": scores.ranges[name]} if name in scores.ranges else {}),
                "unscored": int((~np.isfinite(scores.scores[place])).sum()),
                **(
                    {
                        "ability": float(found.fits[0].ability[place]),
                        "ability_error": float(found.fits[0].ability_error[place]),
                    }
                    if found.fits
                    else {}
                ),
            }
            for place, name in enumerate(scores.models)
        ],
        "reliability": stats.reliability,
        "fits": [
            {
                "model": fit.logistic,
                "log_likelihood": fit.log_likelihood,
                "guessing": fit.guessing,
                "parameters": fit.parameters,
                "aic": fit.aic,
                "bic": fit.bic,
                "steps": fit.iterations,
                "converged": fit.converged,
            }
            for fit in found.fits
        ],
        "questions": [
            {
                "question": question,
                "models": int(stats.models[place]),
                **{name: _null(float(column[place])) for name, column in columns.items()},
                "flags": why.get(place, ""),
            }
            for place, question in enumerate(scores.questions)
        ],
    }


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None
