"""Perplexities of sets of texts, from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from viva.runs.config import TaskOptions
from viva.version import __version__

if TYPE_CHECKING:
    from viva.reports.perplexity import Perplexities, Reference, Row
    from viva.studies.perplexity.text_logprobs import Measured
    from viva.studies.text_sets import TextSet


class PerplexityConfig(Struct, kw_only=True):
    """What is measured, and how it is shown."""

    field: str = "question"
    by: str | None = None
    k: float = 20.0
    items: Path | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    concurrency: int | None = None
    timeout: float = 300.0
    progress: Literal["auto", "live", "plain", "quiet"] = "auto"
    format: str = "terminal"
    out: Path | None = None


def study(
    sets: Sequence[TextSet], measured: Sequence[Measured], config: PerplexityConfig, choice: TaskOptions
) -> Perplexities:
    """Perplexities by set, tag and model, the first set beside the others, and signatures."""
    from viva.reports.perplexity import Perplexities

    rows = [row for one in measured for each in sets for row in _rows(each, one, config)]
    return Perplexities(
        field=config.field,
        k=config.k,
        by=config.by or "",
        rows=tuple(rows),
        beside=tuple(_beside(sets, measured)),
        notes=tuple(_notes(sets, measured, rows)),
        signatures=tuple(_signature(one, sets, config, choice) for one in measured),
    )


def _rows(each: TextSet, one: Measured, config: PerplexityConfig) -> list[Row]:
    """All of a set, then the values of the tag in the order in which they occur."""
    from viva.analysis.perplexity import figures
    from viva.reports.perplexity import Row

    rows = [Row(set=each.name, tag="", model=one.model, figures=figures(one.of(each.name)))]
    if config.by:
        for tag in dict.fromkeys(text.tag for text in each.texts):
            rows.append(Row(set=each.name, tag=tag, model=one.model, figures=figures(one.of(each.name, tag))))
    return rows


def _beside(sets: Sequence[TextSet], measured: Sequence[Measured]) -> list[Reference]:
    from viva.analysis.perplexity import compare
    from viva.reports.perplexity import Reference

    return [
        Reference(
            model=one.model,
            first=sets[0].name,
            second=other.name,
            comparison=compare(one.of(sets[0].name), one.of(other.name)),
        )
        for one in measured
        for other in sets[1:]
    ]


def _notes(sets: Sequence[TextSet], measured: Sequence[Measured], rows: Sequence[Row]) -> list[str]:
    notes = [note for each in sets for note in each.notes]
    for each in sets:
        if each.empty:
            notes.append(f"{each.name}: {each.empty:,} of {each.listed:,} have no text in this field and are left out.")
        again = len(each.texts) - len({text.text for text in each.texts})
        if again:
            notes.append(f"{each.name}: {again:,} texts are there already; they count, as one text in the intervals.")
    for other in sets[1:]:
        common = len({text.text for text in sets[0].texts} & {text.text for text in other.texts})
        if common:
            notes.append(
                f"{sets[0].name}, {other.name}: {common:,} texts stand in both; they are left out where the two are "
                "beside each other."
            )
    for one in measured:
        if one.first is None and one.readings:
            notes.append(f"{one.model}: whether the first token of a text is scored could not be found out.")
        if one.first is False:
            notes.append(
                f"{one.model}: no BOS stands before a text, so its first token has no probability and is not scored; "
                "its bytes and characters are counted all the same."
            )
        if one.failed:
            notes.append(f"{one.model}: {one.failed:,} texts could not be measured and are left out.")
    for row in rows:
        if row.figures.unscored and not row.tag:
            notes.append(f"{row.set}, {row.model}: {row.figures.unscored:,} texts of one token have nothing to score.")
    return notes


def _signature(one: Measured, sets: Sequence[TextSet], config: PerplexityConfig, choice: TaskOptions) -> str:
    """What produced the figures of a model: everything that, changed, could change them."""
    said = ("provider", "model", "template")  # by the name; a template has no part in it
    identity = {name: value for name, value in one.identity.items() if name not in said and value not in ("", "0")}
    first = "unknown" if one.first is None else "scored" if one.first else "not scored"
    parts = {
        "sets": ",".join(f"{each.name}={each.fingerprint}" for each in sets),
        "field": config.field,
        "by": config.by or "",
        "limit": str(choice.limit or ""),
        "language": ",".join(choice.language),
        "k": f"{config.k:g}",
        "model": one.model,
        **identity,
        "first token": first,
        "viva": __version__,
    }
    return "signature: " + "|".join(f"{name}:{value}" for name, value in parts.items() if value)
