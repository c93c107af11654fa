"""Results and run records, made by hand."""

from collections.abc import Sequence
from typing import Any

import msgspec

from viva.analysis.breakdown import Table
from viva.analysis.estimate import Estimate
from viva.engine.folder import ExamRecord, ModelRecord, RunRecord
from viva.render.result import Report, Result
from viva.render.run_tables import findings
from viva.render.table import FIGURE, NAME, SIDE, TEXT, Column, Kind
from viva.render.table import Table as Columns
from viva.types import ExamSpec, Sampling

RIGHT = Estimate(
    n=40, mean=0.625, low=0.47, high=0.7578, floor=0.625, ceiling=0.625, outcomes={"right": 25, "wrong": 15}
)
SHORT = Estimate(
    n=50, mean=0.5, low=0.366, high=0.634, floor=0.4, ceiling=0.6, sd=0.021,
    outcomes={"right": 20, "wrong": 20, "error": 7, "ungraded": 3},
)  # fmt: skip
NOTHING = Estimate(n=0, mean=None, floor=0.0, ceiling=1.0)
UNGRADED = Estimate(n=8, mean=None, floor=0.0, ceiling=1.0, outcomes={"ungraded": 8})


KINDS = {
    "model": NAME, "exam": NAME, "run": TEXT, "state": TEXT, "first": SIDE, "second": SIDE, "other outcomes": TEXT,
    "outcomes": Kind(words=True, yields=True), "folder": Kind(words=True, folds=True),
}  # fmt: skip


def texts(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Columns:
    """A table of texts, its columns set as their headings say."""
    columns = (
        Column(name, str(at), KINDS.get(name, FIGURE if at else NAME), drop=name in drop, keep=name in keep)
        for at, name in enumerate(header)
    )
    return Columns(title, tuple(columns), rows)


def table(
    cells: tuple[tuple[Estimate, ...], ...] = ((RIGHT, SHORT), (NOTHING, UNGRADED)),
    *,
    exam: str = "csbench-en",
    model: str = "openai/m",
    title: str = "By domain",
    rows: tuple[str, ...] = ("OS", "CN"),
    columns: tuple[str, ...] = ("Knowledge", "Average"),
    detail: bool = False,
) -> Table:
    return Table(
        exam=exam, model=model, name="domains", title=title, rows=rows, columns=columns, detail=detail, cells=cells
    )


def result(
    *tables: Table, overall: Estimate = SHORT, model: str = "openai/m", language: str = "en", **more: Any
) -> Result:
    fields: dict[str, Any] = {
        "exam": f"csbench-{language}",
        "benchmark": "csbench",
        "language": language,
        "model": model,
        "overall": overall,
        "tables": tables or (table(model=model, exam=f"csbench-{language}"),),
        "signature": f"benchmark:csbench.1|lang:{language}|model:{model}",
    }
    return Result(**fields | more)


def report(*results: Result, notes: tuple[str, ...] = ()) -> Report:
    return Report(run="runs/x", results=results or (result(),), notes=notes)


EXAM = ExamRecord(
    spec=ExamSpec(benchmark="csbench"),
    data="/data",
    fingerprint="0123456789ab",
    questions=2183,
    version="1",
    templates={"en": {"choice": {"ask": "Which?"}}, "rubric": {"name": "mine", "version": "1"}},
)
RUN = RunRecord(
    viva="0.1.0",
    created="2026-01-01T00:00:00+00:00",
    command=["viva", "run"],
    exams=[EXAM],
    models=[ModelRecord(name="openai/m")],
    judges=[ModelRecord(name="openai/j")],
    sampling=Sampling(temperature=0.0, max_tokens=2048),
)


def changed(record: Any, **values: Any) -> Any:
    return msgspec.structs.replace(record, **values)


def printed(form: str, shown: Report, *, details: bool = False, **look: Any) -> str:
    """A report in a form of `--format`, or on one screen."""
    made = findings(shown, details=details)
    return made.to_screen(**look) if form == "screen" else made.to_text(form, **look)
