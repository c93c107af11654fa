"""Items for review: one answer each, with a draft verdict for every aspect; and names of reviewers.

Filters select the items of a reviewer, by tags or as a random sample.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from viva.errors import DataError
from viva.types import ReviewItem
from viva.visible import escape_invisible


def name_of(given: str) -> str:
    """Return a reviewer's name with single blanks and composed letters: one person is not two."""
    return " ".join(unicodedata.normalize("NFC", given).split())


def name_problem(name: str) -> str:
    """Return the error in a reviewer's name, as a sentence; "" if there is none."""
    if not name:
        return "Please give your name: it stands beside every mark of yours."
    if len(name) > 60:
        return "Please give a shorter name: at most 60 characters."
    if escape_invisible(name) != name or "\n" in name or "\t" in name:
        return "Please give a name without control or invisible characters."
    return ""


DECIDED = "decided"
"""The tag of a draft's decider, which is not in `about`."""
UNCERTAINTY = "uncertainty"
"""The tag of judges' certainty; a sample by it has more of the uncertain answers."""
_FAR = 0.5
"""The least distance of judges "far apart", as a share of the full mark."""
THOUGHT = 20_000
OUTCOME = "outcome"
FINER = "of these"
"""The tag that subdivides an outcome (`viva.runs.answers`)."""
TELLING = (OUTCOME, FINER, DECIDED, UNCERTAINTY)
"""Tags that reveal the verdict: hidden in blind review."""
UNTAGGED = ("question", "sample")
"""Fields of `about` that identify an answer and are no tags."""


class Item(Struct, frozen=True, kw_only=True):
    """One answer to review. All its texts are untrusted.

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
    """The start of the model's reasoning before its reply, at most `THOUGHT` characters. It is not marked."""
    thought_size: str = ""
    disagreement: float = 0.0
    editable: bool = False
    code: bool = False

    def values(self, tag: str) -> tuple[str, ...]:
        """Return the item's values of a tag; several where its aspects have different deciders."""
        if tag == DECIDED:
            return tuple(sorted({str(draft.decided) for draft in self.drafts if draft.decided}))
        if tag == UNCERTAINTY:
            return (self._uncertainty(),)
        return (self.about[tag],) if tag in self.about else ()

    def _uncertainty(self) -> str:
        """Return the certainty of the judges: by their largest distance on an aspect, else by marks between the
        ends.
        """
        if self.disagreement > 0:
            return "far apart" if self.disagreement >= _FAR else "near"
        middle = any(draft.value is not None and 0 < draft.value < 1 for draft in self.drafts)
        return "between marks" if middle else "sure"


def spread(opinions: Sequence[Mapping[str, float]]) -> float:
    """Return the largest distance of two judges on any aspect; 0 for fewer than two opinions."""
    return max((max(given.values()) - min(given.values()) for given in opinions if len(given) > 1), default=0.0)


def tags(items: Sequence[Item], most: int = 80) -> dict[str, tuple[str, ...]]:
    """Return the tags with 2 to `most` different values, and these in order."""
    names = [name for name in dict.fromkeys(name for item in items for name in item.about) if name not in UNTAGGED]
    tags_of: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*names, DECIDED)):
        values = {value for item in items for value in item.values(name)}
        if (len(values) > (name != FINER)) and len(values) <= most:
            tags_of[name] = tuple(sorted(values))
    return tags_of


K = TypeVar("K", bound=Any)

ERRORS = {"sure": 0.2, "between marks": 0.35, "near": 0.35, "far apart": 0.5}
"""Expected standard deviation of an expert's mark about the verdict, a share of the full mark, by
`Item.values(UNCERTAINTY)`. It only sets the numbers drawn: the estimate is unbiased whatever the true ones."""
LEAST = 5
"""The fewest items drawn of each value of `UNCERTAINTY`, for the estimate of the variance."""


def read_size(text: str) -> int | float:
    """Return the size of a sample: a number of items ("30"), or a share ("0.1", "10%"). Raises DataError."""
    wrong = DataError(f"a sample of {text!r} cannot be drawn: give a number of items (30) or a share (0.1 or 10%)")
    if len(text) > 20:
        raise DataError("the size of the sample is too long to be a number: give a number (30) or a share (0.1)")
    try:
        size = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise wrong from None
    if text.isascii() and text.isdecimal() and size >= 1:
        return int(text)
    if not 0 < size <= 1:
        raise wrong
    return size


def sample_items(items: Sequence[Item], size: int | float, seed: int, by: str = "") -> list[Item]:
    """Return a simple random sample without replacement, in the order of the items: so many (int) or that share
    (float).

    Every exam and model gets its share of the sample (largest remainders), and with `by` every value of the tag in it.
    Every item has a rank, made of seed and key; the lowest are drawn. By `UNCERTAINTY` a value's share is larger the
    less sure the judges are: `ERRORS` times its number of items, and `LEAST` items at least.
    """
    total = len(items)
    wanted = min(total, size if isinstance(size, int) else math.ceil(round(size * total, 9)))
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        whose = (item.about.get("exam", ""), item.about.get("model", ""))
        groups.setdefault((*whose, *(item.values(by) if by else ())), []).append(item)
    sizes = {name: len(group) for name, group in groups.items()}
    uneven = by == UNCERTAINTY
    weights = {name: size * (ERRORS[name[-1]] if uneven else 1.0) for name, size in sizes.items()}
    counts = allocated(sizes, wanted, weights, LEAST if uneven else 0)
    drawn = {
        item.key
        for name, group in groups.items()
        for item in sorted(group, key=lambda item: _rank(seed, item.key))[: counts[name]]
    }
    return [item for item in items if item.key in drawn]


def allocated(sizes: Mapping[K, int], wanted: int, weights: Mapping[K, float], least: int) -> dict[K, int]:
    """Return the number drawn of each group: in proportion to its weight, by largest remainders, but at least `least`
    (all of a smaller group) and at most its size; the others share what it cannot give.
    """
    counts = {name: size for name, size in sizes.items() if size <= least}
    while rest := {name: size for name, size in sizes.items() if name not in counts}:
        left = max(0, wanted - sum(counts.values()))
        whole = math.fsum(weights[name] for name in rest)
        exact = {name: left * weights[name] / whole for name in rest}
        fixed = {name: least if exact[name] < least else size for name, size in rest.items()
                 if not least <= exact[name] < size}  # fmt: skip
        if not fixed:
            counts |= {name: int(share) for name, share in exact.items()}
            by_remainder = sorted(rest, key=lambda name: (counts[name] - exact[name], name))
            for name in by_remainder[: max(0, wanted - sum(counts.values()))]:
                counts[name] += 1
            return counts
        counts |= fixed
    return counts


def _rank(seed: int, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{key}".encode("utf-8", "replace"), digest_size=16).digest()


_LIMIT = 1_000_000_000


class Filter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reviewer's selection, as in URLs."""

    tags: dict[str, str] = {}
    """Tag → value."""
    sample: str = ""
    """"", "30", "0.1" or "10%"; drawn by `seed` and the tag `by`."""
    seed: Annotated[int, Meta(ge=0, lt=_LIMIT)] = 0
    by: str = ""
    order: Literal["given", "disagreement"] = "given"
    todo: Literal["all", "mine", "short"] = "all"
    """All items; those not yet marked by this reviewer; of these, those with too few reviewers."""
    blind: bool = False
    page: Annotated[int, Meta(ge=1, lt=_LIMIT)] = 1

    @classmethod
    def read(cls, query: Mapping[str, str], blind: bool) -> Filter:
        """Return the filter of a query string; `blind`: its default. Raises DataError for invalid values."""
        values = {name: value.strip() for name, value in query.items() if value.strip()}
        hidden = values.pop("blind", "1" if blind else "0") == "1"
        tags = {name[2:]: query[name] for name in sorted(query) if name[:2] == "t." and query[name]}
        if "sample" in values:
            read_size(values["sample"])
        else:
            values.pop("by", None)
        shown = {name: value for name, value in tags.items() if not (hidden and name in TELLING)}
        try:
            return msgspec.convert({**values, "tags": shown, "blind": hidden}, cls, strict=False)
        except msgspec.ValidationError as problem:
            raise DataError(f"this address selects nothing: {problem}") from None

    def query(self, **changes: object) -> str:
        """Return the query string of the filter, with changes."""
        chosen = msgspec.structs.replace(self, **changes)
        values = msgspec.to_builtins(chosen) | {"blind": int(chosen.blind)}
        tags = {f"t.{name}": value for name, value in values.pop("tags", {}).items()}
        return urlencode(tags | values, errors="replace")

    @property
    def design(self) -> str:
        """The name of the random sample: its size, its seed, its strata, and what it was drawn from."""
        if not self.sample:
            return ""
        name = f"random:{self.sample}:seed{self.seed}"
        name += f":by={urlencode([('', self.by)], errors='replace')[1:]}" if self.by else ""
        return name + (f":{urlencode(self.tags, errors='replace')}" if self.tags else "")

    def select(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items, in order, whoever marked them. A sample is drawn from the items selected by tags."""
        selected = [item for item in items if all(value in item.values(tag) for tag, value in self.tags.items())]
        if self.sample:
            selected = sample_items(selected, read_size(self.sample), self.seed, self.by)
        if self.order == "disagreement":
            selected.sort(key=lambda item: -item.disagreement)
        return tuple(selected)
