"""The answers of a run as items to review: what its benchmarks leave to an expert's judgement."""

from __future__ import annotations

from contextlib import ExitStack

import msgspec

from viva.cli.examination import Examination, gather
from viva.engine.reviews import item_key
from viva.engine.stages import Sitting
from viva.review.items import OUTCOME, Item, spread
from viva.types import Evidence, Question, Response


def items_of(examination: Examination) -> list[Item]:
    """Every answer with something to mark, in the order of the exams and their questions.

    Drafts and outcomes are those without the experts' marks, so that marking changes neither.
    """
    found: list[Item] = []
    with ExitStack() as stack:
        answers = examination.folder.journal("responses", write=False)
        stack.callback(answers.close)
        gathered = msgspec.structs.replace(gather(examination, stack), marks=lambda _: ())
        for sitting in examination.sittings:
            for question, sample, entry in sitting.answers(answers):
                if entry is None or entry.error:
                    continue
                response = entry.response()
                item = _item(sitting, question, sample, response, gathered.about(sitting, question, sample, response))
                if item.drafts:
                    found.append(item)
    return found


def _item(sitting: Sitting, question: Question, sample: int, response: Response, evidence: Evidence) -> Item:
    drafts = sitting.exam.drafts(question, response, evidence)
    which = {
        "exam": sitting.label,
        "model": sitting.model.name,
        "question": question.id,
        "sample": str(sample),
    }
    outcome = sitting.exam.score(question, response, evidence).outcome if drafts else ""
    return Item(
        key=item_key(sitting.label, sitting.model.name, question.id, sample, response.text),
        about=which | {name: value for name, value in question.tags.items() if name not in which} | {OUTCOME: outcome},
        question=question.text,
        options=question.options,
        drafts=drafts,
        disagreement=spread([draft.opinions for draft in drafts]),
    )
