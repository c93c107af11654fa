"""`viva build clrbench draft`: a model drafts rationales, through the engine, every reply journaled as it comes."""

from __future__ import annotations

from collections.abc import Sequence

from viva.authoring.drafting import Asking, ask_and_keep
from viva.authoring.reasoning.approval import Proposal
from viva.authoring.reasoning.project import DRAFTS, SCOPE, Project
from viva.authoring.reasoning.prompt import Rejected, request
from viva.contracts import Model
from viva.engine.asking import Run
from viva.types import Generate, Sampling


def wanted(
    project: Project, proposals: Sequence[Proposal], instructions: dict[str, str], sampling: Sampling, *, rejected: bool
) -> list[tuple[str, Generate]]:
    """What is to be asked, with what it is about: questions without a rationale, and on request the rejected drafts."""
    found: list[tuple[str, Generate]] = []
    for proposal in proposals:
        question, state = proposal.question, proposal.state
        drafted = project.drafts.get(question.asked)
        earlier: Rejected | None = None
        if rejected and state.status == "rejected" and proposal.author != "sheet":
            earlier = Rejected(state.text, state.remarks, drafted.times if drafted else 1)
        elif state.text.strip() or question.rationale:
            continue
        found.append((question.asked, request(question, instructions, sampling, earlier)))
    return found


def draft(project: Project, model: Model, requests: Sequence[tuple[str, Generate]], asking: Asking) -> tuple[Run, int]:
    """Ask what the journal does not hold yet; returns how it went, and how many there were to ask."""
    return ask_and_keep(project.path / DRAFTS, SCOPE, model, requests, asking)
