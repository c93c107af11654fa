"""The combined score of answer and rationale, and its tables (CLR-Bench, arXiv 2410.17558, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable

from viva.types import ANSWER, RATIONALE, Aggregate, TableSpec

Q_A = "Q→A"
Q_R = "Q→R"
Q_AR = "Q→AR"
GAP = "guess gap"
WRONG = "rationale wrong"
FLAWED = "rationale not full"
IN_FORM = "in form"


def combine(answer: float, rationale: float) -> float:
    """Return Q→AR = R (1 + A) / 2: the paper's six cases, and the half-right selection that it leaves open.

    (1, 1) → 1; (1, ½) → ½; (1, 0) → 0; (0, 1) → ½; (0, ½) → ¼; (0, 0) → 0; (½, 1) → ¾; (½, ½) → ⅜; (½, 0) → 0.
    """
    return rationale * (1.0 + answer) / 2.0


def parts_of(answer: float | None, rationale: float | None, *, in_form: bool) -> dict[str, float]:
    """Return the known parts of a score."""
    parts = {IN_FORM: float(in_form)}
    if answer is not None:
        parts[Q_A] = answer
    if rationale is not None:
        parts[Q_R] = rationale
        parts[WRONG] = float(rationale == 0.0)
        parts[FLAWED] = float(rationale < 1.0)
    if answer is not None and rationale is not None:
        parts[GAP] = answer - combine(answer, rationale)
    return parts


def limits_of(answer: float | None, rationale: float | None) -> dict[str, tuple[float, float]]:
    """Return the possible ranges of Q→AR ("") and the guess gap, where answer or rationale are undecided (None).

    Q→AR rises with both, and the guess gap A − R (1 + A) / 2 with A while it falls with R.
    """
    answers, rationales = ((0.0, 1.0) if mark is None else (mark, mark) for mark in (answer, rationale))
    (least, most), (low, high) = answers, rationales
    return {
        "": (combine(least, low), combine(most, high)),
        GAP: (least - combine(least, high), most - combine(most, low)),
    }


def defended(rows: TableSpec, over: str = "", *, first: bool = True) -> tuple[TableSpec, TableSpec, TableSpec]:
    """Return three tables with the rows of another: the metrics, the guess gap, and the rationales of right answers.

    The last two are always shown for the `first` of several triples; for the others they are long tables.
    """
    metrics = (
        Aggregate(Q_A, part=Q_A, over=over, aspects=(ANSWER,)),
        Aggregate(Q_R, part=Q_R, over=over, aspects=(RATIONALE,)),
        Aggregate(Q_AR, over=over),
    )
    guesses = (
        Aggregate("reply in form", part=IN_FORM, over=over, kind="share"),
        Aggregate("guess gap (Q→A − Q→AR)", part=GAP, over=over, kind="difference"),
    )
    lucky = (
        Aggregate("P(rationale not full | answer right)", part=FLAWED, given=Q_A, aspects=(RATIONALE,), kind="share"),
        Aggregate("P(rationale wrong | answer right)", part=WRONG, given=Q_A, aspects=(RATIONALE,), kind="share"),
    )
    name, title, lines = rows.name, rows.title, rows.rows
    return (
        TableSpec(name, title, lines, metrics, detail=rows.detail),
        TableSpec(f"{name}-guessing", f"{title}: was it guessed?", lines, guesses, detail=not first),
        TableSpec(f"{name}-luck", f"{title}: the reasons of right answers", lines, lucky, detail=not first),
    )


def compared(kinds: Iterable[tuple[str, Aggregate]]) -> TableSpec:
    """Return the paper's main table: a row a model; for each type, and over all, Q→A and then Q→AR."""
    named = (*kinds, ("", Aggregate("Overall")))
    columns = tuple(
        Aggregate(f"{metric} {label}".strip(), where=line.where, part=part, aspects=(ANSWER,) if part else ())
        for metric, part in ((Q_A, Q_A), (Q_AR, ""))
        for label, line in named
    )
    return TableSpec("models", "Q→A and Q→AR by type", (Aggregate("Overall"),), columns, across=True)
