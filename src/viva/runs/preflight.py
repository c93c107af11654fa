"""Before anything is asked: can these models answer such questions at all, and what does a server support?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from viva.engine.stages import Evaluation
from viva.errors import VivaError
from viva.runs.config import WeightsOptions
from viva.runs.messages import notify
from viva.runs.open import OpenRun
from viva.types import Kind, Question

if TYPE_CHECKING:
    from viva.models.serverprobes import Finding, Report


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


class Works(Struct, frozen=True):
    """A command of Viva, whether it works with a server, and why."""

    command: str
    works: bool
    why: str


def commands(report: Report) -> list[Works]:
    """What can be done with a server that answers so."""
    found = report.findings
    chat, text = found["chat"].usable, found["completions"].usable

    def has(name: str) -> bool:
        return name in found and found[name].usable

    echo = has("echo with logprobs")
    scored = "it scores a text that it is sent" if echo else "it does not score a text that it is sent"
    return [
        Works("viva run", chat, "it answers messages" if chat else _instead(text)),
        Works("--form base", text, "it continues texts" if text else "it does not continue texts"),
        Works("--answer-by next-token", *_next_token(has("logprobs in chat"), has("logprobs in completions"))),
        Works("--answer-by likelihood", echo, f"{scored}; with --form base, or --template FAMILY" if echo else scored),
        Works("viva perplexity", echo, scored),
        Works("--samples", chat or text, _samples(found)),
    ]


def _instead(text: bool) -> str:
    return "it has no chat; --form base or --template FAMILY do without" if text else "it answers nothing"


def _next_token(chat: bool, text: bool) -> tuple[bool, str]:
    listed = "it lists the most probable tokens"
    if chat and text:
        return True, f"{listed}, in chat and with --form base; letters that it does not list are bounded"
    if chat:
        return True, f"{listed} in chat, not with --form base; letters that it does not list are bounded"
    if text:
        return True, f"{listed} with --form base (or --template FAMILY), not in chat; letters not listed are bounded"
    return False, "it lists no probable tokens"


def _samples(found: Mapping[str, Finding]) -> str:
    seed = found["seed"].verdict if "seed" in found else "unknown"
    again = {
        "yes": "with --seed they can be drawn again",
        "no": "they cannot be drawn again, since it ignores the seed",
        "refused": "leave --seed out, which it refuses",
    }
    return (
        f"each is a request of its own, at a temperature above 0; {again.get(seed, 'what its seed does is not clear')}"
    )
