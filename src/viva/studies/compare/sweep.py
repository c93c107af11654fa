"""`viva compare infibench RUN...`: runs under different sampling beside each other and GPT-4's published sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viva.errors import DataError, VivaError, option
from viva.published import Entry, catalogue, table
from viva.runs.graded import refuse_adaptive, runs_in
from viva.studies.compare.publishedsweeps import SETTING, sampling_text
from viva.studies.compare.sweep_table import TITLES, Swept, findings

if TYPE_CHECKING:
    from viva.render.findings import Findings
    from viva.render.result import Result
    from viva.studies.compare.choices import CompareConfig
    from viva.types import Sampling

BENCHMARK = "infibench"
_GREEDY = (0.0, 1.0)
_TAKEN = ("sources", "model")
"""What a sweep is asked for; all other options compare two contestants question by question."""


def compare_sweep(config: CompareConfig) -> Findings[Sequence[Swept]]:
    """The runs among `config.sources`, and the published rows. Raises VivaError where no run asked InfiBench."""
    from viva.studies.compare.choices import CompareConfig as Plain

    plain = Plain(sources=config.sources, model=config.model)
    for name in config.__struct_fields__:
        if name not in _TAKEN and getattr(config, name) != getattr(plain, name):
            raise VivaError(
                f"{option(name)} compares question by question; leave {BENCHMARK!r} out of the sources, "
                "which asks for the tables of a sampling sweep"
            )
    own = [row for path in config.sources[1:] for row in _of_path(Path(path), config.model)]
    if not own:
        raise DataError(f"{', '.join(config.sources[1:])}: no model of these runs was asked {BENCHMARK}")
    rows = sorted([*_published(), *own], key=lambda row: (row.order, not row.published, row.model))
    one = table(BENCHMARK, "leaderboard")
    notes = (
        "Per cent. Printed figures have no items, so that nothing here is tested; `viva compare RUN RUN` tests the "
        "differences of runs.",
        f"Published: {one.source.paper}, {one.source.table}.",
        *(note for note in one.notes if "ablation" in note or "groups of ten" in note),
    )
    return findings(rows, notes)


def _published() -> Iterator[Swept]:
    declared = next(one for one in catalogue()[BENCHMARK].tables if one.name == "leaderboard")
    figures = {place: name for block in declared.cells for place, name in block.named().items()}
    for entry in table(BENCHMARK, "leaderboard").entries:
        if entry.kind != "ablation":
            continue
        scores: dict[str, dict[str, float | None]] = {}
        for (layout, row, _), name in figures.items():
            if layout in TITLES and name in entry.figures:
                scores.setdefault(layout, {})[row] = entry.figures[name] / 100
        yield Swept(
            model=entry.model,
            sampling=sampling_text(entry.words[SETTING]),
            order=_order(entry),
            answers=int(entry.figures["responses"]),
            published=True,
            scores=scores,
            spread=entry.figures["score_std"] / 100 if entry.figures["responses"] > 10 else None,
        )


def _order(entry: Entry) -> tuple[float, float]:
    setting = entry.words[SETTING]
    if not setting.startswith("("):
        return _GREEDY
    temperature, _, top = setting.strip("()").partition(",")
    return float(temperature), float(top)


def _of_path(path: Path, models: Sequence[str]) -> Iterator[Swept]:
    from viva.published import NONE
    from viva.runs.results import read_run

    for folder in runs_in(path):
        found = read_run(folder, NONE)
        refuse_adaptive(folder, found.folder.record)
        exams = {exam.spec.label: exam for exam in found.folder.record.exams if exam.spec.benchmark == BENCHMARK}
        for result in found.results:
            exam = exams.get(result.exam)
            if exam is None or (models and result.model not in models):
                continue
            run = found.folder.record
            yield _of_result(result, exam.sampling or run.sampling, (exam.samples or run.samples) * run.repeats)


def _of_result(result: Result, sampling: Sampling, answers: int) -> Swept:
    scores: dict[str, dict[str, float | None]] = {}
    spread = None
    for one in result.tables:
        if one.name in TITLES:
            scores[one.name] = {row: cells[0].mean for row, cells in zip(one.rows, one.cells, strict=True)}
        if one.name == "attempts" and one.cells:
            spread = one.cells[0][0].sd
    temperature, top = sampling.temperature, sampling.top_p
    said = "T as served" if temperature is None else f"T {float(temperature)}" if temperature else "greedy"
    return Swept(
        model=result.model,
        sampling=said if top is None or not temperature else f"{said}, top-p {float(top)}",
        order=(temperature, 1.0 if top is None else top) if temperature else _GREEDY,
        answers=answers,
        published=False,
        scores=scores,
        spread=spread,
        partial=not result.overall.complete,
    )
