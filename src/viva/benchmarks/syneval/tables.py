"""The paper's tables: by format, and by knowledge point (arXiv 2311.08287, Tables 2, 3 and 8 to 13).

OA = (TF accuracy + MC accuracy + (FITB accuracy + FITB F1) / 2) / 3 is the mean over formats of the means over
questions, since a blank is worth the mean of its exact match and its F1. No TF question asks for a main verb phrase:
its TF score is that of the questions about what belongs to it, subject, complement and objects. OA over points is the
mean over the knowledge points' formats, so that a set's mix of knowledge points does not decide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Item
from viva.types import Aggregate, Defect, TableSpec

POOLED = ("GS", "SC", "DO", "IO")
OA = Aggregate("OA", over="format")
OVER_POINTS = Aggregate("OA over points", over="point_and_format")
"""Every knowledge point and format counts alike, however many questions it has. MVP has no TF of its own."""
_TF = Aggregate("TF", {"format": ("TF",)})
_MC = Aggregate("MC", {"format": ("MC",)})
_EXACT = Aggregate("FITB accuracy", {"format": ("FITB",)}, part="exact")
_F1 = Aggregate("FITB F1", {"format": ("FITB",)}, part="f1")
_MEASURES = (_TF, _MC, _EXACT, _F1)
_POINTS = tuple(
    Aggregate(point, {"mvp": ("yes",)} if point == "MVP" else {"knowledge_point": (point,)})
    for point in KNOWLEDGE_POINTS
)


def tags_of(item: Item) -> dict[str, str]:
    """What the tables go by."""
    pooled = item.knowledge_point in POOLED and item.format == "TF"
    return {
        "format": item.format,
        "knowledge_point": item.knowledge_point,
        "point_and_format": f"{item.knowledge_point} {item.format}",
        "category": f"{item.knowledge_point}: {item.category}",
        "mvp": "yes" if pooled or item.knowledge_point == "MVP" else "no",
    }


def incomplete(items: Iterable[Item]) -> Iterator[Defect]:
    """The rows of which OA is no OA, since not every format is asked there."""
    present: dict[str, set[str]] = {}
    for item in items:
        of = [item.knowledge_point, "Overall", *(["MVP"] if tags_of(item)["mvp"] == "yes" else [])]
        for row in of:
            present.setdefault(row, set()).add(item.format)
    for row in (*KNOWLEDGE_POINTS, "Overall"):
        missing = [name for name in FORMATS if name not in present.get(row, FORMATS)]
        if missing:
            detail = f"no {' and no '.join(missing)} question: its OA is the mean over the other formats"
            yield Defect(row, "missing format", detail, "noted")


def table_specs(categories: Sequence[str], shots: int) -> tuple[TableSpec, ...]:
    """The tables of one run. `categories` are the tags' values that the set has."""
    how = f"{shots}-shot" if shots else "zero-shot"
    overall = Aggregate("Overall")
    points = (*_POINTS, Aggregate("All"))
    order = {point: place for place, point in enumerate(KNOWLEDGE_POINTS)}
    rows = sorted(categories, key=lambda name: (order[name.partition(":")[0]], name))  # type: ignore[index]
    return (
        TableSpec("points", f"By knowledge point, {how}", (*_POINTS, overall), (*_MEASURES, OA)),
        TableSpec("formats", f"By format, {how}", (overall,), (*_MEASURES, OA, OVER_POINTS), across=True),
        TableSpec("oa", f"OA by knowledge point, {how}", (OA,), points, across=True),
        *(
            TableSpec(line.label, f"{line.label} by knowledge point, {how}", (line,), points, detail=True, across=True)
            for line in _MEASURES
        ),
        TableSpec(
            "categories",
            f"By syntactic category of what is asked for, {how}",
            tuple(Aggregate(name, {"category": (name,)}) for name in rows),
            (*_MEASURES, OA),
            detail=True,
        ),
    )
