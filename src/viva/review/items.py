"""What is reviewed: one answer, with a draft verdict for each of its aspects.

What a reviewer may be called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from viva.types import ReviewItem
from viva.visible import escape_invisible


def name_problem(name: str) -> str:
    """Return what is wrong with a reviewer's name, as a sentence; empty when nothing is."""
    if not name:
        return "Please give your name: it stands beside every mark of yours."
    if len(name) > 60:
        return "Please give a shorter name: at most 60 characters."
    if escape_invisible(name) != name or "\n" in name or "\t" in name:
        return "Please give a name without control or invisible characters."
    return ""


DECIDED = "decided"
"""The tag that is not in `about`: who decided a draft."""
UNCERTAINTY = "uncertainty"
"""The tag by which a sample has more of the answers that judges are less sure of."""
_FAR = 0.5
"""Judges that are at least so far apart, a share of the full mark, are far apart."""
THOUGHT = 20_000
OUTCOME = "outcome"
FINER = "of these"
"""What of the answers with an outcome it is (`viva.benchmarks.outcomes`)."""
TELLING = (OUTCOME, FINER, DECIDED)
"""Tags that say what the verdict is: hidden from who reviews blind."""
UNTAGGED = ("question", "sample")
"""What of `about` tells an answer from others, and groups none."""


class Item(Struct, frozen=True, kw_only=True):
    """One answer to review. All its texts are hostile.

    `key` is `viva.engine.reviews.item_key`. `about` says which answer it is, for people (exam, model, question,
    sample), and its tags (type, discipline, ...). `disagreement` is how far apart the judges are (`spread`).
    `editable`: the draft's text may be edited too, as where a set is built; the scale is then (0, 1): reject, approve.
    `code`: what is edited is code, where columns count.
    """

    key: str
    about: dict[str, str]
    question: str
    options: tuple[str, ...] = ()
    drafts: tuple[ReviewItem, ...]
    thought: str = ""
    """How the examinee's thought before its reply began: `THOUGHT` characters at most. Nobody marks it."""
    thought_size: str = ""
    disagreement: float = 0.0
    editable: bool = False
    code: bool = False

    def values(self, tag: str) -> tuple[str, ...]:
        """Return the item's values of a tag; its aspects can have been decided by several."""
        if tag == DECIDED:
            return tuple(sorted({str(draft.decided) for draft in self.drafts if draft.decided}))
        if tag == UNCERTAINTY:
            return (self._uncertainty(),)
        return (self.about[tag],) if tag in self.about else ()

    def _uncertainty(self) -> str:
        """Return how sure the judges are: how far two of them are apart on an aspect, else whether a mark is not at an
        end.
        """
        if self.disagreement > 0:
            return "far apart" if self.disagreement >= _FAR else "near"
        middle = any(draft.value is not None and 0 < draft.value < 1 for draft in self.drafts)
        return "between marks" if middle else "sure"


def spread(opinions: Sequence[Mapping[str, float]]) -> float:
    """Return how far apart the judges are: the largest distance of two on any aspect; 0 where fewer than two spoke."""
    return max((max(given.values()) - min(given.values()) for given in opinions if len(given) > 1), default=0.0)


def tags(items: Sequence[Item], most: int = 80) -> dict[str, tuple[str, ...]]:
    """Return the tags that can tell items apart, with their values in order: those with two or more, and at most
    `most`.
    """
    names = [name for name in dict.fromkeys(name for item in items for name in item.about) if name not in UNTAGGED]
    found: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*names, DECIDED)):
        values = {value for item in items for value in item.values(name)}
        if (len(values) > (name != FINER)) and len(values) <= most:
            found[name] = tuple(sorted(values))
    return found
