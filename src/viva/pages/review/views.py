"""What the templates show of an item: plain values, and never more than a blind reviewer may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from viva.engine.reviews import Review
from viva.review.items import OUTCOME, TELLING, Item
from viva.types import ReviewItem, outcome_name
from viva.web.pagetext import reason

_WORDS = {0.0: "wrong", 0.5: "half", 1.0: "right"}
_SET_WORDS = {0.0: "reject", 1.0: "approve"}
_KEYS = {0.0: "n", 1.0: "y", **{tenths / 10: str(tenths) for tenths in range(1, 10)}}
"""Mark → its key, the same on every scale: n for none of it, y for all of it, a digit for so many tenths."""
HALF = "h"
"""Where half is the only mark between."""


class Choice(Struct, frozen=True):
    """One mark that can be given: its place in the scale, its figure, its word, and the key that gives it."""

    number: int
    figure: str
    word: str
    key: str


class Aspect(Struct, frozen=True, kw_only=True):
    """One aspect of an item with its part of the form. `entered` and `comment` are what the form holds."""

    number: int
    name: str
    text: str
    gold: str
    choices: tuple[Choice, ...]
    entered: str
    comment: str
    saved: str
    edited: str | None = None
    draft: str = ""
    decided: str = ""
    confirmable: bool = False
    draft_number: int = -1
    reasons: str = ""
    opinions: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str, str], ...] = ()


def figure(value: float | None) -> str:
    """Return a mark as people write it."""
    return "none" if value is None else f"{round(value, 3):g}"


def choices(item: Item, draft: ReviewItem) -> tuple[Choice, ...]:
    """Return the scale with words and keys."""
    words = _SET_WORDS if item.editable else _WORDS
    keys = _KEYS | ({0.5: HALF} if set(draft.scale) <= {0.0, 0.5, 1.0} else {})
    return tuple(
        Choice(number, figure(value), words.get(value, ""), keys.get(round(value, 6), ""))
        for number, value in enumerate(draft.scale)
    )


def aspects(
    item: Item,
    own: Mapping[str, Review],
    others: list[Review],
    entered: Mapping[str, str] | None,
    blind: bool,
) -> list[Aspect]:
    """Return the aspects of an item as one reviewer sees them; with `entered`, a form that came back is shown again."""
    found: list[Aspect] = []
    for number, draft in enumerate(item.drafts):
        last = own.get(draft.aspect)
        mine = last.after if last else None
        chosen = str(draft.scale.index(mine)) if mine in draft.scale else ""
        comment = last.comment if last else ""
        edited = (last.text_after if last and last.text_after is not None else draft.text) if item.editable else None
        if entered is not None:
            chosen = entered.get(f"mark.{number}", "")
            comment = entered.get(f"comment.{number}", "")
            edited = entered.get(f"text.{number}", "") if item.editable else None
        aspect = Aspect(
            number=number,
            name=draft.aspect,
            text=draft.text,
            gold=draft.gold,
            choices=choices(item, draft),
            entered=chosen,
            comment=comment,
            saved=figure(mine) if mine is not None else "",
            edited=edited,
        )
        found.append(aspect if blind else _with_draft(aspect, draft, others))
    return found


def _with_draft(aspect: Aspect, draft: ReviewItem, others: list[Review]) -> Aspect:
    here = draft.value in draft.scale
    return replace(
        aspect,
        draft=figure(draft.value) if draft.value is not None else "",
        decided=draft.decided or "",
        confirmable=here,
        draft_number=draft.scale.index(draft.value) if draft.value is not None and here else -1,
        reasons=reason(draft.reasons, draft.text) if draft.decided == "rule" else draft.reasons,
        opinions=tuple((judge, figure(value)) for judge, value in draft.opinions.items()),
        others=tuple(
            (line.reviewer, figure(line.after), line.comment) for line in others if line.aspect == draft.aspect
        ),
    )


def said(name: str, value: str) -> str:
    """Return a tag's value for people: outcomes by the names that all pages give them."""
    return outcome_name(value) if name == OUTCOME else value


def labels(item: Item, blind: bool, names: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Return what an item is, for people (or what of it has these names): nothing of the verdict to a blind
    reviewer.
    """
    return [
        (name, said(name, value))
        for name, value in item.about.items()
        if not (blind and name in TELLING) and (names is None or name in names)
    ]


def marked(own: Mapping[str, Review]) -> list[str]:
    """Return the aspects that a reviewer's mark stands on."""
    return [aspect for aspect, line in own.items() if line.after is not None]
