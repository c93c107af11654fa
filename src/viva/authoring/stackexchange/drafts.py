"""Drafts of prompts, put beside the questions that nobody wrote yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viva.visible import escape_invisible

if TYPE_CHECKING:
    from viva.authoring.stackexchange.project import Project, State


def is_drafted(project: Project, state: State) -> bool:
    """Whether the journal holds a draft of this question."""
    from viva.authoring.stackexchange.prompt import asked

    known = project.drafts.get(asked(state.about))
    return known is not None and bool(known.text)


def put_drafts(project: Project, todo: list[int]) -> None:
    """Drafts into the files that nobody wrote into, and beside them."""
    from viva.authoring.reasoning.project import replace_file
    from viva.authoring.stackexchange.kit import DRAFT, template
    from viva.authoring.stackexchange.prompt import asked

    wanted = set(todo)
    for state in project.states():
        drafted = project.drafts.get(asked(state.about))
        if drafted is None or not drafted.text or state.about.id not in wanted:
            continue
        beside = f"{escape_invisible(drafted.text)}\n".encode("utf-8", "replace")
        if project.read(project.folder(state.about) / DRAFT) != beside:
            replace_file(project.folder(state.about) / DRAFT, beside)
        content = template(state.about, drafted.text).encode("utf-8", "replace")
        if state.status == "unwritten" and project.read(project.file(state.about)) != content:
            replace_file(project.file(state.about), content)
