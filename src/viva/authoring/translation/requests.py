"""`viva build translate`: the questions to the model, through the engine, every reply journaled as it comes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from viva.authoring.drafting import Asking, ask_and_keep
from viva.authoring.translation.project import DRAFTS, SCOPE, Project
from viva.authoring.translation.prompt import requests
from viva.contracts import Model
from viva.engine.asking import Run
from viva.engine.budget import worst_case
from viva.engine.journal import Journal
from viva.engine.keys import Keys
from viva.prompting import estimate_tokens
from viva.runs.open import price_of
from viva.types import Generate, Sampling, Usage

WORDIER = 1.3
"""Tokens of a translation for one of the original: an assumption, said as such."""


def wanted(project: Project, sampling: Sampling, limit: int | None, *, rejected: bool) -> list[Generate]:
    """Everything to be asked, in the order of the source; the journal knows what was. `rejected`: those once more."""
    settings = project.settings
    languages = settings.source_language, settings.target_language
    again: dict[str, tuple[str, ...]] = {}
    if rejected:
        told = [(one.name, one.state) for one in project.questions() if one.state.status == "rejected"]
        again = {name: state.remarks or ("It was not good enough.",) for name, state in told}
    found: list[Generate] = []
    for name, _, record in project.sources()[:limit]:
        remarks = again.get(name, ())
        for request in requests(name, record, languages, settings.each, project.templates, sampling, remarks):
            last = project.drafts.get(request.question)
            sample = last.sample + 1 if remarks and last else 0
            found.append(msgspec.structs.replace(request, sample=sample))
    return found


def ask(project: Project, model: Model, asked: Sequence[Generate], asking: Asking) -> tuple[Run, int]:
    """Ask what the journal does not hold yet; returns how it went, and how many there were to ask."""
    named = [("", request) for request in asked]
    return ask_and_keep(project.path / DRAFTS, SCOPE, model, named, asking, "translating")


def estimate(project: Project, model: Model, asked: Sequence[Generate], asking: Asking) -> str:
    """What it would be, in a sentence, without asking anybody."""
    journal = Journal(project.path / DRAFTS, write=False)
    try:
        keys = Keys(model.identity, SCOPE)
        left = [request for request in asked if keys.of(request) not in journal.answered]
    finally:
        journal.close()
    prompts = sum(worst_case(request).input for request in left)
    most = sum(worst_case(request).output for request in left)
    head = estimate_tokens(project.templates.translate["system"] + project.templates.translate["whole"])
    replies = round(WORDIER * sum(max(1, worst_case(request).input - head) for request in left))
    price = price_of(model, asking.price)
    money = ", price unknown (--price IN/OUT)"
    if price:
        costs = price.cost(Usage(prompts, replies)), price.cost(Usage(prompts, most))
        money = f": about ${costs[0]:.2f}, at most ${costs[1]:.2f}"
    return (
        f"{model.name}: {len(left):,} requests left of {len(asked):,}, about {prompts:,} + {replies:,} tokens{money}. "
        f"An estimate from the prompts' lengths (no tokenizer); a translation is assumed {WORDIER:g} times as long."
    )
