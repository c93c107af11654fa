"""Before anything is asked: can these models answer such questions at all?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.engine.stages import Evaluation
from viva.errors import VivaError
from viva.runs.config import WeightsOptions
from viva.runs.messages import notify
from viva.runs.open import OpenRun
from viva.types import Kind, Question


def check_supported(opened: OpenRun, samples: Sequence[Sequence[Question]]) -> None:
    """Show every model a question of each kind; `samples` has some of each exam, of every kind.

    Raises VivaError where one can answer none of them. Where it can answer some, the others stay unanswered, and that
    is said.
    """
    firsts = {id(exam): _first_of_each_kind(some) for exam, some in zip(opened.exams, samples, strict=True)}
    for evaluation in opened.evaluations:
        troubles = _troubles(evaluation, firsts[id(evaluation.exam)])
        if troubles and all(troubles.values()):
            raise VivaError(next(iter(troubles.values())))
        for kind, trouble in troubles.items():
            if trouble:
                said = f"{evaluation.model.name} on {evaluation.label}: questions of the kind {kind!r} stay unanswered"
                notify(f"{said}: {trouble}")


def refuse_unopened(opening: WeightsOptions, form: str, models: Sequence[str]) -> None:
    """Refuse what would be said of weights where there are none, and a template where there are no messages."""
    if opening.template and form == "base":
        raise VivaError(
            f"--template {opening.template!r} writes messages, and --form base sends a text as it is: leave one out"
        )
    if any(name.startswith("hf/") for name in models):
        return
    said = {
        "--dtype": opening.dtype != "auto",
        "--device": opening.device != "auto",
        "--bits": opening.bits,
        "--adapter": opening.adapter,
        "--trust-remote-code": opening.trust_remote_code,
        "--batch-size": opening.batch_size,
    }
    for option, given in said.items():
        if given:
            raise VivaError(f"{option} is for weights on a disk (--model hf/FOLDER); here is only {', '.join(models)}")


def _first_of_each_kind(questions: Sequence[Question]) -> dict[Kind, Question]:
    found: dict[Kind, Question] = {}
    for question in questions:
        found.setdefault(question.kind, question)
    return found


def _troubles(evaluation: Evaluation, firsts: Mapping[Kind, Question]) -> dict[Kind, str]:
    """Kind of question → why it cannot be answered; "" where it can."""
    found: dict[Kind, str] = {}
    for kind, question in firsts.items():
        request = evaluation.request(question, 0)
        try:
            evaluation.model.check_supported(request)
        except VivaError as problem:
            found[kind] = str(problem)
        else:
            found[kind] = ""
    return found
