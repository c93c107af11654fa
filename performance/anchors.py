"""Ways to choose and read anchors, on models of families that had no part in either; and what the intervals hold.

    viva grade mmlu-pro.yaml replies/*.jsonl.gz --text-column reply --run runs/all
    python performance/anchors.py runs/all --families families.csv --chart docs/anchors.svg  # a few CPU minutes
    python performance/anchors.py --tiny                                                      # simulated models

Each family of models is held out in turn; curves, clusters, lines and choices see nothing of it. Every way chooses
among the same random halves of the questions: a figure is what to expect of a way, and not the luck of one choice.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from commandline import add_tiny
from scipy.cluster.vq import kmeans2

from viva.lab.items.anchor_choice import chosen_by, interval, predict, reader_of
from viva.lab.items.anchor_error import validate
from viva.lab.items.curves import Floats, Indices, known_curves

Read = Callable[[Floats], Floats]
SLOPE = 0.3
"""Prior standard deviation of a line's slope around 1."""


class Known(NamedTuple):
    """What a way may see."""

    scores: Floats
    """Models × questions, without gaps: where one is, the question's mean."""
    full: Floats
    curves: Floats
    wanted: int
    among: Indices
    dice: np.random.Generator


def by_curves(known: Known, questions: Indices) -> Read:
    """The reading that Viva has."""
    reader = reader_of(known.curves, questions, np.full(known.scores.shape[1], 1 / known.scores.shape[1]))
    return lambda answers: np.array([predict(reader, row)[0] for row in answers])


def by_line(known: Known, questions: Indices, weights: Floats | None = None) -> Read:
    """A line from the (weighted) mean to the full score, its slope drawn to 1."""
    weights = np.full(len(questions), 1 / len(questions)) if weights is None else weights / weights.sum()
    facility = known.scores[:, questions].mean(axis=0)
    prior = float(weights**2 @ (facility * (1 - facility))) / SLOPE**2 + 1e-12
    means = known.scores[:, questions] @ weights
    away = means - means.mean()
    slope = (away @ (known.full - known.full.mean()) + prior) / (away @ away + prior)
    return lambda answers: known.full.mean() + slope * (answers @ weights - means.mean())


def viva(known: Known, blocks: int | None = None) -> tuple[Indices, Read]:
    """Information in blocks, read by curves."""
    shares = np.full(known.scores.shape[1], 1 / known.scores.shape[1])
    given = {} if blocks is None else {"blocks": blocks}
    questions = chosen_by(known.curves, known.wanted, shares, known.full, known.among, **given)
    return questions, by_curves(known, questions)


def sharpest(known: Known) -> tuple[Indices, Read]:
    """Information, of the whole exam at once."""
    return viva(known, blocks=1)


def random_mean(known: Known) -> tuple[Indices, Read]:
    """What people do."""
    return known.dice.choice(known.among, known.wanted, replace=False), lambda answers: answers.mean(axis=1)


def random_line(known: Known) -> tuple[Indices, Read]:
    """Random questions and a line."""
    questions = known.dice.choice(known.among, known.wanted, replace=False)
    return questions, by_line(known, questions)


def random_curves(known: Known) -> tuple[Indices, Read]:
    """Random questions and curves (p-IRT)."""
    questions = known.dice.choice(known.among, known.wanted, replace=False)
    return questions, by_curves(known, questions)


def _strata(known: Known) -> list[Indices]:
    facility = known.scores[:, known.among].mean(axis=0)
    return np.array_split(known.among[np.lexsort((known.dice.random(len(known.among)), facility))], known.wanted)


def strata_line(known: Known) -> tuple[Indices, Read]:
    """One question of each stratum of facility, and a line: what Viva did before."""
    questions = np.array([known.dice.choice(stratum) for stratum in _strata(known)])
    return questions, by_line(known, questions)


def discriminating(known: Known, read: Callable[[Known, Indices], Read] = by_line) -> tuple[Indices, Read]:
    """The question of each stratum that goes most with the full score, and a line."""
    with_full = (known.full - known.full.mean()) @ known.scores
    questions = np.array([stratum[np.argmax(with_full[stratum])] for stratum in _strata(known)])
    return questions, read(known, questions)


def discriminating_curves(known: Known) -> tuple[Indices, Read]:
    """The same, read by curves."""
    return discriminating(known, by_curves)


def clusters(known: Known) -> tuple[Indices, Read]:
    """Questions in clusters by who answered them, the middle one of each, its weight the cluster's size; and a line.

    Vivek et al. 2024 (arXiv 2309.08638); the variant "correctness" of Polo et al. 2024.
    """
    points = known.scores[:, known.among].T
    points = points + known.dice.normal(0, 1e-3, points.shape)
    centres, of = kmeans2(points, known.wanted, iter=8, minit="++", rng=known.dice)
    kept = [place for place in range(known.wanted) if (of == place).any()]
    questions, weights = [], []
    for place in kept:
        members = np.flatnonzero(of == place)
        questions.append(known.among[members[np.argmin(((points[members] - centres[place]) ** 2).sum(axis=1))]])
        weights.append(len(members))
    return np.array(questions), by_line(known, np.array(questions), np.array(weights, dtype=float))


def ridge(known: Known) -> tuple[Indices, Read]:
    """Random questions, and ridge regression of the full score on their answers."""
    questions = known.dice.choice(known.among, known.wanted, replace=False)
    middle = known.scores[:, questions].mean(axis=0)
    away = known.scores[:, questions] - middle
    kernel = away @ away.T
    penalty = 0.1 * np.trace(kernel) / len(kernel)
    weights = np.linalg.solve(kernel + penalty * np.eye(len(kernel)), known.full - known.full.mean())
    return questions, lambda answers: known.full.mean() + (answers - middle) @ away.T @ weights


WAYS: dict[str, Callable[[Known], tuple[Indices, Read]]] = {
    "sharpest questions of each block, curves (Viva)": viva,
    "sharpest questions of all, curves": sharpest,
    "most discriminating by stratum, curves": discriminating_curves,
    "random, curves (p-IRT)": random_curves,
    "random, line": random_line,
    "clusters of correctness, line": clusters,
    "one of each stratum of facility, line (before)": strata_line,
    "most discriminating by stratum, line": discriminating,
    "random, ridge regression": ridge,
    "random, plain mean": random_mean,
}


def errors(scores: Floats, of: Sequence[str], count: int, draws: int) -> dict[str, Floats]:
    """Predicted − true of every way, draws × models."""
    names = np.array(of)
    found = {way: np.empty((draws, len(scores))) for way in WAYS}
    for number, family in enumerate(sorted(set(of))):
        held = names == family
        answered = np.isfinite(scores[held]).all(axis=0)
        seen, new = scores[~held][:, answered], scores[held][:, answered]
        full, curves = known_curves(seen, np.full(seen.shape[1], 1 / seen.shape[1]))
        filled = np.where(np.isfinite(seen), seen, np.nanmean(seen, axis=0))
        for draw in range(draws):
            half = np.sort(np.random.default_rng([draw, number]).permutation(seen.shape[1])[: seen.shape[1] // 2])
            for place, (way, choose) in enumerate(WAYS.items()):
                dice = np.random.default_rng([draw, number, place])
                questions, read = choose(Known(filled, full, curves, count, half, dice))
                found[way][draw, held] = read(new[:, questions]) - new.mean(axis=1)
    return found


def covered(scores: Floats, models: Sequence[str], of: Sequence[str], count: int) -> list[dict[str, object]]:
    """Each model's prediction and interval, neither of which its family had a part in."""
    names = np.array(of)
    rows: list[dict[str, object]] = []
    for family in sorted(set(of)):
        held = names == family
        answered = np.isfinite(scores[held]).all(axis=0)
        seen = scores[~held][:, answered]
        checked = validate(seen, count, families=list(names[~held]), rounds=6)
        shares = np.full(seen.shape[1], 1 / seen.shape[1])
        full, curves = known_curves(seen, shares)
        reader = reader_of(curves, chosen := chosen_by(curves, count, shares, full, np.arange(len(shares))), shares)
        for place in np.flatnonzero(held):
            value, spread = predict(reader, scores[place, answered][chosen])
            low, high = interval(value, spread, checked.inflation, checked.families)
            true = float(scores[place, answered].mean())
            figures = {"true": true, "predicted": value, "low": low, "high": high}
            rows.append({"model": models[int(place)], "family": family, "anchors": f"{count} anchors"} | {
                name: 100 * one for name, one in figures.items()
            })  # fmt: skip
    return rows


def draw(rows: Sequence[dict[str, object]], path: Path) -> None:
    """Predicted against true scores of families held out."""
    import altair

    from viva.render import charts

    base = altair.Chart(altair.InlineData(values=list(rows)))
    scale = altair.Scale(domain=[15, 75], nice=False)
    true = altair.X("true:Q", title="true score on all questions, %", scale=scale)
    shown = [
        altair.Tooltip("model:N"),
        altair.Tooltip("true:Q", format=".1f"),
        altair.Tooltip("predicted:Q", format=".1f"),
    ]
    layers = altair.layer(
        base.transform_calculate(same="datum.true").mark_line(strokeDash=[4, 3], color="#8a8a8a").encode(
            x=true, y=altair.Y("same:Q", scale=scale, title="predicted, % (95 % interval)")
        ),
        base.mark_rule(opacity=0.6).encode(x=true, y="low:Q", y2="high:Q", color="family:N"),
        base.mark_circle(size=60, opacity=1).encode(x=true, y="predicted:Q", color="family:N", tooltip=shown),
    )  # fmt: skip
    chart = layers.properties(width=300, height=300).facet("anchors:N", title=None)
    charts.save(chart.properties(title="Models of families that had no part in choosing the anchors"), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, metavar="RUN|TABLE", help="scores; default: simulated models")
    parser.add_argument("--families", type=Path, metavar="FILE", help="table model,family; default each its own")
    parser.add_argument("--anchors", nargs="+", type=int, default=[100, 300], metavar="N")
    parser.add_argument("--draws", type=int, default=10, metavar="N", help="random halves of the questions")
    parser.add_argument("--questions", type=int, default=2000, metavar="N", help="of the simulated models")
    parser.add_argument("--chart", type=Path, metavar="FILE")
    add_tiny(parser, anchors=[20], draws=2, questions=200)
    options = parser.parse_args()
    if options.sources:
        from viva.analysis.items.itemscores import item_scores
        from viva.lab.items.anchors import in_order
        from viva.lab.items.sources import item_sources

        (one,) = item_sources(options.sources, None)
        table = in_order(item_scores(one.exam, one.frames, one.headline))
        scores, models = table.scores, list(table.models)
    else:
        dice = np.random.default_rng(0)
        subject = np.arange(options.questions) * 8 // options.questions
        able = dice.normal(size=(10, 1)) + 0.4 * dice.normal(size=(10, 8))[:, subject]
        chance = 0.1 + 0.9 / (1 + np.exp(-2 * (able - dice.normal(0, 1.3, options.questions))))
        scores, models = (dice.random(chance.shape) < chance).astype(float), [f"model-{row}" for row in range(10)]
    given = {}
    if options.families:
        with options.families.open(encoding="utf-8", newline="") as file:
            given = {row["model"]: row["family"] for row in csv.DictReader(file)}
    of = [given.get(model, model) for model in models]
    rows: list[dict[str, object]] = []
    print("| chosen and read | anchors | error | ± | bias |\n|---|---|---|---|---|")
    for count in options.anchors:
        for way, found in errors(scores, of, count, options.draws).items():
            each = np.sqrt((found**2).mean(axis=1))
            whole, bias = float(np.sqrt((found**2).mean())), float(found.mean())
            print(f"| {way} | {count} | {100 * whole:.2f} | {100 * each.std(ddof=1):.2f} | {100 * bias:+.2f} |")
        rows += covered(scores, models, of, count)
    print()
    for count in options.anchors:
        mine = [row for row in rows if row["anchors"] == f"{count} anchors"]
        off = np.array([float(str(row["predicted"])) - float(str(row["true"])) for row in mine])
        held = sum(float(str(row["low"])) <= float(str(row["true"])) <= float(str(row["high"])) for row in mine)
        width = np.mean([float(str(row["high"])) - float(str(row["low"])) for row in mine])
        print(
            f"{count} anchors of all questions: error {np.sqrt((off**2).mean()):.2f}; of {len(mine)} intervals {held} "
            f"hold, {width:.1f} points wide on average"
        )
    if options.chart:
        draw(rows, options.chart)


if __name__ == "__main__":
    main()
