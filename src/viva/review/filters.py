"""Which items a reviewer goes through, and in which order: a filter is the query string of a page, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.review.items import TELLING, Item
from viva.review.sampling import read_size, sample_items

Order = Literal["given", "disagreement"]
ORDERS: tuple[Order, ...] = ("given", "disagreement")
Todo = Literal["all", "mine", "short"]
TODOS: tuple[Todo, ...] = ("all", "mine", "short")
"""Everything; what I have not marked yet; of that, what has fewer reviewers than it should."""


class Filter(Struct, frozen=True, kw_only=True):
    """What a reviewer chose. `tags`: tag → value. `sample`: "", "30", "0.1" or "10%", by seed and tag `by`."""

    tags: dict[str, str] = {}
    sample: str = ""
    seed: int = 0
    by: str = ""
    order: Order = "given"
    todo: Todo = "all"
    blind: bool = False
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str], blind: bool) -> Filter:
        """Return the filter of a query string; `blind` where that does not say. Raises DataError for what makes no
        sense.
        """
        tags = {name.removeprefix("t."): value for name, value in query.items() if name.startswith("t.") and value}
        hidden = query.get("blind", "1" if blind else "0") == "1"
        if hidden:
            tags = {name: value for name, value in tags.items() if name not in TELLING}
        sample = query.get("sample", "").strip()
        if sample:
            read_size(sample)
        order, todo = query.get("order", "given"), query.get("todo", "all")
        if order not in ORDERS:
            raise DataError(f"there is no order {order!r}; there are: {', '.join(ORDERS)}")
        if todo not in TODOS:
            raise DataError(f"there is no list {todo!r}; there are: {', '.join(TODOS)}")
        return cls(
            tags=dict(sorted(tags.items())),
            sample=sample,
            seed=_number(query.get("seed", "0"), "seed", 0),
            by=query.get("by", "") if sample else "",
            order=order,
            todo=todo,
            blind=hidden,
            page=_number(query.get("page", "1"), "page", 1),
        )

    def query(self, **changes: object) -> str:
        """Return the query string that says the same, or with changes."""
        one = msgspec.structs.replace(self, **changes) if changes else self
        pairs: list[tuple[str, str | int]] = [(f"t.{name}", value) for name, value in one.tags.items()]
        if one.sample:
            pairs += [("sample", one.sample), ("seed", one.seed), *([("by", one.by)] if one.by else [])]
        if one.order != "given":
            pairs.append(("order", one.order))
        if one.todo != "all":
            pairs.append(("todo", one.todo))
        pairs.append(("blind", int(one.blind)))
        if one.page > 1:
            pairs.append(("page", one.page))
        return urlencode(pairs, errors="replace")

    @property
    def design(self) -> str:
        """The name of the random sample: its size, its seed, its strata, and what it was drawn from."""
        if not self.sample:
            return ""
        name = f"random:{self.sample}:seed{self.seed}"
        name += f":by={urlencode([('', self.by)], errors='replace')[1:]}" if self.by else ""
        return name + (f":{urlencode(self.tags, errors='replace')}" if self.tags else "")

    def select(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items, in order, without regard to who marked what. A sample is drawn from what the tags leave."""
        found = [item for item in items if all(value in item.values(tag) for tag, value in self.tags.items())]
        if self.sample:
            found = sample_items(found, read_size(self.sample), self.seed, self.by)
        if self.order == "disagreement":
            found.sort(key=lambda item: -item.disagreement)
        return tuple(found)


def _number(text: str, name: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise DataError(f"{name} {text[:40]!r} is no whole number from {least} on")
    return int(text)
