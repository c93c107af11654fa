"""`viva build translate`: the questions to the model, through the engine, every reply journaled as it comes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from viva.authoring.drafting import Asking, ask_and_keep
from viva.authoring.translation.project import DRAFTS, SCOPE, Project
from viva.authoring.translation.prompt import requests
from viva.contracts import Model
from viva.engine.asking import Run
from viva.types import Generate, Sampling


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
