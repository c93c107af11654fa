"""Agreement of raters, from anybody's ratings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from viva.errors import VivaError
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.agreement import Agreement
    from viva.analysis.ratings import Ratings

MOST_MARKS = 1000
"""Marks that a scale may have."""


class AgreementConfig(Struct, kw_only=True):
    """What is to be told, and how."""

    judge: str | None = None
    without: tuple[str, ...] = ()
    scale: str | None = None
    level: Literal["nominal", "ordinal", "interval"] = "interval"
    by: str | None = None
    ppi: bool = False
    strata: str | None = None
    seed: int = 0
    word: str = "people"
    format: str = "terminal"
    out: Path | None = None
    chart: Path | None = None


def compared(ratings: Ratings, title: str, config: AgreementConfig) -> list[Agreement]:
    """One report, or one for each value of `by`. Aspects are apart: a combined mark would be meaningless."""
    from viva.analysis.agreement import agree
    from viva.studies.agreement.rating_table import ASPECT

    scale = scale_of(config.scale) if config.scale is not None else ()
    if config.without:
        ratings = ratings.without(config.without)
    if config.judge is not None:
        ratings.column(config.judge)
    parts = {title: ratings}
    for tag in dict.fromkeys(tag for tag in (config.by, ASPECT) if tag is not None):
        if tag == ASPECT != config.by and len(set(ratings.tags.get(ASPECT, ()))) < 2:
            continue
        parts = {
            f"{name} · {value or '(none)'}": part
            for name, whole in parts.items()
            for value, part in whole.parts(tag).items()
        }  # fmt: skip
    return [
        agree(
            part,
            judge=config.judge,
            scale=scale,
            level=config.level,
            ppi=config.ppi,
            strata=config.strata,
            seed=config.seed,
            title=name,
            word=config.word,
        )
        for name, part in parts.items()
    ]


def scale_of(text: str) -> tuple[float, ...]:
    """`0,0.5,1` or `1..10` → the marks, ascending. Raises VivaError for anything else."""
    first, dots, last = text.partition("..")
    try:
        if dots:
            low, high = int(first), int(last)
            marks = tuple(float(mark) for mark in range(low, min(high, low + MOST_MARKS) + 1))
        else:
            marks = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        marks = ()
    if not 1 < len(marks) <= MOST_MARKS or not all(math.isfinite(mark) for mark in marks):
        raise VivaError(f"--scale {one_line(text, 60)!r}: write two marks or more, as 0,0.5,1 or as 1..10")
    return marks
