"""Answers with known marks among those that a run's judges were asked about: what they were given."""

from __future__ import annotations

from contextlib import ExitStack

from viva.analysis.canaries import CanaryMarks
from viva.engine.stages import with_questions
from viva.runs.open import OpenRun, open_evidence
from viva.types import Response


def canary_marks(opened: OpenRun) -> tuple[CanaryMarks, ...]:
    """What every judge of a run gave its canaries, exam by exam, from the journals alone."""
    judge_panel, canaries = opened.judge_panel, opened.folder.record.canaries
    if judge_panel is None or not canaries:
        return ()
    marks: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    with ExitStack() as stack:
        evidence_store = open_evidence(opened, stack)
        for exam, question, canary in with_questions(canaries, opened.exams):
            response = Response(text=canary.text)
            for judge in judge_panel.judges:
                into = marks.setdefault((exam.spec.label, judge.model.name), [])
                for opinion in evidence_store.opinions(judge, exam, question, response, {}):
                    into.append((canary.mark, exam.mark(question, opinion) if opinion else None))
    return tuple(
        CanaryMarks(exam=exam, judge=judge, known=tuple(k for k, _ in found), given=tuple(g for _, g in found))
        for (exam, judge), found in marks.items()
        if found
    )
