"""Many models: item response, reliability, anchors, scores over size and their break; and perplexities of texts."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
from coverage_sets_work import Floats, Rate, Row, Study, counted, inside, sets_of

from viva.analysis.correlation import KINDS, Kind, by_families, coefficient
from viva.analysis.items.itemstatistics import item_statistics, reliability
from viva.analysis.sizes.breakpoint import fit_segments
from viva.analysis.sizes.families import Codes
from viva.analysis.sizes.scaling import family_curve, fit_curve
from viva.analysis.sizes.scaling import predict as predicted
from viva.errors import DataError
from viva.lab.items.anchor_choice import choose, interval, predict
from viva.lab.items.anchor_error import validate
from viva.lab.items.response import Logistic, fit
from viva.lab.surprisal.measures import Figure, Reading, compare, figures

MODELS = (10, 30)
Z = 1.96


def _answers(dice: np.random.Generator, able: Floats, hard: Floats, steep: Floats, guessed: float = 0.0) -> Floats:
    chance = guessed + (1 - guessed) / (1 + np.exp(-steep * (able[:, None] - hard)))
    return (dice.random(chance.shape) < chance).astype(float)


def _drawn(dice: np.random.Generator, models: int, n: int) -> tuple[Floats, Floats, Floats]:
    """Abilities of mean 0 and variance 1, difficulties, discriminations."""
    able = dice.standard_normal(models)
    return (able - able.mean()) / able.std(), dice.normal(0, 1, n), np.exp(dice.normal(0, 0.4, n))


def of_response(
    what: Literal["ability", "difficulty", "discrimination"],
    logistic: Logistic,
    guessed: float,
    repetitions: int,
    n: int,
) -> Row:
    """An estimate ± 1.96 of its standard errors, as `viva item-analysis` draws them; of n questions."""
    dice = np.random.default_rng([n, 41])
    rates = []
    for models in MODELS:
        shares = []
        for _ in range(min(repetitions, max(20, 20_000 // n))):
            truth = _drawn(dice, models, n)
            try:
                found = fit(_answers(dice, *truth, guessed), logistic)
            except DataError:  # all models have the same score
                continue
            items = found.items
            value, error, true = {
                "ability": (found.ability, found.ability_error, truth[0]),
                "difficulty": (items.difficulty, items.difficulty_error, truth[1]),
                "discrimination": (items.discrimination, items.discrimination_error, truth[2]),
            }[what]
            shares.append(float(np.mean(np.abs(value - true) <= Z * error)))
        rates.append(Rate(sum(shares), len(shares)))
    how = f", {guessed:.0%} guessed, {logistic}" if guessed else ""
    return Row(f"{what} ± 1.96 standard errors{how}", n, rates)


def of_reliability(repetitions: int, n: int) -> Row:
    """Feldt's interval of KR-20 for n models and 50 questions; the truth is KR-20 of very many models."""
    dice = np.random.default_rng([n, 42])
    rates = []
    for spread in (0.3, 1.0):
        hits = []
        for _ in range(repetitions):
            hard, steep = dice.normal(0, 1, 50), np.ones(50)
            whole = reliability(_answers(dice, spread * dice.standard_normal(4000), hard, steep))
            found = reliability(_answers(dice, spread * dice.standard_normal(n), hard, steep))
            if found is not None and whole is not None:
                hits.append(inside(found.low, found.high, whole.value))
        rates.append(counted(hits))
    return Row("KR-20, Feldt", n, rates)


def of_discrimination(repetitions: int, n: int) -> Row:
    """Questions that have nothing to do with each other: how many correlate with the rest, and whether any is called
    surely negative."""
    dice = np.random.default_rng([n, 43])
    shares, any_negative = [], []
    for _ in range(repetitions):
        found = item_statistics((dice.random((n, 50)) < dice.uniform(0.1, 0.9, 50)).astype(float))
        p = found.p[np.isfinite(found.p)]
        shares.append(float(np.mean(p <= 0.05)) if len(p) else 0.0)
        any_negative.append(bool(found.surely_negative.any()))
    return Row("discrimination of 50 questions", n, [Rate(sum(shares), len(shares)), counted(any_negative)])


def of_anchors(repetitions: int, n: int) -> Row:
    """The full score predicted for a further model from n of 300 questions."""
    dice = np.random.default_rng([n, 44])
    rates = []
    for models in MODELS:
        hits = []
        for _ in range(min(repetitions, 40)):
            able = dice.normal(0.3, 1, models + 1)
            scores = _answers(dice, able, dice.normal(0, 1.3, 300), np.ones(300))
            found = choose(scores[:-1], n)
            inflation = validate(scores[:-1], n, rounds=5).inflation
            value, spread = predict(found.reader, scores[-1, found.questions])
            low, high = interval(value, spread, inflation, models)
            hits.append(inside(low, high, float(scores[-1].mean())))
        rates.append(counted(hits))
    return Row("full score from n anchors", n, rates)


def of_curve(kind: Literal["log", "family"], repetitions: int, n: int) -> Row:
    """The score that a further model of the family measures, of n models from 1 to 100 billion."""
    dice = np.random.default_rng([n, 45, len(kind)])
    rates = []
    for size in (10.0, 300.0):
        hits = []
        for _ in range(repetitions):
            sizes = 10 ** dice.uniform(0, 2, n)
            both = np.append(sizes, size)
            curve = 0.3 + 0.2 * np.log10(both) if kind == "log" else family_curve(both, 0.5, 2.0)
            scores = np.clip(curve + dice.normal(0, 0.03, n + 1), 0.0, 1.0)
            found = fit_curve(kind, sizes.tolist(), scores[:-1].tolist())
            guess = predicted(found, size)
            if guess.low is not None:
                hits.append(inside(guess.low, guess.high, float(scores[-1])))
        rates.append(counted(hits))
    return Row(f"{kind} curve", n, rates)


def of_break(which: Literal["profile", "bootstrap"], repetitions: int, n: int) -> Row:
    """The break of two lines at 10 billion, of n models from 1 to 100 billion."""
    dice = np.random.default_rng([n, 46])
    rates = []
    for change in (-0.1, -0.3):
        hits = []
        for _ in range(min(repetitions, 200)):
            z = dice.uniform(0, 2, n)
            scores = 0.3 + 0.3 * z + change * np.maximum(z - 1, 0) + dice.normal(0, 0.03, n)
            found = fit_segments(
                (10**z).tolist(), scores.tolist(), draws=19, resamples=499 if which != "profile" else 1
            )
            low, high = (found.low, found.high) if which == "profile" else (found.boot_low, found.boot_high)
            if low is not None:
                hits.append(inside(low, high, 10.0))
        rates.append(counted(hits))
    return Row(f"break, {which}", n, rates)


def of_no_break(repetitions: int, n: int) -> Row:
    """The test of a break where there is one line, with scatter that is the same at all sizes, or falls with size."""
    dice = np.random.default_rng([n, 47])
    rates = []
    for falling in (0.0, 1.0, 1.5):
        hits = []
        for _ in range(min(repetitions, 400)):
            z = dice.uniform(0, 2, n)
            scores = 0.3 + 0.2 * z + dice.normal(0, 0.05, n) * 10 ** (-falling * z / 2)
            found = fit_segments((10**z).tolist(), scores.tolist(), draws=399, resamples=1)
            hits.append(found.p <= 0.05)
        rates.append(counted(hits))
    return Row("break", n, rates)


def _gamma(spread: float) -> tuple[float, float]:
    """Shape and scale of surprise: 2.0 nats a token on average over texts, and a mean of exp(surprise) that exists."""
    return spread**-2, 2.0 * spread**2


def _readings(dice: np.random.Generator, n: int, spread: float) -> list[Reading]:
    """Texts of log-normal length and gamma-distributed surprise."""
    tokens = np.maximum(5, np.exp(dice.normal(5, 0.8, n))).astype(int)
    surprise = dice.gamma(*_gamma(spread), n)
    least = -(3 * surprise + dice.normal(0, 0.5, n))
    return [
        Reading(
            tokens=int(size), nll=float(size * each), bytes=4 * int(size), characters=4 * int(size), min_k=float(low)
        )
        for size, each, low in zip(tokens, surprise, least, strict=True)
    ]


def of_perplexity(which: str, repetitions: int, n: int) -> Row:
    """Perplexity and Min-K% of n texts; log-perplexity and length are independent, so the truths are known."""
    dice = np.random.default_rng([n, 48, len(which)])
    rates = []
    for spread in (0.1, 0.4):
        shape, scale = _gamma(spread)
        truth = {"per token": float(np.exp(2.0)), "mean of texts": (1 - scale) ** -shape, "Min-K%": -6.0}
        hits = []
        for _ in range(sets_of(repetitions, 8 * n)):
            found = figures(_readings(dice, n, spread))
            figure = {"per token": found.per_token, "mean of texts": found.mean_of_texts, "Min-K%": found.min_k}[which]
            hits.append(figure is not None and inside(figure.low, figure.high, truth[which]))
        rates.append(counted(hits))
    return Row(which, n, rates)


def of_two_sets(which: Literal["ratio", "difference", "test"], repetitions: int, n: int) -> Row:
    """Two sets of texts of one kind, the second half as large: their ratio is 1, their difference nothing."""
    dice = np.random.default_rng([n, 49])
    rates = []
    for spread in (0.1, 0.4):
        hits = []
        for _ in range(sets_of(repetitions, 8 * n)):
            found = compare(_readings(dice, n, spread), _readings(dice, n // 2, spread))
            if found is None:
                continue
            figure: Figure = found.ratio if which == "ratio" else found.difference
            if which == "test":
                hits.append(found.p is not None and found.p <= 0.05)
            else:
                hits.append(inside(figure.low, figure.high, 1.0 if which == "ratio" else 0.0))
        rates.append(counted(hits))
    return Row({"test": "Mann and Whitney's test"}.get(which, f"{which} of two sets"), n, rates)


def alike(dice: np.random.Generator, families: int, share: float, rho: float = 0.0) -> tuple[Codes, Floats]:
    """Families of six models, and two figures of each whose Pearson's r is `rho`; `share` of each figure's variance is
    the family's."""
    codes = np.repeat(np.arange(families), 6)
    parts = []
    for count in (families, 6 * families):
        first, other = dice.standard_normal((2, count))
        parts.append(np.stack([first, rho * first + np.sqrt(1 - rho**2) * other]))
    return codes, np.sqrt(share) * parts[0][:, codes] + np.sqrt(1 - share) * parts[1]


def of_related(kind: Kind, asked: Literal["test", "rows", "interval"], repetitions: int, n: int) -> Row:
    """A coefficient over n families of six models: by families, or (`rows`) as if each model were its own."""
    dice = np.random.default_rng([n, 50, KINDS.index(kind)])
    rho = 0.7 if asked == "interval" else 0.0
    truth = rho if kind == "pearson" else float(2 / np.pi * np.arcsin(rho))
    rates = []
    for share in SHARES:
        hits = []
        for _ in range(repetitions):
            codes, (first, second) = alike(dice, n, share, rho)
            xs, ys = first.tolist(), second.tolist()
            if asked == "rows":
                alone = coefficient(kind, xs, ys)
                hits.append(alone is not None and alone[1] <= 0.05)
                continue
            p, low, high = by_families(kind, xs, ys, codes) or (1.0, -1.0, 1.0)
            hits.append(p <= 0.05 if asked == "test" else inside(low, high, truth))
        rates.append(counted(hits))
    return Row(f"{kind}{', each model its own' if asked == 'rows' else ''}", n, rates)


def of_related_sizes(asked: Literal["test", "prediction"], by_family: bool, repetitions: int, n: int) -> Row:
    """n families of six models, each of its own range of sizes, along one line: the test of a break, and the score that
    a model of a further family measures at 300 billion."""
    dice = np.random.default_rng([n, 51])
    rates = []
    for share in SHARES:
        hits = []
        for _ in range(min(repetitions, 400) if asked == "test" else repetitions):
            codes = np.repeat(np.arange(n), 6)
            z = dice.uniform(0, 1.5, n)[codes] + dice.uniform(0, 0.5, 6 * n)
            off = np.sqrt(share) * dice.standard_normal(n)[codes] + np.sqrt(1 - share) * dice.standard_normal(6 * n)
            scores, sizes = (0.3 + 0.2 * z + 0.05 * off).tolist(), (10**z).tolist()
            families = [str(code) for code in codes] if by_family else []
            if asked == "test":
                hits.append(fit_segments(sizes, scores, families=families, draws=399, resamples=1).p <= 0.05)
                continue
            found = predicted(fit_curve("log", sizes, scores, families=families), 300.0)
            score = min(1.0, 0.3 + 0.2 * np.log10(300) + 0.05 * dice.standard_normal())
            hits.append(inside(found.low, found.high, score))
        rates.append(counted(hits))
    return Row("by families" if by_family else "each model its own", n, rates)


def of_related_break(by_family: bool, repetitions: int, n: int) -> Row:
    """The profile interval of a break at 10 billion, of n families of six models, each of its own range of sizes."""
    dice = np.random.default_rng([n, 52])
    rates = []
    for share in SHARES:
        hits = []
        for _ in range(min(repetitions, 200)):
            codes = np.repeat(np.arange(n), 6)
            z = dice.uniform(0, 1.5, n)[codes] + dice.uniform(0, 0.5, 6 * n)
            off = np.sqrt(share) * dice.standard_normal(n)[codes] + np.sqrt(1 - share) * dice.standard_normal(6 * n)
            scores = (0.3 + 0.3 * z - 0.3 * np.maximum(z - 1, 0) + 0.03 * off).tolist()
            families = [str(code) for code in codes] if by_family else []
            found = fit_segments((10**z).tolist(), scores, families=families, draws=9, resamples=1)
            hits.append(inside(found.low, found.high, 10.0))
        rates.append(counted(hits))
    return Row("by families" if by_family else "each model its own", n, rates)


part = functools.partial
SHARES = (0.0, 0.5, 0.9)
RELATED = [f"{share:.0%} of the variance the family's" for share in SHARES]
SPREADS = ["texts much alike", "texts unlike"]
KNOWN = [f"{models} models" for models in MODELS]
STUDIES = [
    Study(
        "Families of models: correlation, tests",
        "n families of six models; two figures that have no association.",
        RELATED,
        [part(of_related, kind, asked) for asked in ("test", "rows") for kind in ("pearson", "kendall")],
        test=True,
        sizes=(4, 6, 10, 20),
        cost=4,
    ),
    Study(
        "Families of models: correlation, intervals",
        "n families of six models; two figures whose Pearson's r is .7.",
        RELATED,
        [part(of_related, kind, "interval") for kind in ("pearson", "kendall")],
        sizes=(4, 6, 10, 20),
        cost=4,
    ),
    Study(
        "Families of models: test of a break",
        "n families of six models along one line, each of its own range of sizes.",
        RELATED,
        [part(of_related_sizes, "test", by_family) for by_family in (True, False)],
        test=True,
        sizes=(4, 6, 10),
    ),
    Study(
        "Families of models: the break",
        "n families of six models, each of its own range of sizes, along two lines that meet at 10 billion: profile.",
        RELATED,
        [part(of_related_break, by_family) for by_family in (True, False)],
        sizes=(4, 6, 10),
    ),
    Study(
        "Families of models: predictions",
        "The same; the score that a model of a further family measures at 300 billion.",
        RELATED,
        [part(of_related_sizes, "prediction", by_family) for by_family in (True, False)],
        sizes=(4, 6, 10, 20),
    ),
    Study(
        "Item response",
        "n questions, answered by 10 or 30 models: the share of models, or of questions, whose interval holds.",
        KNOWN,
        [
            *(part(of_response, what, "2pl", 0.0) for what in ("ability", "difficulty", "discrimination")),
            *(part(of_response, what, how, 0.25) for how in ("3pl", "2pl") for what in ("ability", "difficulty")),
        ],
        cost=20,
    ),
    Study("Anchors", "n anchors of 300 questions.", KNOWN, [of_anchors], sizes=(20, 59, 100), cost=20),
    Study(
        "Reliability of questions",
        "n models, 50 questions.",
        ["models much alike", "models unlike"],
        [of_reliability],
        sizes=(5, 20, 59),
        cost=2,
    ),
    Study(
        "Discrimination of questions: tests",
        "n models, 50 questions that have nothing to do with each other.",
        ["p ≤ .05", "any surely negative"],
        [of_discrimination],
        test=True,
        sizes=(5, 20, 59),
    ),
    Study(
        "Scores over size: predictions",
        "n models from 1 to 100 billion; the score that one more measures.",
        ["10 billion", "300 billion"],
        [part(of_curve, kind) for kind in ("log", "family")],
        sizes=(5, 10, 20, 59),
        cost=4,
    ),
    Study(
        "Scores over size: the break",
        "Two lines that meet at 10 billion.",
        ["slope falls by a third", "slope falls to nothing"],
        [part(of_break, which) for which in ("profile", "bootstrap")],
        sizes=(10, 20, 59),
    ),
    Study(
        "Scores over size: test of a break",
        "One line; scatter is the same at all sizes, or falls from the smallest to the largest.",
        ["same scatter", "falls to a tenth", "falls to a thirtieth"],
        [of_no_break],
        test=True,
        sizes=(10, 20, 59),
    ),
    Study(
        "Perplexity: intervals",
        "n texts.",
        SPREADS,
        [
            *(part(of_perplexity, which) for which in ("per token", "mean of texts", "Min-K%")),
            *(part(of_two_sets, which) for which in ("ratio", "difference")),
        ],
    ),
    Study(
        "Perplexity: test",
        "n texts of a kind and half as many of the same.",
        SPREADS,
        [part(of_two_sets, "test")],
        test=True,
    ),
]
