"""Which models are of one family: by a table of the user's, or by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from viva.analysis.sizes.families import FEWEST, are_groups
from viva.errors import DataError, flag
from viva.fields import note
from viva.runs.score_table import rows_of
from viva.visible import one_line, some

NONE = "none"
Families = Annotated[
    str | None,
    note(
        "Table `model,family`: models of one family are no independent ones; `none`: all are.  "
        "[default: by name, the part before the size]",
        metavar="FILE|none",
    ),
]
_SIZE = re.compile(r"\d+(?:\.\d+)?(?:\s*[x×]\s*\d+(?:\.\d+)?)?\s*b(?![a-z])", re.IGNORECASE)
_NAMED = 3
"""Families that a note names."""
_MODELS = 6
"""Models that a note or an error names."""


def family_of(model: str) -> str:
    """Return a model's family by its name: what stands before its size ("Qwen1.5-110B" → "Qwen1.5"); "" where none
    stands.
    """
    name = model.rpartition("/")[2]
    found = _SIZE.search(name)
    return name[: found.start()].rstrip(" -_") if found else ""


def read_families(path: Path, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family by a table `model,family`; its own name where the table has none, which `notes`
    gets.
    """
    found: dict[str, str] = {}
    for line, row in rows_of(path):
        if not row.get("model") or not row.get("family"):
            raise DataError(f"{path}, line {line}: a table of families has columns model and family, both filled")
        found[str(row["model"])] = str(row["family"])
    missing = sorted({model for model in models if model not in found})
    if len(missing) == len(set(models)):
        raise DataError(f"{path} names no model that is here; it has {_some(found)}, and here are {_some(missing)}")
    if missing:
        notes.append(f"{path.name} has no family of {_some(missing)}: each counts as its own.")
    return [found.get(model, model) for model in models]


def _some(names: Iterable[str]) -> str:
    return some([one_line(name, 40) for name in names], _MODELS)


def families_of(given: str | None, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family for `--families`, and what was made of it into `notes`; none where each model is its
    own, and where there are too few families to say anything of a further one (`analysis.families.FEWEST`).
    """
    if given == NONE:
        return []
    found = (
        [family_of(model) or model for model in models] if given is None else read_families(Path(given), models, notes)
    )
    how = "By their names" if given is None else f"By {Path(given).name}"
    counts = sorted(((found.count(name), name) for name in set(found)), key=lambda one: (-one[0], one[1]))
    if are_groups(found):
        largest = ", ".join(f"{one_line(name, 40)} {count:,}" for count, name in counts[:_NAMED])
        notes.append(
            f"{how}, {len(models):,} rows are of {len(counts):,} families ({largest}, ...), which are drawn together: "
            f"{'--families FILE names them better, ' if given is None else ''}{flag('families')} none takes all "
            "rows as "
            "independent."
        )
        return found
    if given is not None and len(counts) == len(found):
        notes.append(f"{how}, no two rows are of one family, so that all are taken as independent.")
    if len(counts) < len(found):
        notes.append(
            f"{how}, these rows are of {len(counts):,} families, and fewer than {FEWEST} say nothing of others: "
            "intervals and p are for further models of the same."
        )
    return []
