"""The keys of a run's answers and verdicts, had its models been asked at the addresses of another run.

A key covers the address (engine/keys.py). Tasks of an array that start a server each on a port of its own ask the same
model at several addresses; where the user vouches for that, their answers are those of one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from viva.contracts import Model
from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Journal
from viva.engine.keys import Keys
from viva.engine.stages import Evaluation, EvidenceStore
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, open_evidence, prepare, reach
from viva.runs.trust import without_consent
from viva.types import Question

Renamed = dict[bytes, bytes]
"""Key in the one run → key in the other."""


def moved(one: RunRecord, other: RunRecord) -> bool:
    """Whether their models or judges have different addresses."""
    return [model.base_url for model in (*one.models, *one.judges)] != [
        model.base_url for model in (*other.models, *other.judges)
    ]


def keys_elsewhere(folder: RunFolder, record: RunRecord) -> dict[str, Renamed]:
    """Stage → what its keys are in a run with the models and judges of `record`, otherwise the same. Asks nobody."""
    record = without_consent(record)
    opened = prepare(folder, LimitOptions(progress="quiet"))
    judged = opened.judge_panel.judges if opened.judge_panel else ()
    models = list(map(_there, opened.models, folder.record.models, record.models))
    judges = list(map(_there, (judge.model for judge in judged), folder.record.judges, record.judges))
    elsewhere = dict(zip((model.name for model in opened.models), models, strict=True))
    found: dict[str, Renamed] = {"responses": {}, "annotations": {}}
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            keys = Keys(elsewhere[evaluation.model.name].identity, evaluation.exam.spec.benchmark)
            for question, key, request in evaluation.requests():
                found["responses"][key] = keys.of(request)
                if judges:
                    found["annotations"].update(
                        _verdicts(opened, evidence_store, evaluation, question, key, journal, judges)
                    )
    return found


def _there(model: Model, here: ModelRecord, there: ModelRecord) -> Model:
    """The model as the other run reaches it."""
    return model if here.base_url == there.base_url else reach(there, 0)


def _verdicts(
    opened: OpenRun,
    evidence_store: EvidenceStore,
    evaluation: Evaluation,
    question: Question,
    key: bytes,
    journal: Journal,
    judges: Sequence[Model],
) -> Renamed:
    """The keys of the verdicts on one answer."""
    entry, judge_panel = journal.read(key), opened.judge_panel
    if entry is None or entry.error or judge_panel is None:
        return {}
    response = entry.response()
    similarities = (
        evidence_store.similarity_store.of(evaluation.exam, question, response)
        if evidence_store.similarity_store
        else {}
    )
    found: Renamed = {}
    for judge, other in zip(judge_panel.judges, judges, strict=True):
        here, there = (
            judge_panel.requests(model, evaluation.exam, question, response, similarities)
            for model in (judge.model, other)
        )
        found.update((old, new) for (old, _), (new, _) in zip(here, there, strict=True))
    return found
