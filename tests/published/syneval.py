"""SynEval's published tables as dictionaries, and its formulas: what several folders of tests check against."""

from collections.abc import Mapping

from viva.published import table

SHOTS = ("zero", "few")
MEASURES = ("tf_accuracy", "mc_accuracy", "fitb_accuracy", "fitb_f1")
BASELINE = "Random"
AVERAGE = "Avg."
POOLED = ("GS", "SC", "DO", "IO")
"""The knowledge points whose TF questions count as MVP's."""


def main(shots: str) -> dict[str, dict[str, float]]:
    """Model → measure (`MEASURES` and "overall") → per cent."""
    return {entry.model: dict(entry.figures) for entry in table("syneval", f"{shots}_shot").entries}


def points(shots: str) -> dict[str, dict[str, float]]:
    """Model → knowledge point → OA in per cent; the last row is `AVERAGE`."""
    return {entry.model: dict(entry.figures) for entry in table("syneval", f"{shots}_shot_points").entries}


def questions() -> dict[str, dict[str, int]]:
    """Knowledge point → format → how many were asked; MVP's TF is the pooled count."""
    return {
        entry.model: {name.upper(): int(count) for name, count in entry.figures.items()}
        for entry in table("syneval", "questions").entries
    }


def overall(scores: Mapping[str, float]) -> float:
    """OA of the four `MEASURES`, in their unit."""
    blanks = (scores["fitb_accuracy"] + scores["fitb_f1"]) / 2
    return (scores["tf_accuracy"] + scores["mc_accuracy"] + blanks) / 3
