"""How requests were adapted to servers: said as it is found out, and written into run.json."""

from __future__ import annotations

import functools

from viva.contracts import AdaptingModel
from viva.engine.folder import ModelRecord, RunFolder
from viva.runs.messages import notify
from viva.runs.open import OpenRun


def keep_adaptations(opened: OpenRun) -> None:
    """From now on, of every model and judge of a run."""
    record = opened.folder.record
    judges = [judge.model for judge in opened.judge_panel.judges] if opened.judge_panel else []
    for model, known in zip((*opened.models, *judges), (*record.models, *record.judges), strict=False):
        if isinstance(model, AdaptingModel):
            model.adapting.changed = functools.partial(_adapted, opened.folder, model, known)


def _adapted(folder: RunFolder, model: AdaptingModel, known: ModelRecord, said: str) -> None:
    notify(f"{known.shown or known.name}: {said}")
    known.adapted = model.adapting.known
    if folder.writable:
        folder.remember(folder.record)
