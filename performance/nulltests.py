"""How often tests find what is not there, and ranks leave out the truth: the designs that were once wrong.

    python performance/nulltests.py                # some minutes
    python performance/nulltests.py --tiny         # a few repetitions: that it runs

One answer against ten (`viva compare`), the break of two lines where scatter changes with size (`viva scaling`), a
judge corrected by few labels (`viva agreement`), ranks by paired differences with lost answers (`viva leaderboard`),
models of one family (`viva correlate`), tests that are looked at while answers come (`viva compare --anytime`), judges
of their own model's answers (`viva judge-bias`), guessers in the cells of a design (`viva variance`), and what
`nulltests_lab_work.py` simulates. A line is a design: what is measured, what it should be, and what it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import nulltests_lab_work
import numpy as np
from commandline import add_tiny
from coverage_models_work import alike
from coverage_sets_work import questions_of
from scipy.stats import binom

from viva.analysis.comparing import anytime, compared, paired
from viva.analysis.correlation import by_families
from viva.analysis.estimate import Estimate
from viva.analysis.pairedranks import paired_ranks
from viva.analysis.raters.prediction import powered
from viva.analysis.sizes.breakpoint import fit_segments
from viva.analysis.standings import ranks
from viva.analysis.uncertainty import wilson
from viva.lab.judges.effects import self_preference
from viva.lab.variation.cells import factorial
from viva.lab.variation.components import QUESTION, estimate, range_by_chance

Found = tuple[str, str, float]


def of_unequal(repetitions: int) -> Iterator[Found]:
    """One answer to a question against ten of an equal model."""
    for n in (20, 59, 100, 400):
        for mean in (0.02, 0.1, 0.5, 0.98):
            dice, alarms = np.random.default_rng(n), 0
            for _ in range(repetitions):
                sides = (next(questions_of(one[None])) for one in _sides(dice, n, mean))
                found = compared(paired(*sides))
                alarms += found.p is not None and found.p <= 0.05
            yield f"one answer against ten, n = {n}, mean {mean:g}", "p <= .05 in 5 % at most", alarms / repetitions


def _sides(dice: np.random.Generator, n: int, mean: float) -> tuple[np.ndarray, np.ndarray]:
    return tuple((dice.random((n, times)) < mean).astype(float) for times in (1, 10))  # type: ignore[return-value]


def of_breaks(repetitions: int) -> Iterator[Found]:
    """One line, and scatter that is 10**-fall of itself at ten times the size."""
    for n in (8, 12, 20, 40):
        for fall in (0.0, 0.18, 0.3, 0.6, -0.3):
            dice, alarms = np.random.default_rng(n), 0
            for _ in range(repetitions):
                z = dice.uniform(-0.5, 2.5, n)
                scores = 0.3 + 0.15 * z + 0.05 * 10 ** (-fall * (z - 1)) * dice.standard_normal(n)
                alarms += fit_segments(10**z, scores, resamples=0, draws=199).p <= 0.05
            yield (
                f"break, {n} models, scatter × {10**-fall:.2f} a tenfold",
                "p <= .05 in 6 % at most",
                alarms / repetitions,
            )


def of_labels(repetitions: int) -> Iterator[Found]:
    """A judge who is too kind, and few labels: by how many points the estimate is off on average."""
    for labels in (20, 30, 100):
        dice, off = np.random.default_rng(labels), []
        for _ in range(repetitions):
            marks = (dice.random(600) < 0.9).astype(float)
            verdicts = np.where(dice.random(600) < 0.8, marks, dice.random(600) < 0.95)
            at = set(dice.choice(600, labels, replace=False).tolist())
            found = powered(verdicts.tolist(), [mark if n in at else None for n, mark in enumerate(marks.tolist())])
            if found.combined is not None:
                off.append(100 * (found.combined.value - marks.mean()))
        yield f"{labels} labels of 600", "points off on average: 0", float(np.mean(off))


def of_ranks(repetitions: int) -> Iterator[Found]:
    """Ten models on the same questions of unlike difficulty; every second loses wrong answers thrice as often."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    for n in (59, 200, 1000):
        for spread, lost in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.05), (0.2, 0.05)):
            dice, held, alone = np.random.default_rng(n), 0, 0
            for _ in range(max(1, repetitions // 2)):
                abilities = spread * dice.normal(size=10)
                chances = 1 / (1 + np.exp(dice.normal(0, 1.5, n)[None, :] - abilities[:, None]))
                scores = (dice.random((10, n)) < chances).astype(float)
                gone = dice.random((10, n)) < lost * np.where(scores > 0, 1, 3)
                gone[1::2] = False
                truths = (1 / (1 + np.exp(1.5 * nodes[None, :] - abilities[:, None]))) @ weights
                found = paired_ranks(list(questions_of(np.where(gone, np.nan, scores)[:, :, None]))) or []
                better = (truths[None, :] > truths[:, None] + 1e-12).sum(axis=1)
                worse = (truths[None, :] < truths[:, None] - 1e-12).sum(axis=1)
                bounds = [wilson(right, n) or (0.0, 1.0) for right in scores.sum(axis=1)]
                published = ranks([Estimate(mean=sum(each) / 2, low=each[0], high=each[1]) for each in bounds])
                apart = [(one.first or 1, one.last or 10) for one in published]
                held, alone = (
                    count
                    + all(a <= 1 + up and b >= 10 - down for (a, b), up, down in zip(each, better, worse, strict=True))
                    for count, each in ((held, found), (alone, apart))
                )
            name = f"ranks, n = {n}, abilities ± {spread:g}, {lost:.0%} lost of the right"
            yield name, "all hold in 95 % at least", held / max(1, repetitions // 2)
            if not lost:
                yield f"{name}, by their intervals", "all hold in 95 % at least", alone / max(1, repetitions // 2)


def of_peeking(repetitions: int) -> Iterator[Found]:
    """Two contestants who differ on three questions of ten, looked at after every 25 of 1,000;
    the second gains `gained` of those. How often it is called a difference, by the test that is made for it, and by
    McNemar's mid-P at each look; and at which question half and four fifths of the former have ended."""
    for gained in (0.5, 0.6, 0.7):
        dice, at, alarms = np.random.default_rng(5), [], 0
        sets = max(2, repetitions // 3)
        for _ in range(sets):
            differences = np.where(dice.random(1000) < 0.3, np.where(dice.random(1000) < gained, 1.0, -1.0), 0.0)
            looked = range(25, 1001, 25)
            at.append(next((n for n in looked if (f := anytime(differences[:n])) and f.p <= 0.05), 10_000))
            up, whole = np.cumsum(differences > 0), np.cumsum(differences != 0)
            below = binom.cdf(np.minimum(up, whole - up), whole, 0.5) - binom.pmf(up, whole, 0.5) / 2
            alarms += bool((2 * below[24::25] <= 0.05).any())
        name, null = f"looked at 40 times, {gained:.0%} gained", gained == 0.5
        wanted = "p <= .05 in 5 % at most" if null else "more is better"
        yield name, wanted, float(np.mean(np.array(at) <= 1000))
        yield f"{name}, McNemar", "what it must not be" if null else "", alarms / sets
        for share in () if null else (0.5, 0.8):
            yield f"{name}: ended in {share:.0%}", "questions", float(np.quantile(at, share))


def of_families(repetitions: int) -> Iterator[Found]:
    """Families of six models, nine tenths of whose variance is the family's: what power is left beside type I."""
    for n in (4, 6, 10, 20):
        for rho in (0.0, 0.5, 0.8):
            dice, alarms = np.random.default_rng(n), 0
            for _ in range(repetitions):
                codes, (first, second) = alike(dice, n, 0.9, rho)
                found = by_families("pearson", first.tolist(), second.tolist(), codes)
                alarms += found is not None and found[0] <= 0.05
            wanted = "more is better" if rho else "p <= .05 in 6 % at most"
            yield f"Pearson's r {rho:g}, {n} families of six", wanted, alarms / repetitions


_KINDS = {
    "own 80 % right, others 40 %, both err in 15 %": ([0.2, 0.8], [0.6, 0.4], [0.15, 0.85], [0.15, 0.85]),
    "own 80 %, others 40 %, judge 5 %, reference 10 %": ([0.2, 0.8], [0.6, 0.4], [0.05, 0.95], [0.1, 0.9]),
    "own 80 %, others 40 %, judge 10 %, reference 5 %": ([0.2, 0.8], [0.6, 0.4], [0.1, 0.9], [0.05, 0.95]),
    "own 40 %, others 80 %, both err in 15 %": ([0.6, 0.4], [0.2, 0.8], [0.15, 0.85], [0.15, 0.85]),
    "own 95 %, others 50 %, judge 2 %, reference 30 %": ([0.05, 0.95], [0.5, 0.5], [0.02, 0.98], [0.3, 0.7]),
    "own 30 %, others 10 %, judge passes 30 % of wrong": ([0.7, 0.3], [0.9, 0.1], [0.3, 0.98], [0.15, 0.85]),
    "five grades, own better, judge kinder": (
        *([0.05, 0.1, 0.2, 0.3, 0.35], [0.3, 0.25, 0.2, 0.15, 0.1]),
        *([0.12, 0.5, 0.88, 0.98, 1], [0.02, 0.1, 0.32, 0.68, 0.9]),
    ),
    "own better on hard questions, reference errs there": (
        *([0.05, 0.15, 0.35, 0.45], [0.05, 0.3, 0.2, 0.45]),
        *([0.05, 0.2, 0.8, 0.95], [0.05, 0.3, 0.7, 0.95]),
    ),
    "most own half right, judge passes these": ([0.2, 0.6, 0.2], [0.4, 0.2, 0.4], [0.02, 0.8, 0.98], [0.02, 0.2, 0.98]),
}
"""How many of its own answers are of each grade, and of others'; how often judge and reference pass one of a grade."""


def of_own(repetitions: int) -> Iterator[Found]:
    """A judge without preference for its own model's answers, half of which others gave, and judges with one: how often
    0 is outside of what is printed. The last kind is one that marks cannot tell from a preference."""
    even = [0.5, 0.5]
    prefers = {f"equally good, both err in {e:.0%}": (even, even, [e, 1 - e], [e, 1 - e]) for e in (0.05, 0.15)}
    told = [(name, kind, 0.0) for name, kind in _KINDS.items()]
    told += [(f"{name}, {p:.0%} passed as its own", kind, p) for name, kind in prefers.items() for p in (0.3, 0.5)]
    for name, (own, others, judge, reference), lift in told:
        for n, steps in ((30, 1), (100, 1), (400, 1), (100, 4)):
            dice, outside = np.random.default_rng(n), 0
            mine = np.arange(n) % 2 == 0
            for _ in range(repetitions):
                drawn = [dice.choice(len(own), n, p=shares) for shares in (own, others)]
                worth = np.where(mine, *drawn)
                marks, marked = (dice.binomial(steps, np.array(each)[worth]) / steps for each in (judge, reference))
                marks[mine & (dice.random(n) < lift)] = 1.0
                asked = [str(place // 2) for place in range(n)]
                found = self_preference("", mine.tolist(), marks.tolist(), marked.tolist(), asked)
                outside += found.low is not None and found.high is not None and not found.low <= 0 <= found.high
            marks_in = f"{n} marks in {steps} step{'s' * (steps > 1)}"
            yield f"{name}, {marks_in}", "more is better" if lift else "0 outside: 5 % at most", outside / repetitions


def of_cells(repetitions: int) -> Iterator[Found]:
    """A guesser whom nothing moves: how often anything that was varied is shown to move the score or has a share, the
    range of its cells, and what is printed of it by chance; and a model that loses `lost` by the second prompt, which
    answers each tenth question anew under each prompt, and each twentieth in each cell."""
    designs = {"2 × 2": ([2, 2], None), "4 × 4": ([4, 4], None), "4 × 4 in 8": ([4, 4], 8), "3": ([3], None)}
    for design, (sizes, part) in designs.items():
        cells = factorial(sizes, part)
        names = [str(place) for place in range(len(sizes))]
        for n, samples, right in ((10, 1, 0.25), (30, 3, 0.25), (96, 1, 0.25), (500, 1, 0.25), (96, 3, 0.9)):
            dice, shown, ranges = np.random.default_rng(n), [], []
            for _ in range(repetitions):
                values = (dice.random((n, len(cells), samples)) < right).astype(float)
                found = estimate(values, cells, names)
                varied = [one.shown for one in found.components if "chance" not in one.name and one.name != QUESTION]
                shown.append((found.p <= 0.05, any(varied)))
                ranges.append((np.ptp(values.mean(axis=(0, 2))), range_by_chance(values.mean(axis=2))))
            name = f"{design}, {n} questions × {samples}, {right:.0%} right"
            yield f"{name}: moved", "p <= .05 in 5 % at most", float(np.mean(shown, axis=0)[0])
            yield f"{name}: any share of it", "5 % at most", float(np.mean(shown, axis=0)[1])
            yield f"{name}: points from cell to cell", "", 100 * float(np.mean(ranges, axis=0)[0])
            yield f"{name}: printed for chance", "the same", 100 * float(np.mean(ranges, axis=0)[1])
        for n, lost in ((500, 0.0), (500, 0.04), (1500, 0.02), (1500, 0.04)):
            dice, moved = np.random.default_rng(n), 0
            sets = max(2, repetitions // 3)
            for _ in range(sets):
                moved += estimate(_moved(dice, n, np.array(cells), lost), cells, names).p <= 0.05
            wanted = "more is better" if lost else "p <= .05 in 5 % at most"
            yield f"{design}, {n} questions, {100 * lost:g} points lost by a prompt", wanted, moved / sets


def _moved(dice: np.random.Generator, n: int, cells: np.ndarray, lost: float) -> np.ndarray:
    """Questions × cells × 1."""
    chances = 1 / (1 + np.exp(-dice.normal(0.8, 1.5, (n, 1))))
    prompts = cells[:, 0]
    own = dice.random((n, prompts.max() + 1)) < chances
    right = np.where(dice.random(own.shape) < 0.1, own, own[:, :1])
    right[:, 1] &= dice.random(n) >= lost / chances.mean()
    again = dice.random((n, len(cells))) < 0.05
    values = np.where(again, dice.random(again.shape) < chances, right[:, prompts])
    return values[:, :, None].astype(float)


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=600, help="simulated sets a line")
    add_tiny(parser, repetitions=4)
    repetitions = parser.parse_args().repetitions
    designs = (of_unequal, of_breaks, of_labels, of_ranks, of_families, of_peeking, of_own, of_cells)
    for design in (*designs, *nulltests_lab_work.DESIGNS):
        for name, wanted, found in design(repetitions):
            print(f"{name:78} {wanted:28} {found:8.3f}", flush=True)


if __name__ == "__main__":
    main()
