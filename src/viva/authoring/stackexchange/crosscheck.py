"""Decisions of a second expert about questions: what refuses them, and edits taken over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viva.authoring.stackexchange.project import Project
    from viva.engine.reviews import Review


def refusal(project: Project, lines: Sequence[Review]) -> str:
    """What is wrong with decisions that somebody is about to make, as a sentence for them; "" if nothing."""
    from viva.authoring.stackexchange.kit import names, same_lines

    for line in lines:
        about = project.find(line.about.get("question", ""))
        now = project.text(about)
        seen, made = line.text_before or "", line.text_after if line.text_after is not None else line.text_before or ""
        if now is not None and same_lines(now) != same_lines(seen):
            return f"so-{about.id} was changed since this page was opened: go to the list, and decide about it anew."
        edited = same_lines(made) != same_lines(seen)
        approving = line.after is not None and line.after >= 1
        if not edited and not approving:
            continue
        checked = project.checked(about, made if edited or now is None else now)
        if checked.errors:
            first = checked.errors[0]
            what = "Your edit cannot be used" if edited else "It cannot be approved"
            where = f"{first.where}: " if first.where else ""
            return f"{what}: line {first.line}, {where}{first.text}."
        state = project.state(about, project.events().get(f"so-{about.id}", ()))
        if approving and not edited and names([line.reviewer]) & names(state.authors):
            return "You wrote this, or edited it: somebody else has to approve it."
    return ""


def take_over(project: Project, lines: Sequence[Review]) -> None:
    """Write edits of the page into the question files, where these are as the expert saw them. Raises StorageError."""
    from viva.authoring.reasoning.project import replace_file
    from viva.authoring.stackexchange.kit import same_lines

    for line in lines:
        about = project.find(line.about.get("question", ""))
        now = project.text(about)
        if line.text_after is None or line.text_before is None or now is None:
            continue
        if same_lines(line.text_after) != same_lines(now) and same_lines(line.text_before) == same_lines(now):
            replace_file(project.file(about), same_lines(line.text_after).encode("utf-8", "replace"))
