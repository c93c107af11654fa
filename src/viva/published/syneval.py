"""SynEval's figures (arXiv 2311.08287), in per cent as printed.

`syneval_main.csv`: Table 6, 23 models and the random baseline: TF, MC, FITB accuracy, FITB F1 and OA, zero- and
few-shot. `syneval_zero_shot_points.csv` and `syneval_few_shot_points.csv`: Tables 8 and 9, OA by knowledge point.
`syneval_questions.csv`: Table 1, how many questions were asked. `syneval_sizes.csv`: Table 5, billions of parameters.
What to know about them:

- OA = (TF + MC + (FITB accuracy + FITB F1) / 2) / 3 (`overall`). Each row of Table 6 keeps to it within rounding; the
  furthest is Falcon 7B, few-shot, 0.007 off.
- MVP has no TF questions of its own: its TF score is that of GS, SC, DO and IO together, hence the 440 of Table 1.
- The averages in the last row of Tables 8 and 9 are over 24 rows: the baseline, whose row is not printed, is in them.
- Table 7 (how formats correlate) is over all 24 rows of Table 6 too, see `TABLE_7`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

Shots = Literal["zero", "few"]
SHOTS: tuple[Shots, ...] = ("zero", "few")
MEASURES = ("tf_accuracy", "mc_accuracy", "fitb_accuracy", "fitb_f1")
BASELINE = "Random"
AVERAGE = "Avg."
TABLE_7: dict[str, tuple[float, float]] = {
    "mc_accuracy": (0.560, 0.798),
    "fitb_accuracy": (0.480, 0.698),
    "fitb_f1": (0.516, 0.671),
}
"""Zero-shot: measure → (Kendall, Pearson) with tf_accuracy. To three decimals they come out with the baseline among the
rows and not without it; tau-b and tau-c agree to that precision, and tau-b is what Viva prints."""
POOLED = ("GS", "SC", "DO", "IO")
"""The knowledge points whose TF questions count as MVP's."""


def main(shots: Shots) -> dict[str, dict[str, float]]:
    """Model → measure (`MEASURES` and "overall") → per cent, in the order of Table 6, the baseline first."""
    prefix = f"{shots}_shot_"
    return {
        row["model"]: {name.removeprefix(prefix): float(row[name]) for name in row if name.startswith(prefix)}
        for row in _table("syneval_main.csv")
    }


def points(shots: Shots) -> dict[str, dict[str, float]]:
    """Model → knowledge point → OA in per cent (Tables 8 and 9); the last row is `AVERAGE`."""
    return {
        row["model"]: {name: float(value) for name, value in row.items() if name != "model"}
        for row in _table(f"syneval_{shots}_shot_points.csv")
    }


def questions() -> dict[str, dict[str, int]]:
    """Knowledge point → format (TF, MC, FITB) → how many were asked (Table 1); MVP's TF is the pooled count."""
    return {
        row["knowledge_point"]: {name.upper(): int(row[name]) for name in ("tf", "mc", "fitb")}
        for row in _table("syneval_questions.csv")
    }


def sizes() -> dict[str, float]:
    """Base model → parameters in billions (Table 5)."""
    return {row["model"]: float(row["billions"]) for row in _table("syneval_sizes.csv")}


def overall(scores: Mapping[str, float]) -> float:
    """OA of the four `MEASURES`, in their unit."""
    blanks = (scores["fitb_accuracy"] + scores["fitb_f1"]) / 2
    return (scores["tf_accuracy"] + scores["mc_accuracy"] + blanks) / 3


def pooled(means: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """The mean over all questions of several knowledge points, from each one's mean and count.

    With the TF means and counts of `POOLED` that is MVP's TF; with all knowledge points but MVP, the main table's.
    Raises KeyError for a mean without a count.
    """
    return sum(mean * counts[point] for point, mean in means.items()) / sum(counts[point] for point in means)


@cache
def _table(name: str) -> Sequence[Mapping[str, str]]:
    text = files("viva.published").joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(io.StringIO(text, newline=""), strict=True))
