"""A question of a `viva build infibench` project as the review page shows it."""

from __future__ import annotations

from viva.authoring.stackexchange.kit import answers_text, original_text, url, written
from viva.authoring.stackexchange.kitchecks import metrics_of
from viva.authoring.stackexchange.project import ASPECT, State, key_of
from viva.review.items import Item
from viva.types import ReviewItem

SHOWN = 10
"""Problems of a file that the page shows."""


def about(state: State) -> dict[str, str]:
    """Which question it is, for people and filters."""
    own = state.checked.question
    return {
        "question": state.id,
        "language": state.about.language,
        "area": state.about.area,
        "metric": " + ".join(metrics_of(own.rubric)) if own else "none yet",
        "type": own.tags.get("type", "none yet") if own else "none yet",
        "status": state.status,
        "author": ", ".join(state.authors) or "nobody",
    }


def item(state: State) -> Item:
    """The original beside the file; what is known of it under it."""
    return Item(
        key=key_of(state),
        about=about(state),
        question=f"{original_text(state.about)}\n\n{url(state.about)}",
        drafts=(
            ReviewItem(
                aspect=ASPECT,
                text=written(state.text or ""),
                gold=answers_text(state.about) or "there is none",
                value=None,
                scale=(0.0, 1.0),
                reasons=_reasons(state),
            ),
        ),
        editable=True,
        code=True,
    )


def _reasons(state: State) -> str:
    """What an expert should know before deciding."""
    stands = state.standing
    lines = [f"status: {state.status}; author: {', '.join(state.authors) or 'nobody yet'}"]
    if state.checked.question is not None:
        lines.append(f"likeness: {state.checked.shared_text}")
    lines += [
        f"{word} by {', '.join(names)}"
        for word, names in (
            ("edited", stands.editors),
            ("approved", stands.approved_by),
            ("rejected", stands.rejected_by),
        )
        if names
    ]
    if stands.own:
        lines.append(f"{', '.join(stands.own)} approved what is their own: that does not count")
    lines += [f"line {problem.line}: {problem.severity}: {problem.text}" for problem in state.checked.problems[:SHOWN]]
    if len(state.checked.problems) > SHOWN:
        lines.append(f"... and {len(state.checked.problems) - SHOWN} problems more")
    lines += [f"remark of {remark}" for remark in stands.remarks]
    lines += [f"remark on an earlier text of {remark}" for remark in stands.earlier[-SHOWN:]]
    return "\n".join(lines)
