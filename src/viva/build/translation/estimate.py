"""What a translation would cost."""

from __future__ import annotations

from collections.abc import Sequence

from viva.build.drafting import DraftOptions, price_given
from viva.build.project import DRAFTS
from viva.build.translation.project import Project
from viva.contracts import Model
from viva.engine.budget import worst_case
from viva.engine.journal import Journal, Keys
from viva.errors import flag
from viva.prompting import estimate_tokens
from viva.runs.open import price_of
from viva.types import Generate, Usage

WORDIER = 1.3
"""Tokens of a translation for one of the original: an assumption, said as such."""


def estimate(project: Project, model: Model, asked: Sequence[Generate], config: DraftOptions) -> str:
    """Return what it would be, in a sentence, without asking anybody."""
    journal = Journal(project.path / DRAFTS, write=False)
    try:
        keys = Keys(model.identity, project.scope)
        left = [request for request in asked if keys.of(request) not in journal.answered]
    finally:
        journal.close()
    prompts = sum(worst_case(request).input for request in left)
    most = sum(worst_case(request).output for request in left)
    head = estimate_tokens(project.templates.translate["system"] + project.templates.translate["whole"])
    replies = round(WORDIER * sum(max(1, worst_case(request).input - head) for request in left))
    price = price_of(model, price_given(config))
    money = f", price unknown ({flag('price', 'IN/OUT')})"
    if price:
        costs = price.cost(Usage(prompts, replies)), price.cost(Usage(prompts, most))
        money = f": about ${costs[0]:.2f}, at most ${costs[1]:.2f}"
    return (
        f"{model.name}: {len(left):,} requests left of {len(asked):,}, about {prompts:,} + {replies:,} tokens{money}. "
        f"An estimate from the prompts' lengths (no tokenizer); a translation is assumed {WORDIER:g} times as long."
    )
