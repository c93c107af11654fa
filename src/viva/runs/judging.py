"""What a run's judges took: their replies are in no model's row."""

from __future__ import annotations

from viva.engine.consumption import Consumed, Consumption
from viva.engine.stages import RECORDED
from viva.runs.open import OpenRun


def judging_consumed(opened: OpenRun) -> dict[str, Consumed]:
    """Judge → what all its replies took, also those that held no verdict or were asked for again. Recorded ones, and
    verdicts of another run, took nothing."""
    judges = opened.judge_panel.judges if opened.judge_panel else ()
    found = {
        judge.model.name: Consumption(judge.price)
        for judge in judges
        if judge.model.identity.get("provider") not in RECORDED
    }
    if found:
        journal = opened.folder.journal("annotations", write=False)
        try:
            for entry in journal.lines():
                if entry.model in found:
                    found[entry.model].count_judging(entry)
        finally:
            journal.close()
    return {name: took.consumed(0) for name, took in found.items() if took.replies}
