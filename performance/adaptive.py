"""How few questions give a full score, and what the intervals hold, on models of families that had no part in it.

    viva grade mmlu-pro.yaml replies/*.jsonl.gz --text-column reply --run runs/all
    python performance/adaptive.py runs/all --families families.csv --draws 40      # half an hour of CPU
    python performance/adaptive.py --tiny                                           # simulated models

Each model is asked adaptively with the models of other families as the known ones; its answers are looked up. Beside it
stand questions drawn at random and their plain mean, and two ways to spoil the predictions: a calibration of other
questions' scores, and draws of equal probability. *Holds* is the share of intervals with the full score in them, *ever
out* the share of runs in which the anytime interval missed it at any round.
"""

from __future__ import annotations

import argparse
import bisect
import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from commandline import add_tiny

from viva.analysis.items.weightedsampling import Draw
from viva.analysis.uncertainty import Z
from viva.lab.adaptive.asking import Rounds
from viva.lab.adaptive.calibration import Calibration
from viva.lab.items.curves import Floats
from viva.runs.draws import Until, estimate

Interval = tuple[float, float, float]
NUMBER = Until("number", 10**9)


class Asked(NamedTuple):
    """One model asked once."""

    full: float
    draws: list[Draw]
    scores: dict[str, float]
    ends: list[int]
    """Questions asked after each round."""


def ask(known: Floats, mine: Floats, seed: int, until: Until, least: int) -> Asked:
    """Ask until the rule holds and so many were asked."""
    names = [str(place) for place in range(len(mine))]
    rows = [[None if math.isnan(one) else one for one in row] for row in known.tolist()]
    calibration = Calibration(
        models=[str(row) for row in range(len(known))],
        questions=names,
        shares=[1 / len(names)] * len(names),
        scores=rows,
    )
    rounds = Rounds(calibration, seed, until)
    drawn: list[Draw] = []
    ends: list[int] = []
    scores: dict[str, float] = {}
    while True:
        drawn = [*drawn, *rounds.next(drawn, [scores])]
        scores = {draw.question: float(mine[int(draw.question)]) for draw in drawn}
        ends.append(len(drawn))
        if len(drawn) == len(mine) or (len(drawn) >= least and rounds.over(drawn, [scores])):
            return Asked(float(mine.mean()), drawn, scores, ends)


def at(asked: Asked, count: int, until: Until) -> Interval:
    """Value, low, high after so many questions."""
    rule = until if until.halves else Until("number", count)
    found = estimate(asked.draws[:count], [asked.scores], 0, rule)
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    return found.mean, found.low, found.high


def random_mean(mine: Floats, count: int, dice: np.random.Generator) -> Interval:
    """A random sample's mean, with the normal interval of a finite population."""
    drawn = dice.choice(mine, count, replace=False)
    half = Z * math.sqrt(float(drawn.var(ddof=1)) / count * (1 - count / len(mine)))
    return float(drawn.mean()), float(drawn.mean()) - half, float(drawn.mean()) + half


def row(way: str, count: object, full: Sequence[float], found: Sequence[Interval], near: float) -> str:
    value, low, high = np.array(found).T
    truth = np.array(full)
    off = value - truth
    return (
        f"| {way} | {count} | {100 * np.sqrt((off**2).mean()):.2f} | {50 * (high - low).mean():.2f} | "
        f"{50 * (high - low).max():.2f} | {100 * (np.abs(off) <= near).mean():.1f} | "
        f"{100 * ((low <= truth) & (truth <= high)).mean():.1f} |"
    )


def runs(scores: Floats, of: Sequence[str], draws: int) -> Iterator[tuple[Floats, Floats, int]]:
    """The known models' scores, a model's own, and a seed."""
    names = np.array(of)
    for place in range(len(scores)):
        answered = np.isfinite(scores[place])
        for draw in range(draws):
            yield scores[names != names[place]][:, answered], scores[place, answered], 1000 * place + draw


def report(scores: Floats, of: Sequence[str], options: argparse.Namespace) -> None:
    until, near = Until("interval", 2 * options.half / 100), options.half / 100
    every: list[Asked] = []
    plain: dict[int, list[Interval]] = {count: [] for count in options.counts}
    spoiled: list[Asked] = []
    for known, mine, seed in runs(scores, of, options.draws):
        dice = np.random.default_rng([seed, 1])
        every.append(ask(known, mine, seed, until, max(options.counts)))
        for count in options.counts:
            plain[count].append(random_mean(mine, count, dice))
        if seed % 1000 < max(1, options.draws // 4):
            shuffled = known[:, dice.permutation(known.shape[1])]
            spoiled.append(ask(shuffled, mine, seed, NUMBER, max(options.counts)))
    full = [one.full for one in every]
    print(f"{len(every)} runs of {len(scores)} models, {len(set(of))} families, {scores.shape[1]:,} questions\n")
    print("| asked | questions | error | half width | widest | within | holds |\n|---|---|---|---|---|---|---|")
    for count in options.counts:
        print(row("random, plain mean", count, full, plain[count], near))
        print(row("adaptive, interval for this number", count, full, [at(one, count, NUMBER) for one in every], near))
        print(row("adaptive, anytime interval", count, full, [at(one, count, until) for one in every], near))
        bad = [at(one, count, NUMBER) for one in spoiled]
        print(row("calibration of other questions", count, [one.full for one in spoiled], bad, near))
    counts = np.array([stopped(one, until, anytime=True) for one in every])
    early = np.array([stopped(one, until, anytime=False) for one in every])
    found = [at(one, int(count), until) for one, count in zip(every, counts, strict=True)]
    print(row(f"until interval<{2 * options.half:g}, anytime", spread(counts), full, found, near))
    found = [at(one, int(count), NUMBER) for one, count in zip(every, early, strict=True)]
    print(row("until the interval for a number is so narrow", spread(early), full, found, near))
    ends = [at(one, len(one.draws), until) for one in every]  # what the anytime interval ever left out, it leaves out
    ever = [not low <= one.full <= high for one, (_, low, high) in zip(every, ends, strict=True)]
    print(f"\nanytime interval ever out in {100 * np.mean(ever):.1f} % of the runs\n")
    print("| model | full score | questions until the anytime interval is narrow | the interval for a number |")
    print("|---|---|---|---|")
    for place in range(0, len(every), options.draws):
        mine = slice(place, place + options.draws)
        name = options.models[place // options.draws]
        print(f"| {name} | {100 * every[place].full:.1f} | {counts[mine].mean():,.0f} | {early[mine].mean():,.0f} |")


def spread(counts: Floats) -> str:
    return f"{counts.mean():,.0f} ({counts.min():,}–{counts.max():,})"


def stopped(one: Asked, until: Until, *, anytime: bool) -> int:
    """After how many questions the interval is so narrow at the end of a round."""
    rule = until if anytime else NUMBER

    def narrow(end: int) -> bool:
        _, low, high = at(one, end, rule)
        return high - low < until.value

    if anytime:  # it never widens
        return one.ends[min(bisect.bisect_left(one.ends, True, key=narrow), len(one.ends) - 1)]
    return next((end for end in one.ends if narrow(end)), one.ends[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, metavar="RUN|TABLE", help="scores; default: simulated models")
    parser.add_argument("--families", type=Path, metavar="FILE", help="table model,family; default each its own")
    parser.add_argument("--counts", nargs="+", type=int, default=[1200, 2000, 2400, 3000], metavar="N")
    parser.add_argument("--half", type=float, default=1.5, metavar="POINTS", help="half width to stop at")
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="runs of each model")
    parser.add_argument("--questions", type=int, default=4000, metavar="N", help="of the simulated models")
    add_tiny(parser, counts=[60], half=8.0, draws=2, questions=200)
    options = parser.parse_args()
    if options.sources:
        from viva.analysis.items.itemscores import item_scores
        from viva.lab.items.anchors import in_order
        from viva.lab.items.sources import item_sources

        (one,) = item_sources(options.sources, None)
        table = in_order(item_scores(one.exam, one.frames, one.headline))
        scores, options.models = table.scores, list(table.models)
    else:
        dice = np.random.default_rng(0)
        able = dice.normal(size=(10, 1))
        chance = 0.1 + 0.9 / (1 + np.exp(-1.5 * (able - dice.normal(0, 1.3, options.questions))))
        scores, options.models = (
            (dice.random(chance.shape) < chance).astype(float),
            [f"model-{one}" for one in range(10)],
        )
    given = {}
    if options.families:
        with options.families.open(encoding="utf-8", newline="") as file:
            given = {one["model"]: one["family"] for one in csv.DictReader(file)}
    report(scores, [given.get(model, model) for model in options.models], options)


if __name__ == "__main__":
    main()
