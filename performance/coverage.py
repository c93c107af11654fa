"""How often the intervals hold the truth, and how often a test finds what is not there: by simulation.

    python performance/coverage.py                 # some minutes
    python performance/coverage.py --tiny          # a few repetitions: that it runs

All of it goes through what the commands use: rows of scores, `Breakdown`, `compared`, `ranks`. A design: n questions,
a true mean, what a score is (right or wrong, asked once or ten times; a fraction as F1 has them) and how answers are
lost. The truth is the mean of all questions that might have been asked, except for lost answers, where it is what this
very set would have had. Cells below 93 % or above 99 % are marked; nothing passes or fails.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from commandline import add_tiny

from viva.analysis.breakdown import Breakdown, Cell
from viva.analysis.comparing import compared, compared_apart, paired
from viva.analysis.standings import Score, ranks
from viva.types import Line

Floats = np.ndarray
SIZES = (20, 59, 100, 1000)
MEANS = (0.0, 0.02, 0.5, 0.98, 1.0)
LOST = (0.0, 0.02, 0.10)
LOW, HIGH = 0.93, 0.99


class Cells(NamedTuple):
    """One line of a table: a design and the shares measured for each true mean."""

    name: str
    n: int
    shares: list[float]


def scores_frame(scores: Floats, lost: Floats | None = None, groups: Floats | None = None) -> pl.DataFrame:
    """Scores of questions × answers, as a run's scores are (`analysis.breakdown.frame`); NaN-free."""
    questions, answers = scores.shape
    missing = np.zeros_like(scores, dtype=bool) if lost is None else lost
    flat, gone = scores.ravel(), missing.ravel()
    outcome = np.select([gone, flat >= 1.0, flat > 0.0], ["error", "right", "partly"], "wrong")
    names = np.repeat(np.arange(questions), answers).astype(str)
    columns = {
        "question": names,
        "repeat": np.zeros(len(flat), dtype=np.int32),
        "value": pl.Series(flat).set(pl.Series(gone), None),
        "outcome": pl.Series(outcome).cast(pl.Categorical),
        "weight": np.ones(len(flat), dtype=np.int32),
    }
    if groups is not None:
        columns["tag:group"] = pl.Series(np.repeat(groups, answers).astype(str)).cast(pl.Categorical)
    return pl.DataFrame(columns)


def drawn(dice: np.random.Generator, kind: str, n: int, mean: float) -> Floats:
    """Draw the scores of n questions whose expected mean is `mean`: questions × answers."""
    if kind == "once":
        return (dice.random((n, 1)) < mean).astype(float)
    if kind == "ten answers":  # most questions are known or not: ten answers mostly agree
        chance = np.full(n, mean) if mean in (0.0, 1.0) else dice.beta(0.5 * mean, 0.5 * (1 - mean), n)
        return (dice.random((n, 10)) < chance[:, None]).astype(float)
    whole = dice.random((n, 1)) < 0.7  # F1: most are all or nothing, the others anything between
    between = np.full((n, 1), mean) if mean in (0.0, 1.0) else dice.beta(2 * mean, 2 * (1 - mean), (n, 1))
    return np.where(whole, (dice.random((n, 1)) < mean).astype(float), between)


def holds(cell: Cell, truth: float) -> bool:
    """Whether the interval is there and holds the truth."""
    return cell.low is not None and cell.high is not None and cell.low - 1e-12 <= truth <= cell.high + 1e-12


def of_means(kind: str, repetitions: int, sizes: tuple[int, ...]) -> Iterator[Cells]:
    """Intervals of means over questions."""
    for n in sizes:
        dice = np.random.default_rng(n)
        shares = []
        for mean in MEANS:
            cells = (Breakdown(scores_frame(drawn(dice, kind, n, mean))).cell(Line("")) for _ in range(repetitions))
            shares.append(float(np.mean([holds(cell, mean) for cell in cells])))
        yield Cells(kind, n, shares)


def of_macro(repetitions: int, sizes: tuple[int, ...]) -> Iterator[Cells]:
    """Macro averages over groups of 2 to 12 questions, whose difficulty differs."""
    for n in sizes:
        dice = np.random.default_rng(n + 1)
        groups = np.repeat(np.arange(n), dice.integers(2, 13, n))[:n]
        count = len(np.unique(groups))
        shares = []
        for mean in MEANS:
            hits = []
            for _ in range(repetitions):
                chance = np.full(count, mean) if mean in (0.0, 1.0) else dice.beta(8 * mean, 8 * (1 - mean), count)
                truth = float(chance.mean())
                scores = (dice.random((n, 1)) < chance[groups][:, None]).astype(float)
                hits.append(holds(Breakdown(scores_frame(scores, groups=groups)).cell(Line("", over="group")), truth))
            shares.append(float(np.mean(hits)))
        yield Cells("macro, small groups", n, shares)


def of_lost(kind: str, repetitions: int, sizes: tuple[int, ...], *, hard: bool) -> Iterator[Cells]:
    """Lost answers: at random the mean's interval, of the hard questions what the leaderboard ranks by."""
    line = Line("", attempts="best") if kind == "ten answers" else Line("")
    for n, lost in itertools.product(sizes, LOST[1:]):
        dice = np.random.default_rng(n + round(100 * lost))
        shares = []
        for mean in MEANS:
            hits = []
            for _ in range(repetitions):
                scores = drawn(dice, kind, n, mean)
                # Not at random: wrong answers are lost three times as often as right ones.
                odds = lost * (1 + 2 * (1 - scores)) / (3 - 2 * mean) if hard else np.full(scores.shape, lost)
                gone = dice.random(scores.shape) < odds
                cell = Breakdown(scores_frame(scores, gone)).cell(line)
                best = scores.max(axis=1) if kind == "ten answers" else scores.mean(axis=1)
                truth = float(best.mean()) if kind == "ten answers" else mean
                if hard and cell.least_low is not None and cell.most_high is not None:
                    hits.append(cell.least_low - 1e-12 <= truth <= cell.most_high + 1e-12)
                else:
                    hits.append(holds(cell, truth))
            shares.append(float(np.mean(hits)))
        how = "hard ones" if hard else "at random"
        yield Cells(f"{kind}{', best' if kind == 'ten answers' else ''}, {lost:.0%} lost {how}", n, shares)


def of_tests(repetitions: int, sizes: tuple[int, ...]) -> Iterator[Cells]:
    """How often two models of the same ability differ with p <= .05, paired and not."""
    whole = Line("")
    for (name, pairs), n in itertools.product((("paired", True), ("unpaired", False)), sizes):
        dice = np.random.default_rng(n + 7)
        shares = []
        for mean in MEANS:
            found = []
            for _ in range(repetitions):
                sides = [Breakdown(scores_frame(drawn(dice, "once", n, mean))).questions(whole) for _ in range(2)]
                one = compared(paired(*sides)) if pairs else compared_apart(*sides)
                found.append(one.p is not None and one.p <= 0.05)
            shares.append(float(np.mean(found)))
        yield Cells(f"p <= .05, {name}", n, shares)


def of_ranks(repetitions: int, sizes: tuple[int, ...]) -> Iterator[Cells]:
    """How often all ranges of a board of ten hold the true ranks; the true means lie around `mean`."""
    for n in sizes:
        dice = np.random.default_rng(n + 3)
        shares = []
        for mean in MEANS:
            hits = []
            for _ in range(max(1, repetitions // 5)):
                truths = np.clip(mean + dice.normal(0, 0.05, 10), 0.0, 1.0)
                cells = [Breakdown(scores_frame(drawn(dice, "once", n, truth))).cell(Line("")) for truth in truths]
                scores = [Score(mean=cell.mean or 0.0, low=cell.low, high=cell.high) for cell in cells]
                better = (truths[None, :] > truths[:, None]).sum(axis=1)
                worse = (truths[None, :] < truths[:, None]).sum(axis=1)
                found = zip(ranks(scores), better, worse, strict=True)
                hits.append(all((r.first or 0) <= 1 + up and (r.last or 0) >= 10 - down for r, up, down in found))
            shares.append(float(np.mean(hits)))
        yield Cells("ranks of ten models", n, shares)


def main() -> None:
    """Print a line a design, a column a true mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=600, help="simulated sets a cell")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="questions of a set")
    add_tiny(parser, repetitions=8, sizes=SIZES[:1])
    wanted = parser.parse_args()
    repetitions, sizes = wanted.repetitions, tuple(wanted.sizes)
    designs: list[Callable[[], Iterator[Cells]]] = [
        *(lambda kind=kind: of_means(kind, repetitions, sizes) for kind in ("once", "ten answers", "fractions")),
        lambda: of_macro(repetitions, sizes),
        *(
            lambda kind=kind, hard=hard: of_lost(kind, repetitions, sizes, hard=hard)
            for kind, hard in itertools.product(("once", "ten answers"), (False, True))
        ),
        lambda: of_ranks(repetitions, sizes),
    ]
    print(
        f"95 % intervals, {repetitions} sets a cell: share that holds the truth (low below {LOW:.0%}, wide from 99 %)"
    )
    print(f"{'':38}{'n':>6}" + "".join(f"{f'mean {mean:g}':>14}" for mean in MEANS))
    for design in designs:
        for name, n, shares in design():
            marks = ("low" if share < LOW else "wide" if share > HIGH else "" for share in shares)
            cells = (f"{100 * share:.1f} {mark:4}" for share, mark in zip(shares, marks, strict=True))
            print(f"{name:38}{n:>6}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
    print("\nTests of no difference: share with p <= .05 (high above 6 %)")
    for name, n, shares in of_tests(repetitions, sizes):
        cells = (f"{100 * share:.1f} {'high' if share > 0.06 else '':4}" for share in shares)
        print(f"{name:38}{n:>6}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
