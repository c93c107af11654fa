"""Predictions over size where nobody knows the curve: one shape taken as true, and the average of four.

    python performance/curves.py                # some minutes
    python performance/curves.py --tiny         # two sets of each: that it runs

n models from 1 to 100 billion, scores around a true curve with an sd of 2 points; the score that one more model
measures at twice and at ten times the largest size. Cells: in how many per cent of sets the 95 % interval holds it and,
behind the stroke, how wide it is on average, in points. `one of the four`: true curves that the average has; `another`:
true curves that it has not, but that go on or level off; `bends upwards`: true curves that grow faster beyond what was
fitted. A line's last two columns are the worst true curve without an upward bend. The last table has families of
models (as `viva scaling` draws them together), half of the scatter theirs, around four of these curves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from commandline import add_tiny
from numpy.typing import NDArray

from viva.analysis.sizes.scaling import (
    Fit,
    Kind,
    family_curve,
    fit_curve,
    predict,
)

Floats = NDArray[np.float64]
NOISE = 0.02
LARGEST = 2.0
"""log10 of the largest size."""
SPANS = {"twice": 2.0, "ten times": 10.0}
FITS: tuple[Kind, ...] = ("log", "family", "logistic", "power", "average")
CURVES: dict[str, dict[str, Callable[[Floats], Floats]]] = {
    "one of the four": {
        "line": lambda z: 0.3 + 0.2 * z,
        "family": lambda z: family_curve(10**z, 0.5, 2.0),
        "logistic": lambda z: 1 / (1 + np.exp(1.2 - 1.1 * z)),
        "power law": lambda z: 0.75 - 0.45 * 10 ** (-0.5 * z),
        "power law, soon at its end": lambda z: 0.7 - 0.45 * 10**-z,
    },
    "another": {
        "two lines": lambda z: 0.3 + 0.25 * z - 0.18 * np.maximum(z - 1, 0),
        "Gompertz from .25": lambda z: 0.25 + 0.65 * np.exp(-np.exp(-1.5 * (z - 0.8))),
        "logistic from .25": lambda z: 0.25 + 0.7 / (1 + np.exp(-2.5 * (z - 1.4))),
        "Weibull": lambda z: 0.85 - 0.6 * np.exp(-0.35 * z**1.5),
        "logarithm of log size": lambda z: 0.25 + 0.3 * np.log1p(1.2 * z),
    },
    "bends upwards": {
        "logistic from .25, middle at 200 billion": lambda z: 0.25 + 0.6 / (1 + np.exp(-2.2 * (z - 2.3))),
        "two steps": lambda z: 0.2 + 0.25 / (1 + np.exp(-4 * (z - 0.5))) + 0.5 / (1 + np.exp(-3 * (z - 2.2))),
    },
}
Found = list[tuple[bool, float]]


def predicted(found: Found, fit: Fit, size: float, score: float) -> None:
    """Whether the interval, where there is one, holds the score, and its width."""
    said = predict(fit, size)
    if said.low is not None and said.high is not None:
        found.append((said.low <= min(1.0, max(0.0, score)) <= said.high, said.high - said.low))


def cell(found: Found) -> str:
    """`holds / width`, in per cent and points."""
    if not found:
        return "–"
    holds, width = np.mean(np.array(found, dtype=float), axis=0)
    return f"{100 * holds:.0f} / {100 * width:.0f}"


def independent(sets: int, n: int) -> None:
    """Prints the table of n models, each its own."""
    found: dict[tuple[str, str, str, str], Found] = {}
    for kind, curves in CURVES.items():
        for name, true in curves.items():
            dice = np.random.default_rng([n, len(name), len(kind)])
            for _ in range(sets):
                z = np.concatenate([[0.0, LARGEST], dice.uniform(0, LARGEST, n - 2)])
                scores = np.clip(true(z) + dice.normal(0, NOISE, n), 0, 1).tolist()
                further = {
                    span: float(true(np.log10(100 * times)) + dice.normal(0, NOISE)) for span, times in SPANS.items()
                }
                for fitted in FITS:
                    fit = fit_curve(fitted, (10**z).tolist(), scores)
                    for span, times in SPANS.items():
                        predicted(found.setdefault((span, fitted, kind, name), []), fit, 100 * times, further[span])
    print(f"\n{n} models\n\n| at | fitted | {' | '.join(CURVES)} | worst | of |\n|---|---|---|---|---|---:|---|")
    for span in SPANS:
        for fitted in FITS:
            by_kind = [
                [hit for name in curves for hit in found[span, fitted, kind, name]] for kind, curves in CURVES.items()
            ]
            worst = min(
                (float(np.mean([hit for hit, _ in found[span, fitted, kind, name]] or [1.0])), name)
                for kind in ("one of the four", "another")
                for name in CURVES[kind]
            )
            print(f"| {span} | {fitted} | {' | '.join(map(cell, by_kind))} | {100 * worst[0]:.0f} | {worst[1]} |")


def related(sets: int, families: int) -> None:
    """Prints the row of so many families of six models."""
    cells: dict[str, Found] = {}
    for name in ("line", "family", "power law", "Gompertz from .25"):
        true = next(curves[name] for curves in CURVES.values() if name in curves)
        dice = np.random.default_rng([families, len(name)])
        for _ in range(sets):
            codes = np.repeat(np.arange(families), 6)
            z = dice.uniform(0, 1.5, families)[codes] + dice.uniform(0, 0.5, 6 * families)
            off = NOISE * np.sqrt(0.5) * (dice.standard_normal(families)[codes] + dice.standard_normal(6 * families))
            scores, further = (
                np.clip(true(z) + off, 0, 1).tolist(),
                float(true(np.float64(2.5))) + dice.normal(0, NOISE),
            )
            names = [str(code) for code in codes]
            for fitted in ("log", "average"):
                predicted(
                    cells.setdefault(f"{fitted} {name}", []),
                    fit_curve(fitted, (10**z).tolist(), scores, families=names),
                    10**2.5,
                    further,
                )
    print(f"| {families} | " + " | ".join(map(cell, cells.values())) + " |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--models", type=int, nargs="+", default=[6, 12, 30])
    parser.add_argument("--families", type=int, nargs="+", default=[4, 10])
    add_tiny(parser, sets=2, models=[6], families=[4])
    given = parser.parse_args()
    for n in given.models:
        independent(given.sets, n)
    columns = [
        f"{fitted}, {name}" for name in ("line", "family", "power law", "Gompertz") for fitted in ("log", "average")
    ]
    print(f"\n| families | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for families in given.families:
        related(given.sets, families)


if __name__ == "__main__":
    main()
