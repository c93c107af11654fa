"""Decisions of a second expert about questions: what refuses them, and edits taken over."""

from __future__ import annotations

import time
from collections.abc import Sequence

from viva.build.project import new_review
from viva.build.stackexchange.kit import names, same_lines, template, written
from viva.build.stackexchange.project import ASPECT, Project, key_of
from viva.engine.reviews import Review
from viva.errors import VivaError
from viva.pages.review.reviewsession import COMMENT_LIMIT
from viva.visible import escape_invisible


def refusal(project: Project, lines: Sequence[Review]) -> str:
    """Return what is wrong with decisions that somebody is about to make, as a sentence for them; "" if nothing."""
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
        state = project.state(about, project.decided().get(f"so-{about.id}", ()))
        if approving and not edited and names([line.reviewer]) & names(state.authors):
            return "You wrote this, or edited it: somebody else has to approve it."
    return ""


def take_over(project: Project, lines: Sequence[Review]) -> None:
    """Write edits of the page into the question files, where these are as the expert saw them. Raises StorageError."""
    for line in lines:
        about = project.find(line.about.get("question", ""))
        now = project.text(about)
        if line.text_after is None or line.text_before is None or now is None:
            continue
        if same_lines(line.text_after) != same_lines(now) and same_lines(line.text_before) == same_lines(now):
            project.update(project.file(about), same_lines(line.text_after))


def decide(project: Project, questions: Sequence[str], reviewer: str, *, reject: bool, comment: str) -> int:
    """Approve or reject questions as their files now stand, all or none; returns how many. Raises VivaError."""
    if len(comment) > COMMENT_LIMIT:
        raise VivaError(f"has {len(comment):,} characters; at most {COMMENT_LIMIT:,} are kept", field="comment")
    events, at = project.decided(), round(time.time(), 3)
    lines: list[Review] = []
    for identity in dict.fromkeys(questions):
        about = project.find(identity)
        state = project.state(about, events.get(f"so-{about.id}", ()))
        if state.status == "unwritten" and not reject:
            raise VivaError(f"{state.id} is not written yet: there is nothing to approve")
        text = written(state.text if state.text is not None else template(about))
        line = new_review(
            " ".join(reviewer.split()),
            at,
            item=key_of(state),
            about={"question": state.id},
            aspect=ASPECT,
            after=0.0 if reject else 1.0,
            comment=comment,
            text_before=text,
            text_after=text,
        )
        if said := refusal(project, [line]):
            raise VivaError(f"{state.id}: {escape_invisible(said)} Nothing was taken over")
        lines.append(line)
    project.log.append(lines)
    return len(lines)
