"""Perplexities of sets of texts under models: tables across sets, by model, and of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.errors import EXIT_OK
from viva.lab.surprisal.measures import Comparison, Figure, Figures, compare, figures
from viva.lab.surprisal.text_logprobs import MeasureConfig, Measured
from viva.lab.text_sets import TextSet
from viva.render.findings import Findings
from viva.render.table import COUNT, NAME, TEXT, Column, Kind, P, Table, fields, figure, item
from viva.version import __version__

MEASURES = ("per_token", "mean_of_texts", "per_byte", "per_character", "bits_per_byte", "min_k")
"""Fields of `Figures` with a `Figure`."""
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
    """One model's figures over one set, or over one value of a tag in it ("" for all); or, `against` another set, the
    comparison of the two, None where one of them has too few texts."""

    set: str
    tag: str = ""
    model: str
    figures: Figures | None = None
    against: str = ""
    comparison: Comparison | None = None


class Perplexities(Struct, frozen=True, kw_only=True):
    """All results. `by` names the tag, "" for none; `k` is that of Min-K%."""

    field: str
    k: float
    by: str
    rows: tuple[Row, ...]
    beside: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """The models, each once."""
        return list(dict.fromkeys(row.model for row in self.rows))

    @property
    def min_k(self) -> str:
        """`Min-20%`."""
        return f"Min-{self.k:g}%"


def perplexities(wish: MeasureConfig, measured: Sequence[Measured]) -> Perplexities:
    """Return perplexities by set, tag and model, comparisons of the first set with the others, and signatures."""
    rows = [row for model in measured for each in wish.sets for row in _rows(each, model, wish.by)]
    return Perplexities(
        field=wish.field,
        k=wish.k,
        by=wish.by,
        rows=tuple(rows),
        beside=tuple(_beside(wish.sets, measured)),
        notes=tuple(_notes_on(wish.sets, measured, rows)),
        signatures=tuple(_signature(model, wish) for model in measured),
    )


def _rows(each: TextSet, measured: Measured, by: str) -> Iterator[Row]:
    """Yield the row of the whole set, then those of the tag's values in order of occurrence."""
    yield Row(set=each.name, model=measured.model, figures=figures(measured.of(each.name)))
    for tag in dict.fromkeys(text.tag for text in each.texts) if by else ():
        yield Row(set=each.name, tag=tag, model=measured.model, figures=figures(measured.of(each.name, tag)))


def _beside(sets: Sequence[TextSet], measured: Sequence[Measured]) -> list[Row]:
    return [
        Row(
            model=each.model,
            set=sets[0].name,
            against=other.name,
            comparison=compare(each.of(sets[0].name), each.of(other.name)),
        )
        for each in measured
        for other in sets[1:]
    ]


def _notes_on(sets: Sequence[TextSet], measured: Sequence[Measured], rows: Sequence[Row]) -> list[str]:
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
    for model in measured:
        if model.first is None and model.readings:
            notes.append(f"{model.model}: whether the first token of a text is scored could not be found out.")
        if model.first is False:
            notes.append(
                f"{model.model}: no BOS stands before a text, so its first token has no probability and is not scored; "
                "its bytes and characters are counted all the same."
            )
        if model.failed:
            notes.append(f"{model.model}: {model.failed:,} texts could not be measured and are left out.")
    for row in rows:
        if row.figures and row.figures.unscored and not row.tag:
            notes.append(f"{row.set}, {row.model}: {row.figures.unscored:,} texts of one token have nothing to score.")
    return notes


def _signature(measured: Measured, wish: MeasureConfig) -> str:
    """Return the signature of a model's figures: all settings that could change them."""
    implied = ("provider", "model", "template")  # implied by the name; templates are not used
    identity = {
        name: value for name, value in measured.identity.items() if name not in implied and value not in ("", "0")
    }
    first = "unknown" if measured.first is None else "scored" if measured.first else "not scored"
    parts = {
        "sets": ",".join(f"{each.name}={each.fingerprint}" for each in wish.sets),
        "field": wish.field,
        "by": wish.by,
        "limit": str(wish.limit or ""),
        "language": ",".join(wish.language),
        "k": f"{wish.k:g}",
        "model": measured.model,
        **identity,
        "first token": first,
        "viva": __version__,
    }
    return "signature: " + "|".join(f"{name}:{value}" for name, value in parts.items() if value)


def figure_text(figure: Figure) -> str:
    """Return `12.34 [11.92, 12.81]`."""
    value = _number(figure.value, figure.value)
    if figure.low is None or figure.high is None:
        return value
    return f"{value} [{_number(figure.low, figure.value)}, {_number(figure.high, figure.value)}]"


def _number(value: float, main: float) -> str:
    """Return a number to four significant digits; limits to as many decimals as their figure (`main`)."""
    size = abs(main)
    if size == 0 and value == 0:
        return "0"
    if size >= 1e7 or size < 1e-3:
        return f"{value:.3g}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{3 if size < 10 else 2 if size < 100 else 1}f}"


_FIGURE = Kind(figure_text)
_SIGNED = Kind(lambda figure: ("+" if figure.value > 0 else "") + figure_text(figure))
_COUNTS = ("texts", "different", "unscored", "tokens", "bytes", "characters")


def _bounds(path: str, name: str) -> tuple[Column, ...]:
    """Return a figure's columns for data."""
    return fields(f"{path}.{name}", value=name, low=f"{name}_low", high=f"{name}_high")


def _where(results: Perplexities, name: str, tag: str) -> tuple[Column, ...]:
    """Return the columns of the set and, if requested, of the tag's value, by their paths."""
    words = Kind(lambda value: value or "all", words=True)
    return Column("set", name, NAME), Column(results.by or None, tag, words, "tag")


def _across(results: Perplexities, measure: str, title: str) -> Table:
    """Return the paper's table: a row a set, a column a model."""
    rows = [
        (*where, max(each.texts for each in cells.values()), {name: getattr(cells[name], measure) for name in cells})
        for where in dict.fromkeys((row.set, row.tag) for row in results.rows)
        for cells in ({row.model: row.figures for row in results.rows if row.figures and (row.set, row.tag) == where},)
    ]
    models = (Column(model, item("3", model), _FIGURE) for model in results.models)
    return Table(f"{title} · {results.field}", (*_where(results, "0", "1"), Column("texts", "2", COUNT), *models), rows)


def _own(results: Perplexities, model: str) -> Table:
    columns = (
        *_where(results, "set", "tag"),
        *(Column(name if name in ("texts", "tokens") else None, f"figures.{name}", COUNT, name) for name in _COUNTS),
        *(
            column
            for name in MEASURES
            for column in (
                Column(results.min_k if name == "min_k" else name.replace("_", " "), f"figures.{name}", _FIGURE, None),
                *_bounds("figures", name),
            )
        ),
    )
    rows = [row for row in results.rows if row.model == model]
    return Table(f"Perplexity of {results.field} · {model}", columns, rows)


def _compared(results: Perplexities) -> Table:
    columns = (
        Column("model", "model", NAME), Column("set", "set", TEXT), Column("against", "against", TEXT),
        Column("texts", "comparison", Kind(lambda known: f"{known.first:,} / {known.second:,}"), None),
        *fields("comparison", "first", "second", "common"),
        Column("perplexity, ratio", "comparison.ratio", _FIGURE, None), *_bounds("comparison", "ratio"),
        Column(f"{results.min_k}, difference", "comparison.difference", _SIGNED, None),
        *_bounds("comparison", "difference"), Column("AUC", "comparison.auc", figure(".3f"), "auc"),
        Column("p", "comparison.p", P),
    )  # fmt: skip
    return Table(f"Sets beside each other · {results.field}", columns, results.beside)


def _tables(results: Perplexities) -> Iterator[Table]:
    yield _across(results, "per_token", "Perplexity per token")
    if len(results.models) > 1:
        yield _across(results, "bits_per_byte", "Bits per byte")
    for model in results.models:
        yield _own(results, model)
    if results.beside:
        yield _compared(results)


def findings(results: Perplexities, *, exit_code: int = EXIT_OK, empty: bool = False) -> Findings[Perplexities]:
    """Return tables across sets, by model, and of comparisons; `rows` has one a set (and tag value) and model, then one
    a pair of sets. `exit_code`: whether measurements are missing; `empty`: whether all are.
    """
    rows = [*results.rows, *(row for row in results.beside if row.comparison)]
    columns = (
        *fields("", "set", "tag", "model"),
        Column("field", lambda _: results.field),
        Column("k", lambda _: results.k),
        *fields("figures", *_COUNTS),
        *(column for name in MEASURES for column in _bounds("figures", name)),
        *fields("", "against"),
        *_bounds("comparison", "ratio"),
        *_bounds("comparison", "difference"),
        *fields("comparison", "auc", "p"),
    )
    return Findings(
        found=results, shown=list(_tables(results)), rows=Table("Perplexities", columns, rows), notes=_notes(results),
        exit_code=exit_code, empty=empty,
    )  # fmt: skip


def _notes(results: Perplexities) -> list[str]:
    """Return notes on how to read the tables, and on what they do not prove."""
    lines = [
        MEANING,
        f"{results.min_k}: the mean log-probability of the {results.k:g} % least probable tokens of a text, a "
        "mean over texts (Shi et al. 2023); nearer to 0 is less surprising.",
    ]
    if results.beside:
        lines.append(
            "Beside each other, over different texts that stand in one of the two only: the set's perplexity per "
            f"token by the other's; its {results.min_k} less the other's; AUC: how often the text of the set has "
            f"the higher {results.min_k}, of two texts drawn at random, one of each (0.5: no difference); p: Mann "
            "and Whitney's rank test, two-sided, of each row alone."
        )
    return [*lines, PROOF, *results.notes, *results.signatures]
