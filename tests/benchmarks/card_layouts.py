"""Rows in the layouts in which well-known sets are published (card_layouts.json); every text in them is our own."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from viva.analysis.breakdown import Breakdown, frame
from viva.benchmarks.card.cardexam import CardExam
from viva.types import Question, Score, ScoreRow

_ALL = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
LAYOUTS: dict[str, tuple[list[dict[str, Any]], list[str | None]]] = _ALL["layouts"]
"""Card → rows and golds."""
FILES: dict[str, tuple[str, list[dict[str, Any]], list[str | None]]] = _ALL["files"]
"""Cards that go by the names of their files, or whose columns say too little for a guess: file, rows and golds."""


def overall(exam: CardExam, scores: Iterable[tuple[Question, Score]]) -> dict[str, float | None]:
    """The rows of an exam's first table, each with its mean, of answers with their scores."""
    given: dict[str, Any] = {"benchmark": "card", "exam": "x", "model": "m", "sample": 0, "repeat": 0, "tags": {}}
    rows = (
        ScoreRow(
            **given, question=question.id, value=score.value, outcome=score.outcome, answer="", explanation="",
            parts=score.parts
        )
        for question, score in scores
    )  # fmt: skip
    found = Breakdown(frame(rows)).table(exam.layouts()[0], "x", "m")
    return dict(zip(found.rows, (cells[0].mean for cells in found.cells), strict=True))
