"""Which published row a model's name means. Lenient in how a name is written, never in which model it is.

How large a model is, as its name says it, or as its makers do where the name does not (`sizes.csv`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from viva.errors import DataError
from viva.io.tables import read_csv
from viva.published.printed import Entry, Neighbour, Size, plain
from viva.shipped import shipped_text

N = TypeVar("N", Entry, Neighbour)


def find(rows: Sequence[N], model: str) -> N | None:
    """Return the row of a model: the same name but for case, spaces, hyphens, brackets, and a vendor's prefix.

    `openai/gpt-4-0613` is GPT-4-0613, `llama3-8b` is Llama3-8B. Nothing is guessed: a name without its version
    (gpt-3.5-turbo) may be any version, so it has no row. Ablations are never found, since nothing but the sampling
    tells them apart; nor is a name that two rows have.
    """
    wanted = plain(model.rpartition("/")[2])
    found = [row for row in rows if row.kind != "ablation" and wanted == plain(row.name)]
    return found[0] if len(found) == 1 else None


def called(rows: Sequence[N], name: str) -> N:
    """Return the row that a user names. Raises DataError with the names that come near."""
    row = find(rows, name)
    if row is None:
        near = " or ".join(repr(other.name) for other in similar(rows, name, 12))
        hint = f"do you mean {near}?" if near else "`viva published` lists the tables"
        raise DataError(f"no published row is called {name[:60]!r}; {hint}")
    return row


def similar(rows: Sequence[N], name: str, limit: int = 3) -> list[N]:
    """Return rows whose names begin as `name` does: other versions of a model, to be chosen by the user."""
    wanted = plain(name.rpartition("/")[2])
    if len(wanted) < 3:
        return []
    near = [(row, plain(row.name)) for row in rows if row.kind != "ablation"]
    return [row for row, other in near if other.startswith(wanted) or wanted.startswith(other)][:limit]


_NUMBER = r"(\d+(?:\.\d+)?)"
_STATED = re.compile(rf"{_NUMBER}\s*[bB](?:\s*/\s*{_NUMBER}\s*[bB])?", re.ASCII)
_IN_A_NAME = re.compile(rf"(?<![A-Za-z0-9.]){_NUMBER}[bB](?![A-Za-z0-9])", re.ASCII)
_MIXTURE = re.compile(r"\d+\s*[x×*]\s*\d+(?:\.\d+)?\s*b", re.IGNORECASE)


def stated(text: str) -> Size | None:
    """Return what a table's cell says: "70B", "16B / 2.8B" (all / active); None for "?" and anything else."""
    found = _STATED.fullmatch(text.strip())
    if found is None:
        return None
    total, active = float(found[1]), float(found[2] or found[1])
    return Size(total, active) if 0 < active <= total else None


def size(model_name: str) -> Size | None:
    """Return parameters of a model by its name: "Qwen1.5-110B", "openai/Mixtral-8x7B-Instruct", "16B / 2.8B".

    Nominal, as the name gives them (Llama2-7B: 7, although it has 6.74). Of a mixture of experts the name gives neither
    number, so only those of `sizes.csv` have one. None where nothing is known, as of GPT-4; nothing is guessed.
    """
    if _STATED.fullmatch(model_name.strip()):
        return stated(model_name)
    name = model_name.rpartition("/")[2]
    listed = known(name)
    if listed is not None or _MIXTURE.search(name):
        return listed
    numbers = dict.fromkeys(_IN_A_NAME.findall(name))
    if len(numbers) != 1:
        return None
    billions = float(next(iter(numbers)))
    return Size(billions, billions) if billions else None


def known(name: str) -> Size | None:
    """Return the size that `sizes.csv` gives; a mixture of experts is also known by what its name begins with."""
    wanted = plain(name)
    for key, found in _listed().items():
        if wanted == key or (found.active < found.total and wanted.startswith(key)):
            return found
    return None


@cache
def _listed() -> dict[str, Size]:
    text = shipped_text(__file__, "sizes.csv")
    return {
        plain(row["model"]): Size(float(row["total"]), float(row["active"]))
        for _, row in read_csv("sizes.csv", text)[1]
    }
