"""Perplexities of sets of texts under models: the table across sets, each model's own, and sets beside each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.errors import EXIT_OK
from viva.lab.surprisal.measures import Comparison, Figure, Figures
from viva.render.grids import WORDS
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid, p_text

MEASURES = ("per_token", "mean_of_texts", "per_byte", "per_character", "bits_per_byte", "min_k")
"""Fields of `Figures` that are figures."""
MEANING = (
    "Lower is less surprising. [...]: 95 % intervals, for texts drawn at random. Per token: over all tokens of a set "
    "(corpus level: long texts weigh more); mean of texts: the mean of the texts' own perplexities. Models with "
    "different tokenizers compare by byte, by character and by bits per byte, not by token."
)
PROOF = (
    "What this does not prove: a set that surprises a model little was not necessarily seen in training. Easy, short, "
    "formulaic or widely quoted texts surprise it little too, and what was seen once may surprise it still. Compare "
    "with texts of the same kind, source, length and age, and with models that cannot have seen the set."
)


class Row(Struct, frozen=True, kw_only=True):
    """One model's figures over one set, or over one value of a tag in it ("" for all)."""

    set: str
    tag: str
    model: str
    figures: Figures


class Reference(Struct, frozen=True, kw_only=True):
    """Two sets under one model; None where one of them has too few texts."""

    model: str
    first: str
    second: str
    comparison: Comparison | None


class Perplexities(Struct, frozen=True, kw_only=True):
    """All that was measured. `by` names the tag, "" for none; `k` is that of Min-K%."""

    field: str
    k: float
    by: str
    rows: tuple[Row, ...]
    beside: tuple[Reference, ...]
    notes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """Each once."""
        return list(dict.fromkeys(row.model for row in self.rows))

    @property
    def min_k(self) -> str:
        """`Min-20%`."""
        return f"Min-{self.k:g}%"


def _across(found: Perplexities, measure: str, title: str) -> Grid:
    """The paper's table: a row a set, a column a model."""
    cells = {(row.set, row.tag, row.model): row.figures for row in found.rows}
    rows: list[tuple[str, ...]] = []
    for name, tag in dict.fromkeys((row.set, row.tag) for row in found.rows):
        figures = [cells.get((name, tag, model)) for model in found.models]
        texts = max((one.texts for one in figures if one), default=0)
        rows.append(
            (
                *_where(found, name, tag),
                f"{texts:,}",
                *("–" if one is None else figure_text(getattr(one, measure)) for one in figures),
            )
        )
    return Grid(f"{title} · {found.field}", (*_places(found), "texts", *found.models), tuple(rows))


def _own(found: Perplexities, model: str) -> Grid:
    header = (*_places(found), "texts", "tokens", "per token", "mean of texts", "per byte", "per character")
    rows = tuple(
        (
            *_where(found, row.set, row.tag),
            f"{row.figures.texts:,}",
            f"{row.figures.tokens:,}",
            *(figure_text(getattr(row.figures, measure)) for measure in MEASURES),
        )
        for row in found.rows
        if row.model == model
    )
    return Grid(f"Perplexity of {found.field} · {model}", (*header, "bits per byte", found.min_k), rows)


def _compared(found: Perplexities) -> Grid:
    header = ("model", "set", "against", "texts", "perplexity, ratio", f"{found.min_k}, difference", "AUC", "p")
    rows: list[tuple[str, ...]] = []
    for one in found.beside:
        known = one.comparison
        rows.append(
            (one.model, one.first, one.second, *("–",) * 5)
            if known is None
            else (
                one.model,
                one.first,
                one.second,
                f"{known.first:,} / {known.second:,}",
                figure_text(known.ratio),
                figure_text(known.difference, sign=True),
                f"{known.auc:.3f}",
                p_text(known.p),
            )
        )
    return Grid(f"Sets beside each other · {found.field}", header, tuple(rows))


def _places(found: Perplexities) -> tuple[str, ...]:
    return ("set", found.by) if found.by else ("set",)


def _where(found: Perplexities, name: str, tag: str) -> tuple[str, ...]:
    return (name, tag or "all") if found.by else (name,)


def figure_text(figure: Figure | None, *, sign: bool = False) -> str:
    """`12.34 [11.92, 12.81]`, and a dash for none."""
    if figure is None:
        return "–"
    value = _number(figure.value, figure.value)
    value = f"+{value}" if sign and figure.value > 0 else value
    if figure.low is None or figure.high is None:
        return value
    return f"{value} [{_number(figure.low, figure.value)}, {_number(figure.high, figure.value)}]"


def _number(value: float, main: float) -> str:
    """A figure to four digits, as many as a perplexity deserves; its limits to as many decimals as itself (`main`)."""
    size = abs(main)
    if size == 0 and value == 0:
        return "0"
    if size >= 1e7 or size < 1e-3:
        return f"{value:.3g}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{3 if size < 10 else 2 if size < 100 else 1}f}"


@dataclass(frozen=True, repr=False)
class PerplexityTables(StudyResult):
    """Perplexities of sets under models."""

    found: Perplexities
    exit_code: int = EXIT_OK
    """Of the command: whether something could not be measured."""
    empty: bool = False
    """Whether no text was measured."""

    @property
    def words(self) -> Collection[str]:  # type: ignore[override]
        """Columns of words, the tag's among them."""
        return WORDS | {"set", "tag", "against", *([self.found.by] if self.found.by else [])}

    def tables(self) -> list[Grid]:
        """The table across sets, each model's own, and sets beside each other."""
        found = self.found
        tables = [_across(found, "per_token", "Perplexity per token")]
        if len(found.models) > 1:
            tables.append(_across(found, "bits_per_byte", "Bits per byte"))
        tables += [_own(found, model) for model in found.models]
        if found.beside:
            tables.append(_compared(found))
        return tables

    def closing(self) -> list[str]:
        """How to read it, and what it does not prove."""
        found = self.found
        lines = [
            MEANING,
            f"{found.min_k}: the mean log-probability of the {found.k:g} % least probable tokens of a text, a mean "
            "over texts (Shi et al. 2023); nearer to 0 is less surprising.",
        ]
        if found.beside:
            lines.append(
                "Beside each other, over different texts that stand in one of the two only: the set's perplexity per "
                f"token by the other's; its {found.min_k} less the other's; AUC: how often the text of the set has "
                f"the higher {found.min_k}, of two texts drawn at random, one of each (0.5: no difference); p: Mann "
                "and Whitney's rank test, two-sided, of each row alone."
            )
        return [*lines, PROOF, *found.notes, *found.signatures]

    def records(self) -> Records:
        """A row a set (and tag value) and model, unrounded; then a row a pair of sets, in the same columns."""
        found = self.found
        bounds = [f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high")]
        pairs = ("against", "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high")
        rows: list[Sequence[object]] = []
        for row in found.rows:
            figures = [part for measure in MEASURES for part in _parts(getattr(row.figures, measure))]
            counts = [getattr(row.figures, count) for count in _COUNTS]
            rows.append((row.set, row.tag, row.model, found.field, found.k, *counts, *figures, "", *[None] * 8))
        for one in found.beside:
            if (known := one.comparison) is not None:
                blank = [None] * (len(_COUNTS) + len(bounds))
                last = (one.second, *_parts(known.ratio), *_parts(known.difference), known.auc, known.p)
                rows.append((one.first, "", one.model, found.field, found.k, *blank, *last))
        return ("set", "tag", "model", "field", "k", *_COUNTS, *bounds, *pairs, "auc", "p"), rows

    def data(self) -> object:
        """Everything."""
        return self.found


_COUNTS = ("texts", "different", "unscored", "tokens", "bytes", "characters")


def _parts(figure: Figure | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if figure is None else (figure.value, figure.low, figure.high)
