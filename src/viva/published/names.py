"""Which published row a model's name means. Lenient in how a name is written, never in which model it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from viva.errors import DataError
from viva.published.model import Entry, Neighbour, plain

N = TypeVar("N", Entry, Neighbour)


def find(rows: Sequence[N], model: str) -> N | None:
    """The row of a model: the same name but for case, spaces, hyphens, brackets, and a vendor's prefix.

    `openai/gpt-4-0613` is GPT-4-0613, `llama3-8b` is Llama3-8B. Nothing is guessed: a name without its version
    (gpt-3.5-turbo) may be any version, so it has no row. Ablations are never found, since nothing but the sampling
    tells them apart; nor is a name that two rows have.
    """
    wanted = plain(model.rpartition("/")[2])
    found = [row for row in rows if row.kind != "ablation" and wanted == plain(row.name)]
    return found[0] if len(found) == 1 else None


def called(rows: Sequence[N], name: str) -> N:
    """The row that a user names. Raises DataError with the names that come near."""
    row = find(rows, name)
    if row is None:
        near = " or ".join(repr(other.name) for other in similar(rows, name, 12))
        hint = f"do you mean {near}?" if near else "`viva published` lists the tables"
        raise DataError(f"no published row is called {name[:60]!r}; {hint}")
    return row


def similar(rows: Sequence[N], name: str, limit: int = 3) -> list[N]:
    """Rows whose names begin as `name` does: other versions of a model, to be chosen by the user."""
    wanted = plain(name.rpartition("/")[2])
    if len(wanted) < 3:
        return []
    near = [(row, plain(row.name)) for row in rows if row.kind != "ablation"]
    return [row for row, other in near if other.startswith(wanted) or wanted.startswith(other)][:limit]
