"""What experts should mark next: labels drawn at random, and more of those that judges are less sure of.

    python performance/labels.py               # some minutes
    python performance/labels.py --tiny        # a few repetitions: that it runs

Judges mark answers 0, ½ or 1; an answer is clear or hard, and each judge errs by itself, on hard ones more often. The
experts' mean over 1,000 answers is estimated from so many labels and the judges' mean mark on all, as `viva agreement`
does after `viva review --sample N` (at random) and with `--strata uncertainty` (drawn by the page's own function). A
line: the mean half-width of the intervals and how far off the estimate is on average, in per cent of the full mark,
which share of the intervals holds the truth, and how many labels at random would give as narrow ones.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from commandline import add_tiny

from viva.analysis.raters.prediction import powered
from viva.review.items import UNCERTAINTY, Item, sample_items, spread
from viva.types import ANSWER, ReviewItem

ANSWERS = 1000
SCALE = (0.0, 0.5, 1.0)


class Design(NamedTuple):
    """How judges err: on a share `hard` of all answers, this often there and elsewhere."""

    name: str
    judges: int
    hard: float
    hard_errors: float
    clear_errors: float
    kindness: float = 0.0
    """How often a judge's error is upwards, beyond one in two."""


DESIGNS = (
    Design("3 judges, 2 % errors, 40 % on a fifth of hard answers", 3, 0.2, 0.4, 0.02),
    Design("3 judges, 10 % errors on all answers", 3, 0.0, 0.1, 0.1),
    Design("2 kind judges, 5 % errors, 50 % on three hard of ten", 2, 0.3, 0.5, 0.05, 0.4),
    Design("2 judges, 30 % errors on all answers", 2, 0.0, 0.3, 0.3),
    Design("1 judge, 2 % errors, 40 % on a fifth of hard answers", 1, 0.2, 0.4, 0.02),
)


def answers(dice: np.random.Generator, design: Design) -> tuple[list[float], list[Item]]:
    """The experts' marks, and the answers as the review page has them before anybody marked."""
    truth = dice.choice(SCALE, ANSWERS, p=(0.25, 0.15, 0.6))
    errs = np.where(dice.random(ANSWERS) < design.hard, design.hard_errors, design.clear_errors)
    wrong = dice.random((design.judges, ANSWERS)) < errs
    steps = np.where(dice.random(wrong.shape) < 0.5 + design.kindness, 0.5, -0.5)
    marks = np.where(wrong, np.abs(truth + steps), truth)
    marks = np.where(marks > 1, 0.5, marks)
    items = []
    for place in range(ANSWERS):
        opinions = {f"judge {number}": float(mark) for number, mark in enumerate(marks[:, place])}
        draft = ReviewItem(
            aspect=ANSWER, text="", gold="", value=float(marks[:, place].mean()), decided="judge", scale=SCALE,
            opinions=opinions,
        )  # fmt: skip
        about = {"exam": "e", "model": "m", "question": str(place), "sample": "0"}
        items.append(Item(key=str(place), about=about, question="", drafts=(draft,), disagreement=spread([opinions])))
    return truth.tolist(), items


def measured(design: Design, labels: int, by: str, repetitions: int) -> tuple[float, float, float]:
    """Mean half-width for this run, coverage, mean error."""
    dice = np.random.default_rng([labels, design.judges, int(100 * design.hard_errors)])
    widths, held, errors = [], 0, []
    for seed in range(repetitions):
        truth, items = answers(dice, design)
        drawn = {item.key for item in sample_items(items, labels, seed, by)}
        found = powered(
            [item.drafts[0].value for item in items],
            [mark if item.key in drawn else None for mark, item in zip(truth, items, strict=True)],
            strata=[item.values(by)[0] for item in items] if by else (),
        ).combined
        assert found is not None
        low, high = found.run
        widths.append((high - low) / 2)
        held += low <= np.mean(truth) <= high
        errors.append(found.value - np.mean(truth))
    return float(np.mean(widths)), held / repetitions, float(np.mean(errors))


def main() -> None:
    """Print a line a design, number of labels and way to draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--labels", type=int, nargs="+", default=[50, 100, 200])
    add_tiny(parser, repetitions=3, labels=[50])
    given = parser.parse_args()
    print("| judges | labels | drawn | half-width | holds | off by | worth |\n|---|---:|---|---:|---:|---:|---:|")
    for design in DESIGNS:
        for labels in given.labels:
            usual = None
            for name, by in (("at random", ""), ("by uncertainty", UNCERTAINTY)):
                width, held, error = measured(design, labels, by, given.repetitions)
                usual = usual or width
                # The square of a width is (1/n − 1/M) s², but for a factor that both have.
                worth = 1 / (1 / ANSWERS + (1 / labels - 1 / ANSWERS) * (width / usual) ** 2)
                cells = (f"{100 * width:.2f}", f"{100 * held:.1f} %", f"{100 * error:+.2f}", f"{worth:.0f}")
                print(f"| {design.name} | {labels} | {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
